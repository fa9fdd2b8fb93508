// The answers to a notice: it was me, or it was somebody else.

import type { FastifyReply } from 'fastify';
import { disownNotice, readNotice } from '../holders/notices.ts';
import { html } from '../platform/html.ts';
import { clearSessionCookie, idOf, type MemberRequest, paramOf, signedInMember } from './console-request.ts';
import { redirect, renderPage } from './layout.ts';
import { loginLinkHint } from './login-link-hint.ts';
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
  const { t, session } = request;
  await disownNotice(request.ctx, signedInMember(request), idOf(paramOf(request, 'id')));
  clearSessionCookie(request);
  return renderPage(request, {
    title: t.securityNotices.endedTitle,
    alone: true,
    body: html`
      <div class="card">
        <p>${t.securityNotices.ended}</p>
        ${loginLinkHint(request, session.member.email)}
      </div>
    `,
  });
}
