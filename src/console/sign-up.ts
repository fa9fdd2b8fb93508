// New members: sign-up, where the settings allow it, and invitations.

import type { FastifyReply } from 'fastify';
import { acceptInvitation, findInvitation, type Invitation } from '../holders/invitations.ts';
import { chooseHolder, findMemberByEmail } from '../holders/members.ts';
import { countFailure, passwordError, refuseGuessing } from '../holders/passwords.ts';
import { registerHolder } from '../holders/registration.ts';
import { isEmail } from '../platform/email.ts';
import { type FieldErrors, Problem } from '../platform/errors.ts';
import { type Html, html } from '../platform/html.ts';
import { addressOf } from '../platform/http.ts';
import { type ConsoleRequest, fieldOf, paramOf } from './console-request.ts';
import { newPasswordField } from './credential-fields.ts';
import { errorBox, form, type InputField, postButton } from './form-components.ts';
import { redirect, renderPage } from './layout.ts';
import { continueSignIn } from './pending-sign-in.ts';
import { type ConsoleRoute, forAnyone } from './route.ts';

export const signUpRoutes: ConsoleRoute[] = [
  forAnyone('GET', '/sign-up', signUpPage),
  forAnyone('POST', '/sign-up', signUp),
  forAnyone('GET', '/invitations/:token', invitationPage),
  forAnyone('POST', '/invitations/:token', accept),
];

async function signUpPage(request: ConsoleRequest, errors?: FieldErrors): Promise<FastifyReply> {
  if (!request.ctx.config.allowSignUp) throw new Problem('not_found');
  const { t } = request;
  return renderPage(request, {
    title: t.signUp.title,
    lead: t.signUp.lead,
    alone: true,
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
            {
              name: 'email',
              label: t.email,
              type: 'email',
              value: fieldOf(request, 'email'),
              required: true,
              attributes: html`autocomplete="username"`,
            },
            newPasswordField(request),
          ],
          submit: t.signUp.button,
        })}
      </div>
    `,
  });
}

function nameField(request: ConsoleRequest): InputField {
  return {
    name: 'name',
    label: request.t.yourName,
    value: fieldOf(request, 'name'),
    required: true,
    attributes: html`maxlength="120" autocomplete="name"`,
  };
}

async function signUp(request: ConsoleRequest): Promise<FastifyReply> {
  const { ctx, t } = request;
  if (!ctx.config.allowSignUp) throw new Problem('not_found');
  const address = addressOf(request.raw);
  refuseGuessing(ctx, 'sign-up', address);
  countFailure(ctx, 'sign-up', address);
  const [business, name, email] = [
    fieldOf(request, 'business', 120),
    fieldOf(request, 'name', 120),
    fieldOf(request, 'email', 254),
  ];
  const password = request.form.get('password') ?? '';
  const errors: FieldErrors = {};
  if (business === '') errors.business = [t.fieldRequired];
  if (name === '') errors.name = [t.fieldRequired];
  if (!isEmail(email)) errors.email = [t.emailInvalid];
  else if (await findMemberByEmail(ctx.db, email)) errors.email = [t.signUp.taken];
  if (passwordError(password) !== null) errors.password = [t.passwordHint];
  if (Object.keys(errors).length > 0) return signUpPage(request, errors);
  const member = await registerHolder(ctx, { business, name, email, password });
  if (!member) return signUpPage(request, { email: [t.signUp.taken] });
  return continueSignIn(request, member.id, '/console');
}

async function openInvitation(request: ConsoleRequest): Promise<Invitation> {
  const invitation = await findInvitation(request.ctx.db, paramOf(request, 'token'), request.ctx.clock.now());
  if (!invitation) throw new Problem('not_found', { message: request.t.invitation.expired });
  return invitation;
}

async function invitationPage(request: ConsoleRequest, errors?: FieldErrors): Promise<FastifyReply> {
  const { t } = request;
  const invitation = await openInvitation(request);
  const text = t.invitation.text(invitation.invited_by, invitation.holder_name, t.roles[invitation.role]);
  return renderPage(request, {
    title: t.invitation.title,
    alone: true,
    ...(errors ? { status: 400 } : {}),
    body: html`
      <div class="card">
        ${errorBox(request, errors)}
        <p>${text}</p>
        <p><b>${invitation.email}</b></p>
        ${await acceptForm(request, invitation, errors)}
      </div>
    `,
  });
}

/** A member who exists already signs in first: the link alone must never open another member's account. */
async function acceptForm(
  request: ConsoleRequest,
  { email }: Invitation,
  errors: FieldErrors | undefined,
): Promise<Html> {
  const { t } = request;
  const action = `/invitations/${paramOf(request, 'token')}`;
  if (!(await findMemberByEmail(request.ctx.db, email)))
    return form(request, {
      action,
      errors,
      fields: [nameField(request), newPasswordField(request)],
      submit: t.invitation.accept,
    });
  if (request.session?.member.email === email) return postButton(request, action, t.invitation.accept);
  return html`
    <p>${t.invitation.signInFirst(email)}</p>
    <a class="button" href="/console/sign-in?next=/console${action}">${t.signIn.title}</a>
  `;
}

async function accept(request: ConsoleRequest): Promise<FastifyReply> {
  const { ctx, t } = request;
  const token = paramOf(request, 'token');
  const invitation = await openInvitation(request);
  const known = await findMemberByEmail(ctx.db, invitation.email);
  if (known) {
    if (request.session?.member.id !== known.id) return invitationPage(request);
    await acceptInvitation(ctx, token, known.name);
    await chooseHolder(ctx, request.session.id, invitation.holder_id);
    return redirect(request, '/console', 'joined');
  }
  const name = fieldOf(request, 'name', 120);
  const password = request.form.get('password') ?? '';
  const errors: FieldErrors = {};
  if (name === '') errors.name = [t.fieldRequired];
  if (passwordError(password) !== null) errors.password = [t.passwordHint];
  if (Object.keys(errors).length > 0) return invitationPage(request, errors);
  const member = await acceptInvitation(ctx, token, name, password);
  return continueSignIn(request, member.id, '/console');
}
