// Integrations: making one (its secret is shown once, with requests that use it), rotating, revoking, and where they may
// call from and are called back.

import type { FastifyReply } from 'fastify';
import {
  type CreatedIntegration,
  createIntegration,
  type Integration,
  listIntegrations,
  requireIntegration,
  rotateSecret,
  type SecretKind,
  updateIntegration,
} from '../holders/integrations.ts';
import { publicUrl } from '../platform/config.ts';
import { type FieldErrors, Problem } from '../platform/errors.ts';
import { type Html, html } from '../platform/html.ts';
import { codeBlock, copyLine, dataTable, emptyState, facts, tag, timeTag } from './components.ts';
import { fieldOf, type HolderRequest, idOf, paramOf } from './console-request.ts';
import { dangerForm, errorBox, formField, postForm } from './form-components.ts';
import { redirect, renderPage } from './layout.ts';
import { BUILDERS, type ConsoleRoute, EVERYONE, forRoles } from './route.ts';
import { sampleParams, writeSamples } from './samples.ts';

const OVERLAPS = ['0', '3600', '86400', '604800'] as const;
const MAX_TITLE = 120;

export const integrationRoutes: ConsoleRoute[] = [
  forRoles(EVERYONE, 'GET', '/integrations', listPage),
  forRoles(BUILDERS, 'GET', '/integrations/new', (request) => newPage(request), { confirm: true }),
  forRoles(BUILDERS, 'POST', '/integrations', create, { confirm: true }),
  forRoles(EVERYONE, 'GET', '/integrations/:id', (request) => integrationPage(request)),
  forRoles(BUILDERS, 'POST', '/integrations/:id', change, { confirm: true }),
  forRoles(BUILDERS, 'POST', '/integrations/:id/rotate', rotate, { confirm: true }),
  forRoles(BUILDERS, 'POST', '/integrations/:id/revoke', revoke, { confirm: true }),
];

async function listPage(request: HolderRequest): Promise<FastifyReply> {
  const { t, role } = request;
  const integrations = await listIntegrations(request.ctx.db, request.holder.id);
  const create =
    BUILDERS.includes(role) && html`<a class="button" href="/console/integrations/new">${t.integrations.create}</a>`;
  return renderPage(request, {
    title: t.menu.integrations,
    lead: t.integrations.lead,
    active: 'integrations',
    ...(create ? { actions: create } : {}),
    body:
      integrations.length === 0
        ? emptyState(t.integrations.none, t.integrations.noneText, create)
        : dataTable(
            t.menu.integrations,
            [
              { label: t.integrations.title },
              { label: 'client_id' },
              { label: t.state },
              { label: t.integrations.lastUsed },
              { label: t.created },
            ],
            integrations.map((each) => [
              html`<a href="/console/integrations/${each.id}"><bdi>${each.title}</bdi></a>`,
              html`<code>${each.clientId}</code>`,
              stateTag(request, each),
              each.lastUsedAt ? timeTag(each.lastUsedAt) : t.never,
              timeTag(each.createdAt),
            ]),
          ),
  });
}

function stateTag({ t }: HolderRequest, integration: Integration): Html {
  return integration.status === 'active' ? tag('success', t.active) : tag('error', t.integrations.revoked);
}

function newPage(request: HolderRequest, errors?: FieldErrors): Promise<FastifyReply> {
  const { t } = request;
  return renderPage(request, {
    title: t.integrations.create,
    lead: t.integrations.createLead,
    active: 'integrations',
    ...(errors ? { status: 400 } : {}),
    body: html`<div class="card">${errorBox(request, errors)}${postForm(
      request,
      '/integrations',
      html`${formField({ name: 'title', label: t.integrations.title, hint: t.integrations.titleHint, value: fieldOf(request, 'title'), required: true, errors, attributes: html`maxlength="120"` })}${callbackField(request, fieldOf(request, 'callback_url', 2_048), errors)}<button>${t.integrations.create}</button>`,
    )}</div>`,
  });
}

function callbackField({ t }: HolderRequest, value: string, errors?: FieldErrors): Html {
  return formField({
    name: 'callback_url',
    label: t.integrations.callbackUrl,
    hint: t.integrations.callbackHint,
    type: 'url',
    value,
    errors,
    attributes: html`maxlength="2048"`,
  });
}

async function create(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, t } = request;
  const title = fieldOf(request, 'title', 500);
  const callbackUrl = fieldOf(request, 'callback_url', 2_048);
  const errors: FieldErrors = {};
  if (title === '' || Array.from(title).length > MAX_TITLE) errors.title = [t.integrations.titleWrong];
  const refused = callbackUrl === '' ? null : refuseUrl(request, callbackUrl);
  if (refused !== null) errors.callback_url = [refused];
  if (Object.keys(errors).length > 0) return newPage(request, errors);
  const made = await createIntegration(
    ctx,
    request.actor,
    request.holder.id,
    title,
    callbackUrl ? { defaultCallbackUrl: callbackUrl } : {},
  );
  return createdPage(request, made);
}

function refuseUrl({ ctx, t }: HolderRequest, url: string): string | null {
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) return t.urlWrong;
  return ctx.checkCallbackUrl(url);
}

/** The one time that the secrets are on a page. */
function createdPage(request: HolderRequest, made: CreatedIntegration): Promise<FastifyReply> {
  const { t } = request;
  const samples = writeSamples(
    { baseUrl: publicUrl(request.ctx.config), clientId: made.clientId, sender: made.title, secretKey: made.secretKey },
    sampleParams(request.ctx.catalog),
  );
  return renderPage(request, {
    title: t.integrations.made(made.title),
    lead: t.integrations.once,
    active: 'integrations',
    body: html`<p class="box warning">${t.integrations.onceWarning}</p><div class="card"><h2>${t.integrations.keys}</h2><p class="muted">client_id</p>${copyLine(request, 'client-id', made.clientId, 'client_id')}<p class="muted">sender</p>${copyLine(request, 'sender', made.title, 'sender')}<p class="muted">secret_key</p>${copyLine(request, 'secret-key', made.secretKey, 'secret_key')}<p class="muted">${t.integrations.callbackSecret}</p>${copyLine(request, 'callback-secret', made.callbackSecret, t.integrations.callbackSecret)}</div>
<div class="card"><h2>${t.integrations.firstRequest}</h2><p class="muted">${t.integrations.firstRequestText}</p><h3>curl</h3>${codeBlock(request, 'sample-curl', samples.curl, 'curl')}<h3>TypeScript</h3>${codeBlock(request, 'sample-typescript', samples.typescript, 'TypeScript')}<h3>Python</h3>${codeBlock(request, 'sample-python', samples.python, 'Python')}</div><p><a class="button" href="/console/integrations/${made.id}">${t.integrations.stored}</a></p>`,
  });
}

async function integrationPage(request: HolderRequest, errors?: FieldErrors): Promise<FastifyReply> {
  const { t, role } = request;
  const integration = await requireIntegration(request.ctx.db, request.holder.id, idOf(paramOf(request, 'id')));
  const path = `/integrations/${integration.id}`;
  const may = BUILDERS.includes(role) && integration.status === 'active';
  return renderPage(request, {
    title: integration.title,
    active: 'integrations',
    ...(errors ? { status: 400 } : {}),
    body: html`<div class="card">${facts([
      [t.state, stateTag(request, integration)],
      ['client_id', html`<code>${integration.clientId}</code>`],
      ['sender', html`<bdi>${integration.title}</bdi>`],
      [t.integrations.lastUsed, integration.lastUsedAt ? timeTag(integration.lastUsedAt) : t.never],
      [t.created, timeTag(integration.createdAt)],
      [t.integrations.callbackUrl, integration.defaultCallbackUrl ?? '–'],
      [t.integrations.allowed, integration.allowedAddresses.join(', ') || t.integrations.anyAddress],
    ])}<p><a href="/console/requests?integration=${integration.id}">${t.menu.requests}</a></p></div>
${
  may &&
  html`<div class="columns"><section class="card"><h2>${t.settings}</h2>${errorBox(request, errors)}${postForm(
    request,
    path,
    html`${callbackField(request, errors ? fieldOf(request, 'callback_url', 2_048) : (integration.defaultCallbackUrl ?? ''), errors)}${formField({ type: 'textarea', name: 'allowed_addresses', label: t.integrations.allowed, hint: t.integrations.allowedHint, value: errors ? fieldOf(request, 'allowed_addresses', 4_000) : integration.allowedAddresses.join('\n'), rows: 3, errors })}<button>${t.save}</button>`,
  )}</section>
<section class="card"><h2>${t.integrations.secrets}</h2><p class="muted">${t.integrations.rotateText}</p>${rotateForm(request, path, 'api', t.integrations.rotateApi)}${rotateForm(request, path, 'callback', t.integrations.rotateCallback)}${dangerForm(request, `${path}/revoke`, t.integrations.revoke, t.integrations.revokeMeaning)}</section></div>`
}`,
  });
}

function rotateForm(request: HolderRequest, path: string, kind: SecretKind, label: string): Html {
  const { t } = request;
  const choices = OVERLAPS.map((seconds) => [seconds, t.integrations.overlaps[seconds]] as const);
  return html`<details><summary>${label}…</summary>${postForm(request, `${path}/rotate`, html`<input type="hidden" name="kind" value="${kind}">${formField({ type: 'select', name: `overlap_${kind}`, label: t.integrations.overlap, value: '86400', choices })}<button>${label}</button>`)}</details>`;
}

async function change(request: HolderRequest): Promise<FastifyReply> {
  const id = idOf(paramOf(request, 'id'));
  const callbackUrl = fieldOf(request, 'callback_url', 2_048);
  const refused = callbackUrl === '' ? null : refuseUrl(request, callbackUrl);
  if (refused !== null) return integrationPage(request, { callback_url: [refused] });
  const allowedAddresses = fieldOf(request, 'allowed_addresses', 4_000)
    .split(/[\s,]+/)
    .filter(Boolean);
  try {
    await updateIntegration(request.ctx, request.actor, request.holder.id, id, {
      allowedAddresses,
      defaultCallbackUrl: callbackUrl || null,
    });
  } catch (error) {
    if (error instanceof Problem && error.details.errors) return integrationPage(request, error.details.errors);
    throw error;
  }
  return redirect(request, `/console/integrations/${id}`, 'saved');
}

async function rotate(request: HolderRequest): Promise<FastifyReply> {
  const { t } = request;
  const id = idOf(paramOf(request, 'id'));
  const kind: SecretKind = fieldOf(request, 'kind') === 'callback' ? 'callback' : 'api';
  const overlap = OVERLAPS.find((seconds) => seconds === fieldOf(request, `overlap_${kind}`)) ?? '86400';
  const { secret, previousExpiresAt } = await rotateSecret(
    request.ctx,
    request.actor,
    request.holder.id,
    id,
    kind,
    Number(overlap),
  );
  const name = kind === 'api' ? 'secret_key' : t.integrations.callbackSecret;
  return renderPage(request, {
    title: t.integrations.rotated,
    lead: t.integrations.once,
    active: 'integrations',
    body: html`<p class="box warning">${t.integrations.onceWarning}</p><div class="card"><p class="muted">${name}</p>${copyLine(request, 'new-secret', secret, name)}<p>${t.integrations.previousUntil} ${timeTag(previousExpiresAt)}</p></div><p><a class="button" href="/console/integrations/${id}">${t.integrations.stored}</a></p>`,
  });
}

async function revoke(request: HolderRequest): Promise<FastifyReply> {
  const id = idOf(paramOf(request, 'id'));
  await updateIntegration(request.ctx, request.actor, request.holder.id, id, { status: 'revoked' });
  return redirect(request, `/console/integrations/${id}`, 'revoked');
}
