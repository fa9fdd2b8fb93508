// The shape of a request's body. Every field that is missing, unknown or of another type is found, so that a misspelt name is
// refused here as it would be by the operator, also where the field may be left out.

/** "string?" may be left out. */
type FieldType = 'string' | 'number' | 'boolean' | 'object' | 'string?' | 'number?' | 'boolean?' | 'object?' | 'any';

export type BodyShape = { readonly [field: string]: FieldType | BodyShape };

/** `field` with the names above it: "payer.partyId". */
export type ShapeProblem = { field: string; problem: 'missing' | 'unknown' | 'type' };

/** The first thing that is wrong with the body; null when it has the shape. An empty text counts as missing. */
export function findShapeProblem(body: unknown, shape: BodyShape, above = ''): ShapeProblem | null {
  const fields = typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {};
  for (const [name, type] of Object.entries(shape)) {
    const field = above + name;
    const problem =
      typeof type === 'string' ? checkField(fields[name], type, field) : checkPart(fields[name], type, field);
    if (problem !== null) return problem;
  }
  const unknown = Object.keys(fields).find((name) => !(name in shape));
  return unknown === undefined ? null : { field: above + unknown, problem: 'unknown' };
}

function checkField(value: unknown, type: FieldType, field: string): ShapeProblem | null {
  if (type === 'any') return null;
  const isOptional = type.endsWith('?');
  if (value === undefined || value === null || value === '') return isOptional ? null : { field, problem: 'missing' };
  return typeof value === type.replace('?', '') ? null : { field, problem: 'type' };
}

function checkPart(value: unknown, shape: BodyShape, field: string): ShapeProblem | null {
  if (value === undefined || value === null) return { field, problem: 'missing' };
  if (typeof value !== 'object' || Array.isArray(value)) return { field, problem: 'type' };
  return findShapeProblem(value, shape, `${field}.`);
}
