// Limits of a day and blocked numbers: a section of the settings, where owners make them stricter, and a section of a merchant's
// page, where admins set them and the rolling reserve.

import type { FastifyReply } from 'fastify';
import { isNormalised, readWithCountry } from '../catalog/phone.ts';
import { findHolder } from '../holders/holders.ts';
import {
  blockNumber,
  LIMIT_SUBJECTS,
  type LimitChange,
  type LimitSetter,
  listBlockedNumbers,
  listLimits,
  type PaymentLimit,
  setLimit,
  unblockNumber,
} from '../payments/payment-limits.ts';
import { findReserveRule, setReserveRule } from '../payments/rolling-reserve.ts';
import type { TransactionDirection } from '../payments/states.ts';
import { Problem, wrongField } from '../platform/errors.ts';
import { type Html, type HtmlValue, html } from '../platform/html.ts';
import { formatAmount } from '../platform/money.ts';
import { readTypedAmount } from '../platform/typed-amounts.ts';
import { dataTable, tag } from '../ui/components.ts';
import { timeTag } from './components.ts';
import { fieldOf, type HolderRequest, idOf, type MemberRequest, money, paramOf } from './console-request.ts';
import { form, postButton } from './form-components.ts';
import { redirect } from './layout.ts';
import { type ConsoleRoute, forAdmin, forRoles, OWNER } from './route.ts';

const PATH = '/settings';
const MERCHANT = '/admin/holders/:id';
const DIRECTIONS: readonly TransactionDirection[] = ['collection', 'payout', 'refund'];
const MAX_NUMBER = 40;
/** Longer than any number that is accepted: a text that is cut would be another number. */
const MAX_DIGITS = 20;
const MAX_REASON = 200;

export const limitSettingRoutes: ConsoleRoute[] = [
  forRoles(OWNER, 'POST', `${PATH}/limits`, changeOwn, { confirm: true, formOn: PATH }),
  forRoles(OWNER, 'POST', `${PATH}/blocked`, changeOwnList, { confirm: true, formOn: PATH }),
  forAdmin('POST', `${MERCHANT}/limits`, changeAsAdmin, { confirm: true, formOn: MERCHANT }),
  forAdmin('POST', `${MERCHANT}/blocked`, changeListAsAdmin, { confirm: true, formOn: MERCHANT }),
  forAdmin('POST', `${MERCHANT}/reserve`, changeReserve, { confirm: true, formOn: MERCHANT }),
];

/** In the settings of a holder. Owners change it; everybody else reads it. */
export function limitSection(request: HolderRequest): Promise<Html> {
  return limitCard(request, request.holder.id, { path: PATH, canChange: request.role === 'owner' });
}

/** On the page of a merchant, for admins. */
export async function merchantLimits(request: MemberRequest, holderId: bigint): Promise<Html> {
  const path = `/admin/holders/${holderId}`;
  const rule = await findReserveRule(request.ctx.db, holderId);
  const { t } = request;
  return html`
    ${await limitCard(request, holderId, { path, canChange: true, isGateway: true })}
    <section class="card">
      <h2>${t.dayLimits.reserve}</h2>
      <p class="muted">${t.dayLimits.reserveLead}</p>
      ${form(request, {
        action: `${path}/reserve`,
        idPrefix: 'reserve',
        row: true,
        fields: [
          { name: 'percent', label: t.dayLimits.percent, value: rule ? formatAmount(rule.basisPoints) : '' },
          { name: 'days', label: t.dayLimits.days, value: rule ? String(rule.days) : '' },
        ],
        submit: t.save,
        variant: 'secondary',
      })}
    </section>
  `;
}

/** `isGateway`: an admin looks, who may end what the gateway has blocked. */
type Place = { path: string; canChange: boolean; isGateway?: true };

async function limitCard(request: MemberRequest, holderId: bigint, place: Place): Promise<Html> {
  const { ctx, t } = request;
  const [limits, blocked] = await Promise.all([listLimits(ctx.db, holderId), listBlockedNumbers(ctx.db, holderId)]);
  return html`
    <section class="card" id="limits" aria-labelledby="limits-title">
      <h2 id="limits-title">${t.dayLimits.title}</h2>
      <p class="muted">${t.dayLimits.lead}</p>
      ${limits.length > 0 ? limitTable(request, limits) : html`<p>${t.dayLimits.none}</p>`}
      ${place.canChange && limitForm(request, place.path)}
      <h3>${t.dayLimits.blocked}</h3>
      <p class="muted">${t.dayLimits.blockedLead}</p>
      ${
        blocked.length > 0 &&
        dataTable(
          t.dayLimits.blocked,
          [{ label: t.dayLimits.number }, { label: t.dayLimits.reason }, { label: t.created }, { label: t.action }],
          blocked.map((each) => [
            blockedNumber(request, each.msisdn),
            html`<bdi>${each.reason}</bdi>`,
            timeTag(request, each.added_at),
            !place.canChange || (each.set_by === 'gateway' && !place.isGateway)
              ? each.set_by && t.dayLimits.setters[each.set_by]
              : postButton(request, `${place.path}/blocked`, t.dayLimits.unblock, {
                  variant: 'link',
                  hidden: { mobile: each.msisdn, remove: 'yes' },
                }),
          ]),
        )
      }
      ${place.canChange && blockForm(request, place.path)}
    </section>
  `;
}

/** A number without its country may be anybody's in any country, so it blocks nobody until it is written anew. */
function blockedNumber({ ctx, t }: MemberRequest, msisdn: string): HtmlValue {
  if (isNormalised(msisdn, ctx.catalog.countries.values())) return `+${msisdn}`;
  return html`${msisdn} ${tag('warning', t.dayLimits.blocksNobody)} <span class="muted">${t.dayLimits.writeAnew}</span>`;
}

function limitTable(request: MemberRequest, limits: readonly PaymentLimit[]): Html {
  const { t } = request;
  return dataTable(
    t.dayLimits.title,
    [
      { label: t.transactions.type },
      { label: t.dayLimits.of },
      { label: t.dayLimits.amount, right: true },
      { label: t.dayLimits.count, right: true },
      { label: t.dayLimits.setBy },
    ],
    limits.map((limit) => [
      t.directions[limit.direction],
      t.dayLimits.subjects[limit.subject],
      limit.day_amount === null ? '–' : money(request, limit.day_amount, limit.currency),
      limit.day_count === null ? '–' : `${limit.day_count} (${limit.currency})`,
      t.dayLimits.setters[limit.set_by],
    ]),
  );
}

function limitForm(request: MemberRequest, path: string): Html {
  const { ctx, t } = request;
  const currencies = [...new Set([...ctx.catalog.methods.values()].map((method) => method.currency))].sort();
  return form(request, {
    action: `${path}/limits`,
    idPrefix: 'limit',
    row: true,
    fields: [
      {
        type: 'select',
        name: 'direction',
        label: t.transactions.type,
        choices: DIRECTIONS.map((each) => [each, t.directions[each]] as const),
      },
      {
        type: 'select',
        name: 'subject',
        label: t.dayLimits.of,
        choices: LIMIT_SUBJECTS.map((each) => [each, t.dayLimits.subjects[each]] as const),
      },
      {
        type: 'select',
        name: 'currency',
        label: t.currency,
        choices: currencies.map((each) => [each, each] as const),
      },
      { name: 'amount', label: t.dayLimits.amount, hint: t.dayLimits.hint, attributes: html`inputmode="decimal"` },
      { name: 'count', label: t.dayLimits.count, attributes: html`inputmode="numeric"` },
    ],
    submit: t.save,
    variant: 'secondary',
  });
}

function blockForm(request: MemberRequest, path: string): Html {
  const { t } = request;
  return form(request, {
    action: `${path}/blocked`,
    idPrefix: 'blocked',
    row: true,
    fields: [
      {
        name: 'mobile',
        label: t.dayLimits.number,
        hint: t.dayLimits.numberHint,
        required: true,
        attributes: html`inputmode="tel"`,
      },
      { name: 'reason', label: t.dayLimits.reason, required: true, attributes: html`maxlength="${MAX_REASON}"` },
    ],
    submit: t.dayLimits.block,
    variant: 'secondary',
  });
}

async function changeOwn(request: HolderRequest): Promise<FastifyReply> {
  await change(request, request.holder.id, 'holder');
  return redirect(request, '/console/settings', 'saved');
}

async function changeAsAdmin(request: MemberRequest): Promise<FastifyReply> {
  const id = await merchantOf(request);
  await change(request, id, 'gateway');
  return redirect(request, `/console/admin/holders/${id}`, 'saved');
}

async function change(request: MemberRequest, holderId: bigint, setBy: LimitSetter): Promise<void> {
  const { ctx, actor, t } = request;
  const limit = readChange(request);
  try {
    await setLimit(ctx, actor, holderId, setBy, limit);
  } catch (error) {
    const errors = error instanceof Problem ? error.details.errors : undefined;
    if (errors?.subject) throw wrongField('subject', t.dayLimits.noMember);
    if (errors) throw new Problem('invalid_params', { message: t.dayLimits.looser });
    throw error;
  }
}

function readChange(request: MemberRequest): LimitChange {
  const { t, ctx } = request;
  const direction = DIRECTIONS.find((each) => each === fieldOf(request, 'direction'));
  const subject = LIMIT_SUBJECTS.find((each) => each === fieldOf(request, 'subject'));
  const currency = fieldOf(request, 'currency', 3);
  const isKnown = [...ctx.catalog.methods.values()].some((method) => method.currency === currency);
  const typed = fieldOf(request, 'amount');
  const amount = typed === '' ? null : readTypedAmount(typed, request.language, { currency });
  const count = fieldOf(request, 'count', MAX_DIGITS);
  if (!direction || !subject || !isKnown) throw new Problem('invalid_params', { message: t.dayLimits.invalid });
  if (amount && !amount.ok) throw wrongField('amount', amount.sentence);
  if (!/^\d{0,8}$/.test(count)) throw wrongField('count', t.dayLimits.invalid);
  return {
    direction,
    subject,
    currency,
    day_amount: amount?.amount ?? null,
    day_count: count === '' ? null : Number(count),
  };
}

async function changeOwnList(request: HolderRequest): Promise<FastifyReply> {
  await changeList(request, request.holder.id);
  return redirect(request, '/console/settings', 'saved');
}

async function changeListAsAdmin(request: MemberRequest): Promise<FastifyReply> {
  const id = await merchantOf(request);
  await changeList(request, id);
  return redirect(request, `/console/admin/holders/${id}`, 'saved');
}

async function changeList(request: MemberRequest, holderId: bigint): Promise<void> {
  const { ctx, actor, t } = request;
  const typed = fieldOf(request, 'mobile', MAX_NUMBER);
  if (fieldOf(request, 'remove') === 'yes') {
    await unblockNumber(ctx, actor, holderId, typed.replace(/[\s+-]/g, ''));
    return;
  }
  // In national form it would be on the list and block nobody.
  const msisdn = readWithCountry(typed, ctx.catalog.countries.values());
  if (msisdn === null) throw wrongField('mobile', t.dayLimits.numberInvalid);
  await blockNumber(ctx, actor, holderId, { msisdn, reason: fieldOf(request, 'reason', MAX_REASON) });
}

async function changeReserve(request: MemberRequest): Promise<FastifyReply> {
  const id = await merchantOf(request);
  const percent = fieldOf(request, 'percent', 8);
  // A percentage such as 2.5 is 250 basis points, as an amount is hundredths.
  const share = percent === '' ? null : readTypedAmount(percent, request.language, { currency: 'XXX' });
  if (share && !share.ok) throw wrongField('percent', share.sentence);
  const rule = share ? { basisPoints: share.amount, days: Number(fieldOf(request, 'days', MAX_DIGITS)) } : null;
  await setReserveRule(request.ctx, request.actor, id, rule);
  return redirect(request, `/console/admin/holders/${id}`, 'saved');
}

async function merchantOf(request: MemberRequest): Promise<bigint> {
  const holder = await findHolder(request.ctx.db, idOf(paramOf(request, 'id')));
  if (!holder) throw new Problem('not_found');
  return holder.id;
}
