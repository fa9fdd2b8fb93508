// How a person gets a login link: by mail where the gateway sends mail, else from the host.

import { mailIsConfigured } from '../holders/mail-queue.ts';
import { type Html, html } from '../platform/html.ts';
import type { ConsoleRequest } from './console-request.ts';

export function loginLinkHint({ ctx, t }: ConsoleRequest, email?: string): Html {
  if (mailIsConfigured(ctx))
    return html`<p><a class="button" href="/console/sign-in/link">${t.signIn.mailLink}</a></p>`;
  return html`
    <p>${t.loginLink.fromHost}</p>
    <p><code>npx simbi login-link${email === undefined ? '' : ` ${email}`}</code></p>
  `;
}
