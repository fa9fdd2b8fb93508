// Connections to operators, for admins: each with its state, how it does and what it holds; then health by method.

import type { FastifyReply } from 'fastify';
import { countDueDeliveries } from '../callbacks/endpoints.ts';
import { type ConnectionView, countriesOf, readConnectionViews } from '../payments/connection-views.ts';
import { listGoneMethods } from '../payments/gone-methods.ts';
import { countDuePayments } from '../payments/payment-jobs.ts';
import { type Html, html } from '../platform/html.ts';
import { dataTable, emptyState, figureCard, type Tone, tag } from '../ui/components.ts';
import { timeTag } from './components.ts';
import { type MemberRequest, money } from './console-request.ts';
import { renderPage } from './layout.ts';
import { type ConsoleRoute, forAdmin } from './route.ts';

const LIVE_SECONDS = 10;
const BREAKER_TONES = { closed: 'success', half_open: 'warning', open: 'error' } as const;

export const connectionsPageRoutes: ConsoleRoute[] = [forAdmin('GET', '/admin/rails', connectionsPage)];

async function connectionsPage(request: MemberRequest): Promise<FastifyReply> {
  const { ctx, t, services } = request;
  const [views, payments, deliveries, gone] = await Promise.all([
    readConnectionViews(ctx),
    countDuePayments(ctx.db, ctx.clock.now()),
    countDueDeliveries(ctx.db, ctx.clock.now()),
    listGoneMethods(ctx),
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
      ${gone.map(
        ({ rail, method, transactions }) =>
          html`<p class="box warning">${t.admin.goneMethod(`${method} (${rail})`, transactions)}</p>`,
      )}
      ${views.length === 0 ? emptyState(t.connections.none, t.connections.noneText[ctx.config.mode]) : connectionTable(request, views)}
      <section>
        <h2>${t.connections.health}</h2>
        ${healthTable(request)}
      </section>
      <div class="cards">
        ${figureCard(t.admin.duePayments, payments)}
        ${figureCard(t.admin.dueDeliveries, deliveries)}
        ${figureCard(t.admin.droppedLog, services.requestLog.dropped())}
      </div>
    `,
  });
}

function connectionTable(request: MemberRequest, views: readonly ConnectionView[]): Html {
  const { ctx, t } = request;
  return dataTable(
    t.menu.rails,
    [
      { label: t.connections.connection },
      { label: t.state },
      { label: t.connections.methods },
      { label: t.connections.float, right: true },
      { label: t.home.rate, right: true },
      { label: t.admin.noAnswer, right: true },
      { label: t.admin.median, right: true },
    ],
    views.map((view) => {
      const { name, methods, environment } = view.connection;
      const totals = totalsOf(view);
      return [
        html`
          <a href="/console/admin/rails/${name}">${name}</a>
          <span class="muted">${view.title}, ${t.connections.environments[environment]}</span>
        `,
        connectionState(request, view),
        html`
          ${methods.length}
          <span class="muted">${countriesOf(ctx.catalog, methods).join(', ')}</span>
        `,
        view.balances.map(({ available, currency }) => html`<div>${money(request, available, currency)}</div>`),
        totals.successRate === null ? '–' : percent(totals.successRate),
        totals.calls === 0 ? '–' : percent(totals.silentRate),
        totals.slowestMs === null ? '–' : `${Math.round(totals.slowestMs)} ms`,
      ];
    }),
  );
}

/** In one word: removed, paused, down (of any method), testing or working. */
export function connectionState({ t }: MemberRequest, { connection, health }: ConnectionView): Html {
  if (connection.removedAt) return tag('neutral', t.connections.removed);
  if (connection.pausedAt) return tag('warning', t.connections.paused);
  const states = health.map(({ state }) => state);
  const state = states.includes('open') ? 'open' : states.includes('half_open') ? 'half_open' : 'closed';
  if (health.length === 0) return tag('neutral', t.connections.unused);
  const tone: Tone = BREAKER_TONES[state];
  return tag(tone, t.admin.breakers[state]);
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
      { label: t.admin.rail },
      { label: t.admin.breaker },
      { label: t.admin.calls, right: true },
      { label: t.home.rate, right: true },
      { label: t.admin.noAnswer, right: true },
      { label: t.admin.median, right: true },
      { label: t.since },
    ],
    health.map((each) => [
      html`
        ${ctx.catalog.methods.get(each.operator)?.name ?? each.operator}
        <span class="muted">${each.rail}</span>
      `,
      tag(BREAKER_TONES[each.state], t.admin.breakers[each.state]),
      each.calls,
      each.successRate === null ? '–' : percent(each.successRate),
      percent(each.silentRate),
      each.medianMs === null ? '–' : `${Math.round(each.medianMs)} ms`,
      timeTag(request, each.openedAt),
    ]),
  );
}
