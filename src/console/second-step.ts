// The forms of the second step: a code of the app, a passkey, a recovery code. At sign-in and before dangerous actions.

import { type Html, html } from '../platform/html.ts';
import type { ConsoleRequest } from './console-request.ts';
import { codeField } from './credential-fields.ts';
import { form } from './form-components.ts';
import { passkeyForm, wherePasskeys } from './passkey-form.ts';
import { recoveryCodeForm } from './recovery-codes-page.ts';

export type WrongFactor = 'code' | 'passkey' | 'recovery';

export function wrongFactorMessage({ t }: ConsoleRequest, wrong: WrongFactor): string {
  if (wrong === 'recovery') return t.recovery.incorrect;
  return wrong === 'passkey' ? t.passkeys.refused : t.code.incorrect;
}

/** What the member can prove themselves with. */
export function factorForms(
  request: ConsoleRequest,
  factors: { totp: boolean; passkey: boolean },
  actions: Record<WrongFactor, string>,
  hidden: Readonly<Record<string, string>>,
  recoveryOpen: boolean,
): Html {
  const { t } = request;
  const { totp, passkey } = factors;
  return html`
    ${totp && form(request, { action: actions.code, hidden, fields: [codeField(request)], submit: t.continue })}
    ${
      passkey &&
      passkeyForm(request, {
        kind: 'get',
        action: actions.passkey,
        hidden,
        submit: t.passkeys.confirm,
        ...(totp ? { variant: 'secondary' } : {}),
      })
    }
    ${passkey && !totp && wherePasskeys(request, html`<p>${t.passkeys.unavailable}</p>`, true)}
    ${recoveryCodeForm(request, actions.recovery, hidden, recoveryOpen)}
  `;
}
