// After the first proof (password, login link, invitation): members with a second factor prove it, all others get their
// session. A pending sign-in is not a session; it is a sealed note in the forms of the second step. A passkey that verified
// its user needs no first proof.

import type { FastifyReply } from 'fastify';
import { proveEmailWithFactor } from '../holders/credentials.ts';
import { findFactors, hasAnyFactor } from '../holders/factor-changes.ts';
import { type NewSession, revokeSession } from '../holders/members.ts';
import type { PasskeyQuestion } from '../holders/passkey-challenges.ts';
import { askForPasskey, provePasskey } from '../holders/passkeys.ts';
import { useRecoveryCode } from '../holders/recovery-codes.ts';
import { proveFactor } from '../holders/second-factor.ts';
import type { RequestOrigin } from '../holders/sessions.ts';
import { openSession } from '../holders/sign-ins.ts';
import { Problem } from '../platform/errors.ts';
import { html } from '../platform/html.ts';
import { addressOf } from '../platform/http.ts';
import {
  CONFIRMED_MS,
  type ConsoleRequest,
  deviceToken,
  fieldOf,
  originOf,
  safePath,
  setSessionCookie,
} from './console-request.ts';
import { errorBox } from './form-components.ts';
import { redirect, renderPage } from './layout.ts';
import { MAX_CREDENTIAL_CHARACTERS } from './passkey-form.ts';
import { type ConsoleRoute, forAnyone } from './route.ts';
import { factorForms, type WrongFactor, wrongFactorMessage } from './second-step.ts';

const PENDING_MS = 5 * 60_000;
const SEAL_PURPOSE = 'console pending sign-in';

export const secondStepRoutes: ConsoleRoute[] = [
  forAnyone('POST', '/sign-in/code', checkCode),
  forAnyone('POST', '/sign-in/recovery', checkRecoveryCode),
  forAnyone('POST', '/sign-in/passkey/options', passkeyOptions),
  forAnyone('POST', '/sign-in/passkey', checkPasskey),
];

type PendingNote = { member: string; version: string; next: string; until: number; byLink: boolean };
type PendingSignIn = { memberId: bigint; credentialsVersion: bigint; next: string; byLink: boolean; note: string };

type SessionStart = {
  /** That of a password which was compared: when it was forgotten since then, no session begins. */
  credentialsVersion?: bigint | undefined;
  /** The holder whose pages are shown first. */
  holderId?: bigint | undefined;
  /** A login link was used a moment ago: the first second factor may be set up without another proof. */
  byLink?: boolean;
};

export async function continueSignIn(
  request: ConsoleRequest,
  memberId: bigint,
  next: string,
  start: SessionStart = {},
): Promise<FastifyReply> {
  const { ctx } = request;
  const factors = await findFactors(ctx.db, memberId);
  const credentialsVersion = start.credentialsVersion ?? factors.credentialsVersion;
  const { holderId, byLink = false } = start;
  if (hasAnyFactor(factors))
    return secondStepPage(request, sealPending(request, { memberId, credentialsVersion, next, byLink }));
  const until = new Date(ctx.clock.millis() + CONFIRMED_MS);
  const proved = { credentialsVersion, holderId, confirmedUntil: until, enrolUntil: byLink ? until : null };
  return finishSignIn(request, memberId, next, proved);
}

/** The second step ends the sign-in. Secrets and payouts ask for another proof. */
async function checkCode(request: ConsoleRequest): Promise<FastifyReply> {
  const pending = await openPending(request);
  const code = fieldOf(request, 'code', 10);
  const right = await proveFactor(request.ctx, pending.memberId, code, addressOf(request.raw));
  return right ? finishPending(request, pending) : secondStepPage(request, pending, 'code');
}

async function checkRecoveryCode(request: ConsoleRequest): Promise<FastifyReply> {
  const pending = await openPending(request);
  const code = fieldOf(request, 'recovery_code', 40);
  const right = await useRecoveryCode(request.ctx, pending.memberId, code, originOf(request));
  return right ? finishPending(request, pending) : secondStepPage(request, pending, 'recovery');
}

/** Without a note the passkey is the whole sign-in. */
async function questionOf(
  request: ConsoleRequest,
): Promise<{ question: PasskeyQuestion; pending: PendingSignIn | null }> {
  const pending = request.form.has('pending') ? await openPending(request) : null;
  const purpose = pending ? 'second_step' : 'sign_in';
  const memberId = pending?.memberId ?? null;
  return { question: { purpose, memberId, browser: request.csrf, address: addressOf(request.raw) }, pending };
}

async function passkeyOptions(request: ConsoleRequest): Promise<FastifyReply> {
  const options = await askForPasskey(request.ctx, (await questionOf(request)).question);
  return request.reply.header('Cache-Control', 'no-store').send(options);
}

async function checkPasskey(request: ConsoleRequest): Promise<FastifyReply> {
  const { question, pending } = await questionOf(request);
  const credential = fieldOf(request, 'credential', MAX_CREDENTIAL_CHARACTERS);
  const proof = await provePasskey(request.ctx, question, credential);
  if (pending) return proof ? finishPending(request, pending) : secondStepPage(request, pending, 'passkey');
  if (proof) return finishSignIn(request, proof.memberId, safePath(request.form.get('next')), proof);
  throw new Problem('unauthenticated', { message: request.t.passkeys.refused });
}

async function secondStepPage(
  request: ConsoleRequest,
  pending: PendingSignIn,
  wrong?: WrongFactor,
): Promise<FastifyReply> {
  const { totp, passkeys } = await findFactors(request.ctx.db, pending.memberId);
  const actions = { code: '/sign-in/code', passkey: '/sign-in/passkey', recovery: '/sign-in/recovery' };
  const factors = { totp, passkey: passkeys > 0 };
  return renderPage(request, {
    title: request.t.code.title,
    alone: true,
    passkeys: true,
    ...(wrong ? { status: 401 } : {}),
    body: html`
      <div class="card">
        ${wrong && errorBox(request, undefined, wrongFactorMessage(request, wrong))}
        ${factorForms(request, factors, actions, { pending: pending.note }, wrong === 'recovery')}
      </div>
    `,
  });
}

async function finishPending(request: ConsoleRequest, pending: PendingSignIn): Promise<FastifyReply> {
  const { memberId, credentialsVersion, next, byLink } = pending;
  if (byLink) await proveEmailWithFactor(request.ctx, memberId);
  return finishSignIn(request, memberId, next, { credentialsVersion });
}

async function finishSignIn(
  request: ConsoleRequest,
  memberId: bigint,
  next: string,
  session: Omit<NewSession, keyof RequestOrigin>,
): Promise<FastifyReply> {
  const { ctx } = request;
  // An older session in this browser ends: its rights must not pass to the next member who signs in.
  if (request.session) await revokeSession(ctx, request.session.member.id, request.session.id);
  const { token } = await openSession(ctx, memberId, originOf(request), deviceToken(request), session);
  setSessionCookie(request, token);
  return redirect(request, next);
}

function sealPending({ ctx }: ConsoleRequest, signIn: Omit<PendingSignIn, 'note'>): PendingSignIn {
  const { memberId, credentialsVersion, next, byLink } = signIn;
  const until = ctx.clock.millis() + PENDING_MS;
  const note: PendingNote = { member: String(memberId), version: String(credentialsVersion), next, until, byLink };
  return { ...signIn, note: ctx.vault.seal(JSON.stringify(note), SEAL_PURPOSE).toString('base64url') };
}

async function openPending(request: ConsoleRequest): Promise<PendingSignIn> {
  const { ctx, t } = request;
  const note = fieldOf(request, 'pending', 1_000);
  try {
    const opened = JSON.parse(await ctx.vault.open(Buffer.from(note, 'base64url'), SEAL_PURPOSE)) as PendingNote;
    const { member, version, next, until, byLink } = opened;
    if (until > ctx.clock.millis())
      return { memberId: BigInt(member), credentialsVersion: BigInt(version), next: safePath(next), byLink, note };
  } catch {
    // A note that cannot be read is answered like one that is too old.
  }
  throw new Problem('unauthenticated', { message: t.signIn.expired });
}
