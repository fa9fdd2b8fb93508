// Debts: what a holder owes the gateway, with its age and how it is paid back; and for admins all holders in debt.

import type { FastifyReply } from 'fastify';
import { holderNames } from '../holders/holders.ts';
import { type Debt, listDebtors, listDebts } from '../payments/debts.ts';
import { DAY_MS } from '../platform/clock.ts';
import { type Html, html } from '../platform/html.ts';
import { dataTable, emptyState } from '../ui/components.ts';
import { timeTag } from './components.ts';
import { type HolderRequest, type MemberRequest, money } from './console-request.ts';
import { renderPage } from './layout.ts';
import { type ConsoleRoute, forAdmin } from './route.ts';

const MAX_DEBTORS = 500;

export const debtRoutes: ConsoleRoute[] = [forAdmin('GET', '/admin/debts', debtorsPage)];

/** What the holder owes, above its wallets. */
export async function debtBoxes(request: HolderRequest): Promise<Html[]> {
  const { ctx, t } = request;
  const debts = await listDebts(ctx.db, request.holder.id);
  return debts.map(
    (debt) => html`
      <div class="box warning">
        <p><b>${t.debts.owed(money(request, debt.amount, debt.currency))}</b> · ${ageOf(request, debt)}</p>
        <p>${t.debts.text} <a href="/console/cases?kind=debt">${t.debts.cases}</a></p>
      </div>
    `,
  );
}

/** The same on the page that admins see of a holder. */
export async function debtLines(request: MemberRequest, holderId: bigint): Promise<Html | false> {
  const { ctx, t } = request;
  const debts = await listDebts(ctx.db, holderId);
  if (debts.length === 0) return false;
  const line = (debt: Debt) => html`
    <li>${t.debts.owes(money(request, debt.amount, debt.currency))} · ${ageOf(request, debt)}</li>
  `;
  return html`<ul class="plain">${debts.map(line)}</ul>`;
}

function ageOf(request: MemberRequest, { since }: Debt): Html {
  const { ctx, t } = request;
  const days = Math.floor((ctx.clock.millis() - since.getTime()) / DAY_MS);
  return html`${t.debts.since} ${timeTag(request, since)} (${t.debts.days(Math.max(0, days))})`;
}

async function debtorsPage(request: MemberRequest): Promise<FastifyReply> {
  const { ctx, t } = request;
  const debtors = await listDebtors(ctx.db, MAX_DEBTORS);
  const names = await holderNames(
    ctx.db,
    debtors.map((each) => each.holder_id),
  );
  return renderPage(request, {
    title: t.menu.debts,
    lead: t.debts.adminLead,
    active: 'debts',
    body:
      debtors.length === 0
        ? emptyState(t.debts.none, t.debts.noneText)
        : dataTable(
            t.menu.debts,
            [{ label: t.admin.holder }, { label: t.amount, right: true }, { label: t.debts.age }],
            debtors.map((each) => [
              html`
                <a href="/console/admin/holders/${each.holder_id}"><bdi>${names.get(each.holder_id) ?? ''}</bdi></a>
              `,
              money(request, each.amount, each.currency),
              ageOf(request, each),
            ]),
          ),
  });
}
