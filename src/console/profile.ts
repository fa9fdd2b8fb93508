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
import {
  copyLine,
  dangerForm,
  dataTable,
  errorBox,
  inputField,
  postButton,
  postForm,
  tag,
  timeTag,
} from './components.ts';
import { fieldOf, idOf, type MemberRequest, paramOf, queryOf, safePath } from './console-request.ts';
import { redirect, renderPage } from './layout.ts';
import { type ConsoleRoute, forMember } from './route.ts';
import { CONFIRMED_MS, codeField, newPasswordField } from './sign-in.ts';

export const profileRoutes: ConsoleRoute[] = [
  forMember('GET', '/account', (visit) => accountPage(visit)),
  forMember('POST', '/account/password', changePassword, { confirm: true }),
  forMember('POST', '/account/factor', beginFactor),
  forMember('GET', '/account/factor', (visit) => factorPage(visit)),
  forMember('POST', '/account/factor/proof', endFactor),
  forMember('POST', '/account/factor/off', stopFactor, { confirm: true }),
  forMember('POST', '/account/sessions/:id/end', endSession),
  forMember('GET', '/confirm', (visit) => confirmPage(visit)),
  forMember('POST', '/confirm', confirm),
];

/** Whether this session may do dangerous things now. */
export function isConfirmed(visit: MemberRequest): boolean {
  if (visit.ctx.config.mode === 'live' && !visit.session.hasFactor) return false;
  return (visit.session.confirmedUntil?.getTime() ?? 0) > visit.ctx.clock.millis();
}

async function accountPage(visit: MemberRequest, errors?: FieldErrors): Promise<FastifyReply> {
  const { words, session } = visit;
  const sessions = await listSessions(visit.ctx.db, session.member.id, visit.ctx.clock.now());
  const rows = sessions.map((each) => [
    html`${each.user_agent.slice(0, 80) || '–'}${each.id === session.id && html` ${tag('s', words.profile.thisOne)}`}`,
    each.address,
    timeTag(each.last_seen_at),
    each.id === session.id
      ? ''
      : postButton(visit, `/account/sessions/${each.id}/end`, words.profile.endSession, { look: 'lk' }),
  ]);
  return renderPage(visit, {
    title: words.profile.title,
    lead: `${session.member.name} · ${session.member.email}`,
    ...(errors ? { status: 400 } : {}),
    body: html`<div class="two"><section class="card"><h2>${words.profile.password}</h2>${errorBox(visit, errors)}<p class="m">${session.hasPassword ? words.profile.passwordChange : words.profile.passwordNone}</p>${postForm(visit, '/account/password', html`${newPasswordField(visit, errors)}<button>${words.save}</button>`)}</section>
<section class="card"><h2>${words.profile.factor}</h2>${
      session.hasFactor
        ? html`<p>${tag('s', words.profile.factorOn)}</p><p class="m">${words.profile.factorWhy}</p>${dangerForm(visit, '/account/factor/off', words.profile.factorRemove, words.profile.factorRemoveMeaning)}`
        : html`<p>${words.profile.factorWhy}</p>${postButton(visit, '/account/factor', words.profile.factorStart)}`
    }</section></div><h2>${words.profile.sessions}</h2>${dataTable(words.profile.sessions, [{ label: words.profile.device }, { label: words.address }, { label: words.profile.lastSeen }, { label: words.action }], rows)}`,
  });
}

async function changePassword(visit: MemberRequest): Promise<FastifyReply> {
  const password = visit.form.get('password') ?? '';
  if (passwordError(password) !== null) return accountPage(visit, { password: [visit.words.passwordHint] });
  await setPassword(visit.ctx, visit.actor, visit.session.member.id, password, {
    sessionId: visit.session.id,
    holderId: visit.holder?.id ?? null,
  });
  return redirect(visit, '/console/account', 'saved');
}

async function beginFactor(visit: MemberRequest): Promise<FastifyReply> {
  if (!visit.session.hasFactor) await startFactor(visit.ctx, visit.session.member.id);
  return redirect(visit, '/console/account/factor');
}

async function factorPage(visit: MemberRequest, wrong = false): Promise<FastifyReply> {
  const { words, session } = visit;
  const secret = session.hasFactor ? null : await pendingFactor(visit.ctx, session.member.id);
  if (!secret) return redirect(visit, '/console/account');
  const key = base32(secret);
  const issuer = encodeURIComponent(visit.ctx.config.brandName);
  const uri = `otpauth://totp/${issuer}:${encodeURIComponent(session.member.email)}?secret=${key}&issuer=${issuer}`;
  return renderPage(visit, {
    title: words.profile.factorStart,
    ...(wrong ? { status: 400 } : {}),
    body: html`<div class="card">${wrong && errorBox(visit, undefined, words.code.wrong)}<ol><li>${words.profile.factorScan}</li><li>${words.profile.factorType}</li></ol>${qrPicture(uri, words.profile.factor)}<br>${copyLine(visit, 'factor-key', key.replace(/(.{4})/g, '$1 ').trim(), words.profile.factor)}${postForm(visit, '/account/factor/proof', html`${codeField(visit)}<button>${words.continue}</button>`)}</div>`,
  });
}

export function qrPicture(text: string, label: string): Html {
  return html`<div class="qr" role="img" aria-label="${label}">${trusted(linkQrSvg(text))}</div>`;
}

async function endFactor(visit: MemberRequest): Promise<FastifyReply> {
  const { ctx, session } = visit;
  const code = fieldOf(visit, 'code', 10);
  if (!(await finishFactor(ctx, visit.actor, session.member.id, visit.holder?.id ?? null, code)))
    return factorPage(visit, true);
  await confirmSession(ctx, session.id, new Date(ctx.clock.millis() + CONFIRMED_MS));
  return redirect(visit, '/console/account', 'saved');
}

async function stopFactor(visit: MemberRequest): Promise<FastifyReply> {
  await removeFactor(visit.ctx, visit.actor, visit.session.member.id, visit.holder?.id ?? null);
  return redirect(visit, '/console/account', 'saved');
}

async function endSession(visit: MemberRequest): Promise<FastifyReply> {
  await revokeSession(visit.ctx, visit.session.member.id, idOf(paramOf(visit, 'id')));
  return redirect(visit, '/console/account', 'saved');
}

async function confirmPage(visit: MemberRequest, wrong = false): Promise<FastifyReply> {
  const { words, session } = visit;
  const next = safePath(visit.form.get('next') ?? queryOf(visit, 'next', 500));
  const hidden = html`<input type="hidden" name="next" value="${next}">`;
  const form = session.hasFactor
    ? postForm(visit, '/confirm', html`${hidden}${codeField(visit)}<button>${words.continue}</button>`)
    : visit.ctx.config.mode === 'live'
      ? html`<p>${words.confirm.factorFirst}</p>${postButton(visit, '/account/factor', words.profile.factorStart)}`
      : session.hasPassword
        ? postForm(
            visit,
            '/confirm',
            html`${hidden}${inputField({ name: 'password', label: words.password, type: 'password', required: true, more: html`autocomplete="current-password"` })}<button>${words.continue}</button>`,
          )
        : html`<p>${words.confirm.freshLink}</p><p><code>npx simbi login-link ${session.member.email}</code></p>`;
  return renderPage(visit, {
    title: words.confirm.title,
    lead: words.confirm.lead,
    ...(wrong ? { status: 401 } : {}),
    body: html`<div class="card">${wrong && errorBox(visit, undefined, session.hasFactor ? words.code.wrong : words.confirm.wrong)}${form}</div>`,
  });
}

async function confirm(visit: MemberRequest): Promise<FastifyReply> {
  const { ctx, session } = visit;
  const address = addressOf(visit.request);
  const right = session.hasFactor
    ? await proveFactor(ctx, session.member.id, fieldOf(visit, 'code', 10), address)
    : session.hasPassword &&
      (await findByPassword(ctx, session.member.email, visit.form.get('password') ?? '', address)) ===
        session.member.id;
  if (!right) {
    countFailure(ctx, session.member.email, address);
    return confirmPage(visit, true);
  }
  await confirmSession(ctx, session.id, new Date(ctx.clock.millis() + CONFIRMED_MS));
  return redirect(visit, safePath(visit.form.get('next')));
}
