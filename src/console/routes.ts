// The console: every route with who may use it, and the one dispatcher that asks in the same order each time: who is
// there, may they, is the form theirs, did they prove it lately; then the page.

import type { FastifyReply, FastifyRequest } from 'fastify';
import { Problem } from '../platform/errors.ts';
import { parseForms } from '../platform/forms.ts';
import { html, problemText } from '../platform/html.ts';
import type { HttpServer } from '../platform/http.ts';
import { adminRoutes } from './admin.ts';
import { adminHolderRoutes } from './admin-holders.ts';
import { auditRoutes } from './audit-page.ts';
import { balanceRoutes } from './balances.ts';
import { callbackPageRoutes } from './callbacks-page.ts';
import { caseRoutes } from './cases-page.ts';
import {
  type ConsoleRequest,
  type ConsoleServices,
  isConfirmed,
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
import { profileRoutes } from './profile.ts';
import { keepRequestLog, type RequestLog } from './request-log.ts';
import { requestLogRoutes } from './requests-page.ts';
import type { ConsoleRoute } from './route.ts';
import { signInRoutes } from './sign-in.ts';
import { signUpRoutes } from './sign-up.ts';
import { debuggerRoutes } from './signature-debugger.ts';
import { teamRoutes } from './team.ts';
import { transactionPageRoutes } from './transaction-page.ts';
import { transactionRoutes } from './transactions.ts';

/** A pasted file of payouts or a small picture, written as a form. */
const FORM_LIMIT_BYTES = 2 * 1024 * 1024;

export const CONSOLE_ROUTES: readonly ConsoleRoute[] = [
  ...signInRoutes,
  ...signUpRoutes,
  ...profileRoutes,
  ...homeRoutes,
  ...integrationRoutes,
  ...debuggerRoutes,
  ...transactionRoutes,
  ...transactionPageRoutes,
  ...consoleLinkRoutes,
  ...balanceRoutes,
  ...payoutRoutes,
  ...callbackPageRoutes,
  ...requestLogRoutes,
  ...caseRoutes,
  ...auditRoutes,
  ...teamRoutes,
  ...adminHolderRoutes,
  ...adminRoutes,
];

const visits = new WeakMap<FastifyRequest, ConsoleRequest>();

export function consoleRoutes(app: HttpServer, gateway: Omit<ConsoleServices, 'requestLog'>): RequestLog {
  const requestLog = keepRequestLog(app, gateway.ctx);
  const services: ConsoleServices = {
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
        config: { problemPage: (problem, raw, reply) => problemPage(problem, raw, reply) },
        handler: (raw, reply) => serve(services, route, raw, reply),
      });
    done();
  });
  return requestLog;
}

async function serve(services: ConsoleServices, route: ConsoleRoute, raw: FastifyRequest, reply: FastifyReply) {
  const request = await openRequest(services, raw, reply);
  visits.set(raw, request);
  if (route.access !== 'anyone') {
    const { session } = request;
    if (!session) return redirect(request, `/console/sign-in?next=${encodeURIComponent(returnPath(raw))}`);
    if (route.access === 'admin') {
      if (!session.member.is_admin) throw new Problem('forbidden', { message: request.t.operatorOnly });
    } else if (route.access !== 'member') {
      if (!request.holder || !request.role) {
        if (session.member.is_admin) return redirect(request, '/console/admin');
        throw new Problem('forbidden', { message: request.t.noHolder });
      }
      if (!route.access.includes(request.role)) throw new Problem('forbidden', { message: request.t.roleTooSmall });
    }
    if (route.method === 'POST') requireOwnForm(request);
    const member: MemberRequest = {
      ...request,
      session,
      actor: { memberId: session.member.id, name: session.member.email },
    };
    if (route.confirm && !isConfirmed(member))
      return redirect(request, `/console/confirm?next=${encodeURIComponent(returnPath(raw))}`);
  } else if (route.method === 'POST') requireOwnForm(request);
  return route.handle(request);
}

/** Where a person comes back to after proving who they are: this page, or the one whose form they had sent. */
function returnPath(raw: FastifyRequest): string {
  if (raw.method === 'GET') return safePath(raw.url);
  const from = URL.parse(raw.headers.referer ?? '');
  return from && from.host === raw.headers.host ? safePath(from.pathname + from.search) : '/console';
}

function problemPage(problem: Problem, raw: FastifyRequest, reply: FastifyReply): string {
  const request = visits.get(raw);
  if (!request)
    return problemText(reply, {
      language: 'en',
      title: problem.message,
      styles: [],
      body: html`<main><h1>${problem.message}</h1><p><a href="/console">Console</a></p></main>`,
    });
  const { t } = request;
  const title =
    problem.status >= 500
      ? t.broken
      : problem.status === 404
        ? t.notFound
        : problem.status === 403
          ? t.notAllowed
          : t.refused;
  const page = layoutPage(request, {
    title,
    body: html`<div class="card"><p>${problem.message}</p>${
      problem.details.errors &&
      html`<ul>${Object.values(problem.details.errors)
        .flat()
        .map((sentence) => html`<li>${sentence}</li>`)}</ul>`
    }${problem.status >= 500 && html`<p class="muted">${raw.id}</p>`}<p><a href="/console">${t.toHome}</a></p></div>`,
  });
  return problemText(reply, page);
}
