// The money of a transaction as an addition, and its ledger entries behind a click. A payment that failed has no fee: none
// was taken.

import type { TransferLine } from '../ledger/reports.ts';
import type { Refund } from '../payments/refund-orders.ts';
import type { Transaction } from '../payments/transactions.ts';
import { type Html, html } from '../platform/html.ts';
import { numberLocale } from '../platform/locales.ts';
import { dataTable, sum } from '../ui/components.ts';
import { type HolderRequest, money } from './console-request.ts';
import type { TransactionDetails } from './transaction-details.ts';

/** A line adds its amount to the sum; negative ones are shown with a minus. */
type MoneyLine = readonly [label: string, amount: bigint];
type Addition = { lines: MoneyLine[]; total: string; note?: string };

const MINUS = '−';
const WHOLE_PERCENT = 100n;

export function moneyCard(request: HolderRequest, details: TransactionDetails): Html {
  const { t } = request;
  const { transaction, transfers } = details;
  const { lines, total, note } = additionOf(request, details);
  const result = lines.reduce((all, [, amount]) => all + amount, 0n);
  const shown = (amount: bigint) => signed(request, amount, transaction.currency);
  const balance = transaction.balance_after;
  return html`
    <section class="card" id="money">
      <h2>${t.transaction.money.title}</h2>
      ${sum([...lines.map(([label, amount]) => [label, shown(amount)] as const), [total, shown(result)]])}
      ${note && html`<p class="muted money-note">${note}</p>`}
      ${
        balance !== null &&
        html`
          <p class="muted money-note">
            ${t.transaction.money.balanceAfter(money(request, balance, transaction.currency))}
          </p>
        `
      }
      ${
        transfers.length > 0 &&
        html`
          <details id="ledger">
            <summary>${t.transaction.ledger}</summary>
            ${ledgerTable(request, transfers)}
          </details>
        `
      }
    </section>
  `;
}

function signed(request: HolderRequest, amount: bigint, currency: string): string {
  return amount < 0n ? `${MINUS} ${money(request, -amount, currency)}` : money(request, amount, currency);
}

function additionOf(request: HolderRequest, details: TransactionDetails): Addition {
  const { transaction, refund } = details;
  if (transaction.direction === 'collection') return collectionMoney(request, details);
  return refund ? refundMoney(request, refund) : payoutMoney(request, details);
}

function collectionMoney(request: HolderRequest, { transaction, transfers, refunds }: TransactionDetails): Addition {
  const { t } = request;
  const { money: labels } = t.transaction;
  const { amount, status } = transaction;
  if (status === 'failed' || status === 'expired')
    return {
      lines: [
        [labels.requested, amount],
        [t.status[status], -amount],
      ],
      total: labels.added,
      note: labels.noFee,
    };
  const fee: MoneyLine = [feeLabel(request, transaction), -transaction.fee];
  if (status === 'pending' || status === 'processing')
    return { lines: [[labels.requested, amount], fee], total: labels.willBeAdded };
  const back = [
    ...refunds.flatMap((each) => refundLines(t, each)),
    ...reversalLines(t, transfers),
    ...debtLines(t, transfers),
  ];
  return { lines: [[labels.paid, amount], fee, ...back], total: back.length > 0 ? labels.left : labels.added };
}

/** What a refund took from the balance. One that failed took nothing. */
function refundLines(t: HolderRequest['t'], { status, amount, fee_returned: returned }: Refund): MoneyLine[] {
  const { money: labels } = t.transaction;
  if (status === 'failed' || status === 'expired' || status === 'reversed') return [];
  const label = status === 'success' ? labels.refunded : labels.refundInProgress;
  return [[label, -amount], ...(returned > 0n ? [[labels.feeReturned, returned] as const] : [])];
}

/** What the operator took back by itself, and the fee that came back with it. */
function reversalLines(t: HolderRequest['t'], transfers: readonly TransferLine[]): MoneyLine[] {
  const { money: labels } = t.transaction;
  const net = totalOf(transfers, 'collection_reversal');
  const fee = totalOf(transfers, 'collection_fee_reversal');
  if (net + fee === 0n) return [];
  return [[labels.takenBack, -(net + fee)], ...(fee > 0n ? [[labels.feeReturned, fee] as const] : [])];
}

function debtLines(t: HolderRequest['t'], transfers: readonly TransferLine[]): MoneyLine[] {
  const kept = totalOf(transfers, 'debt_recovery');
  return kept > 0n ? [[t.transaction.money.debt, -kept]] : [];
}

function totalOf(transfers: readonly TransferLine[], kind: TransferLine['kind']): bigint {
  return transfers.reduce((all, transfer) => all + (transfer.kind === kind ? transfer.amount : 0n), 0n);
}

function payoutMoney(request: HolderRequest, { transaction }: TransactionDetails): Addition {
  const { money: labels } = request.t.transaction;
  const { amount, fee, status } = transaction;
  if (status === 'failed' || status === 'expired')
    return {
      lines: [
        [labels.toSend, amount],
        [labels.returned, -amount],
      ],
      total: labels.taken,
      note: labels.noFee,
    };
  const isSent = status === 'success' || status === 'reversed';
  const lines: MoneyLine[] = [
    [isSent ? labels.sentTo : labels.toSend, amount],
    [feeLabel(request, transaction), fee],
  ];
  if (status === 'reversed') lines.push([labels.returned, -(amount + fee)]);
  return { lines, total: isSent ? labels.taken : labels.held };
}

function refundMoney({ t }: HolderRequest, refund: Refund): Addition {
  const { money: labels } = t.transaction;
  const { amount, fee_returned: returned, status } = refund;
  if (status === 'failed' || status === 'expired')
    return {
      lines: [
        [labels.givenBack, amount],
        [labels.returned, -amount],
      ],
      total: labels.taken,
    };
  const lines: MoneyLine[] = [[labels.givenBack, amount]];
  if (returned > 0n) lines.push([labels.feeReturned, -returned]);
  if (status === 'reversed') lines.push([labels.returned, -(amount - returned)]);
  return { lines, total: status === 'pending' || status === 'processing' ? labels.held : labels.taken };
}

/** The percentage is named where it is exact. */
function feeLabel({ t, language }: HolderRequest, { amount, fee }: Pick<Transaction, 'amount' | 'fee'>): string {
  const { money: labels } = t.transaction;
  const basisPoints = (fee * WHOLE_PERCENT * WHOLE_PERCENT) / amount;
  const isExact = fee > 0n && basisPoints > 0n && basisPoints * amount === fee * WHOLE_PERCENT * WHOLE_PERCENT;
  if (!isExact) return labels.fee;
  const percent = new Intl.NumberFormat(numberLocale(language), { maximumFractionDigits: 2 });
  return labels.feePercent(percent.format(Number(basisPoints) / Number(WHOLE_PERCENT)));
}

function ledgerTable(request: HolderRequest, transfers: readonly TransferLine[]): Html {
  const { t } = request;
  return dataTable(
    t.transaction.ledger,
    [{ label: t.transactions.type }, { label: t.from }, { label: t.to }, { label: t.amount, right: true }],
    transfers.map((transfer) => [
      t.transfers[transfer.kind],
      accountName(request, transfer.debit),
      accountName(request, transfer.credit),
      money(request, transfer.amount, transfer.currency),
    ]),
  );
}

/** The name of a ledger account; its key appears on hover. */
function accountName({ t }: HolderRequest, key: string): Html {
  const [kind, , , side] = key.split(':');
  const walletSides: Record<string, string> = t.accounts;
  const names: Record<string, string> = {
    wallet: walletSides[side ?? ''] ?? t.accounts.available,
    clearing: t.accounts.clearing,
    fees: t.accounts.fees,
    suspense: t.accounts.suspense,
    receivable: t.accounts.receivable,
    'write-offs': t.accounts.writeOffs,
    'operator-fees': t.accounts.operatorFees,
    'dispute-shortfall': t.accounts.shortfall,
  };
  return html`<span title="${key}">${names[kind ?? ''] ?? t.accounts.funding}</span>`;
}
