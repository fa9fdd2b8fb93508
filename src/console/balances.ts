// Balances: wallets, the statement of one with its running balance, what it held on a day, and both as files.

import type { FastifyReply } from 'fastify';
import { walletAvailable } from '../ledger/chart.ts';
import { balanceAt, balancesOf, type StatementLine, statement, type WalletBalance } from '../ledger/ledger.ts';
import { topUpSandbox } from '../payments/payouts.ts';
import { pendingOf } from '../payments/status.ts';
import { refOf } from '../payments/transactions.ts';
import { dateTimeSeconds } from '../platform/clock.ts';
import type { CsvRow } from '../platform/csv.ts';
import { Problem } from '../platform/errors.ts';
import { html } from '../platform/html.ts';
import { formatAmount, parseAmount } from '../platform/money.ts';
import { dataTable, emptyState, pager, timeTag } from './components.ts';
import { fieldOf, type HolderRequest, money, paramOf, queryOf, readDay } from './console-request.ts';
import { sendCsv } from './csv-export.ts';
import { newExportId } from './export-progress.ts';
import { formField, postForm } from './form-components.ts';
import { redirect, renderPage } from './layout.ts';
import { type ConsoleRoute, EVERYONE, forRoles, TREASURERS } from './route.ts';

const PAGE_ROWS = 50;
const EXPORT_PAGE_ROWS = 1_000;
const DAY_MS = 86_400_000;

export const balanceRoutes: ConsoleRoute[] = [
  forRoles(EVERYONE, 'GET', '/balances', listPage),
  forRoles(EVERYONE, 'GET', '/balances/:currency', statementPage),
  forRoles(EVERYONE, 'GET', '/balances/:currency/statement.csv', exportStatement),
  forRoles(TREASURERS, 'POST', '/balances/top-up', topUp),
];

async function listPage(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, t, role } = request;
  const [wallets, pending] = await Promise.all([
    balancesOf(ctx.db, request.holder.id),
    pendingOf(ctx.db, request.holder.id),
  ]);
  const currencies = [...new Set([...ctx.catalog.methods.values()].map((method) => method.currency))].sort();
  return renderPage(request, {
    title: t.menu.balances,
    lead: t.balances.lead,
    active: 'balances',
    body: html`${
      wallets.length === 0
        ? emptyState(t.balances.none, t.balances.noneText)
        : html`<div class="cards">${wallets.map((wallet) => html`<div class="card"><p class="muted">${wallet.currency} · ${t.balances.wallet} ${wallet.walletAccount}</p><p class="figure">${money(request, wallet.available, wallet.currency)}</p><p class="muted">${t.balances.available}</p><p class="muted">${t.balances.reserved}: ${money(request, wallet.reserved, wallet.currency)}</p><p class="muted">${t.balances.pending}: ${money(request, pending.get(wallet.currency) ?? 0n, wallet.currency)}</p><p><a href="/console/balances/${wallet.currency}">${t.balances.statement}</a></p></div>`)}</div>`
    }${
      ctx.config.mode === 'sandbox' &&
      TREASURERS.includes(role) &&
      html`<details class="card"><summary>${t.balances.topUp}</summary>${postForm(request, '/balances/top-up', html`<div class="field-row">${formField({ type: 'select', name: 'currency', label: t.currency, choices: currencies.map((each) => [each, each] as const) })}${formField({ name: 'amount', label: t.amount, value: '100000', required: true, attributes: html`inputmode="decimal"` })}</div><button>${t.balances.topUp}</button>`)}</details>`
    }`,
  });
}

async function openWallet(request: HolderRequest): Promise<WalletBalance> {
  const [wallet] = await balancesOf(request.ctx.db, request.holder.id, { currency: paramOf(request, 'currency') });
  if (!wallet) throw new Problem('not_found', { message: request.t.balances.unknown });
  return wallet;
}

async function statementPage(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, t, holder } = request;
  const wallet = await openWallet(request);
  const account = walletAvailable(holder.id, wallet.currency);
  const after = queryOf(request, 'after', 20);
  const lines = await statement(ctx.db, account, {
    limit: PAGE_ROWS + 1,
    ...(/^\d{1,18}$/.test(after) ? { before: BigInt(after) } : {}),
  });
  const shown = lines.slice(0, PAGE_ROWS);
  const last = shown.at(-1);
  const next =
    lines.length > PAGE_ROWS && last ? `/console/balances/${wallet.currency}?after=${last.transferId}` : null;
  const day = readDay(queryOf(request, 'day', 10));
  const atDay = day ? await balanceAt(ctx.db, account, new Date(day.getTime() + DAY_MS - 1)) : null;
  return renderPage(request, {
    title: t.balances.title(wallet.currency),
    active: 'balances',
    actions: html`<a class="button button-secondary" href="/console/balances/${wallet.currency}/statement.csv" download>${t.transactions.export}</a>`,
    body: html`<div class="cards"><div class="card"><p class="figure">${money(request, wallet.available, wallet.currency)}</p><p class="muted">${t.balances.available}</p><p class="muted">${t.balances.reserved}: ${money(request, wallet.reserved, wallet.currency)}</p></div><div class="card"><form action="/console/balances/${wallet.currency}">${formField({ name: 'day', label: t.balances.onDay, type: 'date', value: queryOf(request, 'day', 10), required: true })}<button class="button-secondary">${t.show}</button></form>${atDay !== null && html`<p id="at-day"><b>${money(request, atDay, wallet.currency)}</b></p>`}</div></div>${shown.length === 0 ? emptyState(t.balances.noLines, t.balances.noneText) : statementTable(request, wallet.currency, shown)}${pager(request, next)}`,
  });
}

function statementTable(request: HolderRequest, currency: string, lines: readonly StatementLine[]) {
  const { t } = request;
  return dataTable(
    t.balances.statement,
    [
      { label: t.when },
      { label: t.file.what },
      { label: t.reference },
      { label: t.balances.change, right: true },
      { label: t.balances.balance, right: true },
    ],
    lines.map((line) => [
      timeTag(line.postedAt),
      t.transfers[line.kind],
      line.kind === 'sandbox_top_up'
        ? ''
        : html`<a href="/console/transactions/${refOf({ id: line.transactionId })}"><code>…${refOf({ id: line.transactionId }).slice(-8)}</code></a>`,
      `${line.change > 0n ? '+' : ''}${money(request, line.change, currency)}`,
      money(request, line.balance, currency),
    ]),
  );
}

async function exportStatement(request: HolderRequest): Promise<FastifyReply> {
  const wallet = await openWallet(request);
  return sendCsv(
    request,
    `statement-${wallet.currency}.csv`,
    ['posted_at', 'kind', 'ref', 'change', 'balance', 'currency'],
    eachLine(request, wallet.currency),
    newExportId(),
  );
}

async function* eachLine(request: HolderRequest, currency: string): AsyncGenerator<CsvRow[]> {
  const account = walletAvailable(request.holder.id, currency);
  let before: bigint | undefined;
  for (;;) {
    const lines: StatementLine[] = await statement(request.ctx.db, account, {
      limit: EXPORT_PAGE_ROWS,
      ...(before === undefined ? {} : { before }),
    });
    if (lines.length > 0)
      yield lines.map((line) => [
        dateTimeSeconds(line.postedAt),
        line.kind,
        refOf({ id: line.transactionId }),
        formatAmount(line.change),
        formatAmount(line.balance),
        currency,
      ]);
    before = lines.at(-1)?.transferId;
    if (lines.length < EXPORT_PAGE_ROWS) return;
  }
}

async function topUp(request: HolderRequest): Promise<FastifyReply> {
  const currency = fieldOf(request, 'currency', 3);
  const known = [...request.ctx.catalog.methods.values()].some((method) => method.currency === currency);
  const amount = parseAmount(fieldOf(request, 'amount', 20), 2);
  if (!known || !amount.ok) throw new Problem('invalid_params', { message: request.t.balances.topUpWrong });
  await topUpSandbox(request.ctx, request.actor, request.holder.id, currency, amount.amount);
  return redirect(request, '/console/balances', 'saved');
}
