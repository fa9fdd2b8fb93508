// Signing in with a password or a login link, signing out, and switching between holders. Every sign-in makes a new
// session; a session token that the browser brought along is never adopted.

import type { FastifyReply } from 'fastify';
import { mailIsConfigured } from '../holders/mail-queue.ts';
import { mailLoginLink } from '../holders/mailed-links.ts';
import { chooseHolder, peekLoginLink, revokeSession, useLoginLink } from '../holders/members.ts';
import { provePassword } from '../holders/passwords.ts';
import { publicUrl } from '../platform/config.ts';
import { isEmail } from '../platform/email.ts';
import { Problem } from '../platform/errors.ts';
import { type Html, html } from '../platform/html.ts';
import { addressOf } from '../platform/http.ts';
import {
  type ConsoleRequest,
  clearSessionCookie,
  fieldOf,
  idOf,
  type MemberRequest,
  paramOf,
  queryOf,
  safePath,
} from './console-request.ts';
import { emailField, passwordField } from './credential-fields.ts';
import { errorBox, form, postButton } from './form-components.ts';
import { knownBrowser, rememberBrowser } from './known-browser.ts';
import { redirect, renderPage } from './layout.ts';
import { loginLinkHint } from './login-link-hint.ts';
import { mailBoxLink } from './mail-box-link.ts';
import { limitMails } from './mail-limits.ts';
import { passkeyForm } from './passkey-form.ts';
import { continueSignIn } from './pending-sign-in.ts';
import { type ConsoleRoute, forAnyone, forMember } from './route.ts';

export const signInRoutes: ConsoleRoute[] = [
  forAnyone('GET', '/sign-in', async (request) =>
    request.session ? redirect(request, '/console') : signInPage(request),
  ),
  forAnyone('POST', '/sign-in', signIn),
  forAnyone('GET', '/sign-in/link', (request) => mailLinkPage(request)),
  forAnyone('POST', '/sign-in/link', mailLink),
  forAnyone('GET', '/login/:token', loginLinkPage),
  forAnyone('POST', '/login/:token', signInByLink),
  forMember('POST', '/sign-out', signOut, { withoutCredential: true }),
  forMember('POST', '/switch', switchHolder),
];

async function signInPage(
  request: ConsoleRequest,
  problem?: { status: number; message: string },
): Promise<FastifyReply> {
  const { t } = request;
  const next = safePath(request.form.get('next') ?? queryOf(request, 'next', 500));
  return renderPage(request, {
    title: t.signIn.title,
    lead: t.signInIntro,
    alone: true,
    passkeys: true,
    ...(problem ? { status: problem.status } : {}),
    body: html`
      <div class="card">
        ${problem && errorBox(request, undefined, problem.message)}
        ${form(request, {
          action: '/sign-in',
          hidden: { next },
          fields: [emailField(request), passwordField(request)],
          submit: t.signIn.button,
        })}
        ${passkeyForm(request, {
          kind: 'get',
          action: '/sign-in/passkey',
          hidden: { next },
          submit: t.passkeys.signIn,
          variant: 'secondary',
        })}
      </div>
      ${signInHelp(request)}
      ${request.ctx.config.allowSignUp && html`<p><a href="/console/sign-up">${t.signUp.title}</a></p>`}
    `,
  });
}

/** For those who have no password, or have forgotten it. */
function signInHelp(request: ConsoleRequest): Html {
  const { ctx, t } = request;
  if (mailIsConfigured(ctx))
    return html`
      <p><a href="/console/sign-in/link">${t.forgot}</a> · <a href="/docs">${t.docsLink}</a></p>
      ${mailBoxLink(request)}
    `;
  const hint = ctx.config.mode === 'sandbox' ? t.sandboxSignIn : t.signIn.noPassword;
  return html`
    <p class="muted">${hint} <code>npx simbi login-link</code></p>
    <p><a href="/docs">${t.docsLink}</a></p>
  `;
}

async function signIn(request: ConsoleRequest): Promise<FastifyReply> {
  const email = fieldOf(request, 'email', 254);
  const from = { address: addressOf(request.raw), browser: knownBrowser(request, email) };
  try {
    const proof = await provePassword(request.ctx, email, request.form.get('password') ?? '', from);
    if (!proof) return await signInPage(request, { status: 401, message: request.t.signIn.incorrect });
    rememberBrowser(request, email);
    const { memberId, credentialsVersion } = proof;
    return await continueSignIn(request, memberId, safePath(request.form.get('next')), { credentialsVersion });
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== 'rate_limited') throw error;
    void request.reply.header('Retry-After', String(error.details.retryAfterSeconds ?? 1));
    return signInPage(request, { status: 429, message: request.t.signIn.tooMany });
  }
}

async function mailLinkPage(request: ConsoleRequest, message?: string): Promise<FastifyReply> {
  const { ctx, t } = request;
  if (!mailIsConfigured(ctx)) throw new Problem('not_found');
  return renderPage(request, {
    title: t.signIn.mailLink,
    alone: true,
    ...(message ? { status: 400 } : {}),
    body: html`
      <div class="card">
        ${message && errorBox(request, undefined, message)}
        ${form(request, { action: '/sign-in/link', fields: [emailField(request)], submit: t.continue })}
      </div>
      ${mailBoxLink(request)}
    `,
  });
}

/** Works also while passwords are refused. The answer, and its time, is the same whether or not the address has an account. */
async function mailLink(request: ConsoleRequest): Promise<FastifyReply> {
  const { ctx, t } = request;
  if (!mailIsConfigured(ctx)) throw new Problem('not_found');
  const email = fieldOf(request, 'email', 254).toLowerCase();
  if (!isEmail(email)) return mailLinkPage(request, t.emailInvalid);
  await limitMails(request, email);
  await mailLoginLink(ctx, email, (token) => t.mails.loginLink(`${publicUrl(ctx.config)}/console/login/${token}`));
  return renderPage(request, {
    title: t.mails.sentTitle,
    alone: true,
    body: html`<div class="card"><p>${t.mails.sent(email)}</p>${mailBoxLink(request)}</div>`,
  });
}

/** Opening the link does not use it: mail programs and chats open links for their previews. */
async function loginLinkPage(request: ConsoleRequest): Promise<FastifyReply> {
  const { t } = request;
  const token = paramOf(request, 'token');
  const member = await peekLoginLink(request.ctx, token);
  if (!member)
    return renderPage(request, {
      title: t.loginLink.expiredTitle,
      alone: true,
      status: 401,
      body: html`
        <div class="card">
          <p>${t.loginLink.expired}</p>
          ${loginLinkHint(request)}
          <p><a href="/console/sign-in">${t.signIn.title}</a></p>
        </div>
      `,
    });
  return renderPage(request, {
    title: t.loginLink.title,
    alone: true,
    body: html`
      <div class="card">
        <p>${t.loginLink.text}</p>
        <p><b>${member.email}</b></p>
        ${postButton(request, `/login/${token}`, t.signIn.button)}
      </div>
    `,
  });
}

async function signInByLink(request: ConsoleRequest): Promise<FastifyReply> {
  return continueSignIn(request, await useLoginLink(request.ctx, paramOf(request, 'token')), '/console/welcome', {
    byLink: true,
  });
}

async function signOut(request: MemberRequest): Promise<FastifyReply> {
  await revokeSession(request.ctx, request.session.member.id, request.session.id);
  clearSessionCookie(request);
  return redirect(request, '/console/sign-in', 'signedOut');
}

async function switchHolder(request: MemberRequest): Promise<FastifyReply> {
  const holderId = idOf(fieldOf(request, 'holder', 20));
  if (!request.memberships.some((membership) => membership.holder_id === holderId)) throw new Problem('not_found');
  await chooseHolder(request.ctx, request.session.id, holderId);
  return redirect(request, '/console');
}
