// The people that a checked file of payouts would pay, and what its wallets lack: seen before anything is ordered.

import { formatNumber } from '../catalog/phone.ts';
import { balancesOf } from '../ledger/ledger.ts';
import { totalsOf } from '../payments/payout-files.ts';
import type { PayoutFileRow } from '../payments/payouts.ts';
import { type Html, html } from '../platform/html.ts';
import { dataTable, operatorTile, who } from '../ui/components.ts';
import { type HolderRequest, money } from './console-request.ts';
import { methodName } from './names.ts';

/** More rows are counted, not listed. */
const MAX_ROWS_SHOWN = 200;

export function payeeTable(request: HolderRequest, rows: readonly PayoutFileRow[]): Html | false {
  const { t } = request;
  if (rows.length === 0) return false;
  const rest = rows.length - MAX_ROWS_SHOWN;
  return html`
    ${dataTable(
      t.payouts.checked,
      [
        { label: t.payee, phone: 'main' },
        { label: t.method },
        { label: t.fee, right: true },
        { label: t.amount, right: true, phone: 'amount' },
      ],
      rows.slice(0, MAX_ROWS_SHOWN).map(({ order }) => {
        const method = methodName(request, order.method.code);
        const number = html`<bdi>${formatNumber(order.msisdn)}</bdi>`;
        return [
          who(html`<bdi>${order.payee ?? number}</bdi>`, order.payee === null ? method : number, {
            tile: operatorTile(method),
          }),
          method,
          money(request, order.fee, order.method.currency),
          html`<span class="amount">${money(request, order.amount, order.method.currency)}</span>`,
        ];
      }),
    )}
    ${rest > 0 && html`<p class="muted">+ ${t.payouts.count(rest)}</p>`}
  `;
}

/** A file that a wallet cannot pay is refused when it is ordered; the person who checks it learns that now. */
export async function shortageBox(request: HolderRequest, rows: readonly PayoutFileRow[]): Promise<Html | false> {
  const { ctx, t, holder } = request;
  const wallets = await balancesOf(ctx.db, holder.id);
  const sentences = [...totalsOf(rows)].flatMap(([currency, { amount, fee }]) => {
    const available = wallets.find((wallet) => wallet.currency === currency)?.available ?? 0n;
    const needed = amount + fee;
    const shown = (sum: bigint) => money(request, sum, currency);
    return needed > available ? [t.payouts.shortage(shown(needed), shown(available), shown(needed - available))] : [];
  });
  return sentences.length > 0 && html`<p class="box warning">${t.payouts.fileShort} ${sentences.join(' ')}</p>`;
}
