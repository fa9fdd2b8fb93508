// What the schemas of all operations have in common: the answer around `data`, the refusals, values that may be null,
// URLs, and the two ways in which the specification writes a moment.

import Type, { type TSchema } from 'typebox';
import type { ProblemCode } from './errors.ts';
import { isHttpUrl, MAX_URL_CHARACTERS } from './http-url.ts';
import { EXPECTED } from './validation.ts';

/** Refusals of one operation, with its own message and status where they differ from the table's. */
export type ProblemMessages = Partial<Record<ProblemCode, { message?: string; status?: number }>>;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What the operation itself may answer instead of success, for the reference, which adds the refusals of every route. */
    problems?: ProblemMessages;
  }
}

/** `{ success, message, data }`. The example is what a caller reads in the reference; a test holds it to the schema. */
export function answerOf<T extends TSchema>(data: T, message: string, example?: unknown) {
  return Type.Object(
    {
      success: Type.Boolean({ description: 'true.' }),
      message: Type.String({ description: 'A sentence for people.', examples: [message] }),
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

export function oneOf<const Values extends readonly string[]>(values: Values, description: string) {
  return Type.Unsafe<Values[number]>(Type.String({ enum: [...values], description }));
}

/** An http(s) URL; null and the empty string mean that there is none. */
export function optionalUrl(description: string) {
  const text = Type.String({
    maxLength: MAX_URL_CHARACTERS,
    [EXPECTED]: `an http or https URL of at most ${MAX_URL_CHARACTERS} characters`,
  });
  return Type.Optional(
    nullable(
      Type.Refine(text, (url) => url === '' || isHttpUrl(url)),
      description,
    ),
  );
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
