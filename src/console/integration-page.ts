// The page of one integration: its callback URL and allowed IP addresses, its secrets, and revoking it.

import type { FastifyReply } from 'fastify';
import { DEFAULT_KEY, type SecretKind } from '../holders/integration-secrets.ts';
import { type Integration, rotateSecret, updateIntegration } from '../holders/integrations.ts';
import { listKeys } from '../holders/keys.ts';
import { listTokens } from '../holders/tokens.ts';
import { type FieldErrors, Problem } from '../platform/errors.ts';
import { type Html, html } from '../platform/html.ts';
import { MAX_URL_CHARACTERS } from '../platform/http-url.ts';
import { facts } from '../ui/components.ts';
import { timeTag } from './components.ts';
import { fieldOf, type HolderRequest } from './console-request.ts';
import { errorBox, form } from './form-components.ts';
import {
  callbackField,
  checkUrl,
  DEFAULT_OVERLAP,
  integrationOf,
  integrationPath,
  integrationTag,
  isOldAddress,
  labelledLine,
  MAX_ADDRESSES_CHARACTERS,
  OVERLAPS,
  rotateForm,
  splitLines,
  storedButton,
} from './integration-components.ts';
import { integrationKeyRoutes, keysSection, TOKENS_SHOWN, tokensSection } from './integration-keys.ts';
import { redirect, renderPage } from './layout.ts';
import { BUILDERS, type ConsoleRoute, EVERYONE, forRoles } from './route.ts';

export const integrationPageRoutes: ConsoleRoute[] = [
  forRoles(EVERYONE, 'GET', '/integrations/:id', (request) => integrationPage(request)),
  forRoles(BUILDERS, 'POST', '/integrations/:id', change, { confirm: true }),
  forRoles(BUILDERS, 'POST', '/integrations/:id/rotate', rotate, { confirm: true }),
  forRoles(BUILDERS, 'POST', '/integrations/:id/revoke', revoke, { confirm: true, whenSuspended: true }),
  ...integrationKeyRoutes(integrationPage),
];

async function integrationPage(request: HolderRequest, errors?: FieldErrors): Promise<FastifyReply> {
  const { t, role, ctx, holder } = request;
  const integration = await integrationOf(request);
  if (request.raw.method === 'GET' && isOldAddress(request))
    return redirect(request, `/console${integrationPath(integration)}`);
  const now = ctx.clock.now();
  const keys = await listKeys(ctx.db, holder.id, integration.id, now);
  const owner = { holderId: holder.id, integrationId: integration.id };
  const tokens = await listTokens(ctx.db, owner, { now, limit: TOKENS_SHOWN });
  const canChange = BUILDERS.includes(role) && integration.status === 'active';
  return renderPage(request, {
    title: integration.title,
    titleDetail: t.menu.integrations,
    active: 'integrations',
    ...(errors ? { status: 400 } : {}),
    body: html`
      ${errorBox(request, errors)}
      <div class="card">
        ${facts([
          [t.state, integrationTag(request, integration)],
          ['client_id', html`<code>${integration.clientId}</code>`],
          ['sender', html`<bdi>${integration.title}</bdi>`],
          [t.integrations.lastUsed, integration.lastUsedAt ? timeTag(request, integration.lastUsedAt) : t.never],
          [t.created, timeTag(request, integration.createdAt)],
          [t.integrations.callbackUrl, integration.defaultCallbackUrl ?? '–'],
          [t.integrations.allowedAddresses, integration.allowedAddresses.join(', ') || t.integrations.anyAddress],
          [t.keys.redirectHosts, integration.redirectHosts.join(', ') || t.keys.anyHost],
        ])}
        <p><a href="/console/requests?integration=${integration.clientId}">${t.menu.requests}</a></p>
      </div>
      ${keysSection(request, integration, keys, canChange, errors)}
      ${tokensSection(request, integration, tokens, canChange)}
      ${
        canChange &&
        html`
          <div class="columns">
            ${settingsSection(request, integration, errors)}
            ${secretsSection(request, integration)}
          </div>
          ${revokeSection(request, integration, errors)}
        `
      }
    `,
  });
}

function settingsSection(request: HolderRequest, integration: Integration, errors: FieldErrors | undefined): Html {
  const { t } = request;
  const wasSent = errors !== undefined && request.form.has('allowed_addresses');
  const callbackUrl = wasSent
    ? fieldOf(request, 'callback_url', MAX_URL_CHARACTERS + 1)
    : (integration.defaultCallbackUrl ?? '');
  const allowedAddresses = wasSent
    ? fieldOf(request, 'allowed_addresses', MAX_ADDRESSES_CHARACTERS)
    : integration.allowedAddresses.join('\n');
  const redirectHosts = wasSent
    ? fieldOf(request, 'redirect_hosts', MAX_ADDRESSES_CHARACTERS)
    : integration.redirectHosts.join('\n');
  return html`
    <section class="card">
      <h2>${t.settings}</h2>
      ${form(request, {
        action: integrationPath(integration),
        errors,
        fields: [
          callbackField(request, callbackUrl),
          {
            type: 'textarea',
            name: 'allowed_addresses',
            label: t.integrations.allowedAddresses,
            hint: t.integrations.allowedAddressesHint,
            value: allowedAddresses,
            rows: 3,
          },
          {
            type: 'textarea',
            name: 'redirect_hosts',
            label: t.keys.redirectHosts,
            hint: t.keys.redirectHostsHint,
            value: redirectHosts,
            rows: 3,
          },
        ],
        submit: t.save,
      })}
    </section>
  `;
}

function secretsSection(request: HolderRequest, integration: Integration): Html {
  const { t } = request;
  return html`
    <section class="card">
      <h2>${t.integrations.secrets}</h2>
      <p class="muted">${t.integrations.rotateText}</p>
      ${rotateForm(request, integrationPath(integration), t.integrations.rotateCallback, { kind: 'callback' })}
    </section>
  `;
}

/** Nothing brings it back, so its name is typed first. */
function revokeSection(request: HolderRequest, integration: Integration, errors: FieldErrors | undefined): Html {
  const { t } = request;
  return html`
    <section class="card danger">
      <h2>${t.integrations.revoke}</h2>
      <p>${t.integrations.revokeMeaning}</p>
      ${form(request, {
        action: `${integrationPath(integration)}/revoke`,
        errors,
        fields: [
          {
            name: 'confirm_title',
            label: t.integrations.revokeConfirm(integration.title),
            required: true,
            attributes: html`autocomplete="off" spellcheck="false"`,
          },
        ],
        submit: t.integrations.revoke,
        variant: 'danger',
      })}
    </section>
  `;
}

async function change(request: HolderRequest): Promise<FastifyReply> {
  const integration = await integrationOf(request);
  const callbackUrl = fieldOf(request, 'callback_url', MAX_URL_CHARACTERS + 1);
  const urlError = checkUrl(request, callbackUrl);
  if (urlError !== null) return integrationPage(request, { callback_url: [urlError] });
  const allowedAddresses = splitLines(fieldOf(request, 'allowed_addresses', MAX_ADDRESSES_CHARACTERS));
  const redirectHosts = splitLines(fieldOf(request, 'redirect_hosts', MAX_ADDRESSES_CHARACTERS).toLowerCase());
  try {
    await updateIntegration(request.ctx, request.actor, request.holder.id, integration.id, {
      allowedAddresses,
      defaultCallbackUrl: callbackUrl || null,
      redirectHosts,
    });
  } catch (error) {
    if (error instanceof Problem && error.details.errors) return integrationPage(request, error.details.errors);
    throw error;
  }
  return redirect(request, `/console${integrationPath(integration)}`, 'saved');
}

async function rotate(request: HolderRequest): Promise<FastifyReply> {
  const { t } = request;
  const integration = await integrationOf(request);
  const kind: SecretKind = fieldOf(request, 'kind') === 'callback' ? 'callback' : 'api';
  const chosen = fieldOf(request, `overlap_${fieldOf(request, 'secret') || kind}`);
  const overlap = OVERLAPS.find((seconds) => seconds === chosen) ?? DEFAULT_OVERLAP;
  const { secret, previousExpiresAt } = await rotateSecret(
    request.ctx,
    request.actor,
    request.holder.id,
    integration.id,
    kind,
    Number(overlap),
    fieldOf(request, 'key') || DEFAULT_KEY,
  );
  const name = kind === 'api' ? 'secret_key' : t.integrations.callbackSecret;
  return renderPage(request, {
    title: t.integrations.rotated,
    lead: t.integrations.secretsOnce,
    active: 'integrations',
    body: html`
      <p class="box warning">${t.integrations.secretsWarning}</p>
      <div class="card">
        ${labelledLine(request, 'new-secret', secret, name)}
        <p>${t.integrations.previousUntil} ${timeTag(request, previousExpiresAt)}</p>
      </div>
      ${storedButton(request, integration)}
    `,
  });
}

async function revoke(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, t, actor, holder } = request;
  const integration = await integrationOf(request);
  if (fieldOf(request, 'confirm_title', 500) !== integration.title)
    return integrationPage(request, { confirm_title: [t.integrations.revokeWrong] });
  await updateIntegration(ctx, actor, holder.id, integration.id, { status: 'revoked' });
  return redirect(request, `/console${integrationPath(integration)}`, 'integrationRevoked');
}
