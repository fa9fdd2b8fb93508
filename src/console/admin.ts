// The gateway as a whole, for its admins: open cases of all holders, and the ledger.

import type { FastifyReply } from 'fastify';
import { recordAudit } from '../holders/audit.ts';
import { holderNames } from '../holders/holders.ts';
import { listInternalAccounts } from '../ledger/reports.ts';
import { type Case, resolveAnyCase } from '../payments/cases.ts';
import { addVerifyRun, newestVerifyRun, type VerifyRun } from '../payments/verify-runs.ts';
import { Problem, wrongField } from '../platform/errors.ts';
import { type Html, type HtmlValue, html } from '../platform/html.ts';
import { NO_HOLDER, publicId, uuidFromPublicId } from '../platform/ids.ts';
import { dataTable, emptyState } from '../ui/components.ts';
import { MAX_RESOLUTION } from './case-details.ts';
import { caseList } from './case-list.ts';
import { timeTag } from './components.ts';
import { fieldOf, type MemberRequest, money, paramOf } from './console-request.ts';
import { openDisputeForm } from './dispute-evidence.ts';
import { postButton } from './form-components.ts';
import { redirect, renderPage } from './layout.ts';
import { type ConsoleRoute, forAdmin } from './route.ts';

const MAX_DIFFERENCES = 20;
const LIVE_SECONDS = 10;

export const adminRoutes: ConsoleRoute[] = [
  forAdmin('GET', '/admin/cases', casesPage),
  forAdmin('POST', '/admin/cases/:id/resolve', resolve, { formOn: '/admin/cases/:id' }),
  forAdmin('GET', '/admin/ledger', ledgerPage),
  forAdmin('POST', '/admin/ledger/verify', verify),
];

async function casesPage(request: MemberRequest): Promise<FastifyReply> {
  const { t } = request;
  return renderPage(request, {
    title: t.menu.allCases,
    lead: t.cases.lead,
    active: 'allCases',
    body: html`
      ${await caseList(request, '/console/admin/cases', { holderOf: (cases) => holdersOf(request, cases) })}
      ${openDisputeForm(request)}
    `,
  });
}

async function holdersOf({ ctx, t }: MemberRequest, cases: readonly Case[]): Promise<(each: Case) => HtmlValue> {
  const ids = cases.map((each) => each.holder_id);
  const names = await holderNames(ctx.db, ids);
  return ({ holder_id: id }) => (id === NO_HOLDER ? t.admin.noHolder : html`<bdi>${names.get(id) ?? ''}</bdi>`);
}

async function resolve(request: MemberRequest): Promise<FastifyReply> {
  const { ctx, actor, t } = request;
  const id = uuidFromPublicId('case', paramOf(request, 'id'));
  const resolution = fieldOf(request, 'resolution', MAX_RESOLUTION);
  if (id === null) throw new Problem('not_found');
  if (resolution === '') throw wrongField('resolution', t.cases.resolutionMissing);
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

async function ledgerPage(request: MemberRequest): Promise<FastifyReply> {
  const { t } = request;
  const run = await newestVerifyRun(request.ctx.db);
  const underWay = run?.status === 'waiting' || run?.status === 'running';
  return renderPage(request, {
    title: t.menu.ledger,
    lead: t.admin.ledgerLead,
    active: 'ledger',
    ...(underWay ? { live: LIVE_SECONDS } : {}),
    actions: postButton(request, '/admin/ledger/verify', t.admin.verify),
    body: html`
      ${run && runState(request, run)}
      ${await accountTable(request)}
    `,
  });
}

/** The newest check of the ledger: what it found, or how far it is. */
function runState(request: MemberRequest, run: VerifyRun): Html {
  const { t } = request;
  const { status, checked, findings } = run;
  const ok = run.differences === 0n;
  const rows = Object.values(checked).reduce<number>((sum, each) => sum + (typeof each === 'number' ? each : 0), 0);
  const sentence = {
    waiting: t.admin.verifyUnderWay(rows),
    running: t.admin.verifyUnderWay(rows),
    stopped: t.admin.verifyStopped,
    done: t.admin.verified,
  }[status];
  const tone = ok ? (status === 'done' ? 'success' : 'info') : 'error';
  return html`
    <div class="box ${tone}" role="status">
      <p>
        ${ok ? sentence : t.admin.differs(Number(run.differences))}
        ${' '}
        ${status === 'done' && t.admin.verifiedText(rows, run.asked_by)}
        ${' '}
        ${timeTag(request, run.ended_at ?? run.seen_at)}
      </p>
      ${!ok && html`<pre tabindex="0" aria-label="${t.details}">${JSON.stringify(findings.slice(0, MAX_DIFFERENCES), null, 1)}</pre>`}
    </div>
  `;
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
      timeTag(request, each.updated_at),
    ]),
  );
}

/** A check reads the whole ledger, so it is done in the background and not while the browser waits. */
async function verify(request: MemberRequest): Promise<FastifyReply> {
  const { ctx, actor } = request;
  await addVerifyRun(ctx.db, { by: actor.name, since: null, inBackground: true }, ctx.clock.now());
  return redirect(request, '/console/admin/ledger', 'verifyAsked');
}
