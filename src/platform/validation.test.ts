// One schema decides and explains: each way to be wrong has its sentence, and errors of both kinds are in one answer.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import Type, { type TSchema } from 'typebox';
import { nullable, oneOf, optionalUrl } from './api-schemas.ts';
import { Problem } from './errors.ts';
import { convertQuery, createReader, EXPECTED, findShapeErrors, refuse } from './validation.ts';

const Params = Type.Object({
  name: Type.String({ maxLength: 3 }),
  code: Type.String({ pattern: '^\\d{2}$', [EXPECTED]: 'a string of two digits' }),
  amount: Type.Union([Type.Number({ exclusiveMinimum: 0 }), Type.String({ pattern: '^\\d+$', [EXPECTED]: 'digits' })], {
    [EXPECTED]: 'a number, or digits',
  }),
  country: Type.Optional(nullable(Type.Integer())),
  url: optionalUrl('A URL.'),
});
const reader = createReader(Params);
const good = { name: 'abc', code: '12', amount: 5 };

describe('a sentence for each error', () => {
  const choice = oneOf(['payin', 'payout'], 'Which.');
  const maybe = Type.Union([Type.Boolean(), Type.Null(), Type.Literal('')]);
  const table: [TSchema, unknown, string][] = [
    [Type.String(), 5, 'x must be a string.'],
    [Type.Integer(), '11', 'x must be an integer.'],
    [Type.Integer(), 1.5, 'x must be an integer.'],
    [Type.Number(), null, 'x must be a number.'],
    [Type.Boolean(), 'yes', 'x must be true or false.'],
    [Type.Object({}), [], 'x must be an object.'],
    [Type.Array(Type.String()), {}, 'x must be a list.'],
    [Type.String({ maxLength: 3 }), 'abcd', 'x may have at most 3 characters.'],
    [Type.String({ minLength: 1 }), '', 'x must not be empty.'],
    [Type.Integer({ minimum: 1, maximum: 9 }), 10, 'x must be a whole number from 1 to 9.'],
    [Type.Integer({ minimum: 1, maximum: 9 }), 'ten', 'x must be a whole number from 1 to 9.'],
    [Type.Integer({ minimum: 1 }), 0, 'x must be 1 or more.'],
    [Type.Integer({ minimum: 1 }), 'ten', 'x must be an integer.'],
    [Type.Number({ exclusiveMinimum: 0 }), 0, 'x must be more than zero.'],
    [choice, 'x', 'x must be payin or payout.'],
    [nullable(choice), 'x', 'x must be payin or payout.'],
    [oneOf(['a', 'b', 'c'], 'Which.'), 5, 'x must be one of a, b, c.'],
    [nullable(Type.String({ maxLength: 3 })), 5, 'x must be a string.'],
    [nullable(Type.String({ maxLength: 3 })), 'abcd', 'x may have at most 3 characters.'],
    [maybe, 'yes', 'x must be true or false.'],
    [Params.properties.code, '1', 'x must be a string of two digits.'],
    [Params.properties.code, 12, 'x must be a string of two digits.'],
    [Params.properties.amount, -1, 'x must be more than zero.'],
    [Params.properties.amount, '1,5', 'x must be digits.'],
    [Params.properties.amount, true, 'x must be a number, or digits.'],
    [Params.properties.url, 'ftp://x', 'x must be an http or https URL of at most 2048 characters.'],
    [Params.properties.url, 'https:/x.example', 'x must be an http or https URL of at most 2048 characters.'],
  ];
  for (const [schema, value, sentence] of table)
    test(`${JSON.stringify(value)}: ${sentence}`, () => {
      const errors = findShapeErrors(Type.Object({ x: schema }), { x: value }, 'The body');
      assert.deepEqual(errors, [{ path: ['x'], sentence }]);
    });

  test('of a deep value, with the path to it', () => {
    const Deep = Type.Object({
      rows: Type.Array(Type.Object({ id: Type.Integer() }, { additionalProperties: false })),
    });
    const errors = findShapeErrors(Deep, { rows: [{ id: 1 }, { id: 'x', name: 5 }, {}] }, 'The file');
    assert.deepEqual(
      errors.map(({ sentence }) => sentence),
      [
        'rows.1.id must be an integer.',
        'rows.1.name is not a known member; the members are id.',
        'rows.2.id is required.',
      ],
    );
  });
});

describe('a reader', () => {
  test('takes what fits, members that it does not know included', () => {
    const input = { ...good, country: null, url: '', other: [1] };
    assert.equal(reader.require(input), input);
    assert.equal(reader.read(input).fields, input);
    assert.equal(reader.read(input).hasErrors(), false);
  });

  test('counts characters as the database does, in code points', () => {
    assert.equal(reader.require({ ...good, name: '🍲🍲🍲' }).name, '🍲🍲🍲');
    assert.throws(() => reader.require({ ...good, name: '🍲🍲🍲🍲' }), Problem);
  });

  test('names every error at once; what is missing is required, with what it has to be where the schema says so', () => {
    const { errors, fields } = reader.read({ name: 5, country: 11, url: 'x' });
    assert.deepEqual(errors, {
      name: ['name must be a string.'],
      code: ['code is required: a string of two digits.'],
      amount: ['amount is required: a number, or digits.'],
      url: ['url must be an http or https URL of at most 2048 characters.'],
    });
    assert.deepEqual(fields, { country: 11 });
  });

  test('adds errors of the operation, but no second one to a field that the schema refused', () => {
    const reading = reader.read({ ...good, name: 5 });
    reading.add('name', 'This name is taken.');
    reading.add('country', 'There is no such country.');
    reading.add('country', 'Use another.');
    assert.deepEqual(reading.errors, {
      name: ['name must be a string.'],
      country: ['There is no such country.', 'Use another.'],
    });
    assert.equal(reading.hasErrors(), true);
  });

  test('refuses with the code and message of the operation', () => {
    const refusal = { code: 'invalid_envelope', message: 'It was not done.' } as const;
    const isRefusal = (error: unknown) =>
      error instanceof Problem &&
      error.code === 'invalid_envelope' &&
      error.message === 'It was not done.' &&
      error.details.errors?.name?.[0] === 'name is required.';
    assert.throws(() => reader.require({}, refusal), isRefusal);
    assert.equal(refuse({}).code, 'invalid_params');
  });

  test('says so when the body is no object', () => {
    for (const body of [undefined, null, 5, 'x', []])
      assert.deepEqual(reader.read(body).errors, { body: ['The body must be a JSON object.'] });
  });
});

test('a query string has numbers as digits; what is none stays text, for the schema to refuse', () => {
  const Query = Type.Object({ limit: Type.Optional(Type.Integer()), after: Type.Optional(Type.String()) });
  assert.deepEqual(convertQuery(Query, { limit: '10', after: '10' }), { limit: 10, after: '10' });
  for (const limit of ['1e2', '-1', '', ' 1', '1.0', ['1', '2']])
    assert.deepEqual(convertQuery(Query, { limit }), { limit });
});
