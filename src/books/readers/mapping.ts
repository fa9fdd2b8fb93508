// How a person says what the columns of any CSV file mean.

import Type, { type Static } from 'typebox';

const Column = Type.Union([Type.String({ minLength: 1, maxLength: 200 }), Type.Integer({ minimum: 1, maximum: 200 })]);
const Values = Type.Array(Type.String({ maxLength: 200 }), { maxItems: 50 });

/** A column is given by its name in the header, or by its number, counted from 1. */
export const MappingSchema = Type.Object(
  {
    date: Column,
    /** Letters as in "dd/MM/yyyy HH:mm:ss"; without it, the forms that have one meaning are read. */
    dateFormat: Type.Optional(Type.String({ minLength: 1, maxLength: 40 })),
    /** Where the time stands in a column of its own. */
    time: Type.Optional(Column),
    zone: Type.Optional(Type.String({ maxLength: 64 })),
    decimalSign: Type.Optional(Type.Union([Type.Literal('.'), Type.Literal(',')])),
    /** One column of amounts, whose sign or `direction` says which way … */
    amount: Type.Optional(Column),
    positive: Type.Optional(Type.Union([Type.Literal('in'), Type.Literal('out')])),
    /** … or one for each way. */
    paidIn: Type.Optional(Column),
    withdrawn: Type.Optional(Column),
    direction: Type.Optional(Type.Object({ column: Column, in: Values, out: Values }, { additionalProperties: false })),
    state: Type.Optional(
      Type.Object(
        { column: Column, succeeded: Values, failed: Values, pending: Type.Optional(Values) },
        { additionalProperties: false },
      ),
    ),
    kind: Type.Optional(
      Type.Object(
        {
          column: Column,
          fee: Type.Optional(Values),
          reversal: Type.Optional(Values),
          settlement: Type.Optional(Values),
          other: Type.Optional(Values),
        },
        { additionalProperties: false },
      ),
    ),
    fee: Type.Optional(Column),
    currency: Type.Optional(Column),
    receipt: Type.Optional(Column),
    reference: Type.Optional(Column),
    msisdn: Type.Optional(Column),
    balance: Type.Optional(Column),
    description: Type.Optional(Column),
    /** Rows before the header, or before the first line where there is none. */
    skip: Type.Optional(Type.Integer({ minimum: 0, maximum: 1000 })),
    header: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
);

export type Mapping = Static<typeof MappingSchema>;
