// One person of the team, for owners: who they are, their role and what it allows, and removing them.

import type { FastifyReply } from 'fastify';
import { listTeam, type MemberRole, ROLES, type TeamRow } from '../holders/members.ts';
import { changeMembership, listRoleChanges, type RoleResult } from '../holders/role-changes.ts';
import { Problem } from '../platform/errors.ts';
import { type Html, html } from '../platform/html.ts';
import { breadcrumbs, facts, status } from '../ui/components.ts';
import { timeTag } from './components.ts';
import { fieldOf, type HolderRequest, idOf, paramOf, requireActive } from './console-request.ts';
import { dangerForm, errorBox, type FormField, form } from './form-components.ts';
import { redirect, renderPage } from './layout.ts';
import { mailRole } from './owner-mails.ts';
import { type ConsoleRoute, forRoles, OWNER } from './route.ts';

export const teamMemberRoutes: ConsoleRoute[] = [
  forRoles(OWNER, 'GET', '/team/:id', (request) => memberPage(request)),
  forRoles(OWNER, 'POST', '/team/:id', change, { confirm: true, whenSuspended: true }),
];

/** Every role with what it allows. */
export function roleField({ t }: HolderRequest, value: MemberRole): FormField {
  return {
    type: 'radio',
    name: 'role',
    label: t.team.role,
    value,
    required: true,
    choices: ROLES.map((role) => [role, t.roles[role], t.team.permissions[role]] as const),
  };
}

export function readRole(text: string): MemberRole | null {
  return ROLES.find((role) => role === text) ?? null;
}

export function factorTag({ t }: HolderRequest, { has_factor }: TeamRow): Html {
  return has_factor ? status('success', t.team.on) : status('warning', t.team.off);
}

async function readMember({ ctx, holder }: HolderRequest, id: bigint): Promise<TeamRow> {
  const member = (await listTeam(ctx.db, holder.id)).find((each) => each.id === id);
  if (!member) throw new Problem('not_found');
  return member;
}

async function memberPage(request: HolderRequest, problem?: string): Promise<FastifyReply> {
  const { t } = request;
  const member = await readMember(request, idOf(paramOf(request, 'id')));
  const path = `/team/${member.id}`;
  return renderPage(request, {
    title: member.name,
    breadcrumbs: breadcrumbs(t.menu.team, [[t.menu.team, '/console/team']], html`<bdi>${member.name}</bdi>`),
    active: 'team',
    ...(problem ? { status: 400 } : {}),
    body: html`
      ${problem && errorBox(request, undefined, problem)}
      <div class="card">
        ${facts([
          [t.email, html`<bdi>${member.email}</bdi>${!member.is_proven && ` (${t.team.unproven})`}`],
          [t.profile.factor, factorTag(request, member)],
          [t.team.joined, timeTag(request, member.joined_at)],
          [t.profile.lastSeen, member.last_seen_at ? timeTag(request, member.last_seen_at) : t.never],
        ])}
        <a href="/console/audit?person=${encodeURIComponent(member.email)}">${t.menu.audit}</a>
      </div>
      <section class="card">
        <h2>${t.team.role}</h2>
        ${form(request, { action: path, fields: [roleField(request, member.role)], submit: t.save })}
      </section>
      <section class="card">
        ${dangerForm(request, path, t.team.remove, t.team.removeMeaning(member.name), { role: '' })}
      </section>
    `,
  });
}

/** An empty role removes the person. A form without one, or with one that is not known, says nothing about that. */
async function change(request: HolderRequest): Promise<FastifyReply> {
  const role = readRole(fieldOf(request, 'role'));
  if (role === null && request.form.get('role') !== '') throw new Problem('invalid_params');
  // Removing a member only takes back.
  if (role !== null) requireActive(request);
  const { ctx, holder, t } = request;
  const memberId = idOf(paramOf(request, 'id'));
  let result: RoleResult;
  try {
    result = await changeMembership(ctx, request.actor, holder.id, memberId, role);
  } catch (error) {
    if (error instanceof Problem && error.code === 'invalid_params') return memberPage(request, t.team.lastOwner);
    throw error;
  }
  if (result === 'saved') return redirect(request, '/console/team', 'saved');
  const waiting = (await listRoleChanges(ctx.db, holder.id)).find((each) => each.member_id === memberId);
  if (waiting) await mailRole(request, holder, waiting);
  return redirect(request, '/console/team', 'roleWaits');
}
