// A merchant's statement as a file. CSV for programs, with names that never change; XLSX and PDF for people, in their language. All
// are streams. CSV and XLSX take the memory of one page; a PDF is built of pages that are kept until the end, so it has few lines.

import { Readable } from 'node:stream';
import { shownBrand } from '../platform/config.ts';
import type { Context } from '../platform/context.ts';
import { type CsvRow, writeCsv } from '../platform/csv.ts';
import { Problem } from '../platform/errors.ts';
import { formatAmount } from '../platform/money.ts';
import { createLocalTime } from '../platform/time-zones.ts';
import { writeStatementPdf } from './merchant-statement-pdf.ts';
import { STATEMENT_TEXTS, type StatementLanguage } from './merchant-statement-texts.ts';
import { eachWalletLine, type MerchantStatement, sumTotals, type WalletLine } from './merchant-statements.ts';
import { MAX_SHEET_ROWS, type SheetCell, writeWorkbook } from './xlsx-writer.ts';

export const STATEMENT_FORMATS = ['csv', 'xlsx', 'pdf'] as const;
export type StatementFormat = (typeof STATEMENT_FORMATS)[number];

/** About 230 pages. */
export const MAX_PDF_LINES = 10_000;
/** The heading, both balances and the line of totals are rows as well. */
const MAX_XLSX_LINES = MAX_SHEET_ROWS - 10;
const MAX_CSV_LINES = 10_000_000;
const MAX_LINES: Record<StatementFormat, number> = { csv: MAX_CSV_LINES, xlsx: MAX_XLSX_LINES, pdf: MAX_PDF_LINES };

export const CONTENT_TYPES: Record<StatementFormat, string> = {
  csv: 'text/csv; charset=utf-8',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  pdf: 'application/pdf',
};

export type WrittenStatement = { readonly name: string; readonly contentType: string; readonly content: Readable };

/** How many lines a file of this format may have, when the statement has more. */
export function exceededLines(statement: MerchantStatement, format: StatementFormat): number | null {
  return statement.lines > MAX_LINES[format] ? MAX_LINES[format] : null;
}

/** `onLines` is called with the number of lines written so far. */
export function writeStatement(
  ctx: Context,
  statement: MerchantStatement,
  format: StatementFormat,
  language: StatementLanguage,
  onLines: (lines: number) => void = () => undefined,
): WrittenStatement {
  const most = exceededLines(statement, format);
  if (most !== null) {
    const sentence =
      `A ${format.toUpperCase()} file has at most ${most} lines, and this period has ${statement.lines}. ` +
      'Choose a shorter period, or CSV.';
    throw new Problem('invalid_params', { message: sentence, errors: { format: [sentence] } });
  }
  async function* lines(): AsyncGenerator<WalletLine[]> {
    let written = 0;
    for await (const page of eachWalletLine(ctx, statement)) {
      yield page;
      written += page.length;
      onLines(written);
    }
  }
  return {
    name: statementName(statement, format),
    contentType: CONTENT_TYPES[format],
    content: contentOf(ctx, statement, format, language, lines()),
  };
}

export function statementName(
  { currency, firstDay, lastDay }: Pick<MerchantStatement, 'currency' | 'firstDay' | 'lastDay'>,
  format: StatementFormat,
): string {
  return `statement-${currency}-${firstDay}-${lastDay}.${format}`;
}

function contentOf(
  ctx: Context,
  statement: MerchantStatement,
  format: StatementFormat,
  language: StatementLanguage,
  lines: AsyncIterable<WalletLine[]>,
): Readable {
  if (format === 'csv') return Readable.from(csvTexts(statement, lines), { objectMode: false });
  if (format === 'xlsx') return writeXlsx(statement, language, lines);
  return writeStatementPdf(statement, { brand: shownBrand(ctx.config), texts: STATEMENT_TEXTS[language] }, lines);
}

const CSV_HEAD = 'record,date,reference,your_reference,kind,details,count,gross,fee,net,balance,currency'.split(',');

/** `record` tells lines from balances and totals, so that a sum over one column counts nothing twice. */
async function* csvTexts(statement: MerchantStatement, lines: AsyncIterable<WalletLine[]>): AsyncGenerator<string> {
  const { currency, firstDay, lastDay, decimals, holder } = statement;
  const localTime = createLocalTime(holder.time_zone);
  const money = (amount: bigint | null) => (amount === null ? null : formatAmount(amount, decimals));
  const row = (record: string, date: string, facts: CsvFacts): CsvRow => {
    const { reference = null, ownReference = null, kind = null, details = null, count = null } = facts;
    const amounts = [facts.gross ?? null, facts.fee ?? null, facts.net ?? null, facts.balance ?? null].map(money);
    return [record, date, reference, ownReference, kind, details, count].concat(amounts, currency);
  };
  yield writeCsv([CSV_HEAD, row('opening', firstDay, { balance: statement.opening })]);
  for await (const page of lines)
    yield writeCsv(page.map((line) => row('line', localTime(line.postedAt), { ...line, count: 1 })));
  yield writeCsv([
    ...statement.totals.map((total) => row('total', lastDay, total)),
    row('closing', lastDay, { balance: statement.closing }),
  ]);
}

/** The cells of a row that are not in every row. */
type CsvFacts = Partial<
  Pick<WalletLine, 'reference' | 'ownReference' | 'kind' | 'details' | 'gross' | 'fee' | 'net' | 'balance'> & {
    count: number;
  }
>;

function writeXlsx(
  statement: MerchantStatement,
  language: StatementLanguage,
  lines: AsyncIterable<WalletLine[]>,
): Readable {
  const t = STATEMENT_TEXTS[language];
  const localTime = createLocalTime(statement.holder.time_zone);
  const bold = (text: string, amount: bigint): SheetCell[] => [
    null,
    { text, bold: true },
    ...Array.from({ length: 6 }, () => null),
    { amount, bold: true },
  ];
  async function* rows(): AsyncGenerator<SheetCell[][]> {
    yield [bold(t.opening, statement.opening)];
    for await (const page of lines)
      yield page.map(({ postedAt, reference, ownReference, kind, details, gross, fee, net, balance }): SheetCell[] => {
        const amounts = [gross, fee, net, balance].map((amount): SheetCell => ({ amount }));
        const moment: SheetCell = { moment: localTime(postedAt) };
        return [moment, reference, ownReference, t.kinds[kind], details, ...amounts];
      });
    yield [bold(t.closing, statement.closing)];
  }
  return writeWorkbook(
    [
      {
        name: `${t.statement} ${statement.currency}`,
        head: [t.date, t.reference, t.ownReference, t.what, t.details, t.gross, t.fee, t.net, t.balance],
        widths: [20, 34, 24, 26, 30, 16, 14, 16, 18],
        rows,
      },
      totalsSheet(statement, language),
    ],
    statement.decimals,
  );
}

function totalsSheet(statement: MerchantStatement, language: StatementLanguage) {
  const t = STATEMENT_TEXTS[language];
  const sum = sumTotals(statement.totals);
  async function* rows(): AsyncGenerator<SheetCell[][]> {
    const amounts = (of: typeof sum, isBold: boolean): SheetCell[] =>
      [of.gross, of.fee, of.net].map((amount) => ({ amount, bold: isBold }));
    yield await Promise.resolve([
      [t.opening, null, null, null, { amount: statement.opening }],
      ...statement.totals.map((total): SheetCell[] => [t.kinds[total.kind], total.count, ...amounts(total, false)]),
      [{ text: t.total, bold: true as const }, statement.lines, ...amounts(sum, true)],
      [t.closing, null, null, null, { amount: statement.closing }],
    ]);
  }
  return { name: t.totals, head: [t.what, t.count, t.gross, t.fee, t.net], widths: [34, 12, 18, 16, 18], rows };
}
