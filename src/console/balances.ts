// Balances: the wallets, and the statement of one with its running balance, its balance on a day and its CSV export.

import type { FastifyReply } from 'fastify';
import { settlementRef } from '../books/settlement-rows.ts';
import { walletAvailable } from '../ledger/chart.ts';
import { balanceAt, balancesOf, type StatementLine, statement, type WalletBalance } from '../ledger/ledger.ts';
import { type HeldMoney, listHeldMoney } from '../payments/rolling-reserve.ts';
import { topUpSandbox } from '../payments/sandbox-top-up.ts';
import { pendingOf } from '../payments/status.ts';
import { refOf } from '../payments/transactions.ts';
import { DAY_MS } from '../platform/clock.ts';
import type { CsvRow } from '../platform/csv.ts';
import { Problem, wrongField } from '../platform/errors.ts';
import { withColon } from '../platform/french-spaces.ts';
import { type Html, type HtmlValue, html } from '../platform/html.ts';
import { publicId, shortId } from '../platform/ids.ts';
import { formatAmount } from '../platform/money.ts';
import { dayIn } from '../platform/time-zones.ts';
import { readTypedAmount } from '../platform/typed-amounts.ts';
import { dataTable, emptyState, figureCard, sum, who } from '../ui/components.ts';
import { icon } from '../ui/icons.ts';
import { pager, timeTag } from './components.ts';
import { fieldOf, type HolderRequest, money, paramOf, queryOf, readDay } from './console-request.ts';
import { csvTime, sendCsv } from './csv-export.ts';
import { debtBoxes } from './debts.ts';
import { form, isRefused } from './form-components.ts';
import { redirect, renderPage } from './layout.ts';
import { type ConsoleRoute, EVERYONE, forRoles, TREASURERS } from './route.ts';
import { sampleShopButton } from './sample-shop-button.ts';
import { monthlySection, statementSection } from './wallet-statements.ts';

const PAGE_ROWS = 50;
const EXPORT_PAGE_ROWS = 1_000;
const DEFAULT_TOP_UP = '100000';

const TOP_UP = '/balances/top-up';

export const balanceRoutes: ConsoleRoute[] = [
  forRoles(EVERYONE, 'GET', '/balances', listPage),
  forRoles(EVERYONE, 'GET', '/balances/:currency', statementPage),
  forRoles(EVERYONE, 'GET', '/balances/:currency/statement.csv', exportStatement),
  forRoles(TREASURERS, 'POST', TOP_UP, topUp, { formOn: '/balances' }),
];

async function listPage(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, t, role } = request;
  const [wallets, pending, held, debts] = await Promise.all([
    balancesOf(ctx.db, request.holder.id),
    pendingOf(ctx.db, request.holder.id),
    listHeldMoney(ctx.db, request.holder.id),
    debtBoxes(request),
  ]);
  return renderPage(request, {
    title: t.menu.balances,
    lead: t.balances.lead,
    active: 'balances',
    body: html`
      ${debts}
      ${
        wallets.length === 0
          ? emptyState(t.balances.none, t.balances.noneText, sampleShopButton(request))
          : html`
              <div class="cards">
                ${wallets.map((wallet) =>
                  walletCard(
                    request,
                    wallet,
                    pending.get(wallet.currency) ?? 0n,
                    held.find(({ currency }) => currency === wallet.currency),
                  ),
                )}
              </div>
            `
      }
      ${ctx.config.mode === 'sandbox' && TREASURERS.includes(role) && topUpSection(request)}
    `,
  });
}

function walletCard(
  request: HolderRequest,
  wallet: WalletBalance,
  pending: bigint,
  reserve: HeldMoney | undefined,
): Html {
  const { t, role } = request;
  const { currency } = wallet;
  return html`
    <div class="card">
      <p class="figure-label">${t.balances.available}</p>
      <p class="figure">${money(request, wallet.available, currency)}</p>
      <p class="muted">${currency} · ${t.balances.wallet} ${wallet.walletAccount}</p>
      ${sum([
        [t.balances.reserved, money(request, wallet.reserved, currency)],
        ...(wallet.held > 0n ? [[t.balances.held, money(request, wallet.held, currency)] as const] : []),
        [t.balances.pending, money(request, pending, currency)],
      ])}
      ${
        reserve &&
        html`
          <p class="muted">
            ${t.balances.heldText(money(request, reserve.amount, currency), dayIn(request.holder.time_zone, reserve.last_at))}
          </p>
        `
      }
      <div class="actions">
        <a class="button button-secondary" href="/console/balances/${currency}">${icon('file-text')}${t.balances.statement}</a>
        ${
          TREASURERS.includes(role) &&
          wallet.available > 0n &&
          html`
            <a class="button button-secondary" href="/console/payouts/new?currency=${currency}">
              ${icon('send')}${t.balances.payOut}
            </a>
          `
        }
      </div>
    </div>
  `;
}

function topUpSection(request: HolderRequest): Html {
  const { t, ctx } = request;
  const currencies = [...new Set([...ctx.catalog.methods.values()].map((method) => method.currency))].sort();
  return html`
    <details class="card"${isRefused(request, TOP_UP) && html` open`}>
      <summary>${t.balances.topUp}</summary>
      ${form(request, {
        action: TOP_UP,
        row: true,
        fields: [
          {
            type: 'select',
            name: 'currency',
            label: t.currency,
            choices: currencies.map((currency) => [currency, currency] as const),
          },
          {
            name: 'amount',
            label: t.amount,
            value: DEFAULT_TOP_UP,
            required: true,
            attributes: html`inputmode="decimal"`,
          },
        ],
        submit: t.balances.topUp,
      })}
    </details>
  `;
}

async function openWallet(request: HolderRequest): Promise<WalletBalance> {
  const [wallet] = await balancesOf(request.ctx.db, request.holder.id, { currency: paramOf(request, 'currency') });
  if (!wallet) throw new Problem('not_found', { message: request.t.balances.notFound });
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
  return renderPage(request, {
    title: t.balances.title(wallet.currency),
    active: 'balances',
    actions: html`
      <a class="button button-secondary" href="/console/balances/${wallet.currency}/statement.csv" download>
        ${t.transactions.export}
      </a>
    `,
    body: html`
      <div class="cards">
        ${figureCard(
          t.balances.available,
          money(request, wallet.available, wallet.currency),
          `${withColon(request, t.balances.reserved)} ${money(request, wallet.reserved, wallet.currency)}`,
        )}
        ${await dayCard(request, wallet.currency)}
      </div>
      ${
        shown.length === 0
          ? emptyState(t.balances.noEntries, t.balances.noneText)
          : statementTable(request, wallet.currency, shown)
      }
      ${pager(request, next)}
      ${statementSection(request, wallet.currency)}
      ${await monthlySection(request, wallet.currency)}
    `,
  });
}

/** A form for a day, and the balance at its end. */
async function dayCard(request: HolderRequest, currency: string): Promise<Html> {
  const { ctx, t, holder } = request;
  const text = queryOf(request, 'day', 10);
  const day = readDay(text);
  const balance = day
    ? await balanceAt(ctx.db, walletAvailable(holder.id, currency), new Date(day.getTime() + DAY_MS - 1))
    : null;
  return html`
    <div class="card">
      ${form(request, {
        action: `/balances/${currency}`,
        method: 'get',
        fields: [{ type: 'date', name: 'day', label: t.balances.onDay, value: text, required: true }],
        submit: t.show,
        variant: 'secondary',
      })}
      ${balance !== null && html`<p id="at-day"><b>${money(request, balance, currency)}</b></p>`}
    </div>
  `;
}

function statementTable(request: HolderRequest, currency: string, lines: readonly StatementLine[]): Html {
  const { t } = request;
  return dataTable(
    t.balances.statement,
    [
      { label: t.transactions.type, phone: 'main' },
      { label: t.reference },
      { label: t.balances.change, right: true, phone: 'amount' },
      { label: t.balances.balance, right: true, phone: 'status' },
      { label: t.time, right: true },
    ],
    lines.map((line) => [
      // The link of the reference is not shown on a phone.
      who(t.transfers[line.kind], timeTag(request, line.postedAt), hrefOf(line)),
      lineLink(line),
      html`<span class="amount">${line.change > 0n ? '+' : ''}${money(request, line.change, currency)}</span>`,
      money(request, line.balance, currency),
      timeTag(request, line.postedAt),
    ]),
  );
}

/** What a line belongs to: mostly a transaction. Money of a settlement, a dispute or suspense is posted under the id of that. */
function ownerOf({ kind, transactionId: id }: StatementLine): { ref: string; path: string | null } {
  if (kind === 'sandbox_top_up') return { ref: '', path: null };
  if (kind.startsWith('settlement'))
    return { ref: settlementRef({ id }), path: `/console/settlements/${settlementRef({ id })}` };
  const caseRef = publicId('case', id);
  // The case of money in suspense is the gateway's own.
  if (kind.startsWith('suspense_')) return { ref: caseRef, path: null };
  if (kind.startsWith('dispute_') && !kind.startsWith('dispute_cover'))
    return { ref: caseRef, path: `/console/cases/${caseRef}` };
  return { ref: refOf({ id }), path: `/console/transactions/${refOf({ id })}` };
}

function hrefOf(line: StatementLine): { href?: string } {
  const { path } = ownerOf(line);
  return path === null ? {} : { href: path };
}

function lineLink(line: StatementLine): HtmlValue {
  const { ref, path } = ownerOf(line);
  if (ref === '') return '';
  const code = html`<code title="${ref}">…${shortId(ref)}…</code>`;
  return path === null ? code : html`<a href="${path}">${code}</a>`;
}

async function exportStatement(request: HolderRequest): Promise<FastifyReply> {
  const wallet = await openWallet(request);
  return sendCsv(
    request,
    `statement-${wallet.currency}`,
    ['posted_at', 'kind', 'ref', 'change', 'balance', 'currency'],
    eachLine(request, wallet.currency),
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
        csvTime(line.postedAt),
        line.kind,
        ownerOf(line).ref,
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
  const amount = readTypedAmount(fieldOf(request, 'amount'), request.language, { currency });
  if (!known) throw wrongField('currency', request.t.balances.topUpInvalid);
  if (!amount.ok) throw wrongField('amount', amount.sentence);
  await topUpSandbox(request.ctx, request.actor, request.holder.id, currency, amount.amount);
  return redirect(request, '/console/balances', 'saved');
}
