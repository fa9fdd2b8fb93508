// Fields for passwords and one-time codes, as the sign-in pages and the account page show them.

import { html } from '../platform/html.ts';
import { type ConsoleRequest, fieldOf } from './console-request.ts';
import type { InputField } from './form-components.ts';

export function codeField({ t }: ConsoleRequest): InputField {
  return {
    name: 'code',
    label: t.code.label,
    hint: t.code.hint,
    required: true,
    attributes: html`inputmode="numeric" autocomplete="one-time-code" maxlength="7"`,
  };
}

export function newPasswordField({ t }: ConsoleRequest): InputField {
  return {
    name: 'password',
    label: t.newPassword,
    hint: t.passwordHint,
    type: 'password',
    required: true,
    attributes: html`autocomplete="new-password" minlength="10"`,
  };
}

export function passwordField({ t }: ConsoleRequest): InputField {
  return {
    name: 'password',
    label: t.password,
    type: 'password',
    required: true,
    attributes: html`autocomplete="current-password"`,
  };
}

export function nameField(request: ConsoleRequest): InputField {
  return {
    name: 'name',
    label: request.t.yourName,
    value: fieldOf(request, 'name'),
    required: true,
    attributes: html`maxlength="120" autocomplete="name"`,
  };
}

export function emailField(request: ConsoleRequest): InputField {
  return {
    name: 'email',
    label: request.t.email,
    type: 'email',
    value: fieldOf(request, 'email'),
    required: true,
    attributes: html`autocomplete="username"`,
  };
}
