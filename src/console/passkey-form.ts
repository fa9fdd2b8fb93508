// The form of a passkey: hidden until the script finds that this browser can use passkeys here.

import { passkeyOrigin } from '../holders/passkeys.ts';
import { type Html, html } from '../platform/html.ts';
import type { ConsoleRequest } from './console-request.ts';
import { type ButtonVariant, type FormField, form } from './form-components.ts';

/** The longest answer of a browser; a form of 8 kB holds it. */
export const MAX_CREDENTIAL_CHARACTERS = 6_000;

type PasskeyForm = {
  /** `create` makes a passkey, `get` asks for one. */
  kind: 'create' | 'get';
  /** Below /console. The options for the browser come from the same path with /options. */
  action: string;
  hidden?: Readonly<Record<string, string>>;
  fields?: readonly FormField[];
  submit: string;
  variant?: ButtonVariant;
};

export function passkeyForm(request: ConsoleRequest, options: PasskeyForm): Html {
  const { kind, action, hidden, fields = [], submit, variant } = options;
  const problem = html`<p class="field-error" role="alert" data-problem="1" hidden>${request.t.passkeys.failed}</p>`;
  return form(request, {
    action,
    hidden: { ...hidden, credential: '' },
    fields: [...fields, problem],
    attributes: html`
      data-passkey="${kind}" data-asks="/console${action}/options" data-origin="${passkeyOrigin(request.ctx)}" hidden
    `,
    submit,
    ...(variant ? { variant } : {}),
  });
}

/** Shown only where passkeys work; or, with `without`, only where they do not. */
export function wherePasskeys(request: ConsoleRequest, content: Html, without = false): Html {
  return html`
    <div data-passkey-origin="${passkeyOrigin(request.ctx)}"${!without && html` hidden`}>${content}</div>
  `;
}
