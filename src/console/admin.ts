// The view of whoever runs the gateway: holders, their fees, rails and their health, cases across holders, what operators
// hold for us, whether the ledger adds up, and what waits.

import type { FastifyReply } from 'fastify';
import { countDueDeliveries } from '../callbacks/endpoints.ts';
import type { Direction, Fee } from '../catalog/catalog.ts';
import { recordAudit } from '../holders/audit.ts';
import {
  createHolder,
  findHolder,
  type Holder,
  type HolderStatus,
  listHolders,
  setHolderStatus,
} from '../holders/holders.ts';
import { addMember, createLoginLink, listTeam } from '../holders/members.ts';
import { listInternalAccounts } from '../ledger/reports.ts';
import { verifyLedger } from '../ledger/verify.ts';
import { type Case, listAllOpenCases, resolveGatewayCase } from '../payments/cases.ts';
import { countDuePayments } from '../payments/engine.ts';
import { listFeeOverrides, setFee } from '../payments/fees.ts';
import { publicUrl } from '../platform/config.ts';
import { Problem } from '../platform/errors.ts';
import { type Html, html } from '../platform/html.ts';
import { publicId, uuidFromPublicId } from '../platform/ids.ts';
import { formatAmount, parseAmount } from '../platform/money.ts';
import { copyLine, dataTable, emptyState, facts, type Tone, tag, timeTag } from './components.ts';
import { fieldOf, idOf, type MemberRequest, money, paramOf } from './console-request.ts';
import { dangerForm, formField, postButton, postForm } from './form-components.ts';
import { redirect, renderPage } from './layout.ts';
import { type ConsoleRoute, forAdmin } from './route.ts';

const MAX_CASES = 200;
const HOLDER_TONES: Record<HolderStatus, Tone> = { active: 'success', suspended: 'warning', closed: 'error' };
const BREAKER_TONES = { closed: 'success', half_open: 'warning', open: 'error' } as const;
const STATUS_CHANGES: Record<string, HolderStatus> = { suspend: 'suspended', reopen: 'active', close: 'closed' };
const EMAIL = /^[^\s@<>()",;:\\]+@[^\s@<>()",;:\\]+\.[^\s@<>()",;:\\]+$/;

export const adminRoutes: ConsoleRoute[] = [
  forAdmin('GET', '/admin', (request) => holdersPage(request)),
  forAdmin('POST', '/admin/holders', openHolder, { confirm: true }),
  forAdmin('GET', '/admin/holders/:id', holderPage),
  forAdmin('POST', '/admin/holders/:id/status', changeStatus, { confirm: true }),
  forAdmin('POST', '/admin/holders/:id/fees', changeFee, { confirm: true }),
  forAdmin('GET', '/admin/rails', railsPage),
  forAdmin('GET', '/admin/cases', casesPage),
  forAdmin('POST', '/admin/cases/:id/resolve', resolve),
  forAdmin('GET', '/admin/ledger', (request) => ledgerPage(request)),
  forAdmin('POST', '/admin/ledger/verify', verify),
];

async function holdersPage(request: MemberRequest, problem?: string): Promise<FastifyReply> {
  const { t } = request;
  const holders = await listHolders(request.ctx.db);
  return renderPage(request, {
    title: t.menu.admin,
    active: 'admin',
    ...(problem ? { status: 400 } : {}),
    body: html`${problem && html`<p class="box error" role="alert">${problem}</p>`}${dataTable(
      t.menu.admin,
      [{ label: t.admin.holder }, { label: t.state }, { label: t.created }],
      holders.map((each) => [
        html`<a href="/console/admin/holders/${each.id}"><bdi>${each.name}</bdi></a>`,
        tag(HOLDER_TONES[each.status], t.admin.states[each.status]),
        timeTag(each.created_at),
      ]),
    )}<section class="card"><h2>${t.admin.open}</h2>${postForm(request, '/admin/holders', html`<div class="field-row">${formField({ name: 'business', label: t.signUp.business, value: fieldOf(request, 'business'), required: true, attributes: html`maxlength="120"` })}${formField({ name: 'email', label: t.admin.ownerEmail, type: 'email', value: fieldOf(request, 'email'), required: true })}</div><button>${t.admin.open}</button>`)}</section>`,
  });
}

async function openHolder(request: MemberRequest): Promise<FastifyReply> {
  const { ctx, t } = request;
  const [business, email] = [fieldOf(request, 'business', 120), fieldOf(request, 'email', 254)];
  if (business === '' || !EMAIL.test(email)) return holdersPage(request, t.emailWrong);
  const holder = await createHolder(ctx, request.actor, business);
  const member = await addMember(ctx, request.actor, {
    email,
    name: email.split('@')[0] ?? email,
    holderId: holder.id,
    role: 'owner',
  });
  const { token, expiresAt } = await createLoginLink(ctx, member.id);
  return renderPage(request, {
    title: t.admin.opened(business),
    lead: t.admin.openedText(email),
    active: 'admin',
    body: html`<div class="card">${copyLine(request, 'login-link', `${publicUrl(ctx.config)}/console/login/${token}`, t.link.title)}<p class="muted">${t.team.until} ${timeTag(expiresAt)}</p><p><a class="button" href="/console/admin/holders/${holder.id}">${t.back}</a></p></div>`,
  });
}

async function readHolder(request: MemberRequest): Promise<Holder> {
  const holder = await findHolder(request.ctx.db, idOf(paramOf(request, 'id')));
  if (!holder) throw new Problem('not_found');
  return holder;
}

async function holderPage(request: MemberRequest): Promise<FastifyReply> {
  const { ctx, t } = request;
  const holder = await readHolder(request);
  const [team, fees] = await Promise.all([listTeam(ctx.db, holder.id), listFeeOverrides(ctx.db, holder.id)]);
  const path = `/operator/holders/${holder.id}`;
  const methods = [...ctx.catalog.methods.values()].map(
    (each) => [each.code, `${each.name} (${each.country.name})`] as const,
  );
  return renderPage(request, {
    title: holder.name,
    active: 'admin',
    body: html`<div class="card">${facts([
      [t.state, tag(HOLDER_TONES[holder.status], t.admin.states[holder.status])],
      [t.menu.team, team.map((each) => `${each.email} (${t.roles[each.role]})`).join(', ')],
      [t.payouts.approvalTitle, holder.payouts_need_approval ? t.yes : t.no],
      [t.created, timeTag(holder.created_at)],
    ])}${statusForms(request, holder, path)}</div><section class="card"><h2>${t.admin.fees}</h2><p class="muted">${t.admin.feesText}</p>${
      fees.length > 0 &&
      dataTable(
        t.admin.fees,
        [
          { label: t.method },
          { label: t.transactions.type },
          { label: t.admin.percent, right: true },
          { label: t.admin.fixed, right: true },
          { label: t.admin.least, right: true },
          { label: t.admin.most, right: true },
          { label: t.action },
        ],
        fees.map((fee) => [
          ctx.catalog.methods.get(fee.method)?.name ?? fee.method,
          t.admin.directions[fee.direction],
          `${Number(fee.basis_points) / 100} %`,
          formatAmount(fee.fixed),
          formatAmount(fee.least),
          fee.most === null ? '–' : formatAmount(fee.most),
          postButton(request, `${path}/fees`, t.admin.removeFee, {
            variant: 'link',
            hidden: { method: fee.method, direction: fee.direction, remove: 'yes' },
          }),
        ]),
      )
    }${postForm(
      request,
      `${path}/fees`,
      html`<div class="field-row">${formField({ type: 'select', name: 'method', label: t.method, choices: methods })}${formField(
        {
          type: 'select',
          name: 'direction',
          label: t.transactions.type,
          choices: [
            ['collection', t.admin.directions.collection],
            ['payout', t.admin.directions.payout],
          ],
        },
      )}${formField({ name: 'percent', label: t.admin.percent, value: '1', required: true, attributes: html`inputmode="decimal"` })}${formField({ name: 'fixed', label: t.admin.fixed, value: '0', attributes: html`inputmode="decimal"` })}${formField({ name: 'least', label: t.admin.least, value: '0', attributes: html`inputmode="decimal"` })}${formField({ name: 'most', label: t.admin.most, value: '', attributes: html`inputmode="decimal"` })}</div><button>${t.save}</button>`,
    )}</section>`,
  });
}

function statusForms(request: MemberRequest, holder: Holder, path: string): Html | false {
  const { t } = request;
  if (holder.status === 'closed') return false;
  const change = (action: string, label: string, meaning: string) =>
    dangerForm(request, `${path}/status`, label, meaning, { action });
  return html`${holder.status === 'active' ? change('suspend', t.admin.suspend, t.admin.suspendMeaning) : postButton(request, `${path}/status`, t.admin.reopen, { variant: 'secondary', hidden: { action: 'reopen' } })}${change('close', t.admin.close, t.admin.closeMeaning)}`;
}

async function changeStatus(request: MemberRequest): Promise<FastifyReply> {
  const holder = await readHolder(request);
  const status = STATUS_CHANGES[fieldOf(request, 'action')];
  if (!status) throw new Problem('invalid_params');
  await setHolderStatus(request.ctx, request.actor, holder.id, status);
  return redirect(request, `/console/admin/holders/${holder.id}`, 'saved');
}

async function changeFee(request: MemberRequest): Promise<FastifyReply> {
  const { ctx, t } = request;
  const holder = await readHolder(request);
  const method = fieldOf(request, 'method', 60);
  const direction: Direction = fieldOf(request, 'direction') === 'payout' ? 'payout' : 'collection';
  if (!ctx.catalog.methods.has(method)) throw new Problem('invalid_params', { message: t.admin.feeWrong });
  await setFee(
    ctx,
    request.actor,
    holder.id,
    method,
    direction,
    fieldOf(request, 'remove') === 'yes' ? null : readFee(request),
  );
  return redirect(request, `/console/admin/holders/${holder.id}`, 'saved');
}

/** A share as people write it: 1.25 means 1.25 percent, which is 125 hundredths of one. */
function readFee(request: MemberRequest): Fee {
  const sum = (name: string) => {
    const text = fieldOf(request, name, 20) || '0';
    if (/^0+(\.0+)?$/.test(text)) return 0n;
    const result = parseAmount(text, 2);
    if (!result.ok) throw new Problem('invalid_params', { message: request.t.admin.feeWrong });
    return result.amount;
  };
  const basisPoints = sum('percent');
  if (basisPoints > 10_000n) throw new Problem('invalid_params', { message: request.t.admin.feeWrong });
  return {
    basisPoints,
    fixed: sum('fixed'),
    min: sum('least'),
    max: fieldOf(request, 'most', 20) === '' ? null : sum('most'),
  };
}

async function railsPage(request: MemberRequest): Promise<FastifyReply> {
  const { ctx, t } = request;
  const health = ctx.rails.health.snapshot();
  const [payments, deliveries] = await Promise.all([
    countDuePayments(ctx),
    countDueDeliveries(ctx.db, ctx.clock.now()),
  ]);
  return renderPage(request, {
    title: t.menu.rails,
    active: 'rails',
    live: 10,
    body: html`<div class="cards"><div class="card"><p class="figure">${payments}</p><p class="muted">${t.admin.duePayments}</p></div><div class="card"><p class="figure">${deliveries}</p><p class="muted">${t.admin.dueDeliveries}</p></div><div class="card"><p class="figure">${request.services.requestLog.dropped()}</p><p class="muted">${t.admin.droppedLog}</p></div></div>${
      health.length === 0
        ? emptyState(t.admin.noCalls, t.admin.noCallsText)
        : dataTable(
            t.menu.rails,
            [
              { label: t.admin.rail },
              { label: t.admin.breaker },
              { label: t.admin.calls, right: true },
              { label: t.home.rate, right: true },
              { label: t.admin.silent, right: true },
              { label: t.admin.median, right: true },
              { label: t.since },
            ],
            health.map((each) => [
              html`${ctx.catalog.methods.get(each.operator)?.name ?? each.operator}<span class="muted">${each.rail}</span>`,
              tag(BREAKER_TONES[each.state], t.admin.breakers[each.state]),
              each.calls,
              each.successRate === null ? '–' : `${Math.round(each.successRate * 100)} %`,
              `${Math.round(each.silentRate * 100)} %`,
              each.medianMs === null ? '–' : `${Math.round(each.medianMs)} ms`,
              timeTag(each.openedAt),
            ]),
          )
    }`,
  });
}

async function casesPage(request: MemberRequest): Promise<FastifyReply> {
  const { ctx, t } = request;
  const [cases, holders] = await Promise.all([listAllOpenCases(ctx.db, MAX_CASES), listHolders(ctx.db)]);
  const names = new Map(holders.map((each) => [each.id, each.name]));
  const item = (each: Case): Html =>
    html`<div class="card"><p><b>${t.cases.kinds[each.kind]}</b> ${t.cases.advice[each.kind]}</p><p class="muted">${each.holder_id === null ? t.admin.noHolder : html`<bdi>${names.get(each.holder_id) ?? ''}</bdi>`} · ${timeTag(each.opened_at)}${each.transaction_id && html` · <code>${publicId('TX', each.transaction_id)}</code>`}</p><pre tabindex="0" aria-label="${t.details}">${JSON.stringify(each.detail)}</pre><details><summary>${t.cases.resolve}…</summary>${postForm(request, `/operator/cases/${publicId('case', each.id)}/resolve`, html`${formField({ name: 'resolution', label: t.cases.resolution, required: true, attributes: html`maxlength="500"` })}<button>${t.cases.resolve}</button>`)}</details></div>`;
  return renderPage(request, {
    title: t.menu.allCases,
    active: 'allCases',
    body: cases.length === 0 ? emptyState(t.cases.none, t.cases.noneText) : html`${cases.map(item)}`,
  });
}

async function resolve(request: MemberRequest): Promise<FastifyReply> {
  const { ctx, actor, t } = request;
  const id = uuidFromPublicId('case', paramOf(request, 'id'));
  const resolution = fieldOf(request, 'resolution', 500);
  if (id === null) throw new Problem('not_found');
  if (resolution === '') throw new Problem('invalid_params', { message: t.cases.resolutionMissing });
  const at = ctx.clock.now();
  await ctx.db.transaction(async (tx) => {
    if (!(await resolveGatewayCase(tx, id, actor.name, resolution, at)))
      throw new Problem('not_found', { message: t.cases.gone });
    await recordAudit(
      tx,
      { holderId: null, actor, action: 'case.resolved', subject: publicId('case', id), details: { resolution } },
      at,
    );
  });
  return redirect(request, '/console/admin/cases', 'resolved');
}

async function ledgerPage(request: MemberRequest, verdict?: Html): Promise<FastifyReply> {
  const { t } = request;
  const accounts = await listInternalAccounts(request.ctx.db);
  return renderPage(request, {
    title: t.menu.ledger,
    lead: t.admin.ledgerLead,
    active: 'ledger',
    actions: postButton(request, '/admin/ledger/verify', t.admin.verify),
    body: html`${verdict}${
      accounts.length === 0
        ? emptyState(t.admin.noAccounts, t.admin.noAccountsText)
        : dataTable(
            t.menu.ledger,
            [{ label: t.admin.account }, { label: t.balances.balance, right: true }, { label: t.when }],
            accounts.map((each) => [
              html`${t.admin.kinds[each.kind as keyof typeof t.admin.kinds] ?? each.kind}<span class="muted"><code>${each.key}</code></span>`,
              money(request, each.balance, each.currency),
              timeTag(each.updated_at),
            ]),
          )
    }`,
  });
}

async function verify(request: MemberRequest): Promise<FastifyReply> {
  const { t } = request;
  const result = await verifyLedger(request.ctx);
  const { checked } = result;
  return ledgerPage(
    request,
    html`<div class="box ${result.ok ? 'success' : 'error'}" role="status"><p>${result.ok ? t.admin.verified : t.admin.differs(result.differencesInAll)} ${t.admin.verifiedText(checked.transfers, checked.accounts, checked.blocks)}</p>${!result.ok && html`<pre tabindex="0" aria-label="${t.details}">${JSON.stringify(result.differences.slice(0, 20), (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value), 1)}</pre>`}</div>`,
  );
}
