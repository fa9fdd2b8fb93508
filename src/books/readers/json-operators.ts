// What operators answer when they are asked for a list: Safaricom (Pull API), Airtel, Sonatel and Wave, saved as a file or
// fetched. Wave's columns have the same names in a CSV file.

import type { LineFacts } from '../line-keys.ts';
import type { LineKind } from '../statement-lines.ts';
import {
  cellsByName,
  headerWith,
  type JsonRecord,
  memberOf,
  type ReadingContext,
  type RecordFormat,
  type TableFormat,
  textOf,
} from './format.ts';
import { idOrNull, magnitudeOf, optionalAmount, phoneIn, RowError, readFileAmount, requireCurrency } from './values.ts';

/** Money that payers sent, of the last 48 hours. */
export const safaricomPull: RecordFormat = {
  name: 'safaricom',
  zone: 'Africa/Nairobi',
  currency: 'KES',
  isRecord: (record) => 'transactionId' in record && 'trxDate' in record && 'billreference' in record,
  read: (record, context) => ({
    occurredAt: momentOf(textOf(record, 'trxDate'), context),
    kind: 'payment',
    direction: 'in',
    state: 'succeeded',
    gross: magnitudeOf(readFileAmount(textOf(record, 'amount'), '.')),
    fee: null,
    currency: 'KES',
    receipt: idOrNull(textOf(record, 'transactionId')),
    reference: idOrNull(textOf(record, 'billreference')),
    msisdn: phoneIn(textOf(record, 'msisdn')),
    balance: null,
    description: [textOf(record, 'transactiontype'), textOf(record, 'sender')]
      .filter((text) => text !== '')
      .join(' · '),
  }),
};

export const airtel: RecordFormat = {
  name: 'airtel',
  zone: null,
  currency: null,
  isRecord: (record) => textOf(memberOf(record, 'transaction'), 'airtel_money_id') !== '',
  read(record, context) {
    const transaction = memberOf(record, 'transaction');
    const type = textOf(memberOf(record, 'service'), 'type');
    // A payment that was taken back changes its status in the list.
    const isReversal = textOf(transaction, 'status') === 'TR' || /reversal/i.test(type);
    const direction = isReversal || /disburs|payout|cash ?in|refund|b2c/i.test(type) ? 'out' : 'in';
    const party = memberOf(record, direction === 'in' ? 'payer' : 'payee');
    const fee = optionalAmount(textOf(memberOf(record, 'charges'), 'service'), '.');
    return {
      occurredAt: momentOf(textOf(transaction, 'created_at'), context),
      kind: isReversal ? 'reversal' : 'payment',
      direction,
      state: stateOf(textOf(transaction, 'status')),
      gross: magnitudeOf(readFileAmount(textOf(transaction, 'amount'), '.')),
      fee: fee === null ? null : magnitudeOf(fee),
      currency: requireCurrency(textOf(transaction, 'currency') || textOf(party, 'currency'), context.currency),
      receipt: idOrNull(textOf(transaction, 'airtel_money_id')),
      reference: idOrNull(textOf(transaction, 'id')) ?? idOrNull(textOf(transaction, 'reference_number')),
      msisdn: phoneIn(textOf(party, 'msisdn', 'number', 'id')),
      balance: null,
      description: type,
    };
  },
};

export const sonatel: RecordFormat = {
  name: 'sonatel',
  zone: 'Africa/Dakar',
  currency: 'XOF',
  isRecord: (record) =>
    'transactionId' in record && 'status' in record && textOf(memberOf(record, 'amount'), 'value') !== '',
  read(record, context) {
    const type = textOf(record, 'type');
    const amount = memberOf(record, 'amount');
    return {
      occurredAt: momentOf(textOf(record, 'createdAt', 'requestDate', 'updatedAt'), context),
      kind: kindOfType(type),
      direction: /cash_?in|transfer|refund|reversal/i.test(type) ? 'out' : 'in',
      state: stateOf(textOf(record, 'status')),
      gross: magnitudeOf(readFileAmount(textOf(amount, 'value'), '.')),
      fee: null,
      currency: requireCurrency(textOf(amount, 'unit'), context.currency),
      receipt: idOrNull(textOf(record, 'transactionId')),
      reference: idOrNull(textOf(record, 'reference')),
      msisdn: phoneIn(textOf(memberOf(record, 'customer'), 'id')),
      balance: null,
      description: [type, textOf(record, 'channel')].filter((text) => text !== '').join(' · '),
    };
  },
};

const WAVE_COLUMNS = [
  'timestamp',
  'transaction_id',
  'transaction_type',
  'amount',
  'fee',
  'balance',
  'currency',
  'is_reversal',
  'counterparty_mobile',
  'counterparty_name',
  'client_reference',
  'checkout_api_session_id',
  'payment_reason',
] as const;

export const wave: RecordFormat = {
  name: 'wave',
  zone: 'UTC',
  currency: null,
  isRecord: (record) => 'transaction_id' in record && 'transaction_type' in record && 'timestamp' in record,
  read: readWave,
};

export const waveTable: TableFormat = {
  name: 'wave',
  zone: 'UTC',
  currency: null,
  headerAt: (rows) => headerWith(rows, 'timestamp', 'transaction id', 'transaction type', 'amount'),
  open(header, _, context) {
    const cell = cellsByName(header);
    return (cells) => {
      const members = WAVE_COLUMNS.map((name) => [name, cell(cells, name.replaceAll('_', ' '))]);
      return readWave(Object.fromEntries(members) as JsonRecord, context);
    };
  },
};

function readWave(record: JsonRecord, context: ReadingContext): LineFacts {
  const type = textOf(record, 'transaction_type');
  const amount = readFileAmount(textOf(record, 'amount'), '.');
  const fee = optionalAmount(textOf(record, 'fee'), '.');
  const isReversal = record.is_reversal === true || /^(?:true|1)$/i.test(textOf(record, 'is_reversal'));
  return {
    occurredAt: momentOf(textOf(record, 'timestamp'), context),
    kind: isReversal || /_(?:refund|reversal)$/.test(type) ? 'reversal' : waveKind(type),
    direction: waveDirection(type, amount, isReversal),
    state: 'succeeded',
    gross: magnitudeOf(amount),
    fee: fee === null ? null : magnitudeOf(fee),
    currency: requireCurrency(textOf(record, 'currency'), context.currency),
    receipt: idOrNull(textOf(record, 'transaction_id')),
    reference: idOrNull(textOf(record, 'client_reference')) ?? idOrNull(textOf(record, 'checkout_api_session_id')),
    msisdn: phoneIn(textOf(record, 'counterparty_mobile')),
    balance: optionalAmount(textOf(record, 'balance'), '.'),
    description: [type, textOf(record, 'payment_reason')].filter((text) => text !== '').join(' · '),
  };
}

function waveKind(type: string): LineKind {
  if (/sweep|deposit|withdrawal/.test(type)) return 'settlement';
  return /payment|checkout|payout/.test(type) ? 'payment' : 'other';
}

/** A sign decides; without one the type does, and a reversal turns it round. */
function waveDirection(type: string, amount: bigint, isReversal: boolean): 'in' | 'out' {
  if (amount < 0n) return 'out';
  if (/_refund$|sweep/.test(type)) return 'out';
  if (/^(?:api_payout|bulk_payment|b2b_payment)/.test(type))
    return isReversal || type.endsWith('_reversal') ? 'in' : 'out';
  return isReversal && !type.endsWith('_reversal') ? 'out' : 'in';
}

function kindOfType(type: string): LineKind {
  if (/reversal/i.test(type)) return 'reversal';
  return /fee|commission/i.test(type) ? 'fee' : 'payment';
}

/** Milliseconds since 1970, or a time as text. */
function momentOf(text: string, { times }: ReadingContext): Date {
  if (/^\d{13}$/.test(text)) return new Date(Number(text));
  if (/^\d{10}$/.test(text)) return new Date(Number(text) * 1000);
  return times.read(text);
}

/** "TS", "Transaction Success", "SUCCESS". */
function stateOf(text: string): LineFacts['state'] {
  if (/^(?:TS|TR|success(?:ful)?|completed?|transaction success(?:ful)?)\.?$/i.test(text)) return 'succeeded';
  if (/^(?:TF|TE|failed|cancelled|rejected|expired|transaction (?:failed|expired))\.?$/i.test(text)) return 'failed';
  if (
    /^(?:TIP|TA|accepted|initiated|pending|pre_initiated|in ?progress|transaction (?:in progress|ambiguous))\.?$/i.test(
      text,
    )
  )
    return 'pending';
  throw new RowError(`The status "${text}" is not known.`);
}
