// Files of MTN's portals. They differ by country: with or without the header, the Id and the Fee, and with dates in three forms.
// A line names two parties and not which of them is the account of the statement.

import type { LineKind } from '../statement-lines.ts';
import {
  type CellRow,
  cellsByName,
  headerWith,
  plainName,
  type ReadingContext,
  type RowReader,
  type TableFormat,
} from './format.ts';
import { idOrNull, magnitudeOf, optionalAmount, phoneIn, RowError, readFileAmount, requireCurrency } from './values.ts';

const ID = ['Id'];
const BASE = ['Date', 'Status', 'Type', 'From', 'From Name', 'To', 'To Name', 'Amount'];
const DATE = /^\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}[ T]+\d{1,2}:\d{2}/;
const TYPE =
  /^(?:external |batch |float )?(?:transfer|payment)$|^(?:debit|deposit|cash ?in|cash ?out|reversal|refund|adjustment|commission|fee)$/i;
const INTO = /^(?:payment|external payment|debit|deposit|cash ?in)$/i;

export const mtn: TableFormat = {
  name: 'mtn',
  zone: null,
  currency: null,
  headerAt: (rows) =>
    headerWith(rows, 'date', 'status', 'type', 'from', 'to', 'amount') ?? (headerOf(rows[0]) ? -1 : null),
  open(header, lines, context) {
    const names = header.length > 0 ? header : (headerOf(lines[0]) ?? []);
    return rowReader(names, ownParty(names, lines, context), context);
  },
};

/** The header that a row without one is meant to have; null: the row is not MTN's. */
function headerOf(row: CellRow | undefined): string[] | null {
  if (!row) return null;
  const startsWithDate = DATE.test(row.cells[0] ?? '');
  const names = [...(startsWithDate ? [] : ID), ...BASE];
  const [date, type] = [row.cells[names.indexOf('Date')] ?? '', row.cells[names.indexOf('Type')] ?? ''];
  if (!DATE.test(date) || !TYPE.test(type)) return null;
  const more = row.cells.length - names.length;
  if (more === 1) return [...names, 'Balance'];
  return more === 2 ? [...names, 'Fee', 'Balance'] : null;
}

/** "FRI:250788123456/MSISDN" and "250788123456" are the same party. */
function partyOf(text: string): string {
  return phoneIn(text) ?? plainName(text.replace(/^FRI:/i, '').replace(/\/\w+$/, ''));
}

/** The party that every one of the first lines has; null where that is neither or both. */
function ownParty(header: readonly string[], lines: readonly CellRow[], { account }: ReadingContext): string | null {
  if (account !== null) return partyOf(account);
  const cell = cellsByName(header);
  const pairs = lines
    .map(({ cells }) => [partyOf(cell(cells, 'from')), partyOf(cell(cells, 'to'))])
    .filter((pair) => pair.every((party) => party !== ''));
  const [first = []] = pairs;
  const common = first.filter((party) => pairs.every((pair) => pair.includes(party)));
  return common.length === 1 ? (common[0] ?? null) : null;
}

function rowReader(header: readonly string[], own: string | null, { times, currency }: ReadingContext): RowReader {
  const cell = cellsByName(header);
  return (cells) => {
    const date = cell(cells, 'date');
    const first = cells.find((text) => text !== '') ?? '';
    if (date === '' || /^totals?\b/i.test(first)) {
      if (/^(?:totals?|opening|closing)\b/i.test(first) || cells.filter((text) => text !== '').length <= 3) return null;
      throw new RowError('The date is missing.');
    }
    const type = cell(cells, 'type');
    const [from, to] = [cell(cells, 'from'), cell(cells, 'to')];
    const amount = readFileAmount(cell(cells, 'amount'), null);
    const direction = directionOf({ from: partyOf(from), to: partyOf(to), type, amount, own });
    const fee = optionalAmount(cell(cells, 'fee', 'fees'), null);
    const party = direction === 'in' ? from : to;
    const name =
      direction === 'in' ? cell(cells, 'from name', 'from handler name') : cell(cells, 'to name', 'to handler name');
    return {
      occurredAt: times.read(date),
      kind: kindOf(type),
      direction,
      state: stateOf(cell(cells, 'status')),
      gross: magnitudeOf(amount),
      fee: fee === null ? null : magnitudeOf(fee),
      currency: requireCurrency(cell(cells, 'currency'), currency),
      receipt: idOrNull(cell(cells, 'financial transaction id', 'id', 'transaction id')),
      reference: idOrNull(cell(cells, 'external transaction id', 'external id')),
      msisdn: phoneIn(party),
      balance: optionalAmount(cell(cells, 'balance', 'currencybalance', 'currency balance'), null),
      description: [type, name].filter((text) => text !== '').join(' · '),
    };
  };
}

type Parties = { from: string; to: string; type: string; amount: bigint; own: string | null };

function directionOf({ from, to, type, amount, own }: Parties): 'in' | 'out' {
  if (amount < 0n) return 'out';
  if (own !== null && from !== to) {
    if (from === own) return 'out';
    if (to === own) return 'in';
  }
  if (own === null && INTO.test(type)) return 'in';
  throw new RowError('The file does not show which of the two parties is our account. Say which number it is.');
}

function kindOf(type: string): LineKind {
  if (/reversal|refund/i.test(type)) return 'reversal';
  if (/fee|commission/i.test(type)) return 'fee';
  if (/deposit|cash ?in|cash ?out|float/i.test(type)) return 'settlement';
  return /payment|transfer|debit/i.test(type) ? 'payment' : 'other';
}

function stateOf(text: string): 'succeeded' | 'failed' | 'pending' {
  if (/^(?:success(?:ful+)?|completed?|settled)$/i.test(text)) return 'succeeded';
  if (/^(?:failed|rejected|expired|cancell?ed|timeout)$/i.test(text)) return 'failed';
  if (/^(?:pending|ongoing|created|processing)$/i.test(text)) return 'pending';
  throw new RowError(`The status "${text}" is not known.`);
}
