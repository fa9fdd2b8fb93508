// The proof before the first second factor: the password, or a login link used in the last minutes. A session alone is not
// enough: a stolen cookie must not become a factor of the thief.

import type { FastifyReply } from 'fastify';
import { allowEnrolment } from '../holders/members.ts';
import { isOwnPassword } from '../holders/passwords.ts';
import { type Html, html } from '../platform/html.ts';
import { addressOf } from '../platform/http.ts';
import { CONFIRMED_MS, type MemberRequest, mayEnrol, queryOf, safePath } from './console-request.ts';
import { passwordField } from './credential-fields.ts';
import { errorBox, form } from './form-components.ts';
import { redirect, renderPage } from './layout.ts';
import { loginLinkHint } from './login-link-hint.ts';
import { type ConsoleRoute, forMember } from './route.ts';

export const factorProofRoutes: ConsoleRoute[] = [
  forMember('GET', '/account/proof', (request) => proofPage(request)),
  forMember('POST', '/account/proof', prove),
];

/** Goes to the page that asks for the proof this member can give, and from there to `next`. */
export function askForProof(request: MemberRequest, next: string): FastifyReply {
  const page = request.session.hasFactor ? '/console/confirm' : '/console/account/proof';
  return redirect(request, `${page}?next=${encodeURIComponent(next)}`);
}

async function proofPage(request: MemberRequest, wrong = false): Promise<FastifyReply> {
  const { t } = request;
  const next = safePath(request.form.get('next') ?? queryOf(request, 'next', 500));
  if (mayEnrol(request)) return redirect(request, next);
  if (request.session.hasFactor) return askForProof(request, next);
  return renderPage(request, {
    title: t.confirm.title,
    lead: t.proof.lead,
    ...(wrong ? { status: 401 } : {}),
    body: html`
      <div class="card">
        ${wrong && errorBox(request, undefined, t.confirm.incorrect)}
        ${proofForm(request, next)}
      </div>
    `,
  });
}

function proofForm(request: MemberRequest, next: string): Html {
  const { t, session } = request;
  if (session.hasPassword)
    return form(request, {
      action: '/account/proof',
      hidden: { next },
      fields: [passwordField(request)],
      submit: t.continue,
    });
  return html`
    <p>${t.proof.freshLink}</p>
    ${loginLinkHint(request, session.member.email)}
  `;
}

async function prove(request: MemberRequest): Promise<FastifyReply> {
  const { ctx, session } = request;
  if (session.hasFactor || !session.hasPassword) return proofPage(request);
  const password = request.form.get('password') ?? '';
  if (!(await isOwnPassword(ctx, session, password, addressOf(request.raw)))) return proofPage(request, true);
  await allowEnrolment(ctx, session.id, new Date(ctx.clock.millis() + CONFIRMED_MS));
  return redirect(request, safePath(request.form.get('next')));
}
