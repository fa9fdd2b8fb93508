// Transactions in a table, as the list, the home page, search and the page of a payment link show them: the customer first,
// then what it was for, what became of it, how much, and when.

import { isFailureCode } from '../catalog/failures.ts';
import { formatNumber } from '../catalog/phone.ts';
import { readLinkNames } from '../links/links.ts';
import { readPayoutFileNames } from '../payments/payout-orders.ts';
import { refOf, type Transaction } from '../payments/transactions.ts';
import { type Html, html } from '../platform/html.ts';
import { dataTable, operatorTile, status, who } from '../ui/components.ts';
import { statusTag, timeTag } from './components.ts';
import { type HolderRequest, money } from './console-request.ts';
import { methodName } from './names.ts';

/** Longer than any operator waits for a PIN. */
const PROMPT_LIVES_MS = 15 * 60_000;

/** What a row alone does not say: the payer and item of its payment link, the name of its payout file. By transaction. */
export type TransactionNames = ReadonlyMap<string, { name?: string; purpose?: string }>;

export async function readTransactionNames(
  { ctx, holder, t }: HolderRequest,
  rows: readonly Transaction[],
): Promise<TransactionNames> {
  const linkIds = [...new Set(rows.flatMap((row) => row.link_id ?? []))];
  const payouts = rows.filter((row) => row.direction === 'payout').map((row) => row.id);
  const [links, files] = await Promise.all([
    linkIds.length > 0 ? readLinkNames(ctx.db, holder.id, linkIds) : new Map<string, never>(),
    payouts.length > 0 ? readPayoutFileNames(ctx.db, holder.id, payouts) : new Map<string, never>(),
  ]);
  const names = new Map<string, { name?: string; purpose?: string }>();
  for (const row of rows) {
    const link = row.link_id === null ? undefined : links.get(row.link_id);
    const file = files.get(row.id);
    if (link) {
      const purpose = link.item === null ? {} : { purpose: t.transactions.linkOf(link.item) };
      names.set(row.id, { ...(link.payer === null ? {} : { name: link.payer }), ...purpose });
    } else if (file !== undefined) names.set(row.id, { purpose: t.transactions.payoutOf(file) });
  }
  return names;
}

export function transactionTable(
  request: HolderRequest,
  rows: readonly Transaction[],
  names: TransactionNames = new Map(),
): Html {
  const { t } = request;
  return dataTable(
    t.menu.transactions,
    [
      { label: t.transactions.customer, phone: 'main' },
      { label: t.transactions.purpose },
      { label: t.state, phone: 'status' },
      { label: t.amount, right: true, phone: 'amount' },
      { label: t.transactions.time, right: true },
    ],
    rows.map((row) => {
      const time = timeTag(request, row.created_at);
      return [
        customer(request, row, names.get(row.id)?.name ?? row.payee, time),
        purposeOf(request, row, names.get(row.id)?.purpose),
        transactionStatus(request, row),
        signedMoney(request, row),
        time,
      ];
    }),
  );
}

/** Who paid or was paid, with the number as people say it. The link covers the row. */
function customer(request: HolderRequest, row: Transaction, name: string | null, time: Html | false): Html {
  const method = methodName(request, row.method);
  const number = spokenNumber(row) ?? method;
  const link = html`<a class="row-link" href="/console/transactions/${refOf(row)}"><bdi>${name ?? number}</bdi></a>`;
  // The tile tells the operator; on a phone there is only room for what is more.
  const second =
    name === null
      ? html`<span class="wide-only">${method}</span><span class="phone-only">${time}</span>`
      : html`<bdi>${number}</bdi><span class="phone-only"> · ${time}</span>`;
  return who(link, second, { tile: operatorTile(method) });
}

/** "0712 345 678", or the account that was paid. */
export function spokenNumber({
  msisdn,
  account_number,
}: Pick<Transaction, 'msisdn' | 'account_number'>): string | null {
  return msisdn === null ? account_number : formatNumber(msisdn);
}

function purposeOf({ t }: HolderRequest, row: Transaction, known: string | undefined): Html {
  const own = row.reference_1 ?? row.invoice_no ?? row.reference_2;
  const kind =
    row.direction === 'refund' ? t.transactions.refundOf : row.direction === 'payout' && t.transactions.payout;
  return html`<bdi>${known ?? own ?? (kind || '')}</bdi>`;
}

/** What became of it, as the people of a shop say it, with the reason where it failed. */
export function transactionStatus(request: HolderRequest, row: Transaction): Html {
  const { t } = request;
  const { failure_code: code } = row;
  if (row.status === 'failed' || row.status === 'expired') {
    const reason = code !== null && isFailureCode(code) ? t.failures[code][0] : null;
    return status(
      'error',
      t.status[row.status],
      reason ?? (row.status === 'expired' ? t.failures.PROMPT_EXPIRED[0] : null),
    );
  }
  if (row.status === 'reversed')
    return status('neutral', row.direction === 'payout' ? t.transactions.returned : t.transactions.refunded);
  if (row.direction === 'collection' && (row.status === 'processing' || row.status === 'pending'))
    return status('warning', waitingText(request, row));
  return statusTag(request, row.status, row.direction);
}

/** A prompt that is this old is answered no more: the operator has not said how it ended. */
function waitingText({ ctx, t }: HolderRequest, { verification, created_at: at }: Transaction): string {
  if (verification !== 'prompt') return t.transactions.waitingForPayer;
  const isOver = ctx.clock.millis() - at.getTime() > PROMPT_LIVES_MS;
  return isOver ? t.transactions.notKnown : t.transactions.waitingForPin;
}

/** With the sign of its direction: money in, or money out. */
function signedMoney(request: HolderRequest, { amount, currency, direction }: Transaction): Html {
  return html`<span class="amount">${direction === 'collection' ? '+' : '−'}${money(request, amount, currency)}</span>`;
}
