// The gateway as a whole, for its admins: rails and their health, what waits, open cases of all holders, and the ledger.

import type { FastifyReply } from 'fastify';
import { countDueDeliveries } from '../callbacks/endpoints.ts';
import { recordAudit } from '../holders/audit.ts';
import { holderNames } from '../holders/holders.ts';
import { listInternalAccounts } from '../ledger/reports.ts';
import { verifyLedger } from '../ledger/verify.ts';
import { type Case, closesByNote, resolveAnyCase } from '../payments/cases.ts';
import { listGoneMethods } from '../payments/gone-methods.ts';
import { countDuePayments } from '../payments/payment-jobs.ts';
import { refOf } from '../payments/transactions.ts';
import { Problem } from '../platform/errors.ts';
import { type Html, html } from '../platform/html.ts';
import { NO_HOLDER, publicId, uuidFromPublicId } from '../platform/ids.ts';
import { caseMeaning, MAX_RESOLUTION, resolveForm } from './case-details.ts';
import { readCaseList } from './case-list.ts';
import { dataTable, emptyState, figureCard, tag, timeTag } from './components.ts';
import { fieldOf, type MemberRequest, money, paramOf } from './console-request.ts';
import { postButton } from './form-components.ts';
import { redirect, renderPage } from './layout.ts';
import { type ConsoleRoute, forAdmin } from './route.ts';

const MAX_DIFFERENCES = 20;
const LIVE_SECONDS = 10;
const BREAKER_TONES = { closed: 'success', half_open: 'warning', open: 'error' } as const;

export const adminRoutes: ConsoleRoute[] = [
  forAdmin('GET', '/admin/rails', railsPage),
  forAdmin('GET', '/admin/cases', casesPage),
  forAdmin('POST', '/admin/cases/:id/resolve', resolve),
  forAdmin('GET', '/admin/ledger', (request) => ledgerPage(request)),
  forAdmin('POST', '/admin/ledger/verify', verify),
];

async function railsPage(request: MemberRequest): Promise<FastifyReply> {
  const { ctx, t, services } = request;
  const [payments, deliveries, gone] = await Promise.all([
    countDuePayments(ctx.db, ctx.clock.now()),
    countDueDeliveries(ctx.db, ctx.clock.now()),
    listGoneMethods(ctx),
  ]);
  return renderPage(request, {
    title: t.menu.rails,
    active: 'rails',
    live: LIVE_SECONDS,
    body: html`
      <div class="cards">
        ${figureCard(payments, t.admin.duePayments)}
        ${figureCard(deliveries, t.admin.dueDeliveries)}
        ${figureCard(services.requestLog.dropped(), t.admin.droppedLog)}
      </div>
      ${gone.map(
        ({ rail, method, transactions }) =>
          html`<p class="box warning">${t.admin.goneMethod(`${method} (${rail})`, transactions)}</p>`,
      )}
      ${healthTable(request)}
    `,
  });
}

function healthTable({ ctx, t }: MemberRequest): Html {
  const health = ctx.rails.health.snapshot();
  if (health.length === 0) return emptyState(t.admin.noCalls, t.admin.noCallsText);
  return dataTable(
    t.menu.rails,
    [
      { label: t.admin.rail },
      { label: t.admin.breaker },
      { label: t.admin.calls, right: true },
      { label: t.home.rate, right: true },
      { label: t.admin.noAnswer, right: true },
      { label: t.admin.median, right: true },
      { label: t.since },
    ],
    health.map((each) => [
      html`
        ${ctx.catalog.methods.get(each.operator)?.name ?? each.operator}
        <span class="muted">${each.rail}</span>
      `,
      tag(BREAKER_TONES[each.state], t.admin.breakers[each.state]),
      each.calls,
      each.successRate === null ? '–' : `${Math.round(each.successRate * 100)} %`,
      `${Math.round(each.silentRate * 100)} %`,
      each.medianMs === null ? '–' : `${Math.round(each.medianMs)} ms`,
      timeTag(each.openedAt),
    ]),
  );
}

async function casesPage(request: MemberRequest): Promise<FastifyReply> {
  const { ctx, t } = request;
  const list = await readCaseList(request, '/console/admin/cases');
  const names = await holderNames(
    ctx.db,
    list.cases.map((each) => each.holder_id),
  );
  return renderPage(request, {
    title: t.menu.allCases,
    active: 'allCases',
    body: list.show(list.cases.map((each) => caseCard(request, each, names))),
  });
}

function caseCard(request: MemberRequest, each: Case, holderNames: ReadonlyMap<bigint, string>): Html {
  const { t } = request;
  const holder =
    each.holder_id === NO_HOLDER ? t.admin.noHolder : html`<bdi>${holderNames.get(each.holder_id) ?? ''}</bdi>`;
  return html`
    <div class="card">
      ${caseMeaning(request, each)}
      <p class="muted">
        ${holder} · ${timeTag(each.opened_at)}
        ${each.transaction_id && html` · <code>${refOf({ id: each.transaction_id })}</code>`}
      </p>
      <pre tabindex="0" aria-label="${t.details}">${JSON.stringify(each.detail)}</pre>
      ${
        closesByNote(each) &&
        html`
          <details>
            <summary>${t.cases.resolve}…</summary>
            ${resolveForm(request, `/admin/cases/${publicId('case', each.id)}/resolve`)}
          </details>
        `
      }
    </div>
  `;
}

async function resolve(request: MemberRequest): Promise<FastifyReply> {
  const { ctx, actor, t } = request;
  const id = uuidFromPublicId('case', paramOf(request, 'id'));
  const resolution = fieldOf(request, 'resolution', MAX_RESOLUTION);
  if (id === null) throw new Problem('not_found');
  if (resolution === '') throw new Problem('invalid_params', { message: t.cases.resolutionMissing });
  const at = ctx.clock.now();
  await ctx.db.transaction(async (tx) => {
    const holderId = await resolveAnyCase(tx, id, actor.name, resolution, at);
    if (holderId === undefined) throw new Problem('not_found', { message: t.cases.notFound });
    await recordAudit(
      tx,
      { holderId, actor, action: 'case.resolved', subject: publicId('case', id), details: { resolution } },
      at,
    );
  });
  return redirect(request, '/console/admin/cases', 'caseClosed');
}

async function ledgerPage(request: MemberRequest, verdict?: Html): Promise<FastifyReply> {
  const { t } = request;
  return renderPage(request, {
    title: t.menu.ledger,
    lead: t.admin.ledgerLead,
    active: 'ledger',
    actions: postButton(request, '/admin/ledger/verify', t.admin.verify),
    body: html`
      ${verdict}
      ${await accountTable(request)}
    `,
  });
}

async function accountTable(request: MemberRequest): Promise<Html> {
  const { t } = request;
  const accounts = await listInternalAccounts(request.ctx.db);
  if (accounts.length === 0) return emptyState(t.admin.noAccounts, t.admin.noAccountsText);
  const kinds: Record<string, string> = t.admin.kinds;
  return dataTable(
    t.menu.ledger,
    [{ label: t.admin.account }, { label: t.balances.balance, right: true }, { label: t.time }],
    accounts.map((each) => [
      html`${kinds[each.kind] ?? each.kind}<span class="muted"><code>${each.key}</code></span>`,
      money(request, each.balance, each.currency),
      timeTag(each.updated_at),
    ]),
  );
}

async function verify(request: MemberRequest): Promise<FastifyReply> {
  const { t } = request;
  const { ok, checked, differences, differencesInAll } = await verifyLedger(request.ctx);
  const details = JSON.stringify(differences.slice(0, MAX_DIFFERENCES), bigintAsText, 1);
  const verdict = html`
    <div class="box ${ok ? 'success' : 'error'}" role="status">
      <p>
        ${ok ? t.admin.verified : t.admin.differs(differencesInAll)}
        ${' '}
        ${t.admin.verifiedText(checked.transfers, checked.accounts, checked.blocks)}
      </p>
      ${!ok && html`<pre tabindex="0" aria-label="${t.details}">${details}</pre>`}
    </div>
  `;
  return ledgerPage(request, verdict);
}

function bigintAsText(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}
