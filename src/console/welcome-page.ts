// After the first sign-in by a link: a password or a passkey, so that nobody needs a terminal for the next one.

import type { FastifyReply } from 'fastify';
import { findPasswordProblem } from '../holders/password-strength.ts';
import { setPassword } from '../holders/passwords.ts';
import type { FieldErrors } from '../platform/errors.ts';
import { html } from '../platform/html.ts';
import { isConfirmed, type MemberRequest, mayEnrol, originOf } from './console-request.ts';
import { newPasswordField } from './credential-fields.ts';
import { errorBox, form } from './form-components.ts';
import { redirect, renderPage } from './layout.ts';
import { passkeyState } from './passkey-pages.ts';
import { type ConsoleRoute, forMember } from './route.ts';

export const welcomeRoutes: ConsoleRoute[] = [
  forMember('GET', '/welcome', (request) => welcomePage(request)),
  forMember('POST', '/welcome', chooseFirstPassword),
];

async function welcomePage(request: MemberRequest, errors?: FieldErrors): Promise<FastifyReply> {
  const { ctx, t } = request;
  if (!needsCredential(request)) return redirect(request, '/console');
  return renderPage(request, {
    title: t.welcome.title,
    lead: t.welcome.lead,
    alone: true,
    passkeys: true,
    ...(errors ? { status: 400 } : {}),
    body: html`
      <section class="card">
        <h2>${t.welcome.password}</h2>
        ${errorBox(request, errors)}
        ${form(request, { action: '/welcome', errors, fields: [newPasswordField(request)], submit: t.continue })}
      </section>
      <section class="card">
        <h2>${t.welcome.or}</h2>
        ${await passkeyState(request)}
      </section>
      ${
        ctx.config.mode === 'sandbox' &&
        html`
          <p><a href="/console">${t.welcome.skip}</a></p>
          <p class="muted">${t.welcome.skipText}</p>
        `
      }
    `,
  });
}

/** The link that was used a moment ago is proof enough for the first password, as it is for the first second factor. */
async function chooseFirstPassword(request: MemberRequest): Promise<FastifyReply> {
  const { ctx, t, session } = request;
  if (!needsCredential(request) || !(mayEnrol(request) || isConfirmed(request)))
    return redirect(request, '/console/account');
  const password = request.form.get('password') ?? '';
  const problem = await findPasswordProblem(ctx, password, session.member.email);
  if (problem) return welcomePage(request, { password: [t.passwordProblems[problem]] });
  await setPassword(ctx, request.actor, session.member.id, password, {
    sessionId: session.id,
    holderId: request.holder?.id ?? null,
    from: originOf(request),
  });
  return redirect(request, '/console', 'saved');
}

function needsCredential({ session }: MemberRequest): boolean {
  return !session.hasPassword && !session.hasFactor;
}
