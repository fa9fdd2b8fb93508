// Transactions in a table, as the list, the home page and the page of a payment link show them.

import { refOf, type Transaction } from '../payments/transactions.ts';
import { type Html, html } from '../platform/html.ts';
import { shortId } from '../platform/ids.ts';
import { dataTable } from '../ui/components.ts';
import { statusTag, timeTag } from './components.ts';
import { type HolderRequest, type MemberRequest, money } from './console-request.ts';

export function transactionTable(request: HolderRequest, rows: readonly Transaction[]): Html {
  const { t } = request;
  return dataTable(
    t.menu.transactions,
    [
      { label: t.reference },
      { label: t.state },
      { label: t.amount, right: true },
      { label: t.fee, right: true },
      { label: t.method },
      { label: t.payerOrPayee },
      { label: t.yourReference },
      { label: t.created },
    ],
    rows.map((row) => [
      html`
        <a href="/console/transactions/${refOf(row)}"><code>${shortRef(row)}</code></a>
        <span class="muted">${t.directions[row.direction]}</span>
      `,
      statusTag(request, row.status, row.direction),
      money(request, row.amount, row.currency),
      money(request, row.fee, row.currency),
      methodName(request, row.method),
      html`
        <bdi>${row.msisdn ? `+${row.msisdn}` : (row.account_number ?? '–')}</bdi>
        ${row.payee && html`<span class="muted"><bdi>${row.payee}</bdi></span>`}
      `,
      (row.reference_1 ?? row.invoice_no) && html`<bdi>${row.reference_1 ?? row.invoice_no}</bdi>`,
      timeTag(request, row.created_at),
    ]),
  );
}

/** Enough of a reference to tell it from its neighbours; the link behind it has all of it. */
function shortRef(row: { id: string }): string {
  const ref = refOf(row);
  return `${ref.slice(0, 3)}…${shortId(ref)}…`;
}

export function methodName(request: MemberRequest, code: string): string {
  return request.ctx.catalog.methods.get(code)?.name ?? code;
}
