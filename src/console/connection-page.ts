// One connection, for admins: its state, float, routes, the last errors in the operator's words, the last calls without secrets,
// and what can be done with it.

import type { FastifyReply } from 'fastify';
import { pauseConnection, removeConnection, resumeConnection } from '../payments/connection-changes.ts';
import { type ConnectionReport, testConnection } from '../payments/connection-report.ts';
import { type ConnectionDetails, readConnectionDetails, type StoredCall } from '../payments/connection-views.ts';
import { Problem } from '../platform/errors.ts';
import { withColon } from '../platform/french-spaces.ts';
import { type Html, html } from '../platform/html.ts';
import { dataTable, emptyState, facts, tag } from '../ui/components.ts';
import { copyLine, timeTag } from './components.ts';
import { connectionState, healthTable } from './connections-page.ts';
import { type MemberRequest, money, paramOf } from './console-request.ts';
import { floatSection } from './float.ts';
import { dangerForm, postButton } from './form-components.ts';
import { redirect, renderPage } from './layout.ts';
import { methodTitle } from './names.ts';
import { type ConsoleRoute, forAdmin } from './route.ts';

const ERRORS_SHOWN = 10;
const CALLS_SHOWN = 20;
/** Slower than this, somebody who waits for a prompt notices it. */
const SLOW_MS = 5_000;

export const connectionPageRoutes: ConsoleRoute[] = [
  forAdmin('GET', '/admin/rails/:name', (request) => connectionPage(request)),
  forAdmin('POST', '/admin/rails/:name/test', testNow),
  forAdmin('POST', '/admin/rails/:name/pause', pause, { confirm: true }),
  forAdmin('POST', '/admin/rails/:name/resume', resume, { confirm: true }),
  forAdmin('POST', '/admin/rails/:name/remove', remove, { confirm: true }),
];

async function connectionPage(request: MemberRequest, report?: ConnectionReport): Promise<FastifyReply> {
  const { ctx, t } = request;
  const details = await readConnectionDetails(ctx, paramOf(request, 'name'));
  const { connection, title } = details;
  const failed = details.calls.filter((call) => call.status === null || call.status >= 400);
  return renderPage(request, {
    title: connection.name,
    lead: `${title}, ${t.connections.environments[connection.environment]}`,
    active: 'rails',
    ...(connection.removedAt ? {} : { actions: actionsOf(request, details) }),
    body: html`
      ${report && reportBox(request, report)}
      <div class="card">${factsOf(request, details)}</div>
      ${floatCard(request, details)}
      ${!connection.removedAt && (await floatSection(request, connection.name, connection.methods))}
      <section>
        <h2>${t.connections.health}</h2>
        ${healthTable(request, connection.name)}
      </section>
      ${routeCard(request, details)}
      <section>
        <h2>${t.connections.lastErrors}</h2>
        ${
          failed.length === 0
            ? emptyState(t.connections.noErrors, t.connections.noErrorsText)
            : callTable(request, t.connections.lastErrors, failed.slice(0, ERRORS_SHOWN))
        }
      </section>
      <section>
        <h2>${t.connections.lastCalls}</h2>
        ${callList(request, details.calls.slice(0, CALLS_SHOWN))}
      </section>
      ${
        !connection.removedAt &&
        html`
          <section class="card">
            ${dangerForm(request, `/admin/rails/${connection.name}/remove`, t.connections.remove, t.connections.removeMeaning)}
          </section>
        `
      }
    `,
  });
}

function actionsOf(request: MemberRequest, { connection, definition }: ConnectionDetails): Html {
  const { t } = request;
  const path = `/admin/rails/${connection.name}`;
  return html`
    ${postButton(request, `${path}/test`, t.connections.test)}
    <a class="button button-secondary" href="/console${path}/statements">${t.statements.title}</a>
    ${definition && html`<a class="button button-secondary" href="/console${path}/settings">${t.connections.change}</a>`}
    ${
      connection.pausedAt
        ? postButton(request, `${path}/resume`, t.connections.resume, { variant: 'secondary' })
        : postButton(request, `${path}/pause`, t.connections.pause, { variant: 'secondary' })
    }
  `;
}

function factsOf(request: MemberRequest, details: ConnectionDetails): Html {
  const { t } = request;
  const { connection, callbackUrl } = details;
  const names = connection.methods.map((code) => methodTitle(request, code));
  return facts([
    [t.state, connectionState(request, details)],
    [t.connections.pausedSince, timeTag(request, connection.pausedAt)],
    [t.connections.removedSince, timeTag(request, connection.removedAt)],
    [t.connections.methods, names.join(', ')],
    [
      t.connections.holder,
      connection.holderId !== null &&
        html`<a href="/console/admin/holders/${connection.holderId}">${connection.holderId}</a>`,
    ],
    [t.connections.simulatorUrl, connection.baseUrl],
    [t.connections.callbackUrl, copyLine(request, 'callback-url', callbackUrl, t.connections.callbackUrl)],
    [t.connections.matched, t.connections.matchedPolicies[connection.matchedCallbacks]],
    [t.connections.secrets, connection.sealedNames.join(', ')],
    [t.created, html`${timeTag(request, connection.createdAt)} · ${connection.createdBy}`],
  ]);
}

function floatCard(request: MemberRequest, { balances }: ConnectionDetails): Html | false {
  const { t } = request;
  if (balances.length === 0) return false;
  return html`
    <section>
      <h2>${t.connections.accounts}</h2>
      ${dataTable(
        t.connections.accounts,
        [
          { label: t.admin.account },
          { label: t.connections.available, right: true },
          { label: t.connections.reportedAt },
        ],
        balances.map(({ account, available, currency, reportedAt }) => [
          account,
          money(request, available, currency),
          timeTag(request, reportedAt),
        ]),
      )}
    </section>
  `;
}

function routeCard({ t, ctx }: MemberRequest, { routes, connection }: ConnectionDetails): Html {
  const place = (connections: readonly string[]) => connections.indexOf(connection.name) + 1;
  return html`
    <section>
      <h2>${t.connections.routes}</h2>
      ${
        routes.length === 0
          ? emptyState(t.connections.noRoutes, t.connections.noRoutesText)
          : dataTable(
              t.connections.routes,
              [{ label: t.connections.method }, { label: t.connections.direction }, { label: t.connections.order }],
              routes.map(({ method, direction, connections, holderId }) => [
                html`
                  ${ctx.catalog.methods.get(method)?.name ?? method}
                  <span class="muted">${method}${holderId !== null && ` · ${t.connections.holder} ${holderId}`}</span>
                `,
                t.admin.directions[direction],
                `${place(connections)} / ${connections.length} · ${connections.join(', ')}`,
              ]),
            )
      }
      <p><a href="/console/admin/rails/routes">${t.connections.changeRoutes}</a></p>
    </section>
  `;
}

/** What the operator said, in its own words. */
function callTable(request: MemberRequest, caption: string, calls: readonly StoredCall[]): Html {
  const { t } = request;
  return dataTable(
    caption,
    [{ label: t.time }, { label: t.connections.call }, { label: t.connections.answer }],
    calls.map((call) => [
      timeTag(request, call.at),
      html`<code class="wrap">${call.method} ${call.path}</code>`,
      html`${statusTag(request, call)} <code class="wrap">${call.answer.slice(0, 300)}</code>`,
    ]),
  );
}

function callList(request: MemberRequest, calls: readonly StoredCall[]): Html {
  const { t } = request;
  if (calls.length === 0) return emptyState(t.admin.noCalls, t.connections.noCallsText);
  return html`
    <div class="card">
      <p class="muted">${t.connections.callsText}</p>
      ${calls.map(
        (call) => html`
          <details>
            <summary>
              ${timeTag(request, call.at)} <code class="wrap">${call.method} ${call.path}</code>
              ${' '}${statusTag(request, call)} ${Math.round(call.ms)} ms
            </summary>
            ${call.request !== '' && html`<p class="muted">${t.connections.request}</p>${text(call.request, t.connections.request)}`}
            ${call.answer !== '' && html`<p class="muted">${t.connections.answer}</p>${text(call.answer, t.connections.answer)}`}
          </details>
        `,
      )}
    </div>
  `;
}

const text = (value: string, label: string) => html`<pre tabindex="0" aria-label="${label}">${value}</pre>`;

function statusTag({ t }: MemberRequest, { status, ms }: StoredCall): Html {
  if (status === null) return tag('error', t.admin.noAnswer);
  if (status >= 400) return tag('error', String(status));
  return ms >= SLOW_MS ? tag('warning', `${status} · ${t.connections.slow}`) : tag('success', String(status));
}

function reportBox(request: MemberRequest, { checks }: ConnectionReport): Html {
  const { t } = request;
  const isGood = checks.every(({ problem }) => problem === null);
  return html`
    <div class="box ${isGood ? 'success' : 'error'}" role="status">
      <p>${isGood ? t.connections.works : t.connections.doesNotWork}</p>
      <ul>
        ${checks.map(({ name, problem }) =>
          problem === null ? html`<li>✓ ${name}</li>` : html`<li>✗ ${withColon(request, name)} <b>${problem}</b></li>`,
        )}
      </ul>
    </div>
  `;
}

async function testNow(request: MemberRequest): Promise<FastifyReply> {
  const name = paramOf(request, 'name');
  return connectionPage(request, await testConnection(request.ctx, name));
}

async function pause(request: MemberRequest): Promise<FastifyReply> {
  const { name } = await pauseConnection(request.ctx, request.actor, paramOf(request, 'name'));
  return redirect(request, `/console/admin/rails/${name}`, 'connectionPaused');
}

async function resume(request: MemberRequest): Promise<FastifyReply> {
  const { name } = await resumeConnection(request.ctx, request.actor, paramOf(request, 'name'));
  return redirect(request, `/console/admin/rails/${name}`, 'connectionResumed');
}

async function remove(request: MemberRequest): Promise<FastifyReply> {
  const { ctx, actor, t } = request;
  const name = paramOf(request, 'name');
  try {
    await removeConnection(ctx, actor, name);
  } catch (error) {
    if (error instanceof Problem && error.status === 409)
      throw new Problem('invalid_params', { status: 409, message: t.connections.stillOpen });
    throw error;
  }
  return redirect(request, '/console/admin/rails', 'connectionRemoved');
}
