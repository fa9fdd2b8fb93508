// The members of a holder: their roles, and inviting more of them.

import type { FastifyReply } from 'fastify';
import {
  type Invitation,
  invitationUrl,
  inviteMember,
  type LinkDelivery,
  listInvitations,
  type MadeInvitation,
  withdrawInvitation,
} from '../holders/invitations.ts';
import { mailIsConfigured } from '../holders/mail-queue.ts';
import { listTeam, type MemberRole, ROLES, type TeamRow } from '../holders/members.ts';
import {
  changeMembership,
  confirmRoleChange,
  listRoleChanges,
  type RoleChange,
  type RoleResult,
  withdrawRoleChange,
} from '../holders/role-changes.ts';
import { publicUrl } from '../platform/config.ts';
import { isEmail } from '../platform/email.ts';
import { Problem } from '../platform/errors.ts';
import { type Html, html } from '../platform/html.ts';
import { nameInMail } from '../platform/mail.ts';
import { dataTable, tag } from '../ui/components.ts';
import { copyLine, timeTag } from './components.ts';
import { fieldOf, type HolderRequest, idOf, type MemberRequest, paramOf, requireActive } from './console-request.ts';
import { errorBox, form, postButton, postForm } from './form-components.ts';
import { redirect, renderPage } from './layout.ts';
import { mailBoxLink } from './mail-box-link.ts';
import { limitMails } from './mail-limits.ts';
import { tellOwners } from './role-notice.ts';
import { type ConsoleRoute, EVERYONE, forRoles, OWNER } from './route.ts';

export const teamRoutes: ConsoleRoute[] = [
  forRoles(EVERYONE, 'GET', '/team', (request) => teamPage(request)),
  forRoles(OWNER, 'POST', '/team/invite', invite, { confirm: true }),
  forRoles(OWNER, 'POST', '/team/invitations/:id/withdraw', withdraw, { whenSuspended: true }),
  forRoles(OWNER, 'POST', '/team/changes/:id/confirm', confirmChange, { confirm: true }),
  forRoles(EVERYONE, 'POST', '/team/changes/:id/withdraw', withdrawChange, { whenSuspended: true }),
  forRoles(OWNER, 'POST', '/team/:id', change, { confirm: true, whenSuspended: true }),
];

function roleChoices({ t }: HolderRequest) {
  return ROLES.map((role) => [role, t.roles[role]] as const);
}

async function teamPage(request: HolderRequest, problem?: string): Promise<FastifyReply> {
  const { ctx, holder, t } = request;
  const [team, changes, invitations] = await Promise.all([
    listTeam(ctx.db, holder.id),
    listRoleChanges(ctx.db, holder.id),
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
      ${changes.length > 0 && html`<h2>${t.team.waiting}</h2><p>${t.team.waitingText}</p>${changeTable(request, changes)}`}
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
      html`
        <bdi>${each.name}</bdi>
        <span class="muted"><bdi>${each.email}</bdi>${!each.is_proven && ` (${t.team.unproven})`}</span>
      `,
      request.role === 'owner' ? roleForm(request, each) : t.roles[each.role],
      each.has_factor ? tag('success', t.yes) : tag('warning', t.no),
      each.last_seen_at ? timeTag(request, each.last_seen_at) : t.never,
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

/** Both people see what waits and until when; either can cancel it, and another owner can confirm it. */
function changeTable(request: HolderRequest, changes: readonly RoleChange[]): Html {
  const { t, session } = request;
  const me = session.member.id;
  const isOwner = request.role === 'owner';
  const path = (change: RoleChange) => `/team/changes/${change.id}`;
  return dataTable(
    t.team.waiting,
    [
      { label: t.user },
      { label: t.team.role },
      { label: t.approval.requestedBy },
      { label: t.approval.effectiveAt },
      { label: t.action },
    ],
    changes.map((change) => {
      const canConfirm = isOwner && change.requested_by_member !== me && change.member_id !== me;
      return [
        html`<bdi>${change.name}</bdi><span class="muted"><bdi>${change.email}</bdi></span>`,
        t.roles[change.role],
        html`<bdi>${change.requested_by}</bdi>`,
        timeTag(request, change.effective_at),
        html`
          ${canConfirm && postButton(request, `${path(change)}/confirm`, t.approval.confirm, { variant: 'link' })}
          ${
            (isOwner || change.member_id === me) &&
            postButton(request, `${path(change)}/withdraw`, t.approval.withdraw, { variant: 'link' })
          }
        `,
      ];
    }),
  );
}

function invitationTable(request: HolderRequest, invitations: readonly Invitation[]): Html {
  const { t } = request;
  return dataTable(
    t.team.open,
    [{ label: t.email }, { label: t.team.role }, { label: t.team.until }, { label: t.action }],
    invitations.map((each) => [
      html`<bdi>${each.email}</bdi>`,
      each.holder && t.roles[each.holder.role],
      timeTag(request, each.expires_at),
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
  const { ctx, t, holder, actor } = request;
  const email = fieldOf(request, 'email', 254);
  const role = readRole(fieldOf(request, 'role'));
  if (!isEmail(email) || !role) return teamPage(request, t.emailInvalid);
  const made = await inviteMember(
    ctx,
    actor,
    holder.id,
    email,
    role,
    await deliveryOf(request, email, holder.name, role),
  );
  return invitedPage(request, { title: t.team.invited, email, made, active: 'team', back: '/console/team' });
}

/** By mail where there is a mail server: the inviter does not see the link then. Else it is shown, and proves nothing. */
export async function deliveryOf(
  request: MemberRequest,
  email: string,
  holderName: string,
  role: MemberRole,
): Promise<LinkDelivery> {
  const { ctx, t, actor } = request;
  if (!mailIsConfigured(ctx)) return 'page';
  await limitMails(request, email, 'invitation');
  const [by, holder] = [nameInMail(actor.name.split('@')[0] ?? ''), nameInMail(holderName)];
  return { mail: (url) => t.mails.invitation({ by, holder, role: t.roles[role], url }) };
}

export function invitedPage(
  request: MemberRequest,
  page: {
    title: string;
    email: string;
    made: MadeInvitation;
    active: 'team' | 'admin';
    back: string;
    note?: Html | false;
  },
): Promise<FastifyReply> {
  const { ctx, t } = request;
  const { token, expiresAt } = page.made;
  return renderPage(request, {
    title: page.title,
    lead: token === null ? t.team.mailedText(page.email) : t.team.invitedText(page.email),
    active: page.active,
    body: html`
      <div class="card">
        ${page.note}
        ${token !== null && copyLine(request, 'invitation', invitationUrl(publicUrl(ctx.config), token), t.team.invite)}
        <p class="muted">${t.team.until} ${timeTag(request, expiresAt)}</p>
        ${token === null && mailBoxLink(request)}
        <p><a class="button" href="${page.back}">${t.back}</a></p>
      </div>
    `,
  });
}

async function confirmChange(request: HolderRequest): Promise<FastifyReply> {
  await confirmRoleChange(request.ctx, request.actor, request.holder.id, paramOf(request, 'id'));
  return redirect(request, '/console/team', 'saved');
}

async function withdrawChange(request: HolderRequest): Promise<FastifyReply> {
  await withdrawRoleChange(request.ctx, request.actor, request.holder.id, paramOf(request, 'id'));
  return redirect(request, '/console/team', 'saved');
}

async function withdraw(request: HolderRequest): Promise<FastifyReply> {
  await withdrawInvitation(request.ctx, request.actor, request.holder.id, idOf(paramOf(request, 'id')));
  return redirect(request, '/console/team', 'saved');
}

async function change(request: HolderRequest): Promise<FastifyReply> {
  const role = readRole(fieldOf(request, 'role'));
  // Removing a member only takes back.
  if (role !== null) requireActive(request);
  const { ctx, holder } = request;
  const memberId = idOf(paramOf(request, 'id'));
  let result: RoleResult;
  try {
    result = await changeMembership(ctx, request.actor, holder.id, memberId, role);
  } catch (error) {
    if (error instanceof Problem && error.code === 'invalid_params') return teamPage(request, request.t.team.lastOwner);
    throw error;
  }
  if (result === 'saved') return redirect(request, '/console/team', 'saved');
  const waiting = (await listRoleChanges(ctx.db, holder.id)).find((change) => change.member_id === memberId);
  if (waiting) await tellOwners(request, holder, waiting);
  return redirect(request, '/console/team', 'roleWaits');
}
