// The people of a holder: who they are, what they may do, and inviting more of them.

import type { FastifyReply } from 'fastify';
import { inviteMember, listInvitations, withdrawInvitation } from '../holders/invitations.ts';
import { changeMembership, listTeam, type MemberRole, ROLES } from '../holders/members.ts';
import { publicUrl } from '../platform/config.ts';
import { Problem } from '../platform/errors.ts';
import { html } from '../platform/html.ts';
import {
  copyLine,
  dataTable,
  errorBox,
  inputField,
  postButton,
  postForm,
  selectField,
  tag,
  timeTag,
} from './components.ts';
import { fieldOf, type HolderRequest, idOf, paramOf } from './console-request.ts';
import { redirect, renderPage } from './layout.ts';
import { type ConsoleRoute, EVERYONE, forRoles, OWNER } from './route.ts';

const EMAIL = /^[^\s@<>()",;:\\]+@[^\s@<>()",;:\\]+\.[^\s@<>()",;:\\]+$/;

export const teamRoutes: ConsoleRoute[] = [
  forRoles(EVERYONE, 'GET', '/team', (visit) => teamPage(visit)),
  forRoles(OWNER, 'POST', '/team/invite', invite, { confirm: true }),
  forRoles(OWNER, 'POST', '/team/invitations/:id/withdraw', withdraw),
  forRoles(OWNER, 'POST', '/team/:id', change, { confirm: true }),
];

function roleChoices({ words }: HolderRequest) {
  return ROLES.map((role) => [role, words.roles[role]] as const);
}

async function teamPage(visit: HolderRequest, problem?: string): Promise<FastifyReply> {
  const { ctx, holder, words, role } = visit;
  const [team, invitations] = await Promise.all([
    listTeam(ctx.db, holder.id),
    listInvitations(ctx.db, holder.id, ctx.clock.now()),
  ]);
  const owner = role === 'owner';
  return renderPage(visit, {
    title: words.menu.team,
    lead: words.team.lead,
    active: 'team',
    ...(problem ? { status: 400 } : {}),
    body: html`${problem && errorBox(visit, undefined, problem)}${dataTable(
      words.menu.team,
      [
        { label: words.who },
        { label: words.team.role },
        { label: words.profile.factor },
        { label: words.profile.lastSeen },
      ],
      team.map((each) => [
        html`<bdi>${each.name}</bdi><span class="m"><bdi>${each.email}</bdi></span>`,
        owner
          ? postForm(
              visit,
              `/team/${each.id}`,
              html`<div class="copyline"><select name="role" aria-label="${words.team.role}: ${each.email}">${[...roleChoices(visit), ['', words.team.remove] as const].map(([code, label]) => html`<option value="${code}"${code === each.role && html` selected`}>${label}</option>`)}</select><button class="q">${words.save}</button></div>`,
            )
          : words.roles[each.role],
        each.has_factor ? tag('s', words.yes) : tag('w', words.no),
        each.last_seen_at ? timeTag(each.last_seen_at) : words.never,
      ]),
    )}${
      invitations.length > 0 &&
      html`<h2>${words.team.open}</h2>${dataTable(
        words.team.open,
        [{ label: words.email }, { label: words.team.role }, { label: words.team.until }, { label: words.action }],
        invitations.map((each) => [
          html`<bdi>${each.email}</bdi>`,
          words.roles[each.role],
          timeTag(each.expires_at),
          owner && postButton(visit, `/team/invitations/${each.id}/withdraw`, words.team.withdraw, { look: 'lk' }),
        ]),
      )}`
    }${owner && html`<section class="card"><h2>${words.team.invite}</h2>${postForm(visit, '/team/invite', html`<div class="row">${inputField({ name: 'email', label: words.email, type: 'email', required: true })}${selectField({ name: 'role', label: words.team.role, value: 'viewer', choices: roleChoices(visit) })}</div><button>${words.team.invite}</button>`)}<ul>${ROLES.map((each) => html`<li><b>${words.roles[each]}</b>: ${words.team.may[each]}</li>`)}</ul></section>`}`,
  });
}

function readRole(text: string): MemberRole | null {
  return ROLES.find((role) => role === text) ?? null;
}

async function invite(visit: HolderRequest): Promise<FastifyReply> {
  const { words } = visit;
  const email = fieldOf(visit, 'email', 254);
  const role = readRole(fieldOf(visit, 'role'));
  if (!EMAIL.test(email) || !role) return teamPage(visit, words.emailWrong);
  const { token, expiresAt } = await inviteMember(visit.ctx, visit.actor, visit.holder.id, email, role);
  return renderPage(visit, {
    title: words.team.invited,
    lead: words.team.invitedText(email),
    active: 'team',
    body: html`<div class="card">${copyLine(visit, 'invitation', `${publicUrl(visit.ctx.config)}/console/invitations/${token}`, words.team.invite)}<p class="m">${words.team.until} ${timeTag(expiresAt)}</p><p><a class="btn" href="/console/team">${words.back}</a></p></div>`,
  });
}

async function withdraw(visit: HolderRequest): Promise<FastifyReply> {
  await withdrawInvitation(visit.ctx, visit.actor, visit.holder.id, idOf(paramOf(visit, 'id')));
  return redirect(visit, '/console/team', 'saved');
}

async function change(visit: HolderRequest): Promise<FastifyReply> {
  const role = readRole(fieldOf(visit, 'role'));
  try {
    await changeMembership(visit.ctx, visit.actor, visit.holder.id, idOf(paramOf(visit, 'id')), role);
  } catch (error) {
    if (error instanceof Problem && error.code === 'invalid_params') return teamPage(visit, visit.words.team.lastOwner);
    throw error;
  }
  return redirect(visit, '/console/team', 'saved');
}
