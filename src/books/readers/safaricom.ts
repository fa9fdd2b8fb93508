// Statements of M-PESA organisations: Safaricom's portal, and Telecel Ghana's, which has the same platform. Title rows come before
// the header and totals after the lines; the newest line is first. Charges are rows of their own, under the receipt of the payment
// or under one that follows it.

import type { LineFacts } from '../line-keys.ts';
import type { LineKind } from '../statement-lines.ts';
import { cellsByName, headerWith, type ReadingContext, type RowReader, type TableFormat } from './format.ts';
import { idOrNull, magnitudeOf, optionalAmount, phoneIn, RowError, requireCurrency } from './values.ts';

const HEADER = ['receipt no|receipt number|receipt', 'completion time', 'details', 'paid in', 'withdrawn|withdrawal'];

export const safaricom: TableFormat = {
  name: 'safaricom',
  zone: 'Africa/Nairobi',
  currency: 'KES',
  headerAt: (rows) => headerWith(rows, ...HEADER),
  open: (header, _, context) => rowReader(header, context),
};

export const telecel: TableFormat = {
  name: 'telecel',
  zone: 'Africa/Accra',
  currency: 'GHS',
  headerAt: (rows) => headerWith(rows, ...HEADER, 'currency', 'opposite party'),
  open: (header, _, context) => rowReader(header, context),
};

function rowReader(header: readonly string[], { times, currency }: ReadingContext): RowReader {
  const cell = cellsByName(header);
  return (cells) => {
    const receipt = cell(cells, 'receipt no', 'receipt number', 'receipt');
    const time = cell(cells, 'completion time', 'initiation time');
    // The last row has sums only.
    if (time === '' && (receipt === '' || /^(?:grand )?totals?\b/i.test(receipt))) return null;
    if (receipt === '') throw new RowError('The receipt is missing.');
    const details = cell(cells, 'details');
    const party = cell(cells, 'other party info', 'opposite party');
    const kind = kindOf(`${details} ${cell(cells, 'reason type')}`);
    const linked = idOrNull(cell(cells, 'linked transaction id'));
    const account = idOrNull(cell(cells, 'a c no', 'account no', 'account number')) ?? accountIn(details);
    return {
      occurredAt: times.read(time),
      kind,
      ...movementOf(cell(cells, 'paid in'), cell(cells, 'withdrawn', 'withdrawal')),
      state: stateOf(cell(cells, 'transaction status', 'status')),
      fee: null,
      currency: requireCurrency(cell(cells, 'currency'), currency),
      receipt: idOrNull(receipt),
      reference: kind === 'payment' ? account : (linked ?? account),
      msisdn: phoneIn(party) ?? phoneIn(details),
      balance: optionalAmount(cell(cells, 'balance'), '.'),
      description: [details, party].filter((text) => text !== '').join(' · '),
    };
  };
}

/** Some files write withdrawn amounts with a minus or in brackets, others without. */
function movementOf(paidIn: string, withdrawn: string): Pick<LineFacts, 'direction' | 'gross'> {
  const [into, out] = [optionalAmount(paidIn, '.') ?? 0n, optionalAmount(withdrawn, '.') ?? 0n];
  if (into !== 0n && out !== 0n) throw new RowError('The line has both an amount paid in and an amount withdrawn.');
  if (into === 0n && out === 0n) throw new RowError('The line has neither an amount paid in nor an amount withdrawn.');
  return { direction: into > 0n ? 'in' : 'out', gross: magnitudeOf(into) + magnitudeOf(out) };
}

function stateOf(text: string): LineFacts['state'] {
  if (text === '' || /^(?:completed?|success(?:ful)?)$/i.test(text)) return 'succeeded';
  if (/^(?:failed|declined|cancelled|canceled|expired|rejected)$/i.test(text)) return 'failed';
  if (/^(?:pending|initiated|authori[sz]ed|processing)$/i.test(text)) return 'pending';
  throw new RowError(`The status "${text}" is not known.`);
}

const CHARGE = /\bcharges?\b|\bfees?\b|\btariff\b|\bcommission\b/i;
const REVERSAL = /\breversals?\b|\breversed\b/i;
/** Between our own accounts, or with our bank. */
const SETTLEMENT =
  /\bsettlement\b|\bto bank\b|\bbank account\b|\bwithdrawal of funds\b|\bfunds transfer\b|\bfloat\b|\b(?:utility|working|mmf|merchant) (?:account )?to\b/i;

function kindOf(text: string): LineKind {
  if (REVERSAL.test(text)) return 'reversal';
  if (CHARGE.test(text)) return 'fee';
  return SETTLEMENT.test(text) ? 'settlement' : 'payment';
}

/** "… from 254722****55 - JANE DOE Acc. INV-7" */
const accountIn = (details: string): string | null =>
  idOrNull(/\bAcc(?:ount)?\.?(?: No)?\.?[ :-]+(\S{1,64})\s*$/i.exec(details)?.[1] ?? '');
