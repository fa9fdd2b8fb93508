// Signing in with a password or a login link, signing out, and switching between holders. Every sign-in makes a new
// session; a session token that the browser brought along is never adopted.

import type { FastifyReply } from 'fastify';
import { chooseHolder, peekLoginLink, revokeSession, useLoginLink } from '../holders/members.ts';
import { findByPassword } from '../holders/passwords.ts';
import { Problem } from '../platform/errors.ts';
import { html } from '../platform/html.ts';
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
import { passwordField } from './credential-fields.ts';
import { errorBox, form, postButton } from './form-components.ts';
import { redirect, renderPage } from './layout.ts';
import { passkeyForm } from './passkey-form.ts';
import { continueSignIn } from './pending-sign-in.ts';
import { type ConsoleRoute, forAnyone, forMember } from './route.ts';

export const signInRoutes: ConsoleRoute[] = [
  forAnyone('GET', '/sign-in', async (request) =>
    request.session ? redirect(request, '/console') : signInPage(request),
  ),
  forAnyone('POST', '/sign-in', signIn),
  forAnyone('GET', '/login/:token', loginLinkPage),
  forAnyone('POST', '/login/:token', signInByLink),
  forMember('POST', '/sign-out', signOut),
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
    alone: true,
    passkeys: true,
    ...(problem ? { status: problem.status } : {}),
    body: html`
      <div class="card">
        ${problem && errorBox(request, undefined, problem.message)}
        ${form(request, {
          action: '/sign-in',
          hidden: { next },
          fields: [
            {
              name: 'email',
              label: t.email,
              type: 'email',
              value: fieldOf(request, 'email'),
              required: true,
              attributes: html`autocomplete="username"`,
            },
            passwordField(request),
          ],
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
      <p class="muted">${t.signIn.noPassword} <code>npx simbi login-link</code></p>
      ${request.ctx.config.allowSignUp && html`<p><a href="/console/sign-up">${t.signUp.title}</a></p>`}
    `,
  });
}

async function signIn(request: ConsoleRequest): Promise<FastifyReply> {
  const email = fieldOf(request, 'email', 254);
  const memberId = await findByPassword(request.ctx, email, request.form.get('password') ?? '', addressOf(request.raw));
  if (memberId === null) return signInPage(request, { status: 401, message: request.t.signIn.incorrect });
  return continueSignIn(request, memberId, safePath(request.form.get('next')));
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
          <p><code>npx simbi login-link</code></p>
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
  return continueSignIn(request, await useLoginLink(request.ctx, paramOf(request, 'token')), '/console', 'link');
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
