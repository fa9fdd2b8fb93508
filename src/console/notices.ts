// The answers to a notice: it was me, or it was somebody else.

import type { FastifyReply } from 'fastify';
import { mailIsConfigured } from '../holders/mail-queue.ts';
import { disownNotice, readNotice } from '../holders/notices.ts';
import { type Html, html } from '../platform/html.ts';
import { clearSessionCookie, idOf, type MemberRequest, paramOf, signedInMember } from './console-request.ts';
import { redirect, renderPage } from './layout.ts';
import { type ConsoleRoute, forMember } from './route.ts';

export const noticeRoutes: ConsoleRoute[] = [
  forMember('POST', '/notices/:id/read', readOne),
  forMember('POST', '/notices/:id/not-me', disownOne),
];

async function readOne(request: MemberRequest): Promise<FastifyReply> {
  await readNotice(request.ctx, request.session.member.id, idOf(paramOf(request, 'id')));
  return redirect(request, '/console/account');
}

async function disownOne(request: MemberRequest): Promise<FastifyReply> {
  const { t } = request;
  await disownNotice(request.ctx, signedInMember(request), idOf(paramOf(request, 'id')));
  clearSessionCookie(request);
  return renderPage(request, {
    title: t.securityNotices.endedTitle,
    alone: true,
    body: html`
      <div class="card">
        <p>${t.securityNotices.ended}</p>
        ${wayBack(request)}
      </div>
    `,
  });
}

/** A login link: by mail where the gateway sends mail, else from its administrator. */
function wayBack({ ctx, t, session }: MemberRequest): Html {
  if (mailIsConfigured(ctx))
    return html`<p><a class="button" href="/console/sign-in/link">${t.signIn.mailLink}</a></p>`;
  return html`
    <p>${t.securityNotices.askForLink}</p>
    <p><code>npx simbi login-link ${session.member.email}</code></p>
  `;
}
