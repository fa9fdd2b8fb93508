// A person's own page: password, second factor, sessions; and the page that asks for a proof again before secrets and
// payouts.

import type { FastifyReply } from 'fastify';
import { confirmSession, listSessions, revokeSession } from '../holders/members.ts';
import { countFailure, findByPassword, passwordError, setPassword } from '../holders/passwords.ts';
import {
  base32,
  finishFactor,
  pendingFactor,
  proveFactor,
  removeFactor,
  startFactor,
} from '../holders/second-factor.ts';
import { linkQrSvg } from '../links/qr.ts';
import type { FieldErrors } from '../platform/errors.ts';
import { type Html, html, trusted } from '../platform/html.ts';
import { addressOf } from '../platform/http.ts';
import { copyLine, dataTable, tag, timeTag } from './components.ts';
import { fieldOf, idOf, type MemberRequest, paramOf, queryOf, safePath } from './console-request.ts';
import { dangerForm, errorBox, formField, postButton, postForm } from './form-components.ts';
import { redirect, renderPage } from './layout.ts';
import { type ConsoleRoute, forMember } from './route.ts';
import { CONFIRMED_MS, codeField, newPasswordField } from './sign-in.ts';

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

/** Whether this session may do dangerous things now. */
export function isConfirmed(request: MemberRequest): boolean {
  if (request.ctx.config.mode === 'live' && !request.session.hasFactor) return false;
  return (request.session.confirmedUntil?.getTime() ?? 0) > request.ctx.clock.millis();
}

async function accountPage(request: MemberRequest, errors?: FieldErrors): Promise<FastifyReply> {
  const { t, session } = request;
  const sessions = await listSessions(request.ctx.db, session.member.id, request.ctx.clock.now());
  const rows = sessions.map((each) => [
    html`${each.user_agent.slice(0, 80) || '–'}${each.id === session.id && html` ${tag('success', t.profile.thisOne)}`}`,
    each.address,
    timeTag(each.last_seen_at),
    each.id === session.id
      ? ''
      : postButton(request, `/account/sessions/${each.id}/end`, t.profile.endSession, { variant: 'link' }),
  ]);
  return renderPage(request, {
    title: t.profile.title,
    lead: `${session.member.name} · ${session.member.email}`,
    ...(errors ? { status: 400 } : {}),
    body: html`<div class="columns"><section class="card"><h2>${t.profile.password}</h2>${errorBox(request, errors)}<p class="muted">${session.hasPassword ? t.profile.passwordChange : t.profile.passwordNone}</p>${postForm(request, '/account/password', html`${newPasswordField(request, errors)}<button>${t.save}</button>`)}</section>
<section class="card"><h2>${t.profile.factor}</h2>${
      session.hasFactor
        ? html`<p>${tag('success', t.profile.factorOn)}</p><p class="muted">${t.profile.factorWhy}</p>${dangerForm(request, '/account/factor/off', t.profile.factorRemove, t.profile.factorRemoveMeaning)}`
        : html`<p>${t.profile.factorWhy}</p>${postButton(request, '/account/factor', t.profile.factorStart)}`
    }</section></div><h2>${t.profile.sessions}</h2>${dataTable(t.profile.sessions, [{ label: t.profile.device }, { label: t.address }, { label: t.profile.lastSeen }, { label: t.action }], rows)}`,
  });
}

async function changePassword(request: MemberRequest): Promise<FastifyReply> {
  const password = request.form.get('password') ?? '';
  if (passwordError(password) !== null) return accountPage(request, { password: [request.t.passwordHint] });
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
    body: html`<div class="card">${wrong && errorBox(request, undefined, t.code.wrong)}<ol><li>${t.profile.factorScan}</li><li>${t.profile.factorType}</li></ol>${qrPicture(uri, t.profile.factor)}<br>${copyLine(request, 'factor-key', key.replace(/(.{4})/g, '$1 ').trim(), t.profile.factor)}${postForm(request, '/account/factor/proof', html`${codeField(request)}<button>${t.continue}</button>`)}</div>`,
  });
}

export function qrPicture(text: string, label: string): Html {
  return html`<div class="qr" role="img" aria-label="${label}">${trusted(linkQrSvg(text))}</div>`;
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
  const next = safePath(request.form.get('next') ?? queryOf(request, 'next', 500));
  const hidden = html`<input type="hidden" name="next" value="${next}">`;
  const form = session.hasFactor
    ? postForm(request, '/confirm', html`${hidden}${codeField(request)}<button>${t.continue}</button>`)
    : request.ctx.config.mode === 'live'
      ? html`<p>${t.confirm.factorFirst}</p>${postButton(request, '/account/factor', t.profile.factorStart)}`
      : session.hasPassword
        ? postForm(
            request,
            '/confirm',
            html`${hidden}${formField({ name: 'password', label: t.password, type: 'password', required: true, attributes: html`autocomplete="current-password"` })}<button>${t.continue}</button>`,
          )
        : html`<p>${t.confirm.freshLink}</p><p><code>npx simbi login-link ${session.member.email}</code></p>`;
  return renderPage(request, {
    title: t.confirm.title,
    lead: t.confirm.lead,
    ...(wrong ? { status: 401 } : {}),
    body: html`<div class="card">${wrong && errorBox(request, undefined, session.hasFactor ? t.code.wrong : t.confirm.wrong)}${form}</div>`,
  });
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
