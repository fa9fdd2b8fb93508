// After the first proof (password, login link, invitation): members with a second factor enter its code, all others get
// their session. A pending sign-in is not a session; it is a sealed note in the form that asks for the code.

import type { FastifyReply } from 'fastify';
import { confirmSession, createSession, findSession, revokeSession } from '../holders/members.ts';
import { hasFactor, proveFactor } from '../holders/second-factor.ts';
import { Problem } from '../platform/errors.ts';
import { html } from '../platform/html.ts';
import { addressOf } from '../platform/http.ts';
import { CONFIRMED_MS, type ConsoleRequest, fieldOf, safePath, setSessionCookie } from './console-request.ts';
import { codeField } from './credential-fields.ts';
import { errorBox, form } from './form-components.ts';
import { redirect, renderPage } from './layout.ts';

const PENDING_MS = 5 * 60_000;
const SEAL_PURPOSE = 'console pending sign-in';

type PendingSignIn = { member: string; next: string; until: number };

export async function continueSignIn(request: ConsoleRequest, memberId: bigint, next: string): Promise<FastifyReply> {
  if (await hasFactor(request.ctx, memberId)) return codePage(request, sealPending(request, memberId, next));
  return openSession(request, memberId, next, new Date(request.ctx.clock.millis() + CONFIRMED_MS));
}

/** The code ends the sign-in. Secrets and payouts ask for another one. */
export async function checkCode(request: ConsoleRequest): Promise<FastifyReply> {
  const pending = fieldOf(request, 'pending', 1_000);
  const { memberId, next } = await openPending(request, pending);
  const right = await proveFactor(request.ctx, memberId, fieldOf(request, 'code', 10), addressOf(request.raw));
  return right ? openSession(request, memberId, next, null) : codePage(request, pending, true);
}

function codePage(request: ConsoleRequest, pending: string, wrong = false): Promise<FastifyReply> {
  const { t } = request;
  return renderPage(request, {
    title: t.code.title,
    alone: true,
    ...(wrong ? { status: 401 } : {}),
    body: html`
      <div class="card">
        ${wrong && errorBox(request, undefined, t.code.incorrect)}
        ${form(request, {
          action: '/sign-in/code',
          hidden: { pending },
          fields: [codeField(request)],
          submit: t.continue,
        })}
      </div>
    `,
  });
}

async function openSession(request: ConsoleRequest, memberId: bigint, next: string, confirmedUntil: Date | null) {
  const { ctx } = request;
  // An older session in this browser ends: its rights must not pass to the next member who signs in.
  if (request.session) await revokeSession(ctx, request.session.member.id, request.session.id);
  const from = { userAgent: String(request.raw.headers['user-agent'] ?? ''), address: addressOf(request.raw) };
  const { token } = await createSession(ctx, memberId, from);
  if (confirmedUntil) {
    const session = await findSession(ctx, token);
    if (session) await confirmSession(ctx, session.id, confirmedUntil);
  }
  setSessionCookie(request, token);
  return redirect(request, next);
}

function sealPending({ ctx }: ConsoleRequest, memberId: bigint, next: string): string {
  const note: PendingSignIn = { member: String(memberId), next, until: ctx.clock.millis() + PENDING_MS };
  return ctx.vault.seal(JSON.stringify(note), SEAL_PURPOSE).toString('base64url');
}

async function openPending({ ctx, t }: ConsoleRequest, text: string): Promise<{ memberId: bigint; next: string }> {
  try {
    const note = JSON.parse(await ctx.vault.open(Buffer.from(text, 'base64url'), SEAL_PURPOSE)) as PendingSignIn;
    if (note.until > ctx.clock.millis()) return { memberId: BigInt(note.member), next: safePath(note.next) };
  } catch {
    // A note that cannot be read is answered like one that is too old.
  }
  throw new Problem('unauthenticated', { message: t.signIn.expired });
}
