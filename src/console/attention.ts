// What needs a person, on the home page: what it is, more about it, and the button that begins.

import { listFailingReceivers, listPausedAddresses } from '../callbacks/endpoints.ts';
import { listIntegrations } from '../holders/integrations.ts';
import type { WalletBalance } from '../ledger/ledger.ts';
import { countOpenCases, listOpenCases } from '../payments/case-list.ts';
import { listDebts } from '../payments/debts.ts';
import { sumWaitingPayouts, type WaitingPayouts } from '../payments/payout-orders.ts';
import { countWaitingRefunds, listWaitingRefunds } from '../payments/refund-orders.ts';
import { type Html, type HtmlValue, html } from '../platform/html.ts';
import { type Tone, todo } from '../ui/components.ts';
import { icon } from '../ui/icons.ts';
import { timeTag } from './components.ts';
import { type HolderRequest, money } from './console-request.ts';
import type { DailyStats } from './daily-stats.ts';
import { AVERAGE_DAYS, lowWallets } from './low-wallets.ts';
import { teamNames } from './team-names.ts';

/** Beyond this many only their number is exact. */
const MAX_REFUNDS = 100;

type Note = { tone: Tone; title: HtmlValue; text: HtmlValue; path: string; button: string };

/** `days`: the statistics of the last days, oldest first. */
export async function attentionCard(
  request: HolderRequest,
  days: readonly DailyStats[],
  wallets: readonly WalletBalance[],
): Promise<Html> {
  const { t } = request;
  const lists = await Promise.all([
    approvalNotes(request),
    refundNotes(request),
    caseNotes(request),
    callbackNotes(request),
    debtNotes(request),
    integrationNotes(request),
  ]);
  const notes = [...lists.flat(), ...floatNotes(request, days, wallets)];
  return html`
    <section class="card" aria-labelledby="needs-you">
      <h2 id="needs-you">${t.home.attention}</h2>
      ${
        notes.length > 0
          ? html`<ul class="plain todos">${notes.map(noteLine)}</ul>`
          : html`<p class="all-clear">${icon('circle-check')}${t.home.noAttention}</p>`
      }
    </section>
  `;
}

function noteLine({ tone, title, text, path, button }: Note): Html {
  return todo(tone, title, text, html`<a class="button button-secondary" href="/console/${path}">${button}</a>`);
}

async function approvalNotes(request: HolderRequest): Promise<Note[]> {
  const { ctx, holder, t } = request;
  const waiting = await sumWaitingPayouts(ctx.db, holder.id);
  const payouts = waiting.reduce((sum, each) => sum + each.payouts, 0);
  if (payouts === 0) return [];
  const title = t.home.approvals(payouts);
  return [{ tone: 'warning', title, text: await orderText(request, waiting), path: 'payouts', button: t.home.review }];
}

async function refundNotes(request: HolderRequest): Promise<Note[]> {
  const { ctx, holder, t } = request;
  const refunds = await listWaitingRefunds(ctx.db, holder.id, MAX_REFUNDS);
  if (refunds.length === 0) return [];
  const count = refunds.length === MAX_REFUNDS ? await countWaitingRefunds(ctx.db, holder.id) : refunds.length;
  const title = t.home.refundApprovals(count);
  return [{ tone: 'warning', title, text: await orderText(request, refunds), path: 'payouts', button: t.home.review }];
}

/** "KES 36 800 · by Brian Kamau, 14:31" */
async function orderText(
  request: HolderRequest,
  orders: readonly Pick<WaitingPayouts, 'amount' | 'currency' | 'created_by' | 'created_at'>[],
): Promise<Html> {
  const nameOf = await teamNames(request);
  const newest = orders.toSorted((a, b) => b.created_at.getTime() - a.created_at.getTime())[0];
  const sums = [...Map.groupBy(orders, (order) => order.currency)].map(([currency, same]) =>
    money(
      request,
      same.reduce((sum, { amount }) => sum + amount, 0n),
      currency,
    ),
  );
  return html`
    ${sums.join(', ')}${' · '}
    ${newest && html`<bdi class="wrap">${request.t.home.by(nameOf(newest.created_by))}</bdi>, ${timeTag(request, newest.created_at)}`}
  `;
}

async function caseNotes(request: HolderRequest): Promise<Note[]> {
  const { ctx, holder, t } = request;
  const [counts, [newest]] = await Promise.all([
    countOpenCases(ctx.db, holder.id),
    listOpenCases(ctx.db, { holderId: holder.id }, { limit: 1 }),
  ]);
  const open = [...counts.values()].reduce((sum, count) => sum + count, 0);
  if (open === 0 || !newest) return [];
  const text = html`${t.cases.kinds[newest.kind]} ${timeTag(request, newest.opened_at)}`;
  return [{ tone: 'neutral', title: t.home.casesOpen(open), text, path: 'cases', button: t.home.open }];
}

async function callbackNotes(request: HolderRequest): Promise<Note[]> {
  const { ctx, holder, t } = request;
  const [failing, paused] = await Promise.all([
    listFailingReceivers(ctx.db, holder.id),
    listPausedAddresses(ctx.db, holder.id),
  ]);
  const to = { path: 'callbacks', button: t.home.open } as const;
  const notes: Note[] = failing.map(({ origin, lastError, waiting, failingSince }) => ({
    ...to,
    tone: 'error',
    title: html`<span class="wrap">${t.home.callbacksFailing(hostOf(origin))}</span>`,
    text: html`${lastError} ${t.home.callbacksWaiting(waiting)} ${t.since} ${timeTag(request, failingSince)}`,
  }));
  if (paused.length > 0)
    notes.push({
      ...to,
      tone: 'error',
      title: t.home.callbacksPaused(paused.length),
      text: t.home.callbacksPausedText,
    });
  return notes;
}

function hostOf(origin: string): string {
  return URL.parse(origin)?.host ?? origin;
}

async function debtNotes(request: HolderRequest): Promise<Note[]> {
  const { ctx, holder, t } = request;
  const debts = await listDebts(ctx.db, holder.id);
  return debts.map(({ amount, currency }) => ({
    tone: 'error',
    title: t.home.debt(money(request, amount, currency)),
    text: t.home.debtText,
    path: 'balances',
    button: t.home.open,
  }));
}

async function integrationNotes({ ctx, holder, t }: HolderRequest): Promise<Note[]> {
  if ((await listIntegrations(ctx.db, holder.id)).length > 0) return [];
  return [
    {
      tone: 'neutral',
      title: t.home.firstIntegration,
      text: t.home.firstIntegrationText,
      path: 'integrations',
      button: t.home.start,
    },
  ];
}

function floatNotes(request: HolderRequest, days: readonly DailyStats[], wallets: readonly WalletBalance[]): Note[] {
  const { t } = request;
  const totals = days.slice(-AVERAGE_DAYS).flatMap((day) => day.money);
  return lowWallets(totals, wallets).map(({ currency, available, average }) => ({
    tone: 'warning',
    title: t.home.lowFloat(currency),
    text: t.home.lowFloatText(money(request, available, currency), money(request, average, currency)),
    path: 'balances',
    button: t.home.open,
  }));
}
