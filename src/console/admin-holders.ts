// Holders, for the admins of the gateway: opening, suspending and closing them, and their own fees.

import type { FastifyReply } from 'fastify';
import type { Direction, Fee } from '../catalog/catalog.ts';
import { listRuleChanges } from '../holders/approval-rules.ts';
import { addressState } from '../holders/credentials.ts';
import { findHolder, type Holder, type HolderStatus, lastUseOf, listHolders } from '../holders/holders.ts';
import { listTeam } from '../holders/members.ts';
import { createHolderWithOwner } from '../holders/registration.ts';
import { type FeeOverride, listFeeOverrides, setFee } from '../payments/fees.ts';
import { setHolderStatus } from '../payments/holder-status.ts';
import { isEmail } from '../platform/email.ts';
import { Problem, wrongField } from '../platform/errors.ts';
import { type Html, html } from '../platform/html.ts';
import { formatAmount } from '../platform/money.ts';
import { readTypedAmount } from '../platform/typed-amounts.ts';
import { chips, dataTable, emptyState, facts, status as statusText, type Tone, who } from '../ui/components.ts';
import { changesCard } from './approval-settings.ts';
import { waitingBreakProposals } from './books-proposals-page.ts';
import { pager, timeTag } from './components.ts';
import { fieldOf, idOf, type MemberRequest, money, paramOf, queryOf } from './console-request.ts';
import { debtLines } from './debts.ts';
import { waitingDecisions } from './decision-list.ts';
import { floatsInNeed } from './float.ts';
import { dangerForm, form, type InputField, postButton } from './form-components.ts';
import { redirect, renderPage } from './layout.ts';
import { merchantLimits } from './limit-settings.ts';
import { countInBackground, readVolumes } from './merchant-figures.ts';
import { methodInCountry, methodTitle } from './names.ts';
import { type ConsoleRoute, forAdmin } from './route.ts';
import { deliveryOf, invitedPage } from './team.ts';

const PAGE_HOLDERS = 50;
const HOLDER_TONES: Record<HolderStatus, Tone> = { active: 'success', suspended: 'warning', closed: 'error' };
const HOLDER_STATES = Object.keys(HOLDER_TONES) as HolderStatus[];
const STATUS_CHANGES: Record<string, HolderStatus> = { suspend: 'suspended', reopen: 'active', close: 'closed' };

export const adminHolderRoutes: ConsoleRoute[] = [
  forAdmin('GET', '/admin', (request) => listPage(request)),
  forAdmin('POST', '/admin/holders', openHolder, { confirm: true }),
  forAdmin('GET', '/admin/holders/:id', holderPage),
  forAdmin('POST', '/admin/holders/:id/status', changeStatus, { confirm: true }),
  forAdmin('POST', '/admin/holders/:id/fees', changeFee, { confirm: true, formOn: '/admin/holders/:id' }),
];

async function listPage(request: MemberRequest, problem?: string): Promise<FastifyReply> {
  const { ctx, t, services } = request;
  const before = queryOf(request, 'before', 20);
  const search = queryOf(request, 'name', 120);
  const state = HOLDER_STATES.find((each) => each === queryOf(request, 'status'));
  const page = { limit: PAGE_HOLDERS, before: before === '' ? undefined : idOf(before) };
  const [holders, waiting, proposals, floats] = await Promise.all([
    listHolders(ctx.db, { ...page, status: state, search: search || undefined }),
    waitingDecisions(request),
    waitingBreakProposals(request),
    floatsInNeed(request),
  ]);
  const last = holders.length === PAGE_HOLDERS ? holders.at(-1) : undefined;
  const table = holders.length === 0 ? emptyState(t.admin.none, t.admin.noneText) : await holderTable(request, holders);
  countInBackground(ctx, services.dailyStats, holders);
  return renderPage(request, {
    title: t.menu.admin,
    active: 'admin',
    ...(problem ? { status: 400 } : {}),
    body: html`
      ${problem && html`<p class="box error" role="alert">${problem}</p>`}
      ${floats}${waiting}${proposals}
      ${stateChips(request, state, search)}
      ${searchForm(request, state, search)}
      ${table}
      ${pager(request, last ? listAddress({ before: String(last.id), status: state, name: search }) : null)}
      <section class="card">
        <h2>${t.admin.create}</h2>
        ${openForm(request)}
      </section>
    `,
  });
}

function listAddress(query: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(query).flatMap(([name, value]) => (value ? [[name, value] as [string, string]] : []));
  const text = new URLSearchParams(given).toString();
  return text === '' ? '/console/admin' : `/console/admin?${text}`;
}

function stateChips({ t }: MemberRequest, shown: HolderStatus | undefined, name: string): Html {
  const choice = (state: HolderStatus | undefined) => ({
    label: state ? t.admin.states[state] : t.all,
    href: listAddress({ status: state, name }),
    current: state === shown,
  });
  return chips(t.state, [undefined, ...HOLDER_STATES].map(choice));
}

function searchForm({ t }: MemberRequest, state: HolderStatus | undefined, name: string): Html {
  return html`
    <form class="copyline" action="/console/admin" role="search" aria-label="${t.menu.admin}">
      ${state && html`<input type="hidden" name="status" value="${state}">`}
      <input type="search" name="name" value="${name}" aria-label="${t.admin.search}" placeholder="${t.admin.search}" maxlength="120">
      <button class="button-secondary">${t.search}</button>
    </form>
  `;
}

async function holderTable(request: MemberRequest, holders: readonly Holder[]): Promise<Html> {
  const { ctx, t } = request;
  const ids = holders.map(({ id }) => id);
  const [volumes, uses] = await Promise.all([readVolumes(ctx, ids), lastUseOf(ctx.db, ids)]);
  return dataTable(
    t.menu.admin,
    [
      { label: t.admin.holder, phone: 'main' },
      { label: t.state, phone: 'status' },
      { label: t.admin.volume, right: true, phone: 'amount' },
      { label: t.admin.lastUse, right: true },
      { label: t.created, right: true },
    ],
    holders.map((each) => [
      who(html`<bdi>${each.name}</bdi>`, `#${each.id}`, { href: `/console/admin/holders/${each.id}` }),
      statusOf(request, each),
      (volumes.get(each.id) ?? []).map(({ amount, currency }) => html`<div>${money(request, amount, currency)}</div>`),
      uses.has(each.id) ? timeTag(request, uses.get(each.id)) : t.never,
      timeTag(request, each.created_at),
    ]),
  );
}

function statusOf({ t }: MemberRequest, { status }: Holder): Html {
  return statusText(HOLDER_TONES[status], t.admin.states[status]);
}

function openForm(request: MemberRequest): Html {
  const { t } = request;
  return form(request, {
    action: '/admin/holders',
    row: true,
    fields: [
      {
        name: 'business',
        label: t.signUp.business,
        value: fieldOf(request, 'business'),
        required: true,
        attributes: html`maxlength="120"`,
      },
      {
        name: 'email',
        label: t.admin.ownerEmail,
        type: 'email',
        value: fieldOf(request, 'email'),
        required: true,
        attributes: html`autocomplete="off"`,
      },
    ],
    submit: t.admin.create,
  });
}

async function openHolder(request: MemberRequest): Promise<FastifyReply> {
  const { ctx, t, actor } = request;
  const [business, email] = [fieldOf(request, 'business', 120), fieldOf(request, 'email', 254)];
  if (business === '' || !isEmail(email)) return listPage(request, t.emailInvalid);
  const state = await addressState(ctx.db, email);
  const delivery = await deliveryOf(request, email, business, 'owner');
  const { holder, invitation } = await createHolderWithOwner(ctx, actor, { name: business }, email, delivery);
  // A link that is shown here cannot take over an account, so that no admin becomes another one with it.
  const isBlocked = state === 'unproven' && delivery === 'page';
  return invitedPage(request, {
    title: t.admin.created(business),
    email,
    made: invitation,
    active: 'admin',
    back: `/console/admin/holders/${holder.id}`,
    note:
      isBlocked &&
      html`<p class="box warning">${t.admin.ownerUnproven(email)} <code>npx simbi login-link ${email}</code></p>`,
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
  const [team, fees, changes, debts] = await Promise.all([
    listTeam(ctx.db, holder.id),
    listFeeOverrides(ctx.db, holder.id),
    listRuleChanges(ctx.db, holder.id),
    debtLines(request, holder.id),
  ]);
  const path = `/admin/holders/${holder.id}`;
  return renderPage(request, {
    title: holder.name,
    titleDetail: t.menu.admin,
    active: 'admin',
    actions: html`<a class="button button-secondary" href="/console${path}/payments">${t.admin.payments}</a>`,
    body: html`
      <div class="card">
        ${facts([
          [t.state, statusOf(request, holder)],
          [t.menu.team, team.map((each) => `${each.email} (${t.roles[each.role]})`).join(', ')],
          [t.payouts.approvalTitle, holder.payouts_need_approval ? t.yes : t.no],
          [t.menu.debts, debts],
          [t.created, timeTag(request, holder.created_at)],
        ])}
        ${statusForms(request, holder, path)}
      </div>
      ${changesCard(request, changes, path)}
      ${await merchantLimits(request, holder.id)}
      <section class="card">
        <h2>${t.admin.fees}</h2>
        <p class="muted">${t.admin.feesText}</p>
        ${fees.length > 0 && feeTable(request, fees, path)}
        ${feeForm(request, path)}
      </section>
    `,
  });
}

function statusForms(request: MemberRequest, { status }: Holder, path: string): Html | false {
  const { t } = request;
  if (status === 'closed') return false;
  const action = `${path}/status`;
  const isActive = status === 'active';
  return html`
    ${isActive && dangerForm(request, action, t.admin.suspend, t.admin.suspendMeaning, { action: 'suspend' })}
    ${!isActive && postButton(request, action, t.admin.reopen, { variant: 'secondary', hidden: { action: 'reopen' } })}
    ${dangerForm(request, action, t.admin.close, t.admin.closeMeaning, { action: 'close' })}
  `;
}

function feeTable(request: MemberRequest, fees: readonly FeeOverride[], path: string): Html {
  const { t } = request;
  return dataTable(
    t.admin.fees,
    [
      { label: t.method },
      { label: t.transactions.type },
      { label: t.admin.percent, right: true },
      { label: t.admin.fixed, right: true },
      { label: t.admin.min, right: true },
      { label: t.admin.max, right: true },
      { label: t.action },
    ],
    fees.map((fee) => [
      methodTitle(request, fee.method),
      t.admin.directions[fee.direction],
      `${Number(fee.basis_points) / 100} %`,
      formatAmount(fee.fixed),
      formatAmount(fee.min),
      fee.max === null ? '–' : formatAmount(fee.max),
      postButton(request, `${path}/fees`, t.admin.removeFee, {
        variant: 'link',
        hidden: { method: fee.method, direction: fee.direction, remove: 'yes' },
      }),
    ]),
  );
}

function feeForm(request: MemberRequest, path: string): Html {
  const { ctx, t } = request;
  const methods = [...ctx.catalog.methods.values()];
  const decimal = (name: string, label: string, value: string): InputField => ({
    name,
    label,
    value,
    attributes: html`inputmode="decimal"`,
  });
  return form(request, {
    action: `${path}/fees`,
    idPrefix: 'fee',
    row: true,
    fields: [
      {
        type: 'select',
        name: 'method',
        label: t.method,
        choices: methods.map((each) => [each.code, methodInCountry(request, each)] as const),
      },
      {
        type: 'select',
        name: 'direction',
        label: t.transactions.type,
        choices: [
          ['collection', t.admin.directions.collection],
          ['payout', t.admin.directions.payout],
        ],
      },
      { ...decimal('percent', t.admin.percent, '1'), required: true },
      decimal('fixed', t.admin.fixed, '0'),
      decimal('least', t.admin.min, '0'),
      decimal('most', t.admin.max, ''),
    ],
    submit: t.save,
  });
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
  const currency = ctx.catalog.methods.get(method)?.currency;
  if (currency === undefined) throw new Problem('invalid_params', { message: t.admin.feeInvalid });
  const fee = fieldOf(request, 'remove') === 'yes' ? null : readFee(request, currency);
  await setFee(ctx, request.actor, holder.id, method, direction, fee);
  return redirect(request, `/console/admin/holders/${holder.id}`, 'saved');
}

/** A percentage such as 1.25 is 125 basis points; the other fields are amounts. */
function readFee(request: MemberRequest, currency: string): Fee {
  const sum = (name: string) => {
    const result = readTypedAmount(fieldOf(request, name) || '0', request.language, { currency, zero: true });
    if (!result.ok) throw wrongField(name, result.sentence);
    return result.amount;
  };
  const basisPoints = sum('percent');
  if (basisPoints > 10_000n) throw wrongField('percent', request.t.admin.feeInvalid);
  return {
    basisPoints,
    fixed: sum('fixed'),
    min: sum('least'),
    max: fieldOf(request, 'most') === '' ? null : sum('most'),
  };
}
