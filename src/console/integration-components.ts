// What the pages of integrations share.

import type { Integration } from '../holders/integrations.ts';
import { type Html, html } from '../platform/html.ts';
import { isHttpUrl, MAX_URL_CHARACTERS } from '../platform/http-url.ts';
import { copyLine, tag } from './components.ts';
import type { HolderRequest } from './console-request.ts';
import type { InputField } from './form-components.ts';

export function integrationTag({ t }: HolderRequest, integration: Integration): Html {
  return integration.status === 'active' ? tag('success', t.active) : tag('error', t.integrations.revoked);
}

export function callbackField({ t }: HolderRequest, value: string): InputField {
  return {
    name: 'callback_url',
    label: t.integrations.callbackUrl,
    hint: t.integrations.callbackHint,
    type: 'url',
    value,
    attributes: html`maxlength="${MAX_URL_CHARACTERS}"`,
  };
}

/** Why a callback URL cannot be used; null when it can, or when there is none. */
export function checkUrl({ ctx, t }: HolderRequest, url: string): string | null {
  if (url === '') return null;
  return isHttpUrl(url) ? ctx.checkCallbackUrl(url) : t.urlInvalid;
}

export function labelledLine(request: HolderRequest, id: string, text: string, label: string): Html {
  return html`<p class="muted">${label}</p>${copyLine(request, id, text, label)}`;
}

export function storedButton({ t }: HolderRequest, id: bigint): Html {
  return html`<p><a class="button" href="/console/integrations/${id}">${t.integrations.secretsSaved}</a></p>`;
}
