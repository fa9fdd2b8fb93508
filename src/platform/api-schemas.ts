// What the shapes of all operations have in common, for OpenAPI: the answer around `data`, the refusals, values that may
// be null, and the two ways in which the specification writes a moment.

import Type, { type TSchema } from 'typebox';
import type { ProblemCode } from './errors.ts';

/** Refusals of one operation, with its own words and status where they differ from the table's. */
export type ProblemMessages = Partial<Record<ProblemCode, { message?: string; status?: number }>>;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What the operation itself may answer instead of success, for the reference. Those of every route are added there. */
    problems?: ProblemMessages;
  }
}

/** `{ success, message, data }`. The example is what a caller reads in the reference; a test holds it to the schema. */
export function answerOf<T extends TSchema>(data: T, message: string, example?: unknown) {
  return Type.Object(
    {
      success: Type.Boolean({ description: 'true.' }),
      message: Type.String({ description: 'A sentence for a person.', examples: [message] }),
      data,
    },
    {
      description: 'Success.',
      ...(example === undefined ? {} : { examples: [{ success: true, message, data: example }] }),
    },
  );
}

export function nullable<T extends TSchema>(schema: T, description?: string) {
  return Type.Union([schema, Type.Null()], description === undefined ? {} : { description });
}

/** ISO 8601 in UTC with microseconds and a trailing Z. */
export function moment(description: string) {
  return Type.String({
    description: `${description} ISO 8601, UTC, with microseconds and a trailing Z.`,
    pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{6}Z$',
    examples: ['2026-03-02T09:00:00.000000Z'],
  });
}

/** The specification's `transaction_date`. */
export function dateAndTime(description: string) {
  return Type.String({
    description: `${description} YYYY-MM-DD HH:MM:SS, UTC.`,
    pattern: '^\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d$',
    examples: ['2026-03-02 09:00:00'],
  });
}
