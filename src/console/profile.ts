// The member's own page: password, second factor, sessions. And the page that asks for a proof again before secrets and
// payouts.

import type { FastifyReply } from 'fastify';
import { confirmSession, listSessions, revokeSession } from '../holders/members.ts';
import { findPasswordProblem } from '../holders/password-strength.ts';
import { countFailure, findByPassword, setPassword } from '../holders/passwords.ts';
import {
  base32,
  finishFactor,
  pendingFactor,
  proveFactor,
  removeFactor,
  startFactor,
} from '../holders/second-factor.ts';
import type { FieldErrors } from '../platform/errors.ts';
import { type Html, html } from '../platform/html.ts';
import { addressOf } from '../platform/http.ts';
import { copyLine, dataTable, qrPicture, tag, timeTag } from './components.ts';
import { CONFIRMED_MS, fieldOf, idOf, type MemberRequest, paramOf, queryOf, safePath } from './console-request.ts';
import { codeField, newPasswordField, passwordField } from './credential-fields.ts';
import { dangerForm, errorBox, form, postButton } from './form-components.ts';
import { redirect, renderPage } from './layout.ts';
import { type ConsoleRoute, forMember } from './route.ts';

export const profileRoutes: ConsoleRoute[] = [
  forMember('GET', '/account', (request) => accountPage(request)),
  forMember('POST', '/account/password', changePassword, { confirm: true }),
  forMember('POST', '/account/factor', beginFactor),
  forMember('GET', '/account/factor', (request) => factorPage(request)),
  forMember('POST', '/account/factor/proof', endFactor),
  forMember('POST', '/account/factor/off', stopFactor, { confirm: true }),
  forMember('POST', '/account/sessions/:id/end', endSession),
  forMember('GET', '/confirm', (request) => confirmPage(request)),
  forMember('POST', '/confirm', confirm),
];

async function accountPage(request: MemberRequest, errors?: FieldErrors): Promise<FastifyReply> {
  const { t, session } = request;
  return renderPage(request, {
    title: t.profile.title,
    lead: `${session.member.name} · ${session.member.email}`,
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
          ${factorState(request)}
        </section>
      </div>
      <h2>${t.profile.sessions}</h2>
      ${await sessionTable(request)}
    `,
  });
}

function factorState(request: MemberRequest): Html {
  const { t, session } = request;
  if (!session.hasFactor)
    return html`<p>${t.profile.factorWhy}</p>${postButton(request, '/account/factor', t.profile.factorStart)}`;
  return html`
    <p>${tag('success', t.profile.factorOn)}</p>
    <p class="muted">${t.profile.factorWhy}</p>
    ${dangerForm(request, '/account/factor/off', t.profile.factorRemove, t.profile.factorRemoveMeaning)}
  `;
}

async function sessionTable(request: MemberRequest): Promise<Html> {
  const { ctx, t, session } = request;
  const sessions = await listSessions(ctx.db, session.member.id, ctx.clock.now());
  return dataTable(
    t.profile.sessions,
    [{ label: t.profile.device }, { label: t.address }, { label: t.profile.lastSeen }, { label: t.action }],
    sessions.map((each) => {
      const isThisOne = each.id === session.id;
      return [
        html`
          ${each.user_agent.slice(0, 80) || '–'}
          ${isThisOne && html` ${tag('success', t.profile.thisOne)}`}
        `,
        each.address,
        timeTag(each.last_seen_at),
        !isThisOne &&
          postButton(request, `/account/sessions/${each.id}/end`, t.profile.endSession, { variant: 'link' }),
      ];
    }),
  );
}

async function changePassword(request: MemberRequest): Promise<FastifyReply> {
  const password = request.form.get('password') ?? '';
  const problem = await findPasswordProblem(request.ctx, password, request.session.member.email);
  if (problem) return accountPage(request, { password: [request.t.passwordProblems[problem]] });
  await setPassword(request.ctx, request.actor, request.session.member.id, password, {
    sessionId: request.session.id,
    holderId: request.holder?.id ?? null,
  });
  return redirect(request, '/console/account', 'saved');
}

async function beginFactor(request: MemberRequest): Promise<FastifyReply> {
  if (!request.session.hasFactor) await startFactor(request.ctx, request.session.member.id);
  return redirect(request, '/console/account/factor');
}

async function factorPage(request: MemberRequest, wrong = false): Promise<FastifyReply> {
  const { t, session } = request;
  const secret = session.hasFactor ? null : await pendingFactor(request.ctx, session.member.id);
  if (!secret) return redirect(request, '/console/account');
  const key = base32(secret);
  const issuer = encodeURIComponent(request.ctx.config.brandName);
  const uri = `otpauth://totp/${issuer}:${encodeURIComponent(session.member.email)}?secret=${key}&issuer=${issuer}`;
  return renderPage(request, {
    title: t.profile.factorStart,
    ...(wrong ? { status: 400 } : {}),
    body: html`
      <div class="card">
        ${wrong && errorBox(request, undefined, t.code.incorrect)}
        <ol>
          <li>${t.profile.factorScan}</li>
          <li>${t.profile.factorType}</li>
        </ol>
        ${qrPicture(uri, t.profile.factor)}
        <br>
        ${copyLine(request, 'factor-key', key.replace(/(.{4})/g, '$1 ').trim(), t.profile.factor)}
        ${form(request, { action: '/account/factor/proof', fields: [codeField(request)], submit: t.continue })}
      </div>
    `,
  });
}

async function endFactor(request: MemberRequest): Promise<FastifyReply> {
  const { ctx, session } = request;
  const code = fieldOf(request, 'code', 10);
  if (!(await finishFactor(ctx, request.actor, session.member.id, request.holder?.id ?? null, code)))
    return factorPage(request, true);
  await confirmSession(ctx, session.id, new Date(ctx.clock.millis() + CONFIRMED_MS));
  return redirect(request, '/console/account', 'saved');
}

async function stopFactor(request: MemberRequest): Promise<FastifyReply> {
  await removeFactor(request.ctx, request.actor, request.session.member.id, request.holder?.id ?? null);
  return redirect(request, '/console/account', 'saved');
}

async function endSession(request: MemberRequest): Promise<FastifyReply> {
  await revokeSession(request.ctx, request.session.member.id, idOf(paramOf(request, 'id')));
  return redirect(request, '/console/account', 'saved');
}

async function confirmPage(request: MemberRequest, wrong = false): Promise<FastifyReply> {
  const { t, session } = request;
  const message = session.hasFactor ? t.code.incorrect : t.confirm.incorrect;
  return renderPage(request, {
    title: t.confirm.title,
    lead: t.confirm.lead,
    ...(wrong ? { status: 401 } : {}),
    body: html`
      <div class="card">
        ${wrong && errorBox(request, undefined, message)}
        ${proofForm(request)}
      </div>
    `,
  });
}

/** The strongest proof that the member has. In live mode only a second factor counts. */
function proofForm(request: MemberRequest): Html {
  const { ctx, t, session } = request;
  const next = safePath(request.form.get('next') ?? queryOf(request, 'next', 500));
  const proof = { action: '/confirm', hidden: { next }, submit: t.continue };
  if (session.hasFactor) return form(request, { ...proof, fields: [codeField(request)] });
  if (ctx.config.mode === 'live')
    return html`<p>${t.confirm.factorFirst}</p>${postButton(request, '/account/factor', t.profile.factorStart)}`;
  if (session.hasPassword) return form(request, { ...proof, fields: [passwordField(request)] });
  return html`
    <p>${t.confirm.freshLink}</p>
    <p><code>npx simbi login-link ${session.member.email}</code></p>
  `;
}

async function confirm(request: MemberRequest): Promise<FastifyReply> {
  const { ctx, session } = request;
  const address = addressOf(request.raw);
  const right = session.hasFactor
    ? await proveFactor(ctx, session.member.id, fieldOf(request, 'code', 10), address)
    : session.hasPassword &&
      (await findByPassword(ctx, session.member.email, request.form.get('password') ?? '', address)) ===
        session.member.id;
  if (!right) {
    countFailure(ctx, session.member.email, address);
    return confirmPage(request, true);
  }
  await confirmSession(ctx, session.id, new Date(ctx.clock.millis() + CONFIRMED_MS));
  return redirect(request, safePath(request.form.get('next')));
}
