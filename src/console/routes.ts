// The console: every route with who may use it, and the one dispatcher that asks in the same order each time: who is
// there, may they, is the form theirs, did they prove it lately; then the page.

import type { FastifyReply, FastifyRequest } from 'fastify';
import { Problem } from '../platform/errors.ts';
import { parseForms } from '../platform/forms.ts';
import { html, problemText } from '../platform/html.ts';
import type { HttpServer } from '../platform/http.ts';
import { adminRoutes } from './admin.ts';
import { balanceRoutes } from './balances.ts';
import {
  type ConsoleRequest,
  type ConsoleServices,
  type MemberRequest,
  openRequest,
  requireOwnForm,
  safePath,
} from './console-request.ts';
import { homeRoutes } from './home.ts';
import { integrationRoutes } from './integrations.ts';
import { layoutPage, redirect } from './layout.ts';
import { consoleLinkRoutes } from './links.ts';
import { payoutRoutes } from './payouts.ts';
import { isConfirmed, profileRoutes } from './profile.ts';
import { keepRequestLog, type RequestLog } from './request-log.ts';
import type { ConsoleRoute } from './route.ts';
import { signInRoutes } from './sign-in.ts';
import { debuggerRoutes } from './signature-debugger.ts';
import { teamRoutes } from './team.ts';
import { transactionPageRoutes } from './transaction-page.ts';
import { transactionRoutes } from './transactions.ts';
import { watchingRoutes } from './watching.ts';

/** A pasted file of payouts or a small picture, written as a form. */
const FORM_LIMIT_BYTES = 2 * 1024 * 1024;

export const CONSOLE_ROUTES: readonly ConsoleRoute[] = [
  ...signInRoutes,
  ...profileRoutes,
  ...homeRoutes,
  ...integrationRoutes,
  ...debuggerRoutes,
  ...transactionRoutes,
  ...transactionPageRoutes,
  ...consoleLinkRoutes,
  ...balanceRoutes,
  ...payoutRoutes,
  ...watchingRoutes,
  ...teamRoutes,
  ...adminRoutes,
];

const visits = new WeakMap<FastifyRequest, ConsoleRequest>();

export function consoleRoutes(app: HttpServer, gateway: Omit<ConsoleServices, 'requestLog'>): RequestLog {
  const requestLog = keepRequestLog(app, gateway.ctx);
  const parts: ConsoleServices = {
    ctx: gateway.ctx,
    payments: gateway.payments,
    deliverer: gateway.deliverer,
    operator: gateway.operator,
    requestLog,
  };
  app.register((scope, _options, done) => {
    parseForms(scope, FORM_LIMIT_BYTES);
    for (const route of CONSOLE_ROUTES)
      scope.route({
        method: route.method,
        url: `/console${route.path}`,
        bodyLimit: FORM_LIMIT_BYTES,
        config: { problemPage: (problem, request, reply) => problemPage(problem, request, reply) },
        handler: (request, reply) => serve(parts, route, request, reply),
      });
    done();
  });
  return requestLog;
}

async function serve(parts: ConsoleServices, route: ConsoleRoute, request: FastifyRequest, reply: FastifyReply) {
  const visit = await openRequest(parts, request, reply);
  visits.set(request, visit);
  if (route.access !== 'anyone') {
    const { session } = visit;
    if (!session) return redirect(visit, `/console/sign-in?next=${encodeURIComponent(returnPath(request))}`);
    if (route.access === 'admin') {
      if (!session.member.is_admin) throw new Problem('forbidden', { message: visit.words.operatorOnly });
    } else if (route.access !== 'member') {
      if (!visit.holder || !visit.role) {
        if (session.member.is_admin) return redirect(visit, '/console/admin');
        throw new Problem('forbidden', { message: visit.words.noHolder });
      }
      if (!route.access.includes(visit.role)) throw new Problem('forbidden', { message: visit.words.roleTooSmall });
    }
    if (route.method === 'POST') requireOwnForm(visit);
    const member: MemberRequest = {
      ...visit,
      session,
      actor: { memberId: session.member.id, name: session.member.email },
    };
    if (route.confirm && !isConfirmed(member))
      return redirect(visit, `/console/confirm?next=${encodeURIComponent(returnPath(request))}`);
  } else if (route.method === 'POST') requireOwnForm(visit);
  return route.handle(visit);
}

/** Where a person comes back to after proving who they are: this page, or the one whose form they had sent. */
function returnPath(request: FastifyRequest): string {
  if (request.method === 'GET') return safePath(request.url);
  const from = URL.parse(request.headers.referer ?? '');
  return from && from.host === request.headers.host ? safePath(from.pathname + from.search) : '/console';
}

function problemPage(problem: Problem, request: FastifyRequest, reply: FastifyReply): string {
  const visit = visits.get(request);
  if (!visit)
    return problemText(reply, {
      language: 'en',
      title: problem.message,
      styles: [],
      body: html`<main><h1>${problem.message}</h1><p><a href="/console">Console</a></p></main>`,
    });
  const { words } = visit;
  const title =
    problem.status >= 500
      ? words.broken
      : problem.status === 404
        ? words.notFound
        : problem.status === 403
          ? words.notAllowed
          : words.refused;
  const page = layoutPage(visit, {
    title,
    body: html`<div class="card"><p>${problem.message}</p>${
      problem.details.errors &&
      html`<ul>${Object.values(problem.details.errors)
        .flat()
        .map((sentence) => html`<li>${sentence}</li>`)}</ul>`
    }${problem.status >= 500 && html`<p class="m">${request.id}</p>`}<p><a href="/console">${words.toHome}</a></p></div>`,
  });
  return problemText(reply, page);
}
