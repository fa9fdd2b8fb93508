// The members of a holder: their roles, and inviting more of them.

import type { FastifyReply } from 'fastify';
import {
  type Invitation,
  invitationUrl,
  inviteMember,
  type LinkDelivery,
  listInvitations,
  type MadeInvitation,
  resendInvitation,
  withdrawInvitation,
} from '../holders/invitations.ts';
import { mailIsConfigured } from '../holders/mail-queue.ts';
import { listTeam, type MemberRole, type TeamRow } from '../holders/members.ts';
import { confirmRoleChange, listRoleChanges, type RoleChange, withdrawRoleChange } from '../holders/role-changes.ts';
import { publicUrl } from '../platform/config.ts';
import { isEmail, MAX_EMAIL_CHARACTERS } from '../platform/email.ts';
import { Problem } from '../platform/errors.ts';
import { type Html, html } from '../platform/html.ts';
import { nameInMail } from '../platform/mail.ts';
import { dataTable, who } from '../ui/components.ts';
import { copyLine, timeTag } from './components.ts';
import { fieldOf, type HolderRequest, idOf, type MemberRequest, paramOf } from './console-request.ts';
import { errorBox, form, postButton } from './form-components.ts';
import { redirect, renderPage } from './layout.ts';
import { mailBoxLink } from './mail-box-link.ts';
import { limitMails } from './mail-limits.ts';
import { type ConsoleRoute, EVERYONE, forRoles, OWNER } from './route.ts';
import { factorTag, readRole, roleField } from './team-member-page.ts';

export const teamRoutes: ConsoleRoute[] = [
  forRoles(EVERYONE, 'GET', '/team', (request) => teamPage(request)),
  forRoles(OWNER, 'POST', '/team/invite', invite, { confirm: true }),
  forRoles(OWNER, 'POST', '/team/invitations/:id/withdraw', withdraw, { whenSuspended: true }),
  forRoles(OWNER, 'POST', '/team/changes/:id/confirm', confirmChange, { confirm: true }),
  forRoles(EVERYONE, 'POST', '/team/changes/:id/withdraw', withdrawChange, { whenSuspended: true }),
  forRoles(OWNER, 'POST', '/team/invitations/:id/resend', resend, { confirm: true }),
];

/** What was typed into the form of an invitation. */
type TypedInvitation = { email: string; role: MemberRole | null };

async function teamPage(
  request: HolderRequest,
  problem?: string,
  typed: TypedInvitation = { email: '', role: null },
): Promise<FastifyReply> {
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
      ${isOwner && inviteCard(request, typed)}
    `,
  });
}

function teamTable(request: HolderRequest, team: readonly TeamRow[]): Html {
  const { t } = request;
  return dataTable(
    t.menu.team,
    [
      { label: t.user, phone: 'main' },
      { label: t.team.role, phone: 'amount' },
      { label: t.profile.factor, phone: 'status' },
      { label: t.profile.lastSeen, right: true },
    ],
    team.map((each) => [
      who(
        html`<bdi>${each.name}</bdi>`,
        html`<bdi>${each.email}</bdi>${!each.is_proven && ` (${t.team.unproven})`}`,
        request.role === 'owner' ? { href: `/console/team/${each.id}` } : {},
      ),
      t.roles[each.role],
      factorTag(request, each),
      each.last_seen_at ? timeTag(request, each.last_seen_at) : t.never,
    ]),
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
  const actions = ({ id }: Invitation) => html`
    <div class="actions">
      ${postButton(request, `/team/invitations/${id}/resend`, t.team.resend, { variant: 'secondary' })}
      ${postButton(request, `/team/invitations/${id}/withdraw`, t.team.withdraw, { variant: 'link' })}
    </div>
  `;
  return dataTable(
    t.team.open,
    [{ label: t.email }, { label: t.team.role }, { label: t.team.until }, { label: t.action }],
    invitations.map((each) => [
      html`<bdi>${each.email}</bdi>`,
      each.holder && t.roles[each.holder.role],
      timeTag(request, each.expires_at),
      request.role === 'owner' && actions(each),
    ]),
  );
}

function inviteCard(request: HolderRequest, { email, role }: TypedInvitation): Html {
  const { t } = request;
  return html`
    <section class="card">
      <h2>${t.team.invite}</h2>
      ${form(request, {
        action: '/team/invite',
        fields: [
          {
            name: 'email',
            label: t.email,
            type: 'email',
            required: true,
            value: email,
            attributes: html`autocomplete="off"`,
          },
          roleField(request, role ?? 'viewer'),
        ],
        submit: t.team.invite,
      })}
    </section>
  `;
}

async function invite(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, t, holder, actor } = request;
  // One more than is accepted: an address that is cut would be another one.
  const email = fieldOf(request, 'email', MAX_EMAIL_CHARACTERS + 1);
  const role = readRole(fieldOf(request, 'role'));
  if (!isEmail(email) || !role) return teamPage(request, t.emailInvalid, { email, role });
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

/** The link of an invitation is stored nowhere, so another one takes its place. */
async function resend(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, t, holder, actor } = request;
  const id = idOf(paramOf(request, 'id'));
  const invitation = (await listInvitations(ctx.db, holder.id, ctx.clock.now())).find((each) => each.id === id);
  if (!invitation?.holder) throw new Problem('not_found');
  const { email } = invitation;
  const delivery = await deliveryOf(request, email, holder.name, invitation.holder.role);
  const made = await resendInvitation(ctx, actor, holder.id, id, delivery);
  return invitedPage(request, { title: t.team.invited, email, made, active: 'team', back: '/console/team' });
}
