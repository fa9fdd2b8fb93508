// Sign-up, where the settings allow it. With a mail server nothing exists until the link in the mail is used, and the password
// is chosen there: who typed the address may not be its owner. Without one the account begins at once, and its address is
// unproven.

import type { FastifyReply } from 'fastify';
import { addressState, isGuarded } from '../holders/credentials.ts';
import { takeGuess } from '../holders/guesses.ts';
import { mailIsConfigured, queueMail } from '../holders/mail-queue.ts';
import { findPasswordProblem } from '../holders/password-strength.ts';
import { findSignUp, finishSignUp, registerHolder, type SignUp, startSignUp } from '../holders/registration.ts';
import { publicUrl } from '../platform/config.ts';
import { isEmail } from '../platform/email.ts';
import { type FieldErrors, Problem } from '../platform/errors.ts';
import { html } from '../platform/html.ts';
import { addressOf } from '../platform/http.ts';
import { BROWSER_ZONE_SCRIPT, browserZone, browserZoneField } from './browser-zone.ts';
import { type ConsoleRequest, fieldOf, paramOf } from './console-request.ts';
import { emailField, nameField, newPasswordField } from './credential-fields.ts';
import { errorBox, form } from './form-components.ts';
import { renderPage } from './layout.ts';
import { mailBoxLink } from './mail-box-link.ts';
import { continueSignIn } from './pending-sign-in.ts';
import { type ConsoleRoute, forAnyone } from './route.ts';

export const signUpRoutes: ConsoleRoute[] = [
  forAnyone('GET', '/sign-up', signUpPage),
  forAnyone('POST', '/sign-up', signUp),
  forAnyone('GET', '/sign-up/:token', finishPage),
  forAnyone('POST', '/sign-up/:token', finish),
];

function requireSignUp({ ctx }: ConsoleRequest): void {
  if (!ctx.config.allowSignUp) throw new Problem('not_found');
}

async function signUpPage(request: ConsoleRequest, errors?: FieldErrors): Promise<FastifyReply> {
  requireSignUp(request);
  const { ctx, t } = request;
  return renderPage(request, {
    title: t.signUp.title,
    lead: t.signUp.lead,
    alone: true,
    scripts: [BROWSER_ZONE_SCRIPT],
    ...(errors ? { status: 400 } : {}),
    body: html`
      <div class="card">
        ${errorBox(request, errors)}
        ${form(request, {
          action: '/sign-up',
          errors,
          fields: [
            {
              name: 'business',
              label: t.signUp.business,
              value: fieldOf(request, 'business'),
              required: true,
              attributes: html`maxlength="120" autocomplete="organization"`,
            },
            nameField(request),
            emailField(request),
            ...(mailIsConfigured(ctx) ? [] : [newPasswordField(request), browserZoneField()]),
          ],
          submit: t.signUp.button,
        })}
      </div>
    `,
  });
}

async function signUp(request: ConsoleRequest): Promise<FastifyReply> {
  requireSignUp(request);
  const { ctx, t } = request;
  const email = fieldOf(request, 'email', 254).toLowerCase();
  const limited = await takeGuess(ctx, { kind: 'sign_up', person: email, address: addressOf(request.raw) });
  if (!limited.allowed) throw new Problem('rate_limited', { retryAfterSeconds: limited.retryAfterSeconds });
  const details = { business: fieldOf(request, 'business', 120), name: fieldOf(request, 'name', 120), email };
  const errors: FieldErrors = {};
  if (details.business === '') errors.business = [t.fieldRequired];
  if (details.name === '') errors.name = [t.fieldRequired];
  if (!isEmail(email)) errors.email = [t.emailInvalid];
  if (mailIsConfigured(ctx)) {
    if (Object.keys(errors).length > 0) return signUpPage(request, errors);
    return sendConfirmation(request, details);
  }
  const password = request.form.get('password') ?? '';
  const problem = await findPasswordProblem(ctx, password, email);
  if (problem) errors.password = [t.passwordProblems[problem]];
  if (!errors.email && (await addressState(ctx.db, email)) !== 'new') errors.email = [t.signUp.taken];
  if (Object.keys(errors).length > 0) return signUpPage(request, errors);
  const member = await registerHolder(ctx, { ...details, password, timeZone: browserZone(request) });
  if (!member) return signUpPage(request, { email: [t.signUp.taken] });
  return continueSignIn(request, member.id, '/console');
}

/** The same answer whether or not the address has an account: only its mailbox learns that. */
async function sendConfirmation(request: ConsoleRequest, details: SignUp): Promise<FastifyReply> {
  const { ctx, t } = request;
  const at = ctx.clock.now();
  const isTaken = (await addressState(ctx.db, details.email)) === 'proven' || (await isGuarded(ctx.db, details.email));
  if (isTaken) {
    const mail = t.mails.signUpTaken(`${publicUrl(ctx.config)}/console/sign-in`);
    await ctx.db.transaction((tx) => queueMail(tx, { to: details.email, ...mail }, at));
  } else await startSignUp(ctx, details, t.mails.signUp);
  return renderPage(request, {
    title: t.mails.sentTitle,
    alone: true,
    body: html`<div class="card"><p>${t.mails.sent(details.email)}</p>${mailBoxLink(request)}</div>`,
  });
}

async function openSignUp(request: ConsoleRequest): Promise<SignUp> {
  requireSignUp(request);
  const found = await findSignUp(request.ctx, paramOf(request, 'token'));
  if (!found) throw new Problem('not_found', { message: request.t.signUp.expired });
  return found;
}

async function finishPage(request: ConsoleRequest, errors?: FieldErrors): Promise<FastifyReply> {
  const { t } = request;
  const { business, email } = await openSignUp(request);
  return renderPage(request, {
    title: t.signUp.title,
    alone: true,
    scripts: [BROWSER_ZONE_SCRIPT],
    ...(errors ? { status: 400 } : {}),
    body: html`
      <div class="card">
        ${errorBox(request, errors)}
        <p><b><bdi>${business}</bdi></b></p>
        <p>${email}</p>
        ${form(request, {
          action: `/sign-up/${paramOf(request, 'token')}`,
          errors,
          fields: [newPasswordField(request), browserZoneField()],
          submit: t.signUp.button,
        })}
      </div>
    `,
  });
}

async function finish(request: ConsoleRequest): Promise<FastifyReply> {
  const { ctx, t } = request;
  const { email } = await openSignUp(request);
  const password = request.form.get('password') ?? '';
  const problem = await findPasswordProblem(ctx, password, email);
  if (problem) return finishPage(request, { password: [t.passwordProblems[problem]] });
  const member = await finishSignUp(ctx, paramOf(request, 'token'), { password, timeZone: browserZone(request) });
  if (!member) throw new Problem('forbidden', { message: t.signUp.taken });
  return continueSignIn(request, member.id, '/console');
}
