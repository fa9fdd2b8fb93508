// pawaPay's CSV files: the statement of a wallet, and the export of deposits. Sources disagree about the columns, so they are read
// by name, in either set. A fee is usually a row of its own under the id of its payment.

import type { LineKind } from '../statement-lines.ts';
import { cellsByName, hasColumn, headerWith, type TableFormat } from './format.ts';
import { idOrNull, magnitudeOf, optionalAmount, phoneIn, RowError, readFileAmount, requireCurrency } from './values.ts';

const DATE = 'creation date|created at|completed at';

export const pawapay: TableFormat = {
  name: 'pawapay',
  zone: 'UTC',
  currency: null,
  headerAt: (rows) =>
    headerWith(rows, DATE, 'transaction id', 'amount', 'currency', 'type|transaction type') ??
    headerWith(rows, DATE, 'financial transaction id', 'deposited amount', 'currency'),
  open(header, _, { times, currency }) {
    const cell = cellsByName(header);
    const isDeposits = hasColumn(header, 'deposited amount');
    return (cells) => {
      const type = isDeposits ? 'DEPOSIT' : cell(cells, 'transaction type', 'type');
      const amount = readFileAmount(cell(cells, 'deposited amount', 'amount', 'requested amount'), '.');
      const fee = optionalAmount(cell(cells, 'fee', 'fees'), '.');
      return {
        occurredAt: times.read(cell(cells, 'completed at', 'creation date', 'created at')),
        ...movementOf(type, amount),
        state: stateOf(cell(cells, 'status')),
        gross: magnitudeOf(amount),
        fee: fee === null ? null : magnitudeOf(fee),
        currency: requireCurrency(cell(cells, 'currency'), currency),
        receipt: idOrNull(cell(cells, 'provider transaction id', 'financial transaction id')),
        reference: idOrNull(cell(cells, 'transaction id', 'client reference', 'deposit id')),
        msisdn: phoneIn(cell(cells, 'msisdn', 'customer phone number', 'phone number')),
        balance: optionalAmount(cell(cells, 'balance', 'balance after', 'wallet balance'), '.'),
        description: [type, cell(cells, 'mno', 'mmo', 'provider')].filter((text) => text !== '').join(' · '),
      };
    };
  },
};

function movementOf(type: string, amount: bigint): { kind: LineKind; direction: 'in' | 'out' } {
  if (/fee/i.test(type)) return { kind: 'fee', direction: 'out' };
  if (/reversal/i.test(type))
    return { kind: 'reversal', direction: amount < 0n || !/payout/i.test(type) ? 'out' : 'in' };
  if (/deposit/i.test(type)) return { kind: 'payment', direction: amount < 0n ? 'out' : 'in' };
  if (/payout|remittance|refund/i.test(type)) return { kind: 'payment', direction: 'out' };
  if (/withdraw/i.test(type)) return { kind: 'settlement', direction: 'out' };
  if (/top.?up/i.test(type)) return { kind: 'settlement', direction: 'in' };
  return { kind: 'other', direction: amount < 0n ? 'out' : 'in' };
}

/** A statement has what moved; without a column the line is done. */
function stateOf(text: string): 'succeeded' | 'failed' | 'pending' {
  if (/^(?:|completed|success(?:ful)?)$/i.test(text)) return 'succeeded';
  if (/^(?:failed|rejected|cancelled)$/i.test(text)) return 'failed';
  if (/^(?:accepted|enqueued|processing|submitted|pending|in_reconciliation)$/i.test(text)) return 'pending';
  throw new RowError(`The status "${text}" is not known.`);
}
