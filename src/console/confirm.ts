// The page that asks for a proof again before secrets and payouts: a code, a passkey or a recovery code; the password of a
// member without a second factor. It carries along the form that somebody sent, and the browser sends that again after the proof.

import type { FastifyReply } from 'fastify';
import { confirmSession } from '../holders/members.ts';
import type { PasskeyQuestion } from '../holders/passkey-challenges.ts';
import { askForPasskey, provePasskey } from '../holders/passkeys.ts';
import { isOwnPassword } from '../holders/passwords.ts';
import { useRecoveryCode } from '../holders/recovery-codes.ts';
import { proveFactor } from '../holders/second-factor.ts';
import { type Html, html } from '../platform/html.ts';
import { addressOf } from '../platform/http.ts';
import {
  CONFIRMED_MS,
  type ConsoleRequest,
  fieldOf,
  type MemberRequest,
  originOf,
  queryOf,
  requireShownHolder,
  SHOWN_FOR,
  safePath,
} from './console-request.ts';
import { passwordField } from './credential-fields.ts';
import { errorBox, form, postButton } from './form-components.ts';
import { redirect, renderPage } from './layout.ts';
import { loginLinkHint } from './login-link-hint.ts';
import { MAX_CREDENTIAL_CHARACTERS } from './passkey-form.ts';
import { type ConsoleRoute, forMember } from './route.ts';
import { factorForms, type WrongFactor, wrongFactorMessage } from './second-step.ts';

export const confirmRoutes: ConsoleRoute[] = [
  forMember('GET', '/confirm', (request) => confirmPage(request)),
  forMember('POST', '/confirm', confirmByCode, { largeForm: true }),
  forMember('POST', '/confirm/recovery', confirmByRecoveryCode, { largeForm: true }),
  forMember('POST', '/confirm/passkey/options', passkeyOptions),
  forMember('POST', '/confirm/passkey', confirmByPasskey, { largeForm: true }),
];

/** Where the browser sends the form after the proof. */
const SEND_TO = 'send_to';
/** Of the page's own forms. What else these have is the form that is carried along. */
const OWN_FIELDS: readonly string[] = ['csrf', SHOWN_FOR, 'next', 'code', 'password', 'recovery_code', 'credential'];
/** A form has at most 40, and the page adds some of its own. */
const MAX_KEPT_FIELDS = 32;

/** Whether the page can carry this form along: the member can prove themselves on it, and it has no field of the same name. */
export function canBeSentAfterProof(request: ConsoleRequest): boolean {
  if (!canProve(request)) return false;
  const { form } = request;
  const taken = [...form.keys()].filter((name) => name !== 'csrf' && name !== SHOWN_FOR);
  return taken.length <= MAX_KEPT_FIELDS && !taken.some((name) => name === SEND_TO || OWN_FIELDS.includes(name));
}

/** The form that was sent when the proof was asked for, or that a wrong proof carried along; else the page to go to. */
function hiddenFields(request: MemberRequest): Record<string, string> {
  const { raw, form } = request;
  const isForm = raw.method === 'POST' && !raw.url.startsWith('/console/confirm');
  const sendTo = isForm ? raw.url : form.get(SEND_TO);
  if (sendTo === undefined) return { next: safePath(form.get('next') ?? queryOf(request, 'next', 500)) };
  const kept = [...form].filter(([name]) => !OWN_FIELDS.includes(name));
  return { ...Object.fromEntries(kept), [SEND_TO]: safePath(sendTo) };
}

async function confirmPage(request: MemberRequest, wrong?: WrongFactor | 'password'): Promise<FastifyReply> {
  const { t } = request;
  // Shown once more, the form would be one of the holder that the member sees by now.
  if (request.form.has(SEND_TO)) requireShownHolder(request);
  const message = wrong === 'password' ? t.confirm.incorrect : wrong && wrongFactorMessage(request, wrong);
  return renderPage(request, {
    title: t.confirm.title,
    lead: t.confirm.lead,
    passkeys: true,
    ...(wrong ? { status: 401 } : { status: request.raw.method === 'POST' ? 403 : 200 }),
    body: html`
      <div class="card">
        ${message && errorBox(request, undefined, message)}
        ${SEND_TO in hiddenFields(request) && html`<p>${t.confirm.thenSent}</p>`}
        ${proofForm(request, wrong)}
      </div>
    `,
  });
}

/** In live mode only with a second factor. */
function canProve({ ctx, session }: ConsoleRequest): boolean {
  return session !== null && (session.hasFactor || (session.hasPassword && ctx.config.mode !== 'live'));
}

/** The strongest proof that the member has. In live mode only a second factor counts. */
function proofForm(request: MemberRequest, wrong?: WrongFactor | 'password'): Html {
  const { ctx, t, session } = request;
  const hidden = hiddenFields(request);
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
  const sendTo = request.form.get(SEND_TO);
  // With this status the browser sends the same fields there.
  if (sendTo !== undefined) return request.reply.header('Cache-Control', 'no-store').redirect(safePath(sendTo), 307);
  return redirect(request, safePath(request.form.get('next')));
}
