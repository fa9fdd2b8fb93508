// The payments of one merchant, for staff who help them: read only, and each look is in the merchant's audit log.

import type { FastifyReply } from 'fastify';
import { formatNumber } from '../catalog/phone.ts';
import { recordAudit } from '../holders/audit.ts';
import { findHolder } from '../holders/holders.ts';
import { listTransactions } from '../payments/listing.ts';
import { refOf, type Transaction } from '../payments/transactions.ts';
import { forHolder } from '../platform/context.ts';
import { Problem } from '../platform/errors.ts';
import { type Html, html } from '../platform/html.ts';
import { breadcrumbs, dataTable, emptyState, operatorTile, who } from '../ui/components.ts';
import { pager, statusTag, timeTag } from './components.ts';
import { idOf, type MemberRequest, money, paramOf, queryOf } from './console-request.ts';
import { renderPage } from './layout.ts';
import { type ConsoleRoute, forAdmin } from './route.ts';

const PAGE_ROWS = 50;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export const merchantPaymentRoutes: ConsoleRoute[] = [
  forAdmin('GET', '/admin/holders/:id/payments', paymentsPage, { confirm: true }),
];

async function paymentsPage(request: MemberRequest): Promise<FastifyReply> {
  const { ctx, t, actor } = request;
  const holder = await findHolder(ctx.db, idOf(paramOf(request, 'id')));
  if (!holder) throw new Problem('not_found');
  const before = UUID.test(queryOf(request, 'before')) ? queryOf(request, 'before') : null;
  const entry = { holderId: holder.id, actor, action: 'holder.viewed' } as const;
  if (before === null) await ctx.db.transaction((tx) => recordAudit(tx, entry, ctx.clock.now()));
  const { db } = forHolder(ctx, holder.id);
  const { rows, next } = await listTransactions(db, holder.id, {}, { before, limit: PAGE_ROWS });
  const path = `/console/admin/holders/${holder.id}`;
  // Times are in the merchant's own zone.
  const shown = { ...request, holder };
  return renderPage(request, {
    title: t.admin.paymentsOf(holder.name),
    lead: t.admin.paymentsLead,
    breadcrumbs: breadcrumbs(
      t.menu.admin,
      [
        [t.menu.admin, '/console/admin'],
        [holder.name, path],
      ],
      t.admin.payments,
    ),
    active: 'admin',
    body: html`
      ${rows.length === 0 ? emptyState(t.admin.noPayments, t.admin.noPaymentsText) : table(shown, rows)}
      ${pager(request, next === null ? null : `${path}/payments?before=${next}`)}
    `,
  });
}

function table(request: MemberRequest, rows: readonly Transaction[]): Html {
  const { ctx, t } = request;
  const nameOf = (method: string) => ctx.catalog.methods.get(method)?.name ?? method;
  return dataTable(
    t.admin.payments,
    [
      { label: t.transactions.customer, phone: 'main' },
      { label: t.transactions.type },
      { label: t.yourReference },
      { label: t.state, phone: 'status' },
      { label: t.amount, right: true, phone: 'amount' },
      { label: t.time, right: true },
    ],
    rows.map((row) => [
      who(row.msisdn === null ? nameOf(row.method) : formatNumber(row.msisdn), html`<code>${refOf(row)}</code>`, {
        tile: operatorTile(nameOf(row.method)),
      }),
      t.directions[row.direction],
      html`<bdi>${row.reference_1 ?? ''}</bdi>`,
      statusTag(request, row.status, row.direction),
      money(request, row.amount, row.currency),
      timeTag(request, row.created_at),
    ]),
  );
}
