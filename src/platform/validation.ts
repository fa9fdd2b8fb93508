// Reading what callers send. One TypeBox schema decides what is valid, explains a refusal in one plain sentence for each
// field, and is the same schema that OpenAPI shows. Operations add only what a schema cannot say.

import Type, { type Static, type TObject, type TSchema } from 'typebox';
import { Check, Compile } from 'typebox/schema';
import { type FieldErrors, Problem, type ProblemCode } from './errors.ts';

/**
 * What a schema takes, as the end of the sentence "<field> must be …". Needed where keywords alone say too little: with
 * a pattern or a refinement. A symbol, because it is not a keyword of the OpenAPI document.
 */
export const EXPECTED: unique symbol = Symbol('expected');

export type AddError = (field: string, sentence: string) => void;
export type ShapeError = { path: string[]; sentence: string };

/** What one request holds: the fields with the right shape, and an error for each of the others. */
export type FieldReading<T> = {
  fields: Partial<T>;
  /** Adds an error that no schema can find. A field that the schema refused gets no second sentence. */
  add: AddError;
  errors: FieldErrors;
  hasErrors: () => boolean;
};

export type Refusal = { code?: ProblemCode; message?: string };

export type ParamsReader<T> = {
  /** Reads every field, so that the caller learns all errors from one answer. */
  read(input: unknown): FieldReading<T>;
  /** Reads params that a schema can check completely, or refuses them. */
  require(input: unknown, refusal?: Refusal): T;
};

/** Compiles a schema once, at start: a valid request costs one call of the compiled function. */
export function createReader<S extends TObject>(schema: S): ParamsReader<Static<S>> {
  type Fields = Static<S>;
  const validator = Compile(schema);

  function read(input: unknown): FieldReading<Fields> {
    if (validator.Check(input)) return readingOf<Fields>(input as Partial<Fields>, {});
    if (!isJsonObject(input)) return readingOf<Fields>({}, { body: ['The body must be a JSON object.'] });
    const errors: FieldErrors = {};
    for (const { path, sentence } of findShapeErrors(schema, input, 'The body')) errors[path[0] ?? 'body'] = [sentence];
    const fields = Object.entries(input).filter(([name]) => !Object.hasOwn(errors, name));
    return readingOf<Fields>(Object.fromEntries(fields) as Partial<Fields>, errors);
  }

  return {
    read,
    require(input, refusal = {}) {
      if (validator.Check(input)) return input as Fields;
      throw refuse(read(input).errors, refusal);
    },
  };
}

function readingOf<T>(fields: Partial<T>, shapeErrors: FieldErrors): FieldReading<T> {
  const errors = { ...shapeErrors };
  return {
    fields,
    add: (field, sentence) => {
      if (!Object.hasOwn(shapeErrors, field)) errors[field] = [...(errors[field] ?? []), sentence];
    },
    errors,
    hasErrors: () => Object.keys(errors).length > 0,
  };
}

/** The refusal of a request whose fields have these errors. */
export function refuse(errors: FieldErrors, { code = 'invalid_params', message }: Refusal = {}): Problem {
  return new Problem(code, { errors, ...(message === undefined ? {} : { message }) });
}

/** A query string has only text: numbers are read where the schema has an integer. Anything else is left to the schema. */
export function convertQuery(schema: TObject, query: unknown): Record<string, unknown> {
  const converted = Object.entries(query as Record<string, unknown>).map(([name, value]) => {
    const member = schema.properties[name];
    const isNumber = member && Type.IsInteger(member) && typeof value === 'string' && /^\d{1,15}$/.test(value);
    return [name, isNumber ? Number(value) : value] as const;
  });
  return Object.fromEntries(converted);
}

/** One sentence for each place where a value does not have the shape of the schema. `root` names the value as a whole. */
export function findShapeErrors(schema: TSchema, value: unknown, root: string, path: string[] = []): ShapeError[] {
  if (Check(schema, value)) return [];
  const inner = findInnerErrors(schema, value, root, path);
  if (inner.length > 0) return inner;
  return [{ path, sentence: `${path.join('.') || root} ${ruleOf(schema, value)}.` }];
}

function findInnerErrors(schema: TSchema, value: unknown, root: string, path: string[]): ShapeError[] {
  if (Type.IsArray(schema) && Array.isArray(value))
    return value.flatMap((item, index) => findShapeErrors(schema.items, item, root, [...path, String(index)]));
  if (!isJsonObject(value)) return [];
  const members = (name: string, member: TSchema) => findShapeErrors(member, value[name], root, [...path, name]);
  if (Type.IsRecord(schema)) {
    const [key = '', member = Type.Unknown()] = Object.entries(schema.patternProperties)[0] ?? [];
    const pattern = new RegExp(key, 'u');
    return Object.keys(value).flatMap((name) =>
      pattern.test(name)
        ? members(name, member)
        : unknown(path, name, `${path.join('.') || root} must be ${expectedOf(schema) ?? 'an object'}`),
    );
  }
  if (!Type.IsObject(schema)) return [];
  const { properties } = schema;
  const isClosed = 'additionalProperties' in schema && schema.additionalProperties === false;
  const others = isClosed ? Object.keys(value).filter((name) => !Object.hasOwn(properties, name)) : [];
  return [
    ...Object.entries(properties).flatMap(([name, member]) => {
      if (value[name] !== undefined) return members(name, member);
      return Type.IsOptional(member) ? [] : [missing([...path, name], expectedOf(member))];
    }),
    ...others.flatMap((name) => unknown(path, name, `the members are ${Object.keys(properties).join(', ')}`)),
  ];
}

function missing(path: string[], expected: string | undefined): ShapeError {
  return { path, sentence: `${path.join('.')} is required${expected === undefined ? '' : `: ${expected}`}.` };
}

function unknown(path: string[], name: string, known: string): ShapeError[] {
  const at = [...path, name];
  return [{ path: at, sentence: `${at.join('.')} is not a known member; ${known}.` }];
}

/** The schema as far as sentences are written from it. */
type Keywords = {
  type?: string;
  anyOf?: TSchema[];
  enum?: readonly unknown[];
  const?: unknown;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
};

/** Where a schema says too little; EXPECTED is missing there. */
const NOT_VALID = 'is not valid';

/** What is wrong, as the end of a sentence: "must be a string". */
function ruleOf(schema: TSchema, value: unknown): string {
  const rules = schema as Keywords;
  if (rules.anyOf) return ruleOfUnion(schema, rules.anyOf, value);
  const expected = expectedOf(schema);
  if (expected !== undefined) return `must be ${expected}`;
  if (rules.enum) return `must be ${listOf(rules.enum)}`;
  if (rules.const !== undefined) return `must be ${JSON.stringify(rules.const)}`;
  if (rules.minimum !== undefined && rules.maximum !== undefined)
    return `must be a whole number from ${rules.minimum} to ${rules.maximum}`;
  if (!hasType(rules.type, value)) return `must be ${TYPE_NAMES[rules.type ?? ''] ?? 'valid'}`;
  if (rules.exclusiveMinimum === 0) return 'must be more than zero';
  if (rules.type === 'integer' && rules.minimum !== undefined) return `must be ${rules.minimum} or more`;
  if (rules.maxLength !== undefined && typeof value === 'string' && value.length > rules.maxLength)
    return `may have at most ${rules.maxLength} characters`;
  if (rules.minLength !== undefined) return 'must not be empty';
  return NOT_VALID;
}

/** The rule of the alternative that the value is closest to: for a string, what is wrong with it as a string. */
function ruleOfUnion(schema: TSchema, variants: TSchema[], value: unknown): string {
  // Null and the empty string stand for "left out"; a caller who sent something else meant to send a value.
  const meant = variants.filter((each) => (each as Keywords).type !== 'null' && (each as Keywords).const !== '');
  const [closest, another] = meant.filter((each) => hasType((each as Keywords).type, value));
  const rule = closest && !another ? ruleOf(closest, value) : NOT_VALID;
  if (rule !== NOT_VALID) return rule;
  const expected = expectedOf(schema);
  if (expected !== undefined) return `must be ${expected}`;
  const [only] = meant;
  if (only && meant.length === 1) return ruleOf(only, value);
  const constants = meant.map((each) => (each as Keywords).const);
  return constants.includes(undefined) ? NOT_VALID : `must be ${listOf(constants)}`;
}

const TYPE_NAMES: Record<string, string> = {
  string: 'a string',
  integer: 'an integer',
  number: 'a number',
  boolean: 'true or false',
  object: 'an object',
  array: 'a list',
};

function hasType(type: string | undefined, value: unknown): boolean {
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'object') return isJsonObject(value);
  if (type === 'array') return Array.isArray(value);
  return typeof value === type;
}

function listOf(values: readonly unknown[]): string {
  return values.length === 2 ? values.join(' or ') : `one of ${values.join(', ')}`;
}

function expectedOf(schema: TSchema): string | undefined {
  const expected = EXPECTED in schema ? schema[EXPECTED] : undefined;
  return typeof expected === 'string' ? expected : undefined;
}

function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
