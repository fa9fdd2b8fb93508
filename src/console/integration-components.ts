// What the pages of integrations share.

import type { SecretKind } from '../holders/integration-secrets.ts';
import { type Integration, requireIntegration, requireIntegrationByClient } from '../holders/integrations.ts';
import { type Html, html } from '../platform/html.ts';
import { isHttpUrl, MAX_URL_CHARACTERS } from '../platform/http-url.ts';
import { status } from '../ui/components.ts';
import { copyLine } from './components.ts';
import { type HolderRequest, idOf, paramOf } from './console-request.ts';
import { form, type InputField } from './form-components.ts';

/** Below /console. */
export function integrationPath({ clientId }: Pick<Integration, 'clientId'>): string {
  return `/integrations/${clientId}`;
}

/** The integration of the address: by its client_id, or by its number, which addresses had before. */
export function integrationOf(request: HolderRequest): Promise<Integration> {
  const { ctx, holder } = request;
  const id = paramOf(request, 'id');
  if (isOldAddress(request)) return requireIntegration(ctx.db, holder.id, idOf(id));
  return requireIntegrationByClient(ctx.db, holder.id, id);
}

export function isOldAddress(request: HolderRequest): boolean {
  return /^\d+$/.test(paramOf(request, 'id'));
}

export function integrationTag({ t }: HolderRequest, integration: Integration): Html {
  return integration.status === 'active' ? status('success', t.active) : status('error', t.integrations.revoked);
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

export function storedButton({ t }: HolderRequest, integration: Pick<Integration, 'clientId'>): Html {
  return html`<p><a class="button" href="/console${integrationPath(integration)}">${t.integrations.secretsSaved}</a></p>`;
}

export const MAX_ADDRESSES_CHARACTERS = 4_000;

/** The entries of a text with one on each line, or with commas between them. */
export function splitLines(text: string): string[] {
  return text.split(/[\s,]+/).filter(Boolean);
}

/** How long a rotated secret keeps working, in seconds. */
export const OVERLAPS = ['0', '3600', '86400', '604800'] as const;
export const DEFAULT_OVERLAP = '86400';

/** `secret` tells the fields of several keys on one page apart. */
export function rotateForm(
  request: HolderRequest,
  path: string,
  label: string,
  hidden: { kind: SecretKind; key?: string; secret?: string },
): Html {
  const { t } = request;
  return html`
    <details>
      <summary>${label}…</summary>
      ${form(request, {
        action: `${path}/rotate`,
        hidden,
        fields: [
          {
            type: 'select',
            name: `overlap_${hidden.secret ?? hidden.kind}`,
            label: t.integrations.overlap,
            value: DEFAULT_OVERLAP,
            choices: OVERLAPS.map((seconds) => [seconds, t.integrations.overlaps[seconds]] as const),
          },
        ],
        submit: label,
      })}
    </details>
  `;
}
