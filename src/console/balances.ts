// Balances: wallets, the statement of one with its running balance, what it held on a day, and both as files.

import type { FastifyReply } from 'fastify';
import { walletAvailable } from '../ledger/chart.ts';
import { balanceAt, balancesOf, type StatementLine, statement, type WalletBalance } from '../ledger/ledger.ts';
import { topUpSandbox } from '../payments/payouts.ts';
import { pendingOf } from '../payments/status.ts';
import { refOf } from '../payments/transactions.ts';
import { dateTimeSeconds } from '../platform/clock.ts';
import { Problem } from '../platform/errors.ts';
import { html } from '../platform/html.ts';
import { formatAmount, parseAmount } from '../platform/money.ts';
import { dataTable, emptyState, inputField, pager, postForm, selectField, timeTag } from './components.ts';
import { fieldOf, type HolderRequest, money, paramOf, queryOf } from './console-request.ts';
import { type CsvRow, newExportId, sendCsv } from './csv.ts';
import { redirect, renderPage } from './layout.ts';
import { type ConsoleRoute, EVERYONE, forRoles, TREASURERS } from './route.ts';
import { readDay } from './transactions.ts';

const PAGE_ROWS = 50;
const EXPORT_PAGE_ROWS = 1_000;
const DAY_MS = 86_400_000;

export const balanceRoutes: ConsoleRoute[] = [
  forRoles(EVERYONE, 'GET', '/balances', listPage),
  forRoles(EVERYONE, 'GET', '/balances/:currency', statementPage),
  forRoles(EVERYONE, 'GET', '/balances/:currency/statement.csv', exportStatement),
  forRoles(TREASURERS, 'POST', '/balances/top-up', topUp),
];

async function listPage(visit: HolderRequest): Promise<FastifyReply> {
  const { ctx, words, role } = visit;
  const [wallets, pending] = await Promise.all([
    balancesOf(ctx.db, visit.holder.id),
    pendingOf(ctx.db, visit.holder.id),
  ]);
  const currencies = [...new Set([...ctx.catalog.methods.values()].map((method) => method.currency))].sort();
  return renderPage(visit, {
    title: words.menu.balances,
    lead: words.balances.lead,
    active: 'balances',
    body: html`${
      wallets.length === 0
        ? emptyState(words.balances.none, words.balances.noneText)
        : html`<div class="cards">${wallets.map((wallet) => html`<div class="card"><p class="m">${wallet.currency} · ${words.balances.wallet} ${wallet.walletAccount}</p><p class="sum">${money(visit, wallet.available, wallet.currency)}</p><p class="m">${words.balances.available}</p><p class="m">${words.balances.reserved}: ${money(visit, wallet.reserved, wallet.currency)}</p><p class="m">${words.balances.pending}: ${money(visit, pending.get(wallet.currency) ?? 0n, wallet.currency)}</p><p><a href="/console/balances/${wallet.currency}">${words.balances.statement}</a></p></div>`)}</div>`
    }${
      ctx.config.mode === 'sandbox' &&
      TREASURERS.includes(role) &&
      html`<details class="card"><summary>${words.balances.topUp}</summary>${postForm(visit, '/balances/top-up', html`<div class="row">${selectField({ name: 'currency', label: words.currency, choices: currencies.map((each) => [each, each] as const) })}${inputField({ name: 'amount', label: words.amount, value: '100000', required: true, more: html`inputmode="decimal"` })}</div><button>${words.balances.topUp}</button>`)}</details>`
    }`,
  });
}

async function openWallet(visit: HolderRequest): Promise<WalletBalance> {
  const [wallet] = await balancesOf(visit.ctx.db, visit.holder.id, { currency: paramOf(visit, 'currency') });
  if (!wallet) throw new Problem('not_found', { message: visit.words.balances.unknown });
  return wallet;
}

async function statementPage(visit: HolderRequest): Promise<FastifyReply> {
  const { ctx, words, holder } = visit;
  const wallet = await openWallet(visit);
  const account = walletAvailable(holder.id, wallet.currency);
  const after = queryOf(visit, 'after', 20);
  const lines = await statement(ctx.db, account, {
    limit: PAGE_ROWS + 1,
    ...(/^\d{1,18}$/.test(after) ? { before: BigInt(after) } : {}),
  });
  const shown = lines.slice(0, PAGE_ROWS);
  const last = shown.at(-1);
  const next =
    lines.length > PAGE_ROWS && last ? `/console/balances/${wallet.currency}?after=${last.transferId}` : null;
  const day = readDay(queryOf(visit, 'day', 10));
  const atDay = day ? await balanceAt(ctx.db, account, new Date(day.getTime() + DAY_MS - 1)) : null;
  return renderPage(visit, {
    title: words.balances.title(wallet.currency),
    active: 'balances',
    actions: html`<a class="btn q" href="/console/balances/${wallet.currency}/statement.csv" download>${words.transactions.export}</a>`,
    body: html`<div class="cards"><div class="card"><p class="sum">${money(visit, wallet.available, wallet.currency)}</p><p class="m">${words.balances.available}</p><p class="m">${words.balances.reserved}: ${money(visit, wallet.reserved, wallet.currency)}</p></div><div class="card"><form action="/console/balances/${wallet.currency}">${inputField({ name: 'day', label: words.balances.onDay, type: 'date', value: queryOf(visit, 'day', 10), required: true })}<button class="q">${words.show}</button></form>${atDay !== null && html`<p id="at-day"><b>${money(visit, atDay, wallet.currency)}</b></p>`}</div></div>${shown.length === 0 ? emptyState(words.balances.noLines, words.balances.noneText) : statementTable(visit, wallet.currency, shown)}${pager(visit, next)}`,
  });
}

function statementTable(visit: HolderRequest, currency: string, lines: readonly StatementLine[]) {
  const { words } = visit;
  return dataTable(
    words.balances.statement,
    [
      { label: words.when },
      { label: words.file.what },
      { label: words.reference },
      { label: words.balances.change, right: true },
      { label: words.balances.balance, right: true },
    ],
    lines.map((line) => [
      timeTag(line.postedAt),
      words.transfers[line.kind],
      line.kind === 'sandbox_top_up'
        ? ''
        : html`<a href="/console/transactions/${refOf({ id: line.transactionId })}"><code>…${refOf({ id: line.transactionId }).slice(-8)}</code></a>`,
      `${line.change > 0n ? '+' : ''}${money(visit, line.change, currency)}`,
      money(visit, line.balance, currency),
    ]),
  );
}

async function exportStatement(visit: HolderRequest): Promise<FastifyReply> {
  const wallet = await openWallet(visit);
  return sendCsv(
    visit,
    `statement-${wallet.currency}.csv`,
    ['posted_at', 'kind', 'ref', 'change', 'balance', 'currency'],
    eachLine(visit, wallet.currency),
    newExportId(),
  );
}

async function* eachLine(visit: HolderRequest, currency: string): AsyncGenerator<CsvRow[]> {
  const account = walletAvailable(visit.holder.id, currency);
  let before: bigint | undefined;
  for (;;) {
    const lines: StatementLine[] = await statement(visit.ctx.db, account, {
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

async function topUp(visit: HolderRequest): Promise<FastifyReply> {
  const currency = fieldOf(visit, 'currency', 3);
  const known = [...visit.ctx.catalog.methods.values()].some((method) => method.currency === currency);
  const amount = parseAmount(fieldOf(visit, 'amount', 20), 2);
  if (!known || !amount.ok) throw new Problem('invalid_params', { message: visit.words.balances.topUpWrong });
  await topUpSandbox(visit.ctx, visit.actor, visit.holder.id, currency, amount.amount);
  return redirect(visit, '/console/balances', 'saved');
}
