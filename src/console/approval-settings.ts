// The rule of two people: whether payouts need a second person, up to which amount one person may refund alone, and the
// loosenings of it that do not hold yet.

import type { FastifyReply } from 'fastify';
import {
  confirmRuleChange,
  listRefundLimits,
  listRuleChanges,
  type RefundLimit,
  type RuleChange,
  setPayoutApproval,
  setRefundLimit,
  withdrawRuleChange,
} from '../holders/approval-rules.ts';
import type { Holder } from '../holders/holders.ts';
import { listTeam } from '../holders/members.ts';
import { Problem, wrongField } from '../platform/errors.ts';
import { withColon } from '../platform/french-spaces.ts';
import { type Html, html } from '../platform/html.ts';
import { readTypedAmount } from '../platform/typed-amounts.ts';
import { dataTable, facts } from '../ui/components.ts';
import { timeTag } from './components.ts';
import {
  fieldOf,
  type HolderRequest,
  idOf,
  type MemberRequest,
  money,
  paramOf,
  requireActive,
} from './console-request.ts';
import { form, postButton } from './form-components.ts';
import { redirect } from './layout.ts';
import { type ConsoleRoute, EVERYONE, forAdmin, forRoles, OWNER, TREASURERS } from './route.ts';

const PATH = '/settings/approval';
/** Where the rules are shown: a section of the settings. */
export const APPROVAL_ADDRESS = '/console/settings#approval';

export const approvalSettingRoutes: ConsoleRoute[] = [
  // The address of before: people have it in their bookmarks.
  forRoles(EVERYONE, 'GET', '/payouts/approval', async (request) => redirect(request, APPROVAL_ADDRESS)),
  forRoles(OWNER, 'POST', PATH, changeApproval, { confirm: true }),
  forRoles(OWNER, 'POST', `${PATH}/refunds`, changeLimit, { confirm: true, formOn: '/settings' }),
  forRoles(OWNER, 'POST', `${PATH}/changes/:change`, decideAsOwner, { confirm: true, whenSuspended: true }),
  forAdmin('POST', '/admin/holders/:id/changes/:change', decideAsAdmin, { confirm: true }),
];

/** The rules as a section of the settings. Owners change them; everybody else reads them. */
export async function approvalSection(request: HolderRequest): Promise<Html> {
  const { ctx, t, holder, role } = request;
  const isOwner = role === 'owner';
  const [limits, changes, team] = await Promise.all([
    listRefundLimits(ctx.db, holder.id),
    listRuleChanges(ctx.db, holder.id),
    listTeam(ctx.db, holder.id),
  ]);
  const isAlone = team.filter((member) => TREASURERS.includes(member.role)).length < 2;
  return html`
    <section class="card" id="approval" aria-labelledby="approval-title">
      <h2 id="approval-title">${t.approval.title}</h2>
      <p class="muted">${t.approval.lead}</p>
      ${isAlone && html`<p class="box warning">${t.approval.alone} <a href="/console/team">${t.menu.team}</a></p>`}
      ${
        isOwner
          ? payoutRuleForm(request)
          : facts([[t.payouts.approvalText, holder.payouts_need_approval ? t.yes : t.no]])
      }
      <h3>${t.approval.refunds}</h3>
      <p class="muted">${t.approval.refundsText}</p>
      ${limits.length > 0 && limitTable(request, limits)}
      ${isOwner && limitForm(request)}
    </section>
    ${isOwner && changesCard(request, changes, PATH)}
  `;
}

function payoutRuleForm(request: HolderRequest): Html {
  const { t, holder } = request;
  return form(request, {
    action: PATH,
    fields: [
      { type: 'checkbox', name: 'needed', label: t.payouts.approvalText, checked: holder.payouts_need_approval },
    ],
    submit: t.save,
    variant: 'secondary',
  });
}

function limitTable(request: HolderRequest, limits: readonly RefundLimit[]): Html {
  const { t } = request;
  return dataTable(
    t.approval.refunds,
    [{ label: t.currency }, { label: t.approval.limit, right: true }],
    limits.map(({ currency, without_approval }) => [currency, money(request, without_approval, currency)]),
  );
}

function currenciesOf(request: HolderRequest): string[] {
  return [...new Set([...request.ctx.catalog.methods.values()].map((method) => method.currency))].sort();
}

function limitForm(request: HolderRequest): Html {
  const { t } = request;
  return form(request, {
    action: `${PATH}/refunds`,
    idPrefix: 'refund-limit',
    row: true,
    fields: [
      {
        type: 'select',
        name: 'currency',
        label: t.currency,
        choices: currenciesOf(request).map((currency) => [currency, currency] as const),
      },
      {
        name: 'limit',
        label: t.approval.limit,
        hint: t.approval.limitHint,
        required: true,
        attributes: html`inputmode="decimal"`,
      },
    ],
    submit: t.save,
    variant: 'secondary',
  });
}

/** Loosenings that do not hold yet: everybody who sees them can compare them with what was agreed. */
export function changesCard(request: MemberRequest, changes: readonly RuleChange[], path: string): Html | false {
  const { t } = request;
  if (changes.length === 0) return false;
  return html`
    <section class="card">
      <h2>${t.approval.changes}</h2>
      <p>${t.approval.changesText}</p>
      ${dataTable(
        t.approval.changes,
        [
          { label: t.approval.change },
          { label: t.approval.requestedBy },
          { label: t.approval.confirmedBy },
          { label: t.approval.effectiveAt },
          { label: t.action },
        ],
        changes.map((change) => [
          changeText(request, change),
          html`<bdi>${change.requested_by}</bdi>`,
          change.confirmed_by && html`<bdi>${change.confirmed_by}</bdi>`,
          timeTag(request, change.effective_at),
          changeButtons(request, change, `${path}/changes/${change.id}`),
        ]),
      )}
    </section>
  `;
}

/** What will apply or was asked for, in one line each, for everybody who sees the payouts. */
export async function ruleChangeNotes(request: HolderRequest): Promise<Html[]> {
  const { ctx, t, holder } = request;
  const changes = await listRuleChanges(ctx.db, holder.id);
  return changes.map(
    (change) => html`
      <p class="box warning">
        ${withColon(request, change.effective_at ? t.approval.confirmedNote : t.approval.requestedNote)}
        ${' '}${changeText(request, change)} <bdi>(${change.requested_by})</bdi> ${timeTag(request, change.effective_at)}
      </p>
    `,
  );
}

function changeText(request: MemberRequest, { kind, currency, without_approval }: RuleChange): string {
  const { t } = request;
  if (kind === 'payout_approval_off') return t.approval.offChange;
  return t.approval.limitChange(money(request, without_approval ?? 0n, currency ?? ''));
}

function changeButtons(request: MemberRequest, change: RuleChange, action: string): Html {
  const { t, session } = request;
  const mayConfirm = change.confirmed_by === null && change.requested_by_member !== session.member.id;
  return html`
    ${mayConfirm && postButton(request, action, t.approval.confirm, { hidden: { decision: 'confirm' } })}
    ${postButton(request, action, t.approval.withdraw, { variant: 'secondary', hidden: { decision: 'withdraw' } })}
  `;
}

async function changeApproval(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, actor, holder } = request;
  const result = await setPayoutApproval(ctx, actor, holder.id, fieldOf(request, 'needed') === 'yes');
  return redirect(request, '/console/settings', result === 'saved' ? 'saved' : 'changeRequested');
}

async function changeLimit(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, actor, holder } = request;
  const currency = fieldOf(request, 'currency', 3);
  if (!currenciesOf(request).includes(currency)) throw new Problem('invalid_params');
  // Zero is a limit too: every refund then needs the second person.
  const limit = readTypedAmount(fieldOf(request, 'limit'), request.language, { currency, zero: true });
  if (!limit.ok) throw wrongField('limit', limit.sentence);
  const result = await setRefundLimit(ctx, actor, holder.id, { currency, without_approval: limit.amount });
  return redirect(request, '/console/settings', result === 'saved' ? 'saved' : 'changeRequested');
}

async function decideAsOwner(request: HolderRequest): Promise<FastifyReply> {
  // Withdrawing only takes back.
  if (isConfirmation(request)) requireActive(request);
  await decide(request, request.holder.id);
  return redirect(request, '/console/settings', 'saved');
}

async function decideAsAdmin(request: MemberRequest): Promise<FastifyReply> {
  const holderId = idOf(paramOf(request, 'id'));
  await decide(request, holderId);
  return redirect(request, `/console/admin/holders/${holderId}`, 'saved');
}

const isConfirmation = (request: MemberRequest): boolean => fieldOf(request, 'decision') === 'confirm';

async function decide(request: MemberRequest, holderId: Holder['id']): Promise<void> {
  const decision = isConfirmation(request) ? confirmRuleChange : withdrawRuleChange;
  await decision(request.ctx, request.actor, holderId, paramOf(request, 'change'));
}
