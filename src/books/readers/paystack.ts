// Paystack: transactions of a settlement and rows of the balance ledger as JSON, and the CSV export by the names of its columns. In
// JSON, amounts are whole numbers of the smallest unit; in CSV they are as people write them.

import { amountFrom } from '../../platform/money.ts';
import type { LineFacts } from '../line-keys.ts';
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

const isLedgerRow = (record: JsonRecord) => 'difference' in record && 'model_responsible' in record;

export const paystack: RecordFormat = {
  name: 'paystack',
  zone: 'UTC',
  currency: null,
  isRecord: (record) =>
    isLedgerRow(record) || ('reference' in record && 'fees' in record && ('paid_at' in record || 'paidAt' in record)),
  read: (record, context) => (isLedgerRow(record) ? readLedgerRow(record, context) : readTransaction(record, context)),
};

export const paystackTable: TableFormat = {
  name: 'paystack',
  zone: 'UTC',
  currency: null,
  headerAt: (rows) =>
    headerWith(
      rows,
      'reference|transaction reference|paystack reference',
      'amount|amount paid|paid amount',
      'transaction date|date|paid at|created at|date paid|settlement date',
      'currency|fees|paystack fees|paystack charges|channel',
    ),
  open(header, _, { times, currency }) {
    const cell = cellsByName(header);
    return (cells) => {
      const amount = readFileAmount(cell(cells, 'amount', 'amount paid', 'paid amount'), null);
      const fee = optionalAmount(
        cell(cells, 'fees', 'paystack fees', 'paystack charges', 'fee', 'transaction fees'),
        null,
      );
      return {
        occurredAt: times.read(
          cell(cells, 'paid at', 'date paid', 'transaction date', 'date', 'created at', 'settlement date'),
        ),
        kind: 'payment',
        direction: amount < 0n ? 'out' : 'in',
        state: stateOf(cell(cells, 'status', 'transaction status')),
        gross: magnitudeOf(amount),
        fee: fee === null ? null : magnitudeOf(fee),
        currency: requireCurrency(cell(cells, 'currency'), currency),
        receipt: idOrNull(cell(cells, 'receipt number', 'transaction id', 'id')),
        reference: idOrNull(cell(cells, 'reference', 'transaction reference', 'paystack reference')),
        msisdn: phoneIn(cell(cells, 'mobile number', 'phone', 'customer phone')),
        balance: null,
        description: cell(cells, 'channel', 'gateway response'),
      };
    };
  },
};

function readTransaction(record: JsonRecord, context: ReadingContext): LineFacts {
  const currency = requireCurrency(textOf(record, 'currency'), context.currency);
  const fees = textOf(record, 'fees');
  const authorization = memberOf(record, 'authorization');
  return {
    occurredAt: context.times.read(textOf(record, 'paid_at', 'paidAt', 'created_at', 'createdAt')),
    kind: 'payment',
    direction: 'in',
    state: stateOf(textOf(record, 'status')),
    gross: magnitudeOf(unitsOf(textOf(record, 'amount'), currency, context)),
    fee: fees === '' ? null : magnitudeOf(unitsOf(fees, currency, context)),
    currency,
    receipt: idOrNull(textOf(record, 'receipt_number', 'id')),
    reference: idOrNull(textOf(record, 'reference')),
    msisdn: phoneIn(textOf(authorization, 'mobile_money_number') || textOf(memberOf(record, 'customer'), 'phone')),
    balance: null,
    description: textOf(record, 'channel'),
  };
}

/** It has neither reference nor fee: `model_row` is the id of the transaction, transfer or refund. */
function readLedgerRow(record: JsonRecord, context: ReadingContext): LineFacts {
  const currency = requireCurrency(textOf(record, 'currency'), context.currency);
  const difference = unitsOf(textOf(record, 'difference'), currency, context);
  const model = textOf(record, 'model_responsible');
  const balance = textOf(record, 'balance');
  return {
    occurredAt: context.times.read(textOf(record, 'createdAt', 'created_at')),
    kind: /^(?:transaction|transfer|refund)$/i.test(model)
      ? 'payment'
      : /settlement|payout/i.test(model)
        ? 'settlement'
        : 'other',
    direction: difference < 0n ? 'out' : 'in',
    state: 'succeeded',
    gross: magnitudeOf(difference),
    fee: null,
    currency,
    receipt: idOrNull(textOf(record, 'model_row')),
    reference: null,
    msisdn: null,
    balance: balance === '' ? null : unitsOf(balance, currency, context),
    description: [model, textOf(record, 'reason')].filter((text) => text !== '').join(' · '),
  };
}

/** A whole number of the smallest unit. Of XOF sources disagree what that is: the connection says it, or the line is not read. */
function unitsOf(text: string, currency: string, { settings }: ReadingContext): bigint {
  if (!/^-?\d{1,15}$/.test(text)) throw new RowError(`"${text}" is not a whole number of the smallest unit.`);
  if (currency !== 'XOF') return BigInt(text);
  if (settings.xof_factor === '100') return BigInt(text);
  if (settings.xof_factor === '1') return amountFrom(text);
  throw new RowError('The connection does not say what a unit of XOF is (xof_factor).');
}

function stateOf(text: string): LineFacts['state'] {
  if (/^(?:success(?:ful)?|paid|completed|settled|)$/i.test(text)) return 'succeeded';
  if (/^(?:failed|abandoned|reversed|cancelled)$/i.test(text)) return 'failed';
  if (/^(?:pending|ongoing|processing|queued)$/i.test(text)) return 'pending';
  throw new RowError(`The status "${text}" is not known.`);
}
