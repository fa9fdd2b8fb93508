// After the first sign-in by a link: a password or a passkey, so that nobody needs a terminal for the next one. A live gateway
// shows its members nothing else before; a sandbox lets them skip it.

import type { FastifyReply } from 'fastify';
import type { Session } from '../holders/members.ts';
import { findPasswordProblem } from '../holders/password-strength.ts';
import { setPassword } from '../holders/passwords.ts';
import type { FieldErrors } from '../platform/errors.ts';
import { html } from '../platform/html.ts';
import { type ConsoleRequest, isConfirmed, type MemberRequest, mayEnrol, originOf } from './console-request.ts';
import { newPasswordField } from './credential-fields.ts';
import { errorBox, form, postButton } from './form-components.ts';
import { redirect, renderPage } from './layout.ts';
import { loginLinkHint } from './login-link-hint.ts';
import { passkeyState } from './passkey-pages.ts';
import { type ConsoleRoute, forMember } from './route.ts';

export const welcomeRoutes: ConsoleRoute[] = [
  forMember('GET', '/welcome', (request) => welcomePage(request), { withoutCredential: true }),
  forMember('POST', '/welcome', chooseFirstPassword, { withoutCredential: true }),
];

/** Whether this visitor has to choose a password or a passkey before anything else. */
export function mustChooseCredential({ ctx, session }: ConsoleRequest): boolean {
  return ctx.config.mode === 'live' && session !== null && needsCredential(session);
}

async function welcomePage(request: MemberRequest, errors?: FieldErrors): Promise<FastifyReply> {
  const { ctx, t } = request;
  if (!needsCredential(request.session)) return redirect(request, '/console');
  if (!mayChoose(request)) return freshLinkPage(request);
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
  if (!needsCredential(session) || !mayChoose(request)) return redirect(request, '/console/welcome');
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

/** The link was used too long ago to be a proof. */
function freshLinkPage(request: MemberRequest): Promise<FastifyReply> {
  const { t, session } = request;
  return renderPage(request, {
    title: t.welcome.title,
    lead: t.welcome.lead,
    alone: true,
    body: html`
      <div class="card">
        <p>${t.proof.freshLink}</p>
        ${loginLinkHint(request, session.member.email)}
        ${postButton(request, '/sign-out', t.signOut, { variant: 'secondary' })}
      </div>
    `,
  });
}

function mayChoose(request: MemberRequest): boolean {
  return mayEnrol(request) || isConfirmed(request);
}

function needsCredential({ hasPassword, hasFactor }: Session): boolean {
  return !hasPassword && !hasFactor;
}
