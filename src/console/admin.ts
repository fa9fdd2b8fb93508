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
import { type Case, listAllOpenCases, resolveAnyCase } from '../payments/cases.ts';
import { countDuePayments } from '../payments/engine.ts';
import { listFeeOverrides, setFee } from '../payments/fees.ts';
import { publicUrl } from '../platform/config.ts';
import { Problem } from '../platform/errors.ts';
import { type Html, html } from '../platform/html.ts';
import { NO_HOLDER, publicId, uuidFromPublicId } from '../platform/ids.ts';
import { formatAmount, parseAmount } from '../platform/money.ts';
import {
  copyLine,
  dangerForm,
  dataTable,
  emptyState,
  facts,
  inputField,
  postButton,
  postForm,
  selectField,
  type Tone,
  tag,
  timeTag,
} from './components.ts';
import { fieldOf, idOf, type MemberRequest, money, paramOf } from './console-request.ts';
import { redirect, renderPage } from './layout.ts';
import { type ConsoleRoute, forAdmin } from './route.ts';

const MAX_CASES = 200;
const HOLDER_TONES: Record<HolderStatus, Tone> = { active: 's', suspended: 'w', closed: 'e' };
const BREAKER_TONES = { closed: 's', half_open: 'w', open: 'e' } as const;
const STATUS_CHANGES: Record<string, HolderStatus> = { suspend: 'suspended', reopen: 'active', close: 'closed' };
const EMAIL = /^[^\s@<>()",;:\\]+@[^\s@<>()",;:\\]+\.[^\s@<>()",;:\\]+$/;

export const adminRoutes: ConsoleRoute[] = [
  forAdmin('GET', '/admin', (visit) => holdersPage(visit)),
  forAdmin('POST', '/admin/holders', openHolder, { confirm: true }),
  forAdmin('GET', '/admin/holders/:id', holderPage),
  forAdmin('POST', '/admin/holders/:id/status', changeStatus, { confirm: true }),
  forAdmin('POST', '/admin/holders/:id/fees', changeFee, { confirm: true }),
  forAdmin('GET', '/admin/rails', railsPage),
  forAdmin('GET', '/admin/cases', casesPage),
  forAdmin('POST', '/admin/cases/:id/resolve', resolve),
  forAdmin('GET', '/admin/ledger', (visit) => ledgerPage(visit)),
  forAdmin('POST', '/admin/ledger/verify', verify),
];

async function holdersPage(visit: MemberRequest, problem?: string): Promise<FastifyReply> {
  const { words } = visit;
  const holders = await listHolders(visit.ctx.db);
  return renderPage(visit, {
    title: words.menu.admin,
    active: 'admin',
    ...(problem ? { status: 400 } : {}),
    body: html`${problem && html`<p class="box bad" role="alert">${problem}</p>`}${dataTable(
      words.menu.admin,
      [{ label: words.admin.holder }, { label: words.state }, { label: words.created }],
      holders.map((each) => [
        html`<a href="/console/admin/holders/${each.id}"><bdi>${each.name}</bdi></a>`,
        tag(HOLDER_TONES[each.status], words.admin.states[each.status]),
        timeTag(each.created_at),
      ]),
    )}<section class="card"><h2>${words.admin.open}</h2>${postForm(visit, '/admin/holders', html`<div class="row">${inputField({ name: 'business', label: words.signUp.business, value: fieldOf(visit, 'business'), required: true, more: html`maxlength="120"` })}${inputField({ name: 'email', label: words.admin.ownerEmail, type: 'email', value: fieldOf(visit, 'email'), required: true })}</div><button>${words.admin.open}</button>`)}</section>`,
  });
}

async function openHolder(visit: MemberRequest): Promise<FastifyReply> {
  const { ctx, words } = visit;
  const [business, email] = [fieldOf(visit, 'business', 120), fieldOf(visit, 'email', 254)];
  if (business === '' || !EMAIL.test(email)) return holdersPage(visit, words.emailWrong);
  const holder = await createHolder(ctx, visit.actor, business);
  const member = await addMember(ctx, visit.actor, {
    email,
    name: email.split('@')[0] ?? email,
    holderId: holder.id,
    role: 'owner',
  });
  const { token, expiresAt } = await createLoginLink(ctx, member.id);
  return renderPage(visit, {
    title: words.admin.opened(business),
    lead: words.admin.openedText(email),
    active: 'admin',
    body: html`<div class="card">${copyLine(visit, 'login-link', `${publicUrl(ctx.config)}/console/login/${token}`, words.link.title)}<p class="m">${words.team.until} ${timeTag(expiresAt)}</p><p><a class="btn" href="/console/admin/holders/${holder.id}">${words.back}</a></p></div>`,
  });
}

async function readHolder(visit: MemberRequest): Promise<Holder> {
  const holder = await findHolder(visit.ctx.db, idOf(paramOf(visit, 'id')));
  if (!holder) throw new Problem('not_found');
  return holder;
}

async function holderPage(visit: MemberRequest): Promise<FastifyReply> {
  const { ctx, words } = visit;
  const holder = await readHolder(visit);
  const [team, fees] = await Promise.all([listTeam(ctx.db, holder.id), listFeeOverrides(ctx.db, holder.id)]);
  const path = `/operator/holders/${holder.id}`;
  const methods = [...ctx.catalog.methods.values()].map(
    (each) => [each.code, `${each.name} (${each.country.name})`] as const,
  );
  return renderPage(visit, {
    title: holder.name,
    active: 'admin',
    body: html`<div class="card">${facts([
      [words.state, tag(HOLDER_TONES[holder.status], words.admin.states[holder.status])],
      [words.menu.team, team.map((each) => `${each.email} (${words.roles[each.role]})`).join(', ')],
      [words.payouts.approvalTitle, holder.payouts_need_approval ? words.yes : words.no],
      [words.created, timeTag(holder.created_at)],
    ])}${statusForms(visit, holder, path)}</div><section class="card"><h2>${words.admin.fees}</h2><p class="m">${words.admin.feesText}</p>${
      fees.length > 0 &&
      dataTable(
        words.admin.fees,
        [
          { label: words.method },
          { label: words.transactions.type },
          { label: words.admin.percent, right: true },
          { label: words.admin.fixed, right: true },
          { label: words.admin.least, right: true },
          { label: words.admin.most, right: true },
          { label: words.action },
        ],
        fees.map((fee) => [
          ctx.catalog.methods.get(fee.method)?.name ?? fee.method,
          words.admin.directions[fee.direction],
          `${Number(fee.basis_points) / 100} %`,
          formatAmount(fee.fixed),
          formatAmount(fee.min),
          fee.max === null ? '–' : formatAmount(fee.max),
          postButton(visit, `${path}/fees`, words.admin.removeFee, {
            look: 'lk',
            fields: { method: fee.method, direction: fee.direction, remove: 'yes' },
          }),
        ]),
      )
    }${postForm(
      visit,
      `${path}/fees`,
      html`<div class="row">${selectField({ name: 'method', label: words.method, choices: methods })}${selectField({
        name: 'direction',
        label: words.transactions.type,
        choices: [
          ['collection', words.admin.directions.collection],
          ['payout', words.admin.directions.payout],
        ],
      })}${inputField({ name: 'percent', label: words.admin.percent, value: '1', required: true, more: html`inputmode="decimal"` })}${inputField({ name: 'fixed', label: words.admin.fixed, value: '0', more: html`inputmode="decimal"` })}${inputField({ name: 'least', label: words.admin.least, value: '0', more: html`inputmode="decimal"` })}${inputField({ name: 'most', label: words.admin.most, value: '', more: html`inputmode="decimal"` })}</div><button>${words.save}</button>`,
    )}</section>`,
  });
}

function statusForms(visit: MemberRequest, holder: Holder, path: string): Html | false {
  const { words } = visit;
  if (holder.status === 'closed') return false;
  const change = (action: string, label: string, meaning: string) =>
    dangerForm(visit, `${path}/status`, label, meaning, html`<input type="hidden" name="action" value="${action}">`);
  return html`${holder.status === 'active' ? change('suspend', words.admin.suspend, words.admin.suspendMeaning) : postButton(visit, `${path}/status`, words.admin.reopen, { look: 'q', fields: { action: 'reopen' } })}${change('close', words.admin.close, words.admin.closeMeaning)}`;
}

async function changeStatus(visit: MemberRequest): Promise<FastifyReply> {
  const holder = await readHolder(visit);
  const status = STATUS_CHANGES[fieldOf(visit, 'action')];
  if (!status) throw new Problem('invalid_params');
  await setHolderStatus(visit.ctx, visit.actor, holder.id, status);
  return redirect(visit, `/console/admin/holders/${holder.id}`, 'saved');
}

async function changeFee(visit: MemberRequest): Promise<FastifyReply> {
  const { ctx, words } = visit;
  const holder = await readHolder(visit);
  const method = fieldOf(visit, 'method', 60);
  const direction: Direction = fieldOf(visit, 'direction') === 'payout' ? 'payout' : 'collection';
  if (!ctx.catalog.methods.has(method)) throw new Problem('invalid_params', { message: words.admin.feeWrong });
  await setFee(
    ctx,
    visit.actor,
    holder.id,
    method,
    direction,
    fieldOf(visit, 'remove') === 'yes' ? null : readFee(visit),
  );
  return redirect(visit, `/console/admin/holders/${holder.id}`, 'saved');
}

/** A share as people write it: 1.25 means 1.25 percent, which is 125 hundredths of one. */
function readFee(visit: MemberRequest): Fee {
  const sum = (name: string) => {
    const text = fieldOf(visit, name, 20) || '0';
    if (/^0+(\.0+)?$/.test(text)) return 0n;
    const result = parseAmount(text, 2);
    if (!result.ok) throw new Problem('invalid_params', { message: visit.words.admin.feeWrong });
    return result.amount;
  };
  const basisPoints = sum('percent');
  if (basisPoints > 10_000n) throw new Problem('invalid_params', { message: visit.words.admin.feeWrong });
  return {
    basisPoints,
    fixed: sum('fixed'),
    min: sum('least'),
    max: fieldOf(visit, 'most', 20) === '' ? null : sum('most'),
  };
}

async function railsPage(visit: MemberRequest): Promise<FastifyReply> {
  const { ctx, words } = visit;
  const health = ctx.rails.health.snapshot();
  const [payments, deliveries] = await Promise.all([
    countDuePayments(ctx.db, ctx.clock.now()),
    countDueDeliveries(ctx.db, ctx.clock.now()),
  ]);
  return renderPage(visit, {
    title: words.menu.rails,
    active: 'rails',
    live: 10,
    body: html`<div class="cards"><div class="card"><p class="sum">${payments}</p><p class="m">${words.admin.duePayments}</p></div><div class="card"><p class="sum">${deliveries}</p><p class="m">${words.admin.dueDeliveries}</p></div><div class="card"><p class="sum">${visit.parts.requestLog.dropped()}</p><p class="m">${words.admin.droppedLog}</p></div></div>${
      health.length === 0
        ? emptyState(words.admin.noCalls, words.admin.noCallsText)
        : dataTable(
            words.menu.rails,
            [
              { label: words.admin.rail },
              { label: words.admin.breaker },
              { label: words.admin.calls, right: true },
              { label: words.home.rate, right: true },
              { label: words.admin.silent, right: true },
              { label: words.admin.median, right: true },
              { label: words.since },
            ],
            health.map((each) => [
              html`${ctx.catalog.methods.get(each.operator)?.name ?? each.operator}<span class="m">${each.rail}</span>`,
              tag(BREAKER_TONES[each.state], words.admin.breakers[each.state]),
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

async function casesPage(visit: MemberRequest): Promise<FastifyReply> {
  const { ctx, words } = visit;
  const [cases, holders] = await Promise.all([listAllOpenCases(ctx.db, MAX_CASES), listHolders(ctx.db)]);
  const names = new Map(holders.map((each) => [each.id, each.name]));
  const item = (each: Case): Html =>
    html`<div class="card"><p><b>${words.cases.kinds[each.kind]}</b> ${words.cases.advice[each.kind]}</p><p class="m">${each.holder_id === NO_HOLDER ? words.admin.noHolder : html`<bdi>${names.get(each.holder_id) ?? ''}</bdi>`} · ${timeTag(each.opened_at)}${each.transaction_id && html` · <code>${publicId('TX', each.transaction_id)}</code>`}</p><pre tabindex="0" aria-label="${words.details}">${JSON.stringify(each.detail)}</pre><details><summary>${words.cases.resolve}…</summary>${postForm(visit, `/admin/cases/${publicId('case', each.id)}/resolve`, html`${inputField({ name: 'resolution', label: words.cases.resolution, required: true, more: html`maxlength="500"` })}<button>${words.cases.resolve}</button>`)}</details></div>`;
  return renderPage(visit, {
    title: words.menu.allCases,
    active: 'allCases',
    body: cases.length === 0 ? emptyState(words.cases.none, words.cases.noneText) : html`${cases.map(item)}`,
  });
}

async function resolve(visit: MemberRequest): Promise<FastifyReply> {
  const { ctx, actor, words } = visit;
  const id = uuidFromPublicId('case', paramOf(visit, 'id'));
  const resolution = fieldOf(visit, 'resolution', 500);
  if (id === null) throw new Problem('not_found');
  if (resolution === '') throw new Problem('invalid_params', { message: words.cases.resolutionMissing });
  const at = ctx.clock.now();
  await ctx.db.transaction(async (tx) => {
    const holderId = await resolveAnyCase(tx, id, actor.name, resolution, at);
    if (holderId === undefined) throw new Problem('not_found', { message: words.cases.gone });
    await recordAudit(
      tx,
      { holderId, actor, action: 'case.resolved', subject: publicId('case', id), details: { resolution } },
      at,
    );
  });
  return redirect(visit, '/console/admin/cases', 'resolved');
}

async function ledgerPage(visit: MemberRequest, verdict?: Html): Promise<FastifyReply> {
  const { words } = visit;
  const accounts = await listInternalAccounts(visit.ctx.db);
  return renderPage(visit, {
    title: words.menu.ledger,
    lead: words.admin.ledgerLead,
    active: 'ledger',
    actions: postButton(visit, '/admin/ledger/verify', words.admin.verify),
    body: html`${verdict}${
      accounts.length === 0
        ? emptyState(words.admin.noAccounts, words.admin.noAccountsText)
        : dataTable(
            words.menu.ledger,
            [{ label: words.admin.account }, { label: words.balances.balance, right: true }, { label: words.when }],
            accounts.map((each) => [
              html`${words.admin.kinds[each.kind as keyof typeof words.admin.kinds] ?? each.kind}<span class="m"><code>${each.key}</code></span>`,
              money(visit, each.balance, each.currency),
              timeTag(each.updated_at),
            ]),
          )
    }`,
  });
}

async function verify(visit: MemberRequest): Promise<FastifyReply> {
  const { words } = visit;
  const result = await verifyLedger(visit.ctx);
  const { checked } = result;
  return ledgerPage(
    visit,
    html`<div class="box ${result.ok ? 'good' : 'bad'}" role="status"><p>${result.ok ? words.admin.verified : words.admin.differs(result.differencesInAll)} ${words.admin.verifiedText(checked.transfers, checked.accounts, checked.blocks)}</p>${!result.ok && html`<pre tabindex="0" aria-label="${words.details}">${JSON.stringify(result.differences.slice(0, 20), (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value), 1)}</pre>`}</div>`,
  );
}
