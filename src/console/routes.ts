// The console: every route with who may use it, and the dispatcher that checks in the same order each time: is there a
// session, may this member use the route, is the form their own, was their identity confirmed lately.

import cookie from '@fastify/cookie';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Session } from '../holders/members.ts';
import { recordFailedSignIn } from '../holders/security-events.ts';
import { OrderRefusal } from '../payments/order-refusals.ts';
import { BlockedNumberProblem } from '../payments/payment-limits.ts';
import { Problem } from '../platform/errors.ts';
import { FORM_LIMIT_BYTES, parseForms } from '../platform/forms.ts';
import { html, problemText } from '../platform/html.ts';
import { addressOf, type HttpServer } from '../platform/http.ts';
import { parseUploads } from '../platform/uploads.ts';
import { adminRoutes } from './admin.ts';
import { adminHolderRoutes } from './admin-holders.ts';
import { merchantPaymentRoutes } from './admin-merchant-payments.ts';
import { approvalSettingRoutes } from './approval-settings.ts';
import { auditExportRoutes } from './audit-export-page.ts';
import { auditRoutes } from './audit-page.ts';
import { balanceRoutes } from './balances.ts';
import { booksCloseRoutes } from './books-close-page.ts';
import { booksClosesRoutes } from './books-closes-page.ts';
import { booksRoutes } from './books-page.ts';
import { booksProposalRoutes } from './books-proposals-page.ts';
import { breakPageRoutes } from './break-page.ts';
import { breaksRoutes } from './breaks-page.ts';
import { callbackPageRoutes } from './callbacks-page.ts';
import { casePageRoutes } from './case-page.ts';
import { caseRoutes } from './cases-page.ts';
import { canBeSentAfterProof, confirmRoutes } from './confirm.ts';
import { connectionFormRoutes } from './connection-form.ts';
import { connectionPageRoutes } from './connection-page.ts';
import { connectionRouteRoutes } from './connection-routes-page.ts';
import { connectionsPageRoutes } from './connections-page.ts';
import {
  type ConsoleRequest,
  fieldOf,
  hasSession,
  isConfirmed,
  openRequest,
  type RefusedForm,
  requireActive,
  requireOwnForm,
  requireShownHolder,
  safePath,
} from './console-request.ts';
import { type ConsoleServices, createConsoleServices, type GatewayServices } from './console-services.ts';
import { debtRoutes } from './debts.ts';
import { disputeRoutes } from './dispute-evidence.ts';
import { factorRoutes } from './factor-pages.ts';
import { factorProofRoutes } from './factor-proof.ts';
import { floatRoutes } from './float.ts';
import { homeRoutes } from './home.ts';
import { integrationPageRoutes } from './integration-page.ts';
import { integrationRoutes } from './integrations.ts';
import { invitationRoutes } from './invitation-page.ts';
import { layoutPage, redirect } from './layout.ts';
import { limitSettingRoutes } from './limit-settings.ts';
import { limitsRoutes } from './limits-page.ts';
import { consoleLinkRoutes } from './links.ts';
import { listExportRoutes } from './list-exports.ts';
import { noticeRoutes } from './notices.ts';
import { notificationRoutes } from './notifications-page.ts';
import { operatorReportRoutes } from './operator-reports-page.ts';
import { passkeyRoutes } from './passkey-pages.ts';
import { payoutFileRoutes } from './payout-file-page.ts';
import { payoutImportRoutes } from './payout-import-page.ts';
import { payoutRoutes } from './payouts.ts';
import { secondStepRoutes } from './pending-sign-in.ts';
import { profileRoutes } from './profile.ts';
import { receiptTextRoutes } from './receipt-text-settings.ts';
import { recoveryCodeRoutes } from './recovery-codes-page.ts';
import { refundRoutes } from './refund-page.ts';
import { requestLogRoutes } from './requests-page.ts';
import type { Access, ConsoleRoute } from './route.ts';
import { sampleShopRoutes } from './sample-shop-page.ts';
import { savedFilterRoutes } from './saved-filters.ts';
import { searchRoutes } from './search.ts';
import { settingsRoutes } from './settings-page.ts';
import { settlementRoutes } from './settlements.ts';
import { signInRoutes } from './sign-in.ts';
import { signUpRoutes } from './sign-up.ts';
import { debuggerRoutes } from './signature-debugger.ts';
import { statementFileRoutes } from './statement-file-page.ts';
import { statementRoutes } from './statements-page.ts';
import { systemRoutes } from './system-page.ts';
import { teamRoutes } from './team.ts';
import { teamMemberRoutes } from './team-member-page.ts';
import { transactionActionRoutes } from './transaction-actions.ts';
import { transactionNoteRoutes } from './transaction-notes.ts';
import { transactionPageRoutes } from './transaction-page.ts';
import { transactionReceiptRoutes } from './transaction-receipt.ts';
import { transactionRetryRoutes } from './transaction-retry.ts';
import { transactionRoutes } from './transactions.ts';
import { walletStatementRoutes } from './wallet-statements.ts';
import { mustChooseCredential, welcomeRoutes } from './welcome-page.ts';

/** A small picture, or the largest file of payouts: a form writes a byte outside ASCII as three. */
const LARGE_FORM_BYTES = 4 * 1024 * 1024;
/** What a proof adds to the form that is sent after it: above all the answer of a passkey. */
const PROOF_BYTES = 2 * 1024;

export const CONSOLE_ROUTES: readonly ConsoleRoute[] = [
  ...signInRoutes,
  ...secondStepRoutes,
  ...signUpRoutes,
  ...invitationRoutes,
  ...profileRoutes,
  ...factorProofRoutes,
  ...factorRoutes,
  ...passkeyRoutes,
  ...recoveryCodeRoutes,
  ...confirmRoutes,
  ...welcomeRoutes,
  ...sampleShopRoutes,
  ...noticeRoutes,
  ...homeRoutes,
  ...integrationRoutes,
  ...integrationPageRoutes,
  ...debuggerRoutes,
  ...transactionRoutes,
  ...savedFilterRoutes,
  ...listExportRoutes,
  ...searchRoutes,
  ...transactionPageRoutes,
  ...transactionActionRoutes,
  ...transactionNoteRoutes,
  ...transactionReceiptRoutes,
  ...transactionRetryRoutes,
  ...refundRoutes,
  ...consoleLinkRoutes,
  ...balanceRoutes,
  ...walletStatementRoutes,
  ...settlementRoutes,
  ...payoutRoutes,
  ...notificationRoutes,
  ...payoutImportRoutes,
  ...payoutFileRoutes,
  ...settingsRoutes,
  ...approvalSettingRoutes,
  ...receiptTextRoutes,
  ...limitSettingRoutes,
  ...disputeRoutes,
  ...callbackPageRoutes,
  ...requestLogRoutes,
  ...caseRoutes,
  ...casePageRoutes,
  ...auditRoutes,
  ...auditExportRoutes,
  ...teamRoutes,
  ...teamMemberRoutes,
  ...adminHolderRoutes,
  ...merchantPaymentRoutes,
  ...systemRoutes,
  ...adminRoutes,
  ...connectionsPageRoutes,
  ...connectionRouteRoutes,
  ...connectionFormRoutes,
  ...connectionPageRoutes,
  ...statementRoutes,
  ...statementFileRoutes,
  ...booksRoutes,
  ...breaksRoutes,
  ...breakPageRoutes,
  ...booksProposalRoutes,
  ...booksCloseRoutes,
  ...booksClosesRoutes,
  ...operatorReportRoutes,
  ...floatRoutes,
  ...limitsRoutes,
  ...debtRoutes,
];

declare module 'fastify' {
  interface FastifyRequest {
    /** Set once the console knows who asks: error pages are shown in the visitor's language and layout. */
    consoleRequest: ConsoleRequest | null;
  }
}

export function consoleRoutes(app: HttpServer, gateway: GatewayServices): void {
  const services = createConsoleServices(gateway);
  app.register(async (scope) => {
    await scope.register(cookie);
    scope.decorateRequest('consoleRequest', null);
    parseForms(scope);
    parseUploads(scope);
    for (const route of CONSOLE_ROUTES)
      scope.route({
        method: route.method,
        url: `/console${route.path}`,
        ...(route.largeForm && largeForm(services, LARGE_FORM_BYTES)),
        ...(route.uploadBytes > 0 && largeForm(services, route.uploadBytes + LARGE_FORM_BYTES)),
        config: { problemPage, ...(route.uploadBytes > 0 && { uploadBytes: route.uploadBytes }) },
        handler: (raw, reply) => serve(services, route, raw, reply),
      });
    // The page that is shown again has the address of its form, where a person may open it or change the language.
    for (const { path, formOn } of CONSOLE_ROUTES)
      if (formOn !== null && !findPage(path))
        scope.get(`/console${path}`, (raw, reply) => reply.redirect(pageAddress(raw, formOn), 303));
  });
}

/** A large form is read only after the session is known; without one the visitor is led to the sign-in page at once. */
function largeForm({ ctx }: ConsoleServices, bodyLimit: number) {
  return {
    bodyLimit,
    onRequest: async (raw: FastifyRequest, reply: FastifyReply) => {
      if (await hasSession(ctx, raw)) {
        raw.place?.callerKnown();
        return undefined;
      }
      return reply.redirect(`/console/sign-in?next=${encodeURIComponent(returnPath(raw))}`, 303);
    },
  };
}

async function serve(services: ConsoleServices, route: ConsoleRoute, raw: FastifyRequest, reply: FastifyReply) {
  const request = await openRequest(services, raw, reply);
  raw.consoleRequest = request;
  if (request.session) raw.place?.callerKnown();
  if (route.access !== 'anyone') {
    const { session } = request;
    if (!session) return redirect(request, `/console/sign-in?next=${encodeURIComponent(returnPath(raw))}`);
    const hasHolder = request.holder !== null && request.role !== null;
    if (Array.isArray(route.access) && !hasHolder && session.member.is_admin)
      return redirect(request, '/console/admin');
    if (!route.withoutCredential && mustChooseCredential(request)) return redirect(request, '/console/welcome');
    requireAccess(request, session, route.access);
  }
  if (route.method === 'POST') requireOwnForm(request);
  if (route.method === 'POST' && Array.isArray(route.access)) {
    requireShownHolder(request);
    if (!route.whenSuspended) requireActive(request);
  }
  if (route.confirm && !isConfirmed(request)) return askForProof(request, route);
  const isGuess = route.access === 'anyone' && route.method === 'POST';
  try {
    const answer = await route.handle(request);
    if (isGuess && reply.statusCode === 401) await recordRefusal(request);
    return answer;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    if (isGuess && error.status === 401) await recordRefusal(request);
    const page = route.formOn !== null && isAboutForm(error) && findPage(route.formOn);
    if (!page) throw error;
    return page.handle({ ...request, refused: refusedForm(request, error) });
  }
}

/** A form is carried along and sent after the proof. Where that cannot be, the page with the form says that it was not sent. */
async function askForProof(request: ConsoleRequest, route: ConsoleRoute): Promise<FastifyReply> {
  const { raw } = request;
  const page = !route.secrets && findPage('/confirm');
  const limit = route.largeForm ? LARGE_FORM_BYTES : FORM_LIMIT_BYTES;
  const fits = Number(raw.headers['content-length'] ?? limit) <= limit - PROOF_BYTES;
  if (page && route.method === 'POST' && fits && canBeSentAfterProof(request)) return page.handle(request);
  return redirect(request, `/console/confirm?next=${encodeURIComponent(returnPath(raw))}`);
}

/** Not that somebody may not send it, that what it is about is gone, or that the service cannot answer. */
function isAboutForm({ status }: Problem): boolean {
  return status >= 400 && status < 500 && ![401, 403, 404].includes(status);
}

function refusedForm(request: ConsoleRequest, problem: Problem): RefusedForm {
  return {
    action: request.raw.url.replace(/^\/console|\?.*$/g, ''),
    status: problem.status,
    sentence: problemSentence(request, problem),
    errors: (!saysAll(problem) && problem.details.errors) || {},
    isSaid: false,
  };
}

/** A wrong password, code, passkey or link, whichever form it was given in. The visitor is answered in any case. */
async function recordRefusal(request: ConsoleRequest): Promise<void> {
  const { ctx, raw } = request;
  await recordFailedSignIn(ctx, { email: fieldOf(request, 'email', 254), address: addressOf(raw) }).catch(
    (error: unknown) => ctx.log.warn({ err: error }, 'a failed sign-in was not recorded'),
  );
}

/** Refuses members whom the table of routes does not allow. */
function requireAccess({ t, holder, role }: ConsoleRequest, { member }: Session, access: Access): void {
  if (access === 'anyone' || access === 'member') return;
  if (access === 'admin') {
    if (!member.is_admin) throw new Problem('forbidden', { message: t.adminOnly });
    return;
  }
  if (!holder || !role) throw new Problem('forbidden', { message: t.noHolder });
  if (!access.includes(role)) throw new Problem('forbidden', { message: t.roleNotAllowed });
}

/** The page with the form, with the same parameters in its path and the same query. */
function pageAddress(raw: FastifyRequest, path: string): string {
  const params = raw.params as Record<string, string>;
  const filled = path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
  return safePath(`/console${filled}${/\?.*/s.exec(raw.url)?.[0] ?? ''}`);
}

function findPage(path: string): ConsoleRoute | undefined {
  return CONSOLE_ROUTES.find((route) => route.method === 'GET' && route.path === path);
}

/** What a browser can open. The answer to a form may have an address that is none. */
const PAGES = CONSOLE_ROUTES.filter(({ method }) => method === 'GET').map(
  ({ path }) => new RegExp(`^/console${path.replace(/:\w+/g, '[^/]+')}(?:\\?|$)`),
);

/**
 * Where a member returns to after a proof: this page, or the one whose form was sent. What was sent is gone then, and that page
 * says so.
 */
function returnPath(raw: FastifyRequest): string {
  if (raw.method === 'GET') return safePath(raw.url);
  const [path = '', search = ''] = formPath(raw).split('?');
  const query = new URLSearchParams(search);
  query.set('done', 'repeatStep');
  return safePath(`${path}?${query.toString()}`);
}

/** The page whose form was sent; else the page at the form's own address. */
function formPath(raw: FastifyRequest): string {
  const from = URL.parse(raw.headers.referer ?? '');
  const sentFrom = from && from.host === raw.headers.host ? from.pathname + from.search : '';
  return safePath([sentFrom, raw.url].find((path) => PAGES.some((page) => page.test(path))));
}

function problemPage(problem: Problem, raw: FastifyRequest, reply: FastifyReply): string {
  const request = raw.consoleRequest;
  if (!request)
    return problemText(reply, {
      language: 'en',
      title: problem.message,
      styles: [],
      body: html`<main><h1>${problem.message}</h1><p><a href="/console">Console</a></p></main>`,
    });
  const { t } = request;
  const sentence = problemSentence(request, problem);
  const sentences = saysAll(problem) ? [] : Object.values(problem.details.errors ?? {}).flat();
  const further = sentences.filter((each) => each !== sentence);
  const page = layoutPage(request, {
    title: problemTitle(request, problem.status),
    body: html`
      <div class="card">
        <p>${sentence}</p>
        ${further.length > 0 && html`<ul>${further.map((each) => html`<li>${each}</li>`)}</ul>`}
        ${problem.status >= 500 && html`<p class="muted">${raw.id}</p>`}
        ${raw.method === 'POST' && html`<p><a class="button button-secondary" href="${formPath(raw)}">${t.back}</a></p>`}
        <p><a href="/console">${t.toHome}</a></p>
      </div>
    `,
  });
  return problemText(reply, page);
}

/** Refusals of which the sentence of the page says everything. */
function saysAll(problem: Problem): boolean {
  return (
    problem.code === 'limit_reached' ||
    problem.code === 'refund_not_possible' ||
    problem instanceof BlockedNumberProblem ||
    problem instanceof OrderRefusal
  );
}

/** Messages about the service itself are written for programs; people read their own, in their language. */
function problemSentence({ t }: ConsoleRequest, problem: Problem): string {
  if (problem.code === 'outcome_unknown') return t.outcomeUnknown;
  if (problem.code === 'clock_skewed') return t.clockSkewed;
  if (problem.code === 'rate_limited') return t.tooManyAttempts(problem.details.retryAfterSeconds ?? 1);
  if (problem.code === 'number_limited') return t.numberLimited;
  if (problem.code === 'limit_reached') return t.limitReached;
  if (problem.code === 'transaction_not_found') return t.transaction.notFound;
  if (problem.code === 'payouts_stopped') return t.payouts.stopped;
  if (problem.code === 'operator_asked_first') return t.payouts.operatorAskedFirst;
  if (problem instanceof OrderRefusal) return t.orderRefused[problem.reason];
  if (problem.code === 'refund_not_possible') return t.refunds.notPossible;
  if (problem instanceof BlockedNumberProblem) return t.numberBlocked(`+${problem.msisdn}`);
  return problem.code === 'database_unavailable' || problem.code === 'overloaded' ? t.serviceBusy : problem.message;
}

function problemTitle({ t }: ConsoleRequest, status: number): string {
  if (status >= 500) return t.serverError;
  if (status === 404) return t.notFound;
  return status === 403 ? t.notAllowed : t.requestRejected;
}
