// The members of a holder: their roles, and inviting more of them.

import type { FastifyReply } from 'fastify';
import { type Invitation, inviteMember, listInvitations, withdrawInvitation } from '../holders/invitations.ts';
import { changeMembership, listTeam, type MemberRole, ROLES, type TeamRow } from '../holders/members.ts';
import { publicUrl } from '../platform/config.ts';
import { isEmail } from '../platform/email.ts';
import { Problem } from '../platform/errors.ts';
import { type Html, html } from '../platform/html.ts';
import { copyLine, dataTable, tag, timeTag } from './components.ts';
import { fieldOf, type HolderRequest, idOf, paramOf } from './console-request.ts';
import { errorBox, form, postButton, postForm } from './form-components.ts';
import { redirect, renderPage } from './layout.ts';
import { type ConsoleRoute, EVERYONE, forRoles, OWNER } from './route.ts';

export const teamRoutes: ConsoleRoute[] = [
  forRoles(EVERYONE, 'GET', '/team', (request) => teamPage(request)),
  forRoles(OWNER, 'POST', '/team/invite', invite, { confirm: true }),
  forRoles(OWNER, 'POST', '/team/invitations/:id/withdraw', withdraw, { whenSuspended: true }),
  forRoles(OWNER, 'POST', '/team/:id', change, { confirm: true }),
];

function roleChoices({ t }: HolderRequest) {
  return ROLES.map((role) => [role, t.roles[role]] as const);
}

async function teamPage(request: HolderRequest, problem?: string): Promise<FastifyReply> {
  const { ctx, holder, t } = request;
  const [team, invitations] = await Promise.all([
    listTeam(ctx.db, holder.id),
    listInvitations(ctx.db, holder.id, ctx.clock.now()),
  ]);
  const isOwner = request.role === 'owner';
  return renderPage(request, {
    title: t.menu.team,
    lead: t.team.lead,
    active: 'team',
    ...(problem ? { status: 400 } : {}),
    body: html`
      ${problem && errorBox(request, undefined, problem)}
      ${teamTable(request, team)}
      ${invitations.length > 0 && html`<h2>${t.team.open}</h2>${invitationTable(request, invitations)}`}
      ${isOwner && inviteCard(request)}
    `,
  });
}

function teamTable(request: HolderRequest, team: readonly TeamRow[]): Html {
  const { t } = request;
  return dataTable(
    t.menu.team,
    [{ label: t.user }, { label: t.team.role }, { label: t.profile.factor }, { label: t.profile.lastSeen }],
    team.map((each) => [
      html`<bdi>${each.name}</bdi><span class="muted"><bdi>${each.email}</bdi></span>`,
      request.role === 'owner' ? roleForm(request, each) : t.roles[each.role],
      each.has_factor ? tag('success', t.yes) : tag('warning', t.no),
      each.last_seen_at ? timeTag(each.last_seen_at) : t.never,
    ]),
  );
}

/** No role removes the member. */
function roleForm(request: HolderRequest, member: TeamRow): Html {
  const { t } = request;
  const option = ([code, label]: readonly [string, string]) =>
    html`<option value="${code}"${code === member.role && html` selected`}>${label}</option>`;
  return postForm(
    request,
    `/team/${member.id}`,
    html`
      <div class="copyline">
        <select name="role" aria-label="${t.team.role}: ${member.email}">
          ${[...roleChoices(request), ['', t.team.remove] as const].map(option)}
        </select>
        <button class="button-secondary">${t.save}</button>
      </div>
    `,
  );
}

function invitationTable(request: HolderRequest, invitations: readonly Invitation[]): Html {
  const { t } = request;
  return dataTable(
    t.team.open,
    [{ label: t.email }, { label: t.team.role }, { label: t.team.until }, { label: t.action }],
    invitations.map((each) => [
      html`<bdi>${each.email}</bdi>`,
      t.roles[each.role],
      timeTag(each.expires_at),
      request.role === 'owner' &&
        postButton(request, `/team/invitations/${each.id}/withdraw`, t.team.withdraw, { variant: 'link' }),
    ]),
  );
}

function inviteCard(request: HolderRequest): Html {
  const { t } = request;
  return html`
    <section class="card">
      <h2>${t.team.invite}</h2>
      ${form(request, {
        action: '/team/invite',
        row: true,
        fields: [
          { name: 'email', label: t.email, type: 'email', required: true },
          { type: 'select', name: 'role', label: t.team.role, value: 'viewer', choices: roleChoices(request) },
        ],
        submit: t.team.invite,
      })}
      <ul>${ROLES.map((each) => html`<li><b>${t.roles[each]}</b>: ${t.team.permissions[each]}</li>`)}</ul>
    </section>
  `;
}

function readRole(text: string): MemberRole | null {
  return ROLES.find((role) => role === text) ?? null;
}

async function invite(request: HolderRequest): Promise<FastifyReply> {
  const { t } = request;
  const email = fieldOf(request, 'email', 254);
  const role = readRole(fieldOf(request, 'role'));
  if (!isEmail(email) || !role) return teamPage(request, t.emailInvalid);
  const { token, expiresAt } = await inviteMember(request.ctx, request.actor, request.holder.id, email, role);
  return renderPage(request, {
    title: t.team.invited,
    lead: t.team.invitedText(email),
    active: 'team',
    body: html`
      <div class="card">
        ${copyLine(request, 'invitation', `${publicUrl(request.ctx.config)}/console/invitations/${token}`, t.team.invite)}
        <p class="muted">${t.team.until} ${timeTag(expiresAt)}</p>
        <p><a class="button" href="/console/team">${t.back}</a></p>
      </div>
    `,
  });
}

async function withdraw(request: HolderRequest): Promise<FastifyReply> {
  await withdrawInvitation(request.ctx, request.actor, request.holder.id, idOf(paramOf(request, 'id')));
  return redirect(request, '/console/team', 'saved');
}

async function change(request: HolderRequest): Promise<FastifyReply> {
  const role = readRole(fieldOf(request, 'role'));
  try {
    await changeMembership(request.ctx, request.actor, request.holder.id, idOf(paramOf(request, 'id')), role);
  } catch (error) {
    if (error instanceof Problem && error.code === 'invalid_params') return teamPage(request, request.t.team.lastOwner);
    throw error;
  }
  return redirect(request, '/console/team', 'saved');
}
