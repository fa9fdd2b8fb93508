// Accepting an invitation: to a holder's team, or to be an admin of the gateway.

import type { FastifyReply } from 'fastify';
import { COMMAND_LINE } from '../holders/audit.ts';
import { addressState } from '../holders/credentials.ts';
import {
  type AcceptanceStep,
  type Accepter,
  acceptanceStep,
  acceptInvitation,
  findInvitation,
  type Invitation,
} from '../holders/invitations.ts';
import { mailIsConfigured } from '../holders/mail-queue.ts';
import { chooseHolder, findMemberByEmail, listMemberships } from '../holders/members.ts';
import { findPasswordProblem } from '../holders/password-strength.ts';
import type { RoleResult } from '../holders/role-changes.ts';
import { type FieldErrors, Problem } from '../platform/errors.ts';
import { type Html, html } from '../platform/html.ts';
import { BROWSER_ZONE_SCRIPT, browserZone, browserZoneField } from './browser-zone.ts';
import { type ConsoleRequest, fieldOf, paramOf } from './console-request.ts';
import { nameField, newPasswordField } from './credential-fields.ts';
import { errorBox, form } from './form-components.ts';
import { redirect, renderPage } from './layout.ts';
import { mailBoxLink } from './mail-box-link.ts';
import { mailRole } from './owner-mails.ts';
import { continueSignIn } from './pending-sign-in.ts';
import { type ConsoleRoute, forAnyone } from './route.ts';

export const invitationRoutes: ConsoleRoute[] = [
  forAnyone('GET', '/invitations/:token', invitationPage),
  forAnyone('POST', '/invitations/:token', accept),
];

async function openInvitation(request: ConsoleRequest): Promise<Invitation> {
  const invitation = await findInvitation(request.ctx.db, paramOf(request, 'token'), request.ctx.clock.now());
  if (!invitation) throw new Problem('not_found', { message: request.t.invitation.expired });
  return invitation;
}

async function invitationPage(request: ConsoleRequest, errors?: FieldErrors): Promise<FastifyReply> {
  const { ctx, t } = request;
  const invitation = await openInvitation(request);
  const { holder, invited_by, email } = invitation;
  const by = invited_by === COMMAND_LINE.name ? t.invitation.byHost : invited_by;
  const step = await acceptanceStep(ctx.db, invitation);
  return renderPage(request, {
    title: t.invitation.title,
    alone: true,
    scripts: [BROWSER_ZONE_SCRIPT],
    ...(errors ? { status: 400 } : {}),
    body: html`
      <div class="card">
        ${errorBox(request, errors)}
        <p>${holder ? t.invitation.text(by, holder.name, t.roles[holder.role]) : t.invitation.adminText}</p>
        <p><b>${email}</b></p>
        ${await stepForm(request, step, email, errors)}
      </div>
    `,
  });
}

/** A person whose address is proven signs in first: the link alone never opens their account. */
async function stepForm(
  request: ConsoleRequest,
  step: AcceptanceStep,
  email: string,
  errors: FieldErrors | undefined,
): Promise<Html> {
  const { t } = request;
  const action = `/invitations/${paramOf(request, 'token')}`;
  if (step === 'choose_password')
    return html`
      ${await earlierAccount(request, email)}
      ${form(request, {
        action,
        errors,
        fields: [nameField(request), newPasswordField(request), browserZoneField()],
        submit: t.invitation.accept,
      })}
    `;
  if (step === 'blocked')
    return html`
      <p class="box warning">${t.invitation.unproven(email)}</p>
      <p><code>npx simbi login-link ${email}</code></p>
      ${mailIsConfigured(request.ctx) && html`<p><a href="/console/sign-in/link">${t.signIn.mailLink}</a></p>`}
      ${mailBoxLink(request)}
    `;
  if (request.session?.member.email === email)
    return form(request, { action, fields: [browserZoneField()], submit: t.invitation.accept });
  return html`
    <p>${t.invitation.signInFirst(email)}</p>
    <a class="button" href="/console/sign-in?next=/console${action}">${t.signIn.title}</a>
  `;
}

/** Somebody may have used the address before its owner. The owner sees what that account belongs to. */
async function earlierAccount({ ctx, t }: ConsoleRequest, email: string): Promise<Html | false> {
  const member = (await addressState(ctx.db, email)) === 'unproven' && (await findMemberByEmail(ctx.db, email));
  if (!member) return false;
  const memberships = await listMemberships(ctx.db, member.id);
  const roles = memberships.map(({ name, role }) => html`<li><bdi>${name}</bdi>: ${t.roles[role]}</li>`);
  return html`
    <div class="box warning">
      <p>${t.invitation.takesOver}</p>
      ${roles.length > 0 && html`<ul>${roles}</ul>`}
    </div>
  `;
}

async function accept(request: ConsoleRequest): Promise<FastifyReply> {
  const { ctx, session } = request;
  const token = paramOf(request, 'token');
  const invitation = await openInvitation(request);
  const step = await acceptanceStep(ctx.db, invitation);
  if (step === 'sign_in') {
    if (session?.member.email !== invitation.email) return invitationPage(request);
    const { result } = await acceptInvitation(ctx, token, { memberId: session.member.id }, browserZone(request));
    await tellAboutRole(request, invitation, result);
    if (invitation.holder) await chooseHolder(ctx, session.id, invitation.holder.id);
    return redirect(request, pathAfter(invitation, result), 'joined');
  }
  const chosen = step === 'choose_password' ? await readChoice(request, invitation.email) : null;
  if (!chosen || 'errors' in chosen) return invitationPage(request, chosen?.errors);
  const { member, result } = await acceptInvitation(ctx, token, chosen, browserZone(request));
  await tellAboutRole(request, invitation, result);
  return continueSignIn(request, member.id, pathAfter(invitation, result), { holderId: invitation.holder?.id });
}

async function tellAboutRole(
  request: ConsoleRequest,
  { email, holder }: Invitation,
  result: RoleResult,
): Promise<void> {
  if (holder && result === 'requested') await mailRole(request, holder, { email, role: holder.role });
}

/** A role that waits is shown on the page of the team. */
function pathAfter({ holder }: Invitation, result: RoleResult): string {
  if (!holder) return '/console/admin';
  return result === 'requested' ? '/console/team' : '/console';
}

async function readChoice(request: ConsoleRequest, email: string): Promise<Accepter | { errors: FieldErrors }> {
  const { ctx, t } = request;
  const name = fieldOf(request, 'name', 120);
  const password = request.form.get('password') ?? '';
  const problem = await findPasswordProblem(ctx, password, email);
  const errors: FieldErrors = {};
  if (name === '') errors.name = [t.fieldRequired];
  if (problem) errors.password = [t.passwordProblems[problem]];
  return Object.keys(errors).length > 0 ? { errors } : { name, password };
}
