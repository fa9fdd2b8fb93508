// The keys and tokens on the page of an integration: what each key may do and from where, adding and revoking one, and the live
// tokens with a button that ends each.

import type { FastifyReply } from 'fastify';
import type { Integration } from '../holders/integrations.ts';
import { addKey, type ListedKey, revokeKey } from '../holders/keys.ts';
import { type ListedToken, revokeToken } from '../holders/tokens.ts';
import { publicUrl } from '../platform/config.ts';
import { type FieldErrors, Problem } from '../platform/errors.ts';
import { withColon } from '../platform/french-spaces.ts';
import { type Html, html } from '../platform/html.ts';
import { SCOPES } from '../platform/scopes.ts';
import { dataTable, tag } from '../ui/components.ts';
import { codeBlock, timeTag } from './components.ts';
import { fieldOf, type HolderRequest, idOf } from './console-request.ts';
import { dangerForm, form, postButton } from './form-components.ts';
import {
  integrationOf,
  integrationPath,
  labelledLine,
  MAX_ADDRESSES_CHARACTERS,
  rotateForm,
  splitLines,
  storedButton,
} from './integration-components.ts';
import { redirect, renderPage } from './layout.ts';
import { BUILDERS, type ConsoleRoute, forRoles } from './route.ts';
import { environmentFile } from './samples.ts';

export const TOKENS_SHOWN = 50;
const MAX_NAME_CHARACTERS = 40;

/** Shows the page of the integration again, with what is wrong. */
type ShowPage = (request: HolderRequest, errors: FieldErrors) => Promise<FastifyReply>;

export function integrationKeyRoutes(showPage: ShowPage): ConsoleRoute[] {
  return [
    forRoles(BUILDERS, 'POST', '/integrations/:id/keys', (request) => add(request, showPage), { confirm: true }),
    forRoles(BUILDERS, 'POST', '/integrations/:id/keys/revoke', revoke, { confirm: true, whenSuspended: true }),
    forRoles(BUILDERS, 'POST', '/integrations/:id/tokens/revoke', endToken, { whenSuspended: true }),
  ];
}

export function keysSection(
  request: HolderRequest,
  integration: Integration,
  keys: readonly ListedKey[],
  canChange: boolean,
  errors: FieldErrors | undefined,
): Html {
  const { t } = request;
  const path = integrationPath(integration);
  const columns = [t.keys.name, t.keys.scopes, t.keys.addresses, t.integrations.lastUsed, t.keys.ends].map((label) => ({
    label,
  }));
  return html`
    <section class="card">
      <h2>${t.integrations.keys}</h2>
      <p class="muted">${t.keys.lead}</p>
      ${dataTable(
        t.integrations.keys,
        canChange ? [...columns, { label: t.keys.change }] : columns,
        keys
          .filter((key) => key.status !== 'ended')
          .map((key) => [
            html`<code>${key.name}</code> <span class="muted">#${key.id}</span>`,
            key.scopes.map((scope) => html`${tag('neutral', scope)} `),
            key.allowedAddresses.join(', ') || t.integrations.anyAddress,
            key.lastUsedAt ? timeTag(request, key.lastUsedAt) : t.never,
            key.expiresAt ? timeTag(request, key.expiresAt) : '–',
            ...(canChange ? [key.status === 'active' && keyActions(request, path, key)] : []),
          ]),
      )}
      ${canChange && addForm(request, path, errors)}
    </section>
  `;
}

function keyActions(request: HolderRequest, path: string, { id, name }: ListedKey): Html {
  const { t } = request;
  return html`
    ${rotateForm(request, path, t.keys.rotate, { kind: 'api', key: name, secret: String(id) })}
    ${dangerForm(request, `${path}/keys/revoke`, t.keys.revoke, t.keys.revokeMeaning, { key: name })}
  `;
}

function addForm(request: HolderRequest, path: string, errors: FieldErrors | undefined): Html {
  const { t } = request;
  const wasSent = errors !== undefined && request.form.has('key_name');
  return html`
    <details${wasSent && html` open`}>
      <summary>${t.keys.add}…</summary>
      ${form(request, {
        action: `${path}/keys`,
        errors,
        fields: [
          {
            name: 'key_name',
            label: t.keys.name,
            hint: t.keys.nameHint,
            value: wasSent ? fieldOf(request, 'key_name') : '',
            required: true,
            attributes: html`maxlength="${MAX_NAME_CHARACTERS}" autocapitalize="none" spellcheck="false"`,
          },
          html`<p>${t.keys.scopes}</p>`,
          ...SCOPES.map((scope) => ({
            type: 'checkbox' as const,
            name: `scope_${scope}`,
            label: `${withColon(request, scope)} ${t.keys.scopeMeanings[scope]}`,
            checked: wasSent ? fieldOf(request, `scope_${scope}`) === 'yes' : true,
          })),
          {
            type: 'textarea',
            name: 'key_addresses',
            label: t.integrations.allowedAddresses,
            hint: t.keys.addressesHint,
            value: wasSent ? fieldOf(request, 'key_addresses', MAX_ADDRESSES_CHARACTERS) : '',
            rows: 3,
          },
        ],
        submit: t.keys.add,
      })}
    </details>
  `;
}

export function tokensSection(
  request: HolderRequest,
  integration: Integration,
  tokens: readonly ListedToken[],
  canChange: boolean,
): Html {
  const { t } = request;
  const columns = [t.keys.token, t.keys.name, t.created, t.keys.ends, t.integrations.lastUsed, t.address].map(
    (label) => ({ label }),
  );
  const action = `${integrationPath(integration)}/tokens/revoke`;
  return html`
    <section class="card">
      <h2>${t.keys.tokens}</h2>
      <p class="muted">${t.keys.tokensLead(TOKENS_SHOWN)}</p>
      ${
        tokens.length === 0
          ? html`<p>${t.keys.noTokens}</p>`
          : dataTable(
              t.keys.tokens,
              canChange ? [...columns, { label: t.keys.change }] : columns,
              tokens.map((token) => [
                html`<code>${token.id}</code>`,
                html`<code>${token.key}</code> <span class="muted">#${token.secret_id}</span>`,
                timeTag(request, token.created_at),
                timeTag(request, token.expires_at),
                token.last_used_at ? timeTag(request, token.last_used_at) : t.never,
                token.last_address ?? token.address,
                ...(canChange
                  ? [
                      postButton(request, action, t.keys.revoke, {
                        variant: 'danger',
                        hidden: { token: String(token.id) },
                      }),
                    ]
                  : []),
              ]),
            )
      }
    </section>
  `;
}

async function add(request: HolderRequest, showPage: ShowPage): Promise<FastifyReply> {
  const { ctx, t } = request;
  const integration = await integrationOf(request);
  const { id, clientId, title } = integration;
  const name = fieldOf(request, 'key_name');
  const scopes = SCOPES.filter((scope) => fieldOf(request, `scope_${scope}`) === 'yes');
  const allowedAddresses = splitLines(fieldOf(request, 'key_addresses', MAX_ADDRESSES_CHARACTERS));
  try {
    const { secret } = await addKey(ctx, request.actor, request.holder.id, id, { name, scopes, allowedAddresses });
    const facts = { baseUrl: publicUrl(ctx.config), clientId, sender: title, secretKey: secret };
    return await renderPage(request, {
      title: t.keys.added(name),
      lead: t.integrations.secretsOnce,
      active: 'integrations',
      body: html`
        <p class="box warning">${t.integrations.secretsWarning}</p>
        <div class="card">
          ${labelledLine(request, 'client-id', clientId, 'client_id')}
          ${labelledLine(request, 'sender', title, 'sender')}
          ${labelledLine(request, 'new-secret', secret, 'secret_key')}
          <h3>.env</h3>
          ${codeBlock(request, 'env-file', environmentFile(facts), '.env')}
        </div>
        ${storedButton(request, integration)}
      `,
    });
  } catch (error) {
    if (error instanceof Problem && error.details.errors) return showPage(request, fieldErrors(error.details.errors));
    throw error;
  }
}

/** The errors of the operation under the names of this form. */
function fieldErrors({ name, scopes, allowed_addresses }: FieldErrors): FieldErrors {
  return {
    ...(name ? { key_name: name } : {}),
    ...(scopes ? { [`scope_${SCOPES[0]}`]: scopes } : {}),
    ...(allowed_addresses ? { key_addresses: allowed_addresses } : {}),
  };
}

async function revoke(request: HolderRequest): Promise<FastifyReply> {
  const integration = await integrationOf(request);
  await revokeKey(request.ctx, request.actor, request.holder.id, integration.id, fieldOf(request, 'key'));
  return redirect(request, `/console${integrationPath(integration)}`, 'keyRevoked');
}

async function endToken(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, actor, holder } = request;
  const integration = await integrationOf(request);
  const owner = { holderId: holder.id, integrationId: integration.id };
  await revokeToken(ctx, actor, idOf(fieldOf(request, 'token')), owner);
  return redirect(request, `/console${integrationPath(integration)}`, 'tokenRevoked');
}
