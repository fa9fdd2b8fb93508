// The statement that an organisation downloads from Safaricom's portal: titles, the newest line first, totals at the end, amounts with
// commas, what was withdrawn with a minus, numbers masked. It is printed from the book: what really moved.

import { type BookEntry, type MovementKind, TAKES_AWAY } from './book.ts';
import { nairobiTime } from './daraja-records.ts';
import { writeMoney } from './money.ts';

const HEADER =
  'Receipt No.,Completion Time,Initiation Time,Details,Transaction Status,Paid In,Withdrawn,Balance,Balance Confirmed,' +
  'Reason Type,Other Party Info,Linked Transaction ID,A/C No.';

const DETAILS: Readonly<Record<MovementKind, string>> = {
  collection: 'Pay Bill from',
  payout: 'Business Payment to',
  refund: 'Business Payment to',
  collection_reversed: 'Reversal of Pay Bill to',
  payout_returned: 'Reversal of Business Payment from',
};

export function printStatement(organisation: string, entries: readonly BookEntry[]): string {
  const sum = (isOut: boolean) =>
    entries
      .filter(({ movement }) => TAKES_AWAY.has(movement.kind) === isOut)
      .reduce((total, { movement }) => total + movement.amount, 0n);
  return [
    `Organization Name,${organisation}`,
    'Report,Organization Statement',
    '',
    HEADER,
    ...entries.toReversed().map((entry) => lineOf(entry, linkedTo(entry, entries))),
    `,,,,Total,${amountOf(sum(false))},${amountOf(-sum(true))},,,,,,`,
    '',
  ].join('\r\n');
}

const REVERSES: Partial<Record<MovementKind, MovementKind>> = {
  collection_reversed: 'collection',
  payout_returned: 'payout',
};

/** The receipt of the payment that a reversal takes back. */
function linkedTo({ movement }: BookEntry, entries: readonly BookEntry[]): string {
  const kind = REVERSES[movement.kind];
  const paid = entries.find((entry) => entry.movement.kind === kind && entry.movement.id === movement.id);
  return movement.id === '' ? '' : (paid?.movement.receipt ?? '');
}

function lineOf({ movement, at, balance }: BookEntry, linked: string): string {
  const { kind, receipt, msisdn, amount, id } = movement;
  const time = timeOf(at);
  const party = `${msisdn.slice(0, 4)}****${msisdn.slice(-3)} - JANE DOE`;
  const isOut = TAKES_AWAY.has(kind);
  const money = [isOut ? '' : amountOf(amount), isOut ? amountOf(-amount) : '', amountOf(balance)];
  const account = kind === 'collection' ? id : '';
  const reason = kind.endsWith('ed') ? 'Transaction Reversal' : (DETAILS[kind].split(/ (?:from|to)$/)[0] ?? '');
  return [
    receipt,
    time,
    time,
    `${DETAILS[kind]} ${party}`,
    'Completed',
    ...money,
    'true',
    reason,
    party,
    linked,
    account,
  ].join(',');
}

function timeOf(at: number): string {
  const [, ...parts] = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)$/.exec(nairobiTime(at)) ?? [];
  const [year, month, day, hour, minute, second] = parts;
  return `${year}-${month}-${day} ${hour}:${minute}:${second}`;
}

/** "1,234.50", in quotes because of the comma. */
function amountOf(amount: bigint): string {
  const [whole = '', fraction = ''] = writeMoney(amount).split('.');
  return `"${whole.replaceAll(/\B(?=(?:\d{3})+$)/g, ',')}.${fraction}"`;
}
