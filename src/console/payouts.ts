// Payouts: the list with its imported files, and creating one payout (form, confirmation, order). The page of one payout
// is the transaction page; files are imported in payout-import-page.ts and shown in payout-file-page.ts.

import type { FastifyReply } from 'fastify';
import { formatNumber } from '../catalog/phone.ts';
import { balancesOf, type WalletBalance } from '../ledger/ledger.ts';
import { BlockedNumberProblem } from '../payments/payment-limits.ts';
import {
  countWaitingApprovals,
  listPayoutFiles,
  listPayouts,
  PAYOUT_GROUPS,
  type PayoutGroup,
  type PayoutRow,
} from '../payments/payout-orders.ts';
import { type PayoutOrder, readPayout, usualDetail } from '../payments/payout-requests.ts';
import { listWaitingRefunds } from '../payments/refund-orders.ts';
import { RepeatedPayoutsError, type SimilarPayout } from '../payments/similar-payouts.ts';
import { isFinal } from '../payments/states.ts';
import { idFromRef, refOf } from '../payments/transactions.ts';
import { type FieldErrors, Problem } from '../platform/errors.ts';
import { type Html, html } from '../platform/html.ts';
import { chips, dataTable, emptyState, operatorTile, status, who } from '../ui/components.ts';
import { icon } from '../ui/icons.ts';
import { APPROVAL_ADDRESS, ruleChangeNotes } from './approval-settings.ts';
import { pager, statusTag, timeTag } from './components.ts';
import { fieldOf, type HolderRequest, money, queryOf } from './console-request.ts';
import { exportButton } from './csv-export.ts';
import { errorBox, form, postButton } from './form-components.ts';
import { onceField } from './form-idempotency.ts';
import { redirect, renderPage } from './layout.ts';
import { methodInCountry, methodName } from './names.ts';
import { confirmationPage, isConfirmedPayout } from './payout-confirmation.ts';
import { type PayoutFieldName, payoutRequest } from './payout-fields.ts';
import { fileTable, waitingFiles } from './payout-file-page.ts';
import { findRepeats, orderOnce } from './payout-form.ts';
import { waitingRefunds } from './refund-page.ts';
import { type ConsoleRoute, EVERYONE, forRoles, TREASURERS } from './route.ts';
import { sampleShopButton } from './sample-shop-button.ts';
import { teamNames } from './team-names.ts';

const PAGE_ROWS = 50;
const LIVE_SECONDS = 5;

export const payoutRoutes: ConsoleRoute[] = [
  forRoles(EVERYONE, 'GET', '/payouts', listPage),
  forRoles(TREASURERS, 'GET', '/payouts/new', (request) => newPage(request), { confirm: true }),
  forRoles(TREASURERS, 'POST', '/payouts', create, { confirm: true }),
];

async function listPage(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, t, role, holder } = request;
  const group = PAYOUT_GROUPS.find((each) => each === queryOf(request, 'show'));
  const before = idFromRef(queryOf(request, 'before', 40)) ?? undefined;
  const [found, toApprove, files, waiting, refunds, ruleNotes, nameOf] = await Promise.all([
    listPayouts(ctx, holder.id, { group, before, limit: PAGE_ROWS + 1 }),
    countWaitingApprovals(ctx.db, holder.id),
    listPayoutFiles(ctx.db, holder.id),
    waitingFiles(request),
    listWaitingRefunds(ctx.db, holder.id, PAGE_ROWS),
    ruleChangeNotes(request),
    teamNames(request),
  ]);
  const payouts = found.slice(0, PAGE_ROWS);
  const canCreate = TREASURERS.includes(role);
  const createLink = html`<a class="button" href="/console/payouts/new">${icon('send')}${t.payouts.create}</a>`;
  const importLink = html`
    <a class="button button-secondary" href="/console/payouts/import">${icon('upload')}${t.payouts.import}</a>
  `;
  const approvalLink = html`
    <a class="button button-secondary" href="${APPROVAL_ADDRESS}">${icon('shield')}<span class="button-label">${t.approval.title}</span></a>
  `;
  const isOpen = payouts.some((payout) => !isFinal(payout.status));
  return renderPage(request, {
    title: t.menu.payouts,
    lead: t.payouts.lead,
    active: 'payouts',
    ...(isOpen ? { live: LIVE_SECONDS } : {}),
    actions: html`
      ${exportButton(request, '/console/payouts.csv', group ? `show=${group}` : '')}
      ${canCreate && html`${role === 'owner' && approvalLink}${importLink}${createLink}`}
    `,
    body: html`
      ${ruleNotes}
      ${waiting}
      ${waitingRefunds(request, refunds)}
      ${groupChips(request, group, toApprove)}
      ${
        payouts.length > 0
          ? payoutTable(request, payouts, nameOf)
          : group || before
            ? emptyState(t.payouts.noneHere, t.payouts.noneHereText, false, 'send')
            : emptyState(
                t.payouts.none,
                t.payouts.noneText,
                html`${canCreate && createLink}${sampleShopButton(request)}`,
                'send',
              )
      }
      ${pager(request, nextPage(found, group))}
      ${files.length > 0 && html`<h2>${t.payouts.lists}</h2>${fileTable(request, files)}`}
    `,
  });
}

function groupChips({ t }: HolderRequest, shown: PayoutGroup | undefined, toApprove: number): Html {
  const choice = (group: PayoutGroup | undefined) => ({
    label: group ? t.payouts.groups[group] : t.all,
    href: group ? `/console/payouts?show=${group}` : '/console/payouts',
    current: group === shown,
    ...(group === 'waiting' && toApprove > 0 ? { count: toApprove } : {}),
  });
  return chips(t.state, [undefined, ...PAYOUT_GROUPS].map(choice));
}

function nextPage(found: readonly PayoutRow[], group: PayoutGroup | undefined): string | null {
  const last = found.length > PAGE_ROWS ? found[PAGE_ROWS - 1] : undefined;
  if (!last) return null;
  return `/console/payouts?${new URLSearchParams({ ...(group ? { show: group } : {}), before: refOf(last) }).toString()}`;
}

function payoutTable(request: HolderRequest, payouts: readonly PayoutRow[], nameOf: (email: string) => string): Html {
  const { t } = request;
  return dataTable(
    t.menu.payouts,
    [
      { label: t.payee, phone: 'main' },
      { label: t.payouts.for },
      { label: t.state, phone: 'status' },
      { label: t.payouts.createdBy },
      { label: t.payouts.approvedBy },
      { label: t.amount, right: true, phone: 'amount' },
      { label: t.time, right: true },
    ],
    payouts.map((payout) => [
      payeeCell(request, payout),
      html`<bdi>${purposeOf(request, payout)}</bdi>`,
      payout.waits_for_approval
        ? status('warning', t.payouts.needsApproval)
        : statusTag(request, payout.status, 'payout'),
      html`<bdi>${nameOf(payout.created_by ?? '')}</bdi>`,
      approvalCell(request, payout, nameOf),
      html`<span class="amount">${money(request, payout.amount, payout.currency)}</span>`,
      timeTag(request, payout.created_at),
    ]),
  );
}

/** What a person wrote about it. */
function purposeOf({ ctx }: HolderRequest, { invoice_no: invoice, detail, msisdn, method }: PayoutRow): string {
  const usual = usualDetail(msisdn ?? '', ctx.catalog.methods.get(method)?.name ?? method);
  return invoice ?? (detail === usual ? '' : (detail ?? ''));
}

function payeeCell(request: HolderRequest, payout: PayoutRow): Html {
  const name = methodName(request, payout.method);
  const number = payout.msisdn ? formatNumber(payout.msisdn) : (payout.account_number ?? '');
  return who(html`<bdi>${payout.payee ?? number}</bdi>`, html`<bdi>${payout.payee ? number : name}</bdi>`, {
    href: `/console/transactions/${refOf(payout)}`,
    tile: operatorTile(name),
  });
}

/** The approver, or the button for a member who may approve: not the one who created the payout. */
function approvalCell(request: HolderRequest, payout: PayoutRow, nameOf: (email: string) => string): Html | '' | null {
  const { t, session, role } = request;
  if (
    payout.waits_for_approval &&
    payout.batch_id === null &&
    TREASURERS.includes(role) &&
    payout.created_by !== session.member.email
  )
    return postButton(request, `/transactions/${refOf(payout)}/approve`, t.payouts.approve, { variant: 'secondary' });
  return payout.approved_by && html`<bdi>${nameOf(payout.approved_by)}</bdi>`;
}

/** `once`: the id of this form, where it was shown before and its payout was not ordered. */
async function newPage(request: HolderRequest, errors?: FieldErrors, once?: string): Promise<FastifyReply> {
  const { t, ctx, holder } = request;
  const wallets = await balancesOf(ctx.db, holder.id);
  return renderPage(request, {
    title: t.payouts.create,
    lead: t.payouts.createLead,
    active: 'payouts',
    ...(errors ? { status: 400 } : {}),
    body: html`<div class="card">${errorBox(request, errors)}${newForm(request, wallets, errors, once)}</div>`,
  });
}

/** The fullest wallet comes first. Methods of currencies without a wallet are not offered: there is no money to send. */
function newForm(
  request: HolderRequest,
  wallets: readonly WalletBalance[],
  errors: FieldErrors | undefined,
  once: string | undefined,
): Html {
  const { t } = request;
  const payable = [...request.ctx.catalog.methods.values()].filter((method) => method.payout);
  const funded = wallets
    .filter((wallet) => payable.some((method) => method.currency === wallet.currency))
    .toSorted((left, right) => (left.available < right.available ? 1 : -1));
  const methods =
    funded.length === 0 ? payable : payable.filter((each) => funded.some((w) => w.currency === each.currency));
  const currencies =
    funded.length === 0
      ? [...new Set(methods.map(({ currency }) => currency))].sort().map((code) => [code, code] as const)
      : funded.map(
          ({ currency, available }) => [currency, t.payouts.fromWallet(money(request, available, currency))] as const,
        );
  const value = (name: PayoutFieldName) => fieldOf(request, name);
  return form(request, {
    action: '/payouts',
    row: true,
    errors,
    fields: [
      {
        type: 'select',
        name: 'currency',
        label: t.payouts.from,
        value: value('currency') || queryOf(request, 'currency', 3),
        choices: currencies,
      },
      {
        name: 'amount',
        label: t.amount,
        value: value('amount'),
        required: true,
        attributes: html`inputmode="decimal"`,
      },
      { name: 'mobile', label: t.number, value: value('mobile'), required: true, attributes: html`inputmode="tel"` },
      {
        type: 'select',
        name: 'method',
        label: t.method,
        value: value('method'),
        choices: [
          ['', t.payouts.detectMethod],
          ...methods.map((method) => [method.code, methodInCountry(request, method)] as const),
        ],
      },
      { name: 'payee', label: t.payee, value: value('payee') },
      { name: 'invoice_no', label: t.invoice, value: value('invoice_no') },
      { name: 'detail', label: t.payouts.detail, value: value('detail') },
      onceField(request.ctx, once),
    ],
    submit: t.payouts.continue,
  });
}

/** Shows the payout once more; orders it when exactly this was shown and confirmed. */
async function create(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, holder, t } = request;
  const once = fieldOf(request, 'once', 40);
  if (fieldOf(request, 'change') === 'yes') return newPage(request, undefined, once);
  const reading = await readPayout(
    ctx,
    holder.id,
    payoutRequest(request.language, (name) => fieldOf(request, name)),
  );
  if (!reading.ok) return newPage(request, reading.errors, once);
  const { order } = reading;
  const similar = await findRepeats(request, order);
  if (!isConfirmedPayout(request, order, similar)) return shownOnceMore(request, order, similar);
  try {
    const result = await orderOnce(request, order, similar);
    if (result === null) return redirect(request, '/console/payouts', 'formAlreadySent');
    if (!result.ok) return newPage(request, { amount: [t.payouts.insufficientBalance] }, once);
    return redirect(
      request,
      `/console/transactions/${refOf(result.transaction)}`,
      result.waitsForApproval ? 'payoutNeedsApproval' : 'payoutCreated',
    );
  } catch (error) {
    // Somebody ordered the same payout since it was shown.
    if (error instanceof RepeatedPayoutsError) return shownOnceMore(request, order, error.similar);
    if (error instanceof Problem && error.code === 'limit_reached')
      return newPage(request, { amount: [t.limitReached] }, once);
    if (error instanceof BlockedNumberProblem)
      return newPage(request, { mobile: [t.numberBlocked(`+${error.msisdn}`)] }, once);
    throw error;
  }
}

async function shownOnceMore(
  request: HolderRequest,
  order: PayoutOrder,
  similar: readonly SimilarPayout[],
): Promise<FastifyReply> {
  const page = await confirmationPage(request, order, similar);
  const short = { amount: [request.t.payouts.insufficientBalance] };
  return page ?? newPage(request, short, fieldOf(request, 'once', 40));
}
