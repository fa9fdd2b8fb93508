// Connections to operators, for admins: each with its state, how it does and what it holds; then health by method.

import type { FastifyReply } from 'fastify';
import {
  type ConnectionView,
  listSharedAccounts,
  type OperatorHealth,
  readConnectionViews,
  type SharedAccount,
} from '../payments/connection-views.ts';
import { listGoneMethods } from '../payments/gone-methods.ts';
import { type Html, html } from '../platform/html.ts';
import { dataTable, emptyState, operatorTile, shareBar, status, who } from '../ui/components.ts';
import { timeTag } from './components.ts';
import { type MemberRequest, money } from './console-request.ts';
import { floatsInNeed } from './float.ts';
import { renderPage } from './layout.ts';
import { readMethodDays } from './merchant-figures.ts';
import { countryNames, methodTitle } from './names.ts';
import { type ConsoleRoute, forAdmin } from './route.ts';

const LIVE_SECONDS = 10;
/** Slower than this, somebody who waits for a prompt notices it. */
const SLOW_MS = 5_000;
/** Below it, more fails than payers alone explain. */
const LOW_RATE = 0.5;
/** So many calls without an answer are no accident. */
const SILENT_RATE = 0.2;

export const connectionsPageRoutes: ConsoleRoute[] = [forAdmin('GET', '/admin/rails', connectionsPage)];

async function connectionsPage(request: MemberRequest): Promise<FastifyReply> {
  const { ctx, t } = request;
  const [views, floats, gone, shared, history] = await Promise.all([
    readConnectionViews(ctx),
    floatsInNeed(request),
    listGoneMethods(ctx),
    listSharedAccounts(ctx),
    historyTable(request),
  ]);
  return renderPage(request, {
    title: t.menu.rails,
    lead: t.connections.lead,
    active: 'rails',
    live: LIVE_SECONDS,
    actions: html`
      <a class="button" href="/console/admin/rails/new">${t.connections.add}</a>
      <a class="button button-secondary" href="/console/admin/rails/routes">${t.connections.routes}</a>
    `,
    body: html`
      ${floats}
      ${gone.map(
        ({ rail, method, transactions }) =>
          html`<p class="box warning">${t.admin.goneMethod(`${method} (${rail})`, transactions)}</p>`,
      )}
      ${shared.map((each) => sharedNotice(request, each))}
      ${views.length === 0 ? emptyState(t.connections.none, t.connections.noneText[ctx.config.mode]) : connectionTable(request, views)}
      <section>
        <h2>${t.connections.health}</h2>
        ${healthTable(request)}
      </section>
      <section>
        <h2>${t.admin.history}</h2>
        ${history}
      </section>
    `,
  });
}

function sharedNotice({ t, language }: MemberRequest, { title, use, connections }: SharedAccount): Html {
  const names = new Intl.ListFormat(language).format(connections);
  return use === 'reports'
    ? html`<p class="box warning">${t.admin.sharedAccount(names, title)}</p>`
    : html`<p class="box">${t.admin.sharedFloat(names)}</p>`;
}

function connectionTable(request: MemberRequest, views: readonly ConnectionView[]): Html {
  const { t } = request;
  return dataTable(
    t.menu.rails,
    [
      { label: t.connections.connection, phone: 'main' },
      { label: t.state, phone: 'status' },
      { label: t.connections.methods },
      { label: t.connections.float, right: true, phone: 'amount' },
      { label: t.home.rate, right: true },
      { label: t.admin.noAnswer, right: true },
      { label: t.admin.median, right: true },
    ],
    views.map((view) => {
      const { name, methods, environment } = view.connection;
      const totals = totalsOf(view);
      return [
        who(name, `${view.title}, ${t.connections.environments[environment]}`, {
          href: `/console/admin/rails/${name}`,
        }),
        connectionState(request, view),
        html`
          ${methods.length}
          <span class="muted">${countryNames(request, methods)}</span>
        `,
        view.balances.map(({ available, currency }) => html`<div>${money(request, available, currency)}</div>`),
        totals.successRate === null ? '–' : percent(totals.successRate),
        totals.calls === 0 ? '–' : percent(totals.silentRate),
        totals.slowestMs === null ? '–' : `${Math.round(totals.slowestMs)} ms`,
      ];
    }),
  );
}

/** In a few words: removed, paused, or how its worst method does. */
export function connectionState(request: MemberRequest, { connection, health }: ConnectionView): Html {
  const { t } = request;
  if (connection.removedAt) return status('neutral', t.connections.removed);
  if (connection.pausedAt) return status('warning', t.connections.paused);
  const worst = health.toSorted((left, right) => severity(right) - severity(left))[0];
  return worst ? healthState(request, worst) : status('neutral', t.connections.unused);
}

function severity({ state, medianMs, silentRate }: OperatorHealth): number {
  if (state === 'open') return 3;
  if (state === 'half_open') return 2;
  return isSlow({ medianMs, silentRate }) ? 1 : 0;
}

function isSlow({ medianMs, silentRate }: Pick<OperatorHealth, 'medianMs' | 'silentRate'>): boolean {
  return (medianMs ?? 0) > SLOW_MS || silentRate > SILENT_RATE;
}

/** "Up", "Slow", "Trying again", or "Down since 10:20". */
function healthState(request: MemberRequest, health: OperatorHealth): Html {
  const { t } = request;
  const { state, openedAt } = health;
  if (state === 'open')
    return html`${status('error', t.admin.breakers.open)} <span class="muted">${openedAt && t.since} ${timeTag(request, openedAt)}</span>`;
  if (state === 'half_open') return status('warning', t.admin.breakers.half_open);
  return isSlow(health) ? status('warning', t.admin.slow) : status('success', t.admin.breakers.closed);
}

type Totals = { calls: number; successRate: number | null; silentRate: number; slowestMs: number | null };

/** Over all methods of a connection, by the number of calls of each. The time is that of the slowest method. */
function totalsOf({ health }: ConnectionView): Totals {
  const calls = health.reduce((sum, each) => sum + each.calls, 0);
  const decided = health.filter((each) => each.successRate !== null);
  const decidedCalls = decided.reduce((sum, each) => sum + each.calls, 0);
  const times = health.flatMap(({ medianMs }) => medianMs ?? []);
  return {
    calls,
    successRate:
      decidedCalls === 0
        ? null
        : decided.reduce((sum, each) => sum + (each.successRate ?? 0) * each.calls, 0) / decidedCalls,
    silentRate: calls === 0 ? 0 : health.reduce((sum, each) => sum + each.silentRate * each.calls, 0) / calls,
    slowestMs: times.length === 0 ? null : Math.max(...times),
  };
}

const percent = (share: number) => `${Math.round(share * 100)} %`;

/** Each method of each connection that was called in the last hour, or of one connection. */
export function healthTable(request: MemberRequest, connection?: string): Html {
  const { ctx, t } = request;
  const all = ctx.rails.health.snapshot();
  const health = connection === undefined ? all : all.filter(({ rail }) => rail === connection);
  if (health.length === 0) return emptyState(t.admin.noCalls, t.admin.noCallsText);
  return dataTable(
    t.connections.health,
    [
      { label: t.admin.rail, phone: 'main' },
      { label: t.admin.breaker, phone: 'status' },
      { label: t.admin.calls, right: true },
      { label: t.home.rate, right: true, phone: 'amount' },
      { label: t.admin.noAnswer, right: true },
      { label: t.admin.median, right: true },
    ],
    health.map((each) => [
      who(methodTitle(request, each.operator), each.rail, { tile: operatorTile(methodTitle(request, each.operator)) }),
      healthState(request, each),
      each.calls,
      each.successRate === null ? '–' : percent(each.successRate),
      percent(each.silentRate),
      each.medianMs === null ? '–' : `${Math.round(each.medianMs)} ms`,
    ]),
  );
}

/** How payments of each method ended, today and the day before, over all merchants. */
async function historyTable(request: MemberRequest): Promise<Html> {
  const { ctx, t } = request;
  const days = await readMethodDays(ctx);
  if (days.length === 0) return emptyState(t.admin.noHistory, t.admin.noHistoryText);
  return dataTable(
    t.admin.history,
    [
      { label: t.admin.rail, phone: 'main' },
      { label: t.day, phone: 'status' },
      { label: t.admin.succeeded, right: true },
      { label: t.admin.failed, right: true },
      { label: t.home.rate, right: true, phone: 'amount' },
    ],
    days.map(({ method, day, succeeded, failed }) => {
      const ended = succeeded + failed;
      const share = ended === 0 ? null : succeeded / ended;
      return [
        html`${methodTitle(request, method)}${share !== null && shareBar(share, share < LOW_RATE ? 'error' : 'success')}`,
        day,
        succeeded,
        failed,
        share === null ? '–' : percent(share),
      ];
    }),
  );
}
