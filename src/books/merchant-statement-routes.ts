// The HTTP routes for statements of a wallet, with a bearer token: the figures as JSON, and the whole statement as a file.

import Type from 'typebox';
import { requireToken } from '../holders/authentication.ts';
import { findHolder } from '../holders/holders.ts';
import { answerOf, oneOf } from '../platform/api-schemas.ts';
import type { Context } from '../platform/context.ts';
import { Problem } from '../platform/errors.ts';
import type { HttpServer } from '../platform/http.ts';
import { amountToNumber } from '../platform/money.ts';
import type { JsonObject } from '../platform/strict-json.ts';
import { isCalendarDay } from '../platform/time-zones.ts';
import { convertQuery, createReader, EXPECTED } from '../platform/validation.ts';
import { CONTENT_TYPES, STATEMENT_FORMATS, writeStatement } from './merchant-statement-files.ts';
import { STATEMENT_LANGUAGES } from './merchant-statement-texts.ts';
import { type MerchantStatement, prepareStatement, sumTotals, WALLET_LINE_KINDS } from './merchant-statements.ts';

const tags = ['Balance'];
const security = [{ bearerAuth: [] }];

function day(example: string, description: string) {
  const text = Type.String({ examples: [example], [EXPECTED]: 'a day such as 2026-03-01', description });
  return Type.Refine(text, isCalendarDay);
}

const PERIOD = {
  currency: Type.String({
    pattern: '^[A-Z]{3}$',
    examples: ['UGX'],
    [EXPECTED]: 'the code of a currency, such as UGX',
    description: 'Currency of the wallet.',
  }),
  from: day('2026-03-01', 'First day, in the time zone of your account.'),
  to: day(
    '2026-03-31',
    'Last day, included. The statement of a day that is not over ends with what has been posted so far.',
  ),
};
const StatementQuery = Type.Object(PERIOD);
const StatementFileQuery = Type.Object({
  ...PERIOD,
  format: oneOf(STATEMENT_FORMATS, 'CSV has names that never change; XLSX and PDF are for people.'),
  language: Type.Optional(oneOf(STATEMENT_LANGUAGES, 'Of XLSX and PDF; English by default.')),
});
const statementQuery = createReader(StatementQuery);
const statementFileQuery = createReader(StatementFileQuery);

const money = (description: string) => Type.Number({ description });
const FIGURES = {
  gross: money('Before fees. Money that left the wallet is negative.'),
  fee: money('Fees; what you paid is negative, what was given back positive.'),
  net: money('What the wallet gained: gross + fee.'),
};

const EXAMPLE = {
  wallet_account: 1001,
  currency: 'UGX',
  from: '2026-03-01',
  to: '2026-03-31',
  time_zone: 'Africa/Kampala',
  opening_balance: 120000,
  closing_balance: 367500,
  reserved: 0,
  lines: 1,
  gross: 250000,
  fee: -2500,
  net: 247500,
  totals: [{ kind: 'collection', count: 1, gross: 250000, fee: -2500, net: 247500 }],
};

const StatementAnswer = answerOf(
  Type.Object({
    wallet_account: Type.Integer({ description: 'Number of the wallet.' }),
    currency: Type.String(),
    from: Type.String({ description: 'First day.' }),
    to: Type.String({ description: 'Last day, included.' }),
    time_zone: Type.String({ description: 'In which the days begin and end.' }),
    opening_balance: money('Available and reserved money before the first day.'),
    closing_balance: money('The same at the end of the last day: opening_balance + net.'),
    reserved: money('The part of the closing balance that belongs to payouts and refunds in progress.'),
    lines: Type.Integer({ description: 'How many lines the file has.' }),
    ...FIGURES,
    totals: Type.Array(
      Type.Object({
        kind: oneOf(WALLET_LINE_KINDS, 'What the lines are.'),
        count: Type.Integer(),
        ...FIGURES,
      }),
      { description: 'The same by kind.' },
    ),
  }),
  'Statement retrieved.',
  EXAMPLE,
);

const FILE_CONTENT = Object.fromEntries(
  STATEMENT_FORMATS.map((format) => [CONTENT_TYPES[format].split(';')[0], { schema: Type.String() }]),
);

const problems = {
  invalid_params: {},
  not_found: { message: 'There is no such wallet in this account.' },
};

export function statementRoutes(app: HttpServer, ctx: Context): void {
  app.get(
    '/api/v3/statements',
    {
      schema: {
        summary: 'Get the figures of a statement',
        description:
          'Opening balance, totals by kind and closing balance of a wallet over a period. Money counts on the day it was posted.',
        tags,
        operationId: 'getStatement',
        querystring: StatementQuery,
        security,
        response: { 200: StatementAnswer },
      },
      config: { problems },
    },
    async (request, reply) => {
      const { integration, own } = await requireToken(ctx, request, reply);
      const period = statementQuery.require(convertQuery(StatementQuery, request.query));
      const statement = await openStatement(own, integration.holderId, period);
      return { success: true, message: 'Statement retrieved.', data: recordOf(statement) };
    },
  );
  fileRoute(app, ctx);
}

function fileRoute(app: HttpServer, ctx: Context): void {
  app.get(
    '/api/v3/statements/file',
    {
      schema: {
        summary: 'Download a statement',
        description:
          'The statement with every line and its running balance, as CSV, XLSX or PDF. A PDF has at most 10 000 lines. ' +
          'A statement that does not add up to the ledger is never sent.',
        tags,
        operationId: 'downloadStatement',
        querystring: StatementFileQuery,
        security,
        response: { 200: { description: 'The file, of the type that `format` names.', content: FILE_CONTENT } },
      },
      config: { problems },
    },
    async (request, reply) => {
      const { integration, own } = await requireToken(ctx, request, reply);
      const {
        format,
        language = 'en',
        ...period
      } = statementFileQuery.require(convertQuery(StatementFileQuery, request.query));
      const statement = await openStatement(own, integration.holderId, period);
      const file = writeStatement(own, statement, format, language);
      return reply
        .type(file.contentType)
        .header('Content-Disposition', `attachment; filename="${file.name}"`)
        .header('Cache-Control', 'no-store')
        .send(file.content);
    },
  );
}

async function openStatement(
  own: Context,
  holderId: bigint,
  { currency, from, to }: { currency: string; from: string; to: string },
): Promise<MerchantStatement> {
  const holder = await findHolder(own.db, holderId);
  if (!holder) throw new Problem('account_not_found');
  return prepareStatement(own, holder, { currency, firstDay: from, lastDay: to });
}

function recordOf(statement: MerchantStatement): JsonObject {
  const figures = ({ gross, fee, net }: { gross: bigint; fee: bigint; net: bigint }) => ({
    gross: amountToNumber(gross),
    fee: amountToNumber(fee),
    net: amountToNumber(net),
  });
  return {
    wallet_account: statement.walletAccount,
    currency: statement.currency,
    from: statement.firstDay,
    to: statement.lastDay,
    time_zone: statement.holder.time_zone,
    opening_balance: amountToNumber(statement.opening),
    closing_balance: amountToNumber(statement.closing),
    reserved: amountToNumber(statement.reserved),
    lines: statement.lines,
    ...figures(sumTotals(statement.totals)),
    totals: statement.totals.map((total) => ({ kind: total.kind, count: total.count, ...figures(total) })),
  };
}
