// The member's own page: password, two-step authentication, recovery codes, sessions, theme and language.

import type { FastifyReply } from 'fastify';
import { listSessions, revokeSession } from '../holders/members.ts';
import { findPasswordProblem } from '../holders/password-strength.ts';
import { setPassword } from '../holders/passwords.ts';
import { endOtherSessions } from '../holders/sign-ins.ts';
import type { FieldErrors } from '../platform/errors.ts';
import { type Html, html, THEMES } from '../platform/html.ts';
import { chips, dataTable, segments, tag, who } from '../ui/components.ts';
import { timeTag } from './components.ts';
import { idOf, type MemberRequest, originOf, paramOf, signedInMember } from './console-request.ts';
import { newPasswordField } from './credential-fields.ts';
import { describeDevice } from './device.ts';
import { factorState } from './factor-pages.ts';
import { errorBox, form, postButton } from './form-components.ts';
import { redirect, renderPage } from './layout.ts';
import { LANGUAGE_CODES, LANGUAGES } from './messages.ts';
import { passkeyState } from './passkey-pages.ts';
import { recoveryCodesState } from './recovery-codes-page.ts';
import { type ConsoleRoute, forMember } from './route.ts';

export const profileRoutes: ConsoleRoute[] = [
  forMember('GET', '/account', (request) => accountPage(request)),
  forMember('POST', '/account/password', changePassword, { confirm: true }),
  forMember('POST', '/account/sessions/end-others', endOthers),
  forMember('POST', '/account/sessions/:id/end', endSession),
];

async function accountPage(request: MemberRequest, errors?: FieldErrors): Promise<FastifyReply> {
  const { t, session } = request;
  return renderPage(request, {
    title: t.profile.title,
    lead: `${session.member.name} · ${session.member.email}`,
    active: 'account',
    passkeys: true,
    ...(errors ? { status: 400 } : {}),
    body: html`
      <div class="columns">
        <section class="card">
          <h2>${t.profile.password}</h2>
          ${errorBox(request, errors)}
          <p class="muted">${session.hasPassword ? t.profile.passwordChange : t.profile.passwordNone}</p>
          ${form(request, {
            action: '/account/password',
            errors,
            fields: [newPasswordField(request)],
            submit: t.save,
          })}
        </section>
        <section class="card">
          <h2>${t.profile.factor}</h2>
          ${await passkeyState(request)}
          ${factorState(request)}
          ${await recoveryCodesState(request)}
        </section>
      </div>
      <h2>${t.profile.sessions}</h2>
      ${await sessionTable(request)}
      ${appearanceCard(request)}
    `,
  });
}

async function sessionTable(request: MemberRequest): Promise<Html> {
  const { ctx, t, session } = request;
  const sessions = await listSessions(ctx, session.member.id);
  const table = dataTable(
    t.profile.sessions,
    [
      { label: t.profile.device, phone: 'main' },
      { label: t.profile.started },
      { label: t.profile.lastSeen, phone: 'amount' },
      { label: t.action, phone: 'status', right: true },
    ],
    sessions.map((each) => {
      const isThisOne = each.id === session.id;
      return [
        who(describeDevice(request, each.user_agent), each.address),
        timeTag(request, each.created_at),
        timeTag(request, each.last_seen_at),
        isThisOne
          ? tag('success', t.profile.thisOne)
          : postButton(request, `/account/sessions/${each.id}/end`, t.profile.endSession, { variant: 'link' }),
      ];
    }),
  );
  const others = sessions.some(({ id }) => id !== session.id);
  const endAll = postButton(request, '/account/sessions/end-others', t.profile.endOthers, { variant: 'secondary' });
  return html`${table}${others && html`<div class="pager">${endAll}</div>`}`;
}

/** Light or dark, and the language: of this browser, by links that work without a script. */
function appearanceCard(request: MemberRequest): Html {
  const { t, theme, language } = request;
  return html`
    <section class="card" aria-labelledby="appearance-title">
      <h2 id="appearance-title">${t.profile.appearance}</h2>
      <p class="muted">${t.accountSettings.languageText}</p>
      <h3>${t.profile.theme}</h3>
      ${segments(
        t.profile.theme,
        THEMES.map((each) => ({
          label: t.profile.themes[each],
          href: `/console/account?theme=${each}#appearance-title`,
          current: each === theme,
        })),
      )}
      <h3>${t.accountSettings.language}</h3>
      ${chips(
        t.accountSettings.language,
        LANGUAGE_CODES.map((code) => ({
          label: LANGUAGES[code].name,
          href: `/console/account?lang=${code}#appearance-title`,
          current: code === language,
        })),
      )}
    </section>
  `;
}

async function changePassword(request: MemberRequest): Promise<FastifyReply> {
  const password = request.form.get('password') ?? '';
  const problem = await findPasswordProblem(request.ctx, password, request.session.member.email);
  if (problem) return accountPage(request, { password: [request.t.passwordProblems[problem]] });
  await setPassword(request.ctx, request.actor, request.session.member.id, password, {
    sessionId: request.session.id,
    holderId: request.holder?.id ?? null,
    from: originOf(request),
  });
  return redirect(request, '/console/account', 'saved');
}

async function endSession(request: MemberRequest): Promise<FastifyReply> {
  await revokeSession(request.ctx, request.session.member.id, idOf(paramOf(request, 'id')));
  return redirect(request, '/console/account', 'saved');
}

async function endOthers(request: MemberRequest): Promise<FastifyReply> {
  await endOtherSessions(request.ctx, signedInMember(request));
  return redirect(request, '/console/account', 'saved');
}
