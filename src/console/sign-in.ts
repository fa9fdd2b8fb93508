// Getting in: password, one-time link, second factor, sign-up where the host allows it, invitations; and getting out.
// Whoever passes gets a session that did not exist before.

import type { FastifyReply } from 'fastify';
import { createHolder } from '../holders/holders.ts';
import { acceptInvitation, findInvitation, type Invitation } from '../holders/invitations.ts';
import {
  addMember,
  chooseHolder,
  confirmSession,
  createSession,
  findMemberByEmail,
  findSession,
  peekLoginLink,
  revokeSession,
  useLoginLink,
} from '../holders/members.ts';
import { countFailure, findByPassword, passwordError, refuseGuessing, setPassword } from '../holders/passwords.ts';
import { hasFactor, proveFactor } from '../holders/second-factor.ts';
import { type FieldErrors, Problem } from '../platform/errors.ts';
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
  setSessionCookie,
} from './console-request.ts';
import { errorBox, formField, postForm } from './form-components.ts';
import { redirect, renderPage } from './layout.ts';
import { type ConsoleRoute, forAnyone, forMember } from './route.ts';

/** How long after a proof dangerous actions ask no more. */
export const CONFIRMED_MS = 10 * 60_000;
const HALF_MS = 5 * 60_000;
const HALF_PURPOSE = 'console half sign-in';
const EMAIL = /^[^\s@<>()",;:\\]+@[^\s@<>()",;:\\]+\.[^\s@<>()",;:\\]+$/;

export const signInRoutes: ConsoleRoute[] = [
  forAnyone('GET', '/sign-in', async (request) =>
    request.session ? redirect(request, '/console') : signInPage(request),
  ),
  forAnyone('POST', '/sign-in', signIn),
  forAnyone('POST', '/sign-in/code', proveCode),
  forAnyone('GET', '/login/:token', linkPage),
  forAnyone('POST', '/login/:token', useLink),
  forAnyone('GET', '/sign-up', signUpPage),
  forAnyone('POST', '/sign-up', signUp),
  forAnyone('GET', '/invitations/:token', invitationPage),
  forAnyone('POST', '/invitations/:token', accept),
  forMember('POST', '/sign-out', signOut),
  forMember('POST', '/switch', switchHolder),
];

async function signInPage(
  request: ConsoleRequest,
  problem?: { status: number; message: string },
): Promise<FastifyReply> {
  const { t } = request;
  return renderPage(request, {
    title: t.signIn.title,
    alone: true,
    ...(problem ? { status: problem.status } : {}),
    body: html`<div class="card">${problem && errorBox(request, undefined, problem.message)}${postForm(
      request,
      '/sign-in',
      html`<input type="hidden" name="next" value="${safePath(request.form.get('next') ?? queryOf(request, 'next', 500))}">${formField({ name: 'email', label: t.email, type: 'email', value: fieldOf(request, 'email'), required: true, attributes: html`autocomplete="username"` })}${formField({ name: 'password', label: t.password, type: 'password', required: true, attributes: html`autocomplete="current-password"` })}<button>${t.signIn.button}</button>`,
    )}</div><p class="muted">${t.signIn.noPassword} <code>npx simbi login-link</code></p>${request.ctx.config.allowSignUp && html`<p><a href="/console/sign-up">${t.signUp.title}</a></p>`}`,
  });
}

async function signIn(request: ConsoleRequest): Promise<FastifyReply> {
  const email = fieldOf(request, 'email', 254);
  const memberId = await findByPassword(request.ctx, email, request.form.get('password') ?? '', addressOf(request.raw));
  if (memberId === null) return signInPage(request, { status: 401, message: request.t.signIn.wrong });
  return enter(request, memberId, safePath(request.form.get('next')));
}

/** The first proof was right: whoever has a second factor shows it, everybody else is in. */
async function enter(request: ConsoleRequest, memberId: bigint, next: string): Promise<FastifyReply> {
  if (await hasFactor(request.ctx, memberId)) return codePage(request, sealHalf(request, memberId, next));
  return openSession(request, memberId, next, new Date(request.ctx.clock.millis() + CONFIRMED_MS));
}

async function openSession(request: ConsoleRequest, memberId: bigint, next: string, confirmedUntil: Date | null) {
  const { ctx } = request;
  // A session that was there before ends: nobody inherits the rights of the next person at this browser.
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

/** Half signed in is no session: it is a sealed note in the form that asks for the code. */
function sealHalf(request: ConsoleRequest, memberId: bigint, next: string): string {
  const note = { member: String(memberId), next, until: request.ctx.clock.millis() + HALF_MS };
  return request.ctx.vault.seal(JSON.stringify(note), HALF_PURPOSE).toString('base64url');
}

function openHalf(request: ConsoleRequest, text: string): { memberId: bigint; next: string } {
  try {
    const note = JSON.parse(request.ctx.vault.open(Buffer.from(text, 'base64url'), HALF_PURPOSE)) as {
      member: string;
      next: string;
      until: number;
    };
    if (note.until > request.ctx.clock.millis()) return { memberId: BigInt(note.member), next: safePath(note.next) };
  } catch {
    // Falls through: whatever is wrong with it, it is too old.
  }
  throw new Problem('unauthenticated', { message: request.t.signIn.tooLong });
}

function codePage(request: ConsoleRequest, half: string, wrong = false): Promise<FastifyReply> {
  const { t } = request;
  return renderPage(request, {
    title: t.code.title,
    alone: true,
    ...(wrong ? { status: 401 } : {}),
    body: html`<div class="card">${wrong && errorBox(request, undefined, t.code.wrong)}${postForm(
      request,
      '/sign-in/code',
      html`<input type="hidden" name="half" value="${half}">${codeField(request)}<button>${t.continue}</button>`,
    )}</div>`,
  });
}

export function codeField(request: ConsoleRequest) {
  return formField({
    name: 'code',
    label: request.t.code.label,
    hint: request.t.code.hint,
    required: true,
    attributes: html`inputmode="numeric" autocomplete="one-time-code" maxlength="7"`,
  });
}

async function proveCode(request: ConsoleRequest): Promise<FastifyReply> {
  const half = fieldOf(request, 'half', 1_000);
  const { memberId, next } = openHalf(request, half);
  const right = await proveFactor(request.ctx, memberId, fieldOf(request, 'code', 10), addressOf(request.raw));
  if (!right) return codePage(request, half, true);
  // The code of the sign-in opens the door; secrets and payouts ask for another one.
  return openSession(request, memberId, next, null);
}

/** Opening the link does nothing yet: mail programs and chats open links to look at them. */
async function linkPage(request: ConsoleRequest): Promise<FastifyReply> {
  const { t } = request;
  const member = await peekLoginLink(request.ctx, paramOf(request, 'token'));
  if (!member)
    return renderPage(request, {
      title: t.link.goneTitle,
      alone: true,
      status: 401,
      body: html`<div class="card"><p>${t.link.gone}</p><p><code>npx simbi login-link</code></p><p><a href="/console/sign-in">${t.signIn.title}</a></p></div>`,
    });
  return renderPage(request, {
    title: t.link.title,
    alone: true,
    body: html`<div class="card"><p>${t.link.text}</p><p><b>${member.email}</b></p>${postForm(request, `/login/${paramOf(request, 'token')}`, html`<button id="enter">${t.signIn.button}</button>`)}</div>`,
  });
}

async function useLink(request: ConsoleRequest): Promise<FastifyReply> {
  return enter(request, await useLoginLink(request.ctx, paramOf(request, 'token')), '/console');
}

async function signUpPage(request: ConsoleRequest, errors?: FieldErrors): Promise<FastifyReply> {
  if (!request.ctx.config.allowSignUp) throw new Problem('not_found');
  const { t } = request;
  return renderPage(request, {
    title: t.signUp.title,
    lead: t.signUp.lead,
    alone: true,
    ...(errors ? { status: 400 } : {}),
    body: html`<div class="card">${errorBox(request, errors)}${postForm(
      request,
      '/sign-up',
      html`${formField({ name: 'business', label: t.signUp.business, value: fieldOf(request, 'business'), required: true, errors, attributes: html`maxlength="120" autocomplete="organization"` })}${formField({ name: 'name', label: t.yourName, value: fieldOf(request, 'name'), required: true, errors, attributes: html`maxlength="120" autocomplete="name"` })}${formField({ name: 'email', label: t.email, type: 'email', value: fieldOf(request, 'email'), required: true, errors, attributes: html`autocomplete="username"` })}${newPasswordField(request, errors)}<button>${t.signUp.button}</button>`,
    )}</div>`,
  });
}

export function newPasswordField(request: ConsoleRequest, errors?: FieldErrors) {
  return formField({
    name: 'password',
    label: request.t.newPassword,
    hint: request.t.passwordHint,
    type: 'password',
    required: true,
    errors,
    attributes: html`autocomplete="new-password" minlength="10"`,
  });
}

async function signUp(request: ConsoleRequest): Promise<FastifyReply> {
  const { ctx, t } = request;
  if (!ctx.config.allowSignUp) throw new Problem('not_found');
  const address = addressOf(request.raw);
  refuseGuessing(ctx, 'sign-up', address);
  countFailure(ctx, 'sign-up', address);
  const [business, name, email] = [
    fieldOf(request, 'business', 120),
    fieldOf(request, 'name', 120),
    fieldOf(request, 'email', 254),
  ];
  const password = request.form.get('password') ?? '';
  const errors: FieldErrors = {};
  if (business === '') errors.business = [t.missing];
  if (name === '') errors.name = [t.missing];
  if (!EMAIL.test(email)) errors.email = [t.emailWrong];
  else if (await findMemberByEmail(ctx.db, email)) errors.email = [t.signUp.taken];
  if (passwordError(password) !== null) errors.password = [t.passwordHint];
  if (Object.keys(errors).length > 0) return signUpPage(request, errors);
  const actor = { memberId: null, name: email.toLowerCase() };
  const holder = await createHolder(ctx, actor, business);
  const member = await addMember(ctx, actor, { email, name, holderId: holder.id, role: 'owner' });
  await setPassword(ctx, { memberId: member.id, name: member.email }, member.id, password, {
    sessionId: null,
    holderId: holder.id,
  });
  return enter(request, member.id, '/console');
}

async function openInvitation(request: ConsoleRequest): Promise<Invitation> {
  const invitation = await findInvitation(request.ctx.db, paramOf(request, 'token'), request.ctx.clock.now());
  if (!invitation) throw new Problem('not_found', { message: request.t.invitation.gone });
  return invitation;
}

async function invitationPage(request: ConsoleRequest, errors?: FieldErrors): Promise<FastifyReply> {
  const { t } = request;
  const invitation = await openInvitation(request);
  const known = await findMemberByEmail(request.ctx.db, invitation.email);
  const isThem = request.session?.member.email === invitation.email;
  const text = t.invitation.text(invitation.invited_by, invitation.holder_name, t.roles[invitation.role]);
  const address = `/invitations/${paramOf(request, 'token')}`;
  // Whoever exists already proves it in the usual way: the link alone must never open another's account.
  const form = known
    ? isThem
      ? postForm(request, address, html`<button>${t.invitation.accept}</button>`)
      : html`<p>${t.invitation.signInFirst(invitation.email)}</p><a class="button" href="/console/sign-in?next=/console${address}">${t.signIn.title}</a>`
    : postForm(
        request,
        address,
        html`${formField({ name: 'name', label: t.yourName, value: fieldOf(request, 'name'), required: true, errors, attributes: html`maxlength="120" autocomplete="name"` })}${newPasswordField(request, errors)}<button>${t.invitation.accept}</button>`,
      );
  return renderPage(request, {
    title: t.invitation.title,
    alone: true,
    ...(errors ? { status: 400 } : {}),
    body: html`<div class="card">${errorBox(request, errors)}<p>${text}</p><p><b>${invitation.email}</b></p>${form}</div>`,
  });
}

async function accept(request: ConsoleRequest): Promise<FastifyReply> {
  const { ctx, t } = request;
  const invitation = await openInvitation(request);
  const known = await findMemberByEmail(ctx.db, invitation.email);
  if (known) {
    if (request.session?.member.id !== known.id) return invitationPage(request);
    await acceptInvitation(ctx, paramOf(request, 'token'), known.name);
    await chooseHolder(ctx, request.session.id, invitation.holder_id);
    return redirect(request, '/console', 'joined');
  }
  const name = fieldOf(request, 'name', 120);
  const password = request.form.get('password') ?? '';
  const errors: FieldErrors = {};
  if (name === '') errors.name = [t.missing];
  if (passwordError(password) !== null) errors.password = [t.passwordHint];
  if (Object.keys(errors).length > 0) return invitationPage(request, errors);
  const member = await acceptInvitation(ctx, paramOf(request, 'token'), name);
  await setPassword(ctx, { memberId: member.id, name: member.email }, member.id, password, {
    sessionId: null,
    holderId: invitation.holder_id,
  });
  return enter(request, member.id, '/console');
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
