// Which connections serve a method in a direction, in which order. The first that is neither paused nor down takes a new payment.

import type { FastifyReply } from 'fastify';
import type { Direction, Method } from '../catalog/catalog.ts';
import { setRoute } from '../payments/connection-changes.ts';
import { type Route, readRoutes } from '../payments/connection-views.ts';
import { type FieldErrors, Problem } from '../platform/errors.ts';
import { type Html, html } from '../platform/html.ts';
import { dataTable, emptyState } from '../ui/components.ts';
import { fieldOf, idOf, type MemberRequest } from './console-request.ts';
import { errorBox, form } from './form-components.ts';
import { redirect, renderPage } from './layout.ts';
import { methodInCountry, methodTitle } from './names.ts';
import { type ConsoleRoute, forAdmin } from './route.ts';

const MAX_ORDER_CHARACTERS = 400;

export const connectionRouteRoutes: ConsoleRoute[] = [
  forAdmin('GET', '/admin/rails/routes', (request) => routesPage(request)),
  forAdmin('POST', '/admin/rails/routes', change, { confirm: true }),
];

async function routesPage(request: MemberRequest, errors?: FieldErrors): Promise<FastifyReply> {
  const { ctx, t } = request;
  const { routes, connections } = await readRoutes(ctx);
  const served = new Set(connections.flatMap(({ methods }) => methods));
  const methods = [...ctx.catalog.methods.values()].filter(({ code }) => served.has(code));
  return renderPage(request, {
    title: t.connections.routes,
    lead: t.connections.routesLead[ctx.config.mode],
    active: 'rails',
    ...(errors ? { status: 400 } : {}),
    body: html`
      ${errorBox(request, errors)}
      ${routes.length === 0 ? emptyState(t.connections.noRoutes, t.connections.noRoutesText) : routeTable(request, routes)}
      ${methods.length > 0 && routeForm(request, methods, errors)}
      <p><a href="/console/admin/rails">${t.connections.back}</a></p>
    `,
  });
}

function routeTable(request: MemberRequest, routes: readonly Route[]): Html {
  const { t } = request;
  return dataTable(
    t.connections.routes,
    [
      { label: t.connections.method },
      { label: t.connections.direction },
      { label: t.connections.holder },
      { label: t.connections.order },
    ],
    routes.map(({ method, direction, holderId, connections }) => [
      html`${methodTitle(request, method)}<span class="muted">${method}</span>`,
      t.admin.directions[direction],
      holderId === null ? t.connections.everybody : String(holderId),
      html`<ol>${connections.map((name) => html`<li><a href="/console/admin/rails/${name}">${name}</a></li>`)}</ol>`,
    ]),
  );
}

function routeForm(request: MemberRequest, methods: readonly Method[], errors?: FieldErrors): Html {
  const { t } = request;
  const directions = Object.entries(t.admin.directions).map(([code, text]) => [code, text] as const);
  return html`
    <section class="card">
      <h2>${t.connections.changeRoutes}</h2>
      ${form(request, {
        action: '/admin/rails/routes',
        errors,
        fields: [
          {
            type: 'select',
            name: 'method',
            label: t.connections.method,
            value: fieldOf(request, 'method'),
            choices: methods.map((method) => [method.code, methodInCountry(request, method)] as const),
          },
          {
            type: 'select',
            name: 'direction',
            label: t.connections.direction,
            value: fieldOf(request, 'direction'),
            choices: directions,
          },
          {
            name: 'connections',
            label: t.connections.order,
            hint: t.connections.orderHint,
            value: fieldOf(request, 'connections', MAX_ORDER_CHARACTERS),
          },
          {
            name: 'holder',
            label: `${t.connections.holder} (${t.optional})`,
            hint: t.connections.routeHolderHint,
            value: fieldOf(request, 'holder'),
          },
        ],
        submit: t.connections.saveRoute,
      })}
    </section>
  `;
}

async function change(request: MemberRequest): Promise<FastifyReply> {
  const direction: Direction = fieldOf(request, 'direction') === 'payout' ? 'payout' : 'collection';
  const holder = fieldOf(request, 'holder');
  const connections = fieldOf(request, 'connections', MAX_ORDER_CHARACTERS)
    .split(/[\s,]+/)
    .filter(Boolean);
  try {
    await setRoute(request.ctx, request.actor, {
      method: fieldOf(request, 'method'),
      direction,
      holderId: holder === '' ? null : idOf(holder),
      connections,
    });
  } catch (error) {
    if (error instanceof Problem && error.details.errors) return routesPage(request, error.details.errors);
    throw error;
  }
  return redirect(request, '/console/admin/rails/routes', 'saved');
}
