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
import { errorBox, inputField, postForm } from './components.ts';
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
import { redirect, renderPage } from './layout.ts';
import { type ConsoleRoute, forAnyone, forMember } from './route.ts';

/** How long after a proof dangerous actions ask no more. */
export const CONFIRMED_MS = 10 * 60_000;
const HALF_MS = 5 * 60_000;
const HALF_PURPOSE = 'console half sign-in';
const EMAIL = /^[^\s@<>()",;:\\]+@[^\s@<>()",;:\\]+\.[^\s@<>()",;:\\]+$/;

export const signInRoutes: ConsoleRoute[] = [
  forAnyone('GET', '/sign-in', async (visit) => (visit.session ? redirect(visit, '/console') : signInPage(visit))),
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

async function signInPage(visit: ConsoleRequest, problem?: { status: number; message: string }): Promise<FastifyReply> {
  const { words } = visit;
  return renderPage(visit, {
    title: words.signIn.title,
    alone: true,
    ...(problem ? { status: problem.status } : {}),
    body: html`<div class="card">${problem && errorBox(visit, undefined, problem.message)}${postForm(
      visit,
      '/sign-in',
      html`<input type="hidden" name="next" value="${safePath(visit.form.get('next') ?? queryOf(visit, 'next', 500))}">${inputField({ name: 'email', label: words.email, type: 'email', value: fieldOf(visit, 'email'), required: true, more: html`autocomplete="username"` })}${inputField({ name: 'password', label: words.password, type: 'password', required: true, more: html`autocomplete="current-password"` })}<button>${words.signIn.button}</button>`,
    )}</div><p class="m">${words.signIn.noPassword} <code>npx simbi login-link</code></p>${visit.ctx.config.allowSignUp && html`<p><a href="/console/sign-up">${words.signUp.title}</a></p>`}`,
  });
}

async function signIn(visit: ConsoleRequest): Promise<FastifyReply> {
  const email = fieldOf(visit, 'email', 254);
  const memberId = await findByPassword(visit.ctx, email, visit.form.get('password') ?? '', addressOf(visit.request));
  if (memberId === null) return signInPage(visit, { status: 401, message: visit.words.signIn.wrong });
  return enter(visit, memberId, safePath(visit.form.get('next')));
}

/** The first proof was right: whoever has a second factor shows it, everybody else is in. */
async function enter(visit: ConsoleRequest, memberId: bigint, next: string): Promise<FastifyReply> {
  if (await hasFactor(visit.ctx, memberId)) return codePage(visit, sealHalf(visit, memberId, next));
  return openSession(visit, memberId, next, new Date(visit.ctx.clock.millis() + CONFIRMED_MS));
}

async function openSession(visit: ConsoleRequest, memberId: bigint, next: string, confirmedUntil: Date | null) {
  const { ctx } = visit;
  // A session that was there before ends: nobody inherits the rights of the next person at this browser.
  if (visit.session) await revokeSession(ctx, visit.session.member.id, visit.session.id);
  const from = { userAgent: String(visit.request.headers['user-agent'] ?? ''), address: addressOf(visit.request) };
  const { token } = await createSession(ctx, memberId, from);
  if (confirmedUntil) {
    const session = await findSession(ctx, token);
    if (session) await confirmSession(ctx, session.id, confirmedUntil);
  }
  setSessionCookie(visit, token);
  return redirect(visit, next);
}

/** Half signed in is no session: it is a sealed note in the form that asks for the code. */
function sealHalf(visit: ConsoleRequest, memberId: bigint, next: string): string {
  const note = { member: String(memberId), next, until: visit.ctx.clock.millis() + HALF_MS };
  return visit.ctx.vault.seal(JSON.stringify(note), HALF_PURPOSE).toString('base64url');
}

function openHalf(visit: ConsoleRequest, text: string): { memberId: bigint; next: string } {
  try {
    const note = JSON.parse(visit.ctx.vault.open(Buffer.from(text, 'base64url'), HALF_PURPOSE)) as {
      member: string;
      next: string;
      until: number;
    };
    if (note.until > visit.ctx.clock.millis()) return { memberId: BigInt(note.member), next: safePath(note.next) };
  } catch {
    // Falls through: whatever is wrong with it, it is too old.
  }
  throw new Problem('unauthenticated', { message: visit.words.signIn.tooLong });
}

function codePage(visit: ConsoleRequest, half: string, wrong = false): Promise<FastifyReply> {
  const { words } = visit;
  return renderPage(visit, {
    title: words.code.title,
    alone: true,
    ...(wrong ? { status: 401 } : {}),
    body: html`<div class="card">${wrong && errorBox(visit, undefined, words.code.wrong)}${postForm(
      visit,
      '/sign-in/code',
      html`<input type="hidden" name="half" value="${half}">${codeField(visit)}<button>${words.continue}</button>`,
    )}</div>`,
  });
}

export function codeField(visit: ConsoleRequest) {
  return inputField({
    name: 'code',
    label: visit.words.code.label,
    hint: visit.words.code.hint,
    required: true,
    more: html`inputmode="numeric" autocomplete="one-time-code" maxlength="7"`,
  });
}

async function proveCode(visit: ConsoleRequest): Promise<FastifyReply> {
  const half = fieldOf(visit, 'half', 1_000);
  const { memberId, next } = openHalf(visit, half);
  const right = await proveFactor(visit.ctx, memberId, fieldOf(visit, 'code', 10), addressOf(visit.request));
  if (!right) return codePage(visit, half, true);
  // The code of the sign-in opens the door; secrets and payouts ask for another one.
  return openSession(visit, memberId, next, null);
}

/** Opening the link does nothing yet: mail programs and chats open links to look at them. */
async function linkPage(visit: ConsoleRequest): Promise<FastifyReply> {
  const { words } = visit;
  const member = await peekLoginLink(visit.ctx, paramOf(visit, 'token'));
  if (!member)
    return renderPage(visit, {
      title: words.link.goneTitle,
      alone: true,
      status: 401,
      body: html`<div class="card"><p>${words.link.gone}</p><p><code>npx simbi login-link</code></p><p><a href="/console/sign-in">${words.signIn.title}</a></p></div>`,
    });
  return renderPage(visit, {
    title: words.link.title,
    alone: true,
    body: html`<div class="card"><p>${words.link.text}</p><p><b>${member.email}</b></p>${postForm(visit, `/login/${paramOf(visit, 'token')}`, html`<button id="enter">${words.signIn.button}</button>`)}</div>`,
  });
}

async function useLink(visit: ConsoleRequest): Promise<FastifyReply> {
  return enter(visit, await useLoginLink(visit.ctx, paramOf(visit, 'token')), '/console');
}

async function signUpPage(visit: ConsoleRequest, errors?: FieldErrors): Promise<FastifyReply> {
  if (!visit.ctx.config.allowSignUp) throw new Problem('not_found');
  const { words } = visit;
  return renderPage(visit, {
    title: words.signUp.title,
    lead: words.signUp.lead,
    alone: true,
    ...(errors ? { status: 400 } : {}),
    body: html`<div class="card">${errorBox(visit, errors)}${postForm(
      visit,
      '/sign-up',
      html`${inputField({ name: 'business', label: words.signUp.business, value: fieldOf(visit, 'business'), required: true, errors, more: html`maxlength="120" autocomplete="organization"` })}${inputField({ name: 'name', label: words.yourName, value: fieldOf(visit, 'name'), required: true, errors, more: html`maxlength="120" autocomplete="name"` })}${inputField({ name: 'email', label: words.email, type: 'email', value: fieldOf(visit, 'email'), required: true, errors, more: html`autocomplete="username"` })}${newPasswordField(visit, errors)}<button>${words.signUp.button}</button>`,
    )}</div>`,
  });
}

export function newPasswordField(visit: ConsoleRequest, errors?: FieldErrors) {
  return inputField({
    name: 'password',
    label: visit.words.newPassword,
    hint: visit.words.passwordHint,
    type: 'password',
    required: true,
    errors,
    more: html`autocomplete="new-password" minlength="10"`,
  });
}

async function signUp(visit: ConsoleRequest): Promise<FastifyReply> {
  const { ctx, words } = visit;
  if (!ctx.config.allowSignUp) throw new Problem('not_found');
  const address = addressOf(visit.request);
  refuseGuessing(ctx, 'sign-up', address);
  countFailure(ctx, 'sign-up', address);
  const [business, name, email] = [
    fieldOf(visit, 'business', 120),
    fieldOf(visit, 'name', 120),
    fieldOf(visit, 'email', 254),
  ];
  const password = visit.form.get('password') ?? '';
  const errors: FieldErrors = {};
  if (business === '') errors.business = [words.missing];
  if (name === '') errors.name = [words.missing];
  if (!EMAIL.test(email)) errors.email = [words.emailWrong];
  else if (await findMemberByEmail(ctx.db, email)) errors.email = [words.signUp.taken];
  if (passwordError(password) !== null) errors.password = [words.passwordHint];
  if (Object.keys(errors).length > 0) return signUpPage(visit, errors);
  const actor = { memberId: null, name: email.toLowerCase() };
  const holder = await createHolder(ctx, actor, business);
  const member = await addMember(ctx, actor, { email, name, holderId: holder.id, role: 'owner' });
  await setPassword(ctx, { memberId: member.id, name: member.email }, member.id, password, {
    sessionId: null,
    holderId: holder.id,
  });
  return enter(visit, member.id, '/console');
}

async function openInvitation(visit: ConsoleRequest): Promise<Invitation> {
  const invitation = await findInvitation(visit.ctx.db, paramOf(visit, 'token'), visit.ctx.clock.now());
  if (!invitation) throw new Problem('not_found', { message: visit.words.invitation.gone });
  return invitation;
}

async function invitationPage(visit: ConsoleRequest, errors?: FieldErrors): Promise<FastifyReply> {
  const { words } = visit;
  const invitation = await openInvitation(visit);
  const known = await findMemberByEmail(visit.ctx.db, invitation.email);
  const isThem = visit.session?.member.email === invitation.email;
  const text = words.invitation.text(invitation.invited_by, invitation.holder_name, words.roles[invitation.role]);
  const address = `/invitations/${paramOf(visit, 'token')}`;
  // Whoever exists already proves it in the usual way: the link alone must never open another's account.
  const form = known
    ? isThem
      ? postForm(visit, address, html`<button>${words.invitation.accept}</button>`)
      : html`<p>${words.invitation.signInFirst(invitation.email)}</p><a class="btn" href="/console/sign-in?next=/console${address}">${words.signIn.title}</a>`
    : postForm(
        visit,
        address,
        html`${inputField({ name: 'name', label: words.yourName, value: fieldOf(visit, 'name'), required: true, errors, more: html`maxlength="120" autocomplete="name"` })}${newPasswordField(visit, errors)}<button>${words.invitation.accept}</button>`,
      );
  return renderPage(visit, {
    title: words.invitation.title,
    alone: true,
    ...(errors ? { status: 400 } : {}),
    body: html`<div class="card">${errorBox(visit, errors)}<p>${text}</p><p><b>${invitation.email}</b></p>${form}</div>`,
  });
}

async function accept(visit: ConsoleRequest): Promise<FastifyReply> {
  const { ctx, words } = visit;
  const invitation = await openInvitation(visit);
  const known = await findMemberByEmail(ctx.db, invitation.email);
  if (known) {
    if (visit.session?.member.id !== known.id) return invitationPage(visit);
    await acceptInvitation(ctx, paramOf(visit, 'token'), known.name);
    await chooseHolder(ctx, visit.session.id, invitation.holder_id);
    return redirect(visit, '/console', 'joined');
  }
  const name = fieldOf(visit, 'name', 120);
  const password = visit.form.get('password') ?? '';
  const errors: FieldErrors = {};
  if (name === '') errors.name = [words.missing];
  if (passwordError(password) !== null) errors.password = [words.passwordHint];
  if (Object.keys(errors).length > 0) return invitationPage(visit, errors);
  const member = await acceptInvitation(ctx, paramOf(visit, 'token'), name);
  await setPassword(ctx, { memberId: member.id, name: member.email }, member.id, password, {
    sessionId: null,
    holderId: invitation.holder_id,
  });
  return enter(visit, member.id, '/console');
}

async function signOut(visit: MemberRequest): Promise<FastifyReply> {
  await revokeSession(visit.ctx, visit.session.member.id, visit.session.id);
  clearSessionCookie(visit);
  return redirect(visit, '/console/sign-in', 'signedOut');
}

async function switchHolder(visit: MemberRequest): Promise<FastifyReply> {
  const holderId = idOf(fieldOf(visit, 'holder', 20));
  if (!visit.memberships.some((membership) => membership.holder_id === holderId)) throw new Problem('not_found');
  await chooseHolder(visit.ctx, visit.session.id, holderId);
  return redirect(visit, '/console');
}
