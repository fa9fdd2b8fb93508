// The page that asks for a proof again before secrets and payouts: a code, a passkey or a recovery code; the password of a
// member without a second factor.

import type { FastifyReply } from 'fastify';
import { confirmSession } from '../holders/members.ts';
import type { PasskeyQuestion } from '../holders/passkey-challenges.ts';
import { askForPasskey, provePasskey } from '../holders/passkeys.ts';
import { isOwnPassword } from '../holders/passwords.ts';
import { useRecoveryCode } from '../holders/recovery-codes.ts';
import { proveFactor } from '../holders/second-factor.ts';
import { type Html, html } from '../platform/html.ts';
import { addressOf } from '../platform/http.ts';
import { CONFIRMED_MS, fieldOf, type MemberRequest, originOf, queryOf, safePath } from './console-request.ts';
import { passwordField } from './credential-fields.ts';
import { errorBox, form, postButton } from './form-components.ts';
import { redirect, renderPage } from './layout.ts';
import { loginLinkHint } from './login-link-hint.ts';
import { MAX_CREDENTIAL_CHARACTERS } from './passkey-form.ts';
import { type ConsoleRoute, forMember } from './route.ts';
import { factorForms, type WrongFactor, wrongFactorMessage } from './second-step.ts';

export const confirmRoutes: ConsoleRoute[] = [
  forMember('GET', '/confirm', (request) => confirmPage(request)),
  forMember('POST', '/confirm', confirmByCode),
  forMember('POST', '/confirm/recovery', confirmByRecoveryCode),
  forMember('POST', '/confirm/passkey/options', passkeyOptions),
  forMember('POST', '/confirm/passkey', confirmByPasskey),
];

async function confirmPage(request: MemberRequest, wrong?: WrongFactor | 'password'): Promise<FastifyReply> {
  const { t } = request;
  const message = wrong === 'password' ? t.confirm.incorrect : wrong && wrongFactorMessage(request, wrong);
  return renderPage(request, {
    title: t.confirm.title,
    lead: t.confirm.lead,
    passkeys: true,
    ...(wrong ? { status: 401 } : {}),
    body: html`
      <div class="card">
        ${message && errorBox(request, undefined, message)}
        ${proofForm(request, wrong)}
      </div>
    `,
  });
}

/** The strongest proof that the member has. In live mode only a second factor counts. */
function proofForm(request: MemberRequest, wrong?: WrongFactor | 'password'): Html {
  const { ctx, t, session } = request;
  const hidden = { next: safePath(request.form.get('next') ?? queryOf(request, 'next', 500)) };
  if (session.hasFactor) {
    const actions = { code: '/confirm', passkey: '/confirm/passkey', recovery: '/confirm/recovery' };
    const factors = { totp: session.hasTotp, passkey: session.hasPasskey };
    return factorForms(request, factors, actions, hidden, wrong === 'recovery');
  }
  if (ctx.config.mode === 'live')
    return html`
      <p>${t.confirm.factorFirst}</p>
      <p><a class="button" href="/console/account">${t.profile.factorStart}</a></p>
    `;
  if (session.hasPassword)
    return form(request, { action: '/confirm', hidden, fields: [passwordField(request)], submit: t.continue });
  return html`
    <p>${t.confirm.freshLink}</p>
    ${loginLinkHint(request, session.member.email)}
    ${postButton(request, '/sign-out', t.signInAgain, { variant: 'secondary' })}
  `;
}

/** A code of the app; or the password, which counts only without a second factor. */
async function confirmByCode(request: MemberRequest): Promise<FastifyReply> {
  const { ctx, session } = request;
  const address = addressOf(request.raw);
  if (session.hasTotp) {
    const right = await proveFactor(ctx, session.member.id, fieldOf(request, 'code', 10), address);
    return right ? finish(request) : confirmPage(request, 'code');
  }
  if (session.hasFactor || !session.hasPassword) return confirmPage(request, 'code');
  const password = request.form.get('password') ?? '';
  const right = await isOwnPassword(ctx, session, password, address);
  return right ? finish(request) : confirmPage(request, 'password');
}

async function confirmByRecoveryCode(request: MemberRequest): Promise<FastifyReply> {
  const code = fieldOf(request, 'recovery_code', 40);
  const right = await useRecoveryCode(request.ctx, request.session.member.id, code, originOf(request));
  return right ? finish(request) : confirmPage(request, 'recovery');
}

function questionOf(request: MemberRequest): PasskeyQuestion {
  const { session, csrf, raw } = request;
  return { purpose: 'confirm', memberId: session.member.id, browser: csrf, address: addressOf(raw) };
}

async function passkeyOptions(request: MemberRequest): Promise<FastifyReply> {
  const options = await askForPasskey(request.ctx, questionOf(request));
  return request.reply.header('Cache-Control', 'no-store').send(options);
}

async function confirmByPasskey(request: MemberRequest): Promise<FastifyReply> {
  const credential = fieldOf(request, 'credential', MAX_CREDENTIAL_CHARACTERS);
  const proof = await provePasskey(request.ctx, questionOf(request), credential);
  return proof ? finish(request) : confirmPage(request, 'passkey');
}

async function finish(request: MemberRequest): Promise<FastifyReply> {
  const { ctx, session } = request;
  await confirmSession(ctx, session.id, new Date(ctx.clock.millis() + CONFIRMED_MS));
  return redirect(request, safePath(request.form.get('next')));
}
