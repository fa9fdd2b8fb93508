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
import { isHttpUrl } from '../platform/http-url.ts';
import {
  codeBlock,
  copyLine,
  dangerForm,
  dataTable,
  emptyState,
  errorBox,
  facts,
  inputField,
  postForm,
  selectField,
  tag,
  textField,
  timeTag,
} from './components.ts';
import { fieldOf, type HolderRequest, idOf, paramOf } from './console-request.ts';
import { redirect, renderPage } from './layout.ts';
import { BUILDERS, type ConsoleRoute, EVERYONE, forRoles } from './route.ts';
import { sampleParams, writeSamples } from './samples.ts';

const OVERLAPS = ['0', '3600', '86400', '604800'] as const;
const MAX_TITLE = 120;

export const integrationRoutes: ConsoleRoute[] = [
  forRoles(EVERYONE, 'GET', '/integrations', listPage),
  forRoles(BUILDERS, 'GET', '/integrations/new', (visit) => newPage(visit), { confirm: true }),
  forRoles(BUILDERS, 'POST', '/integrations', create, { confirm: true }),
  forRoles(EVERYONE, 'GET', '/integrations/:id', (visit) => integrationPage(visit)),
  forRoles(BUILDERS, 'POST', '/integrations/:id', change, { confirm: true }),
  forRoles(BUILDERS, 'POST', '/integrations/:id/rotate', rotate, { confirm: true }),
  forRoles(BUILDERS, 'POST', '/integrations/:id/revoke', revoke, { confirm: true }),
];

async function listPage(visit: HolderRequest): Promise<FastifyReply> {
  const { words, role } = visit;
  const integrations = await listIntegrations(visit.ctx.db, visit.holder.id);
  const create =
    BUILDERS.includes(role) && html`<a class="btn" href="/console/integrations/new">${words.integrations.create}</a>`;
  return renderPage(visit, {
    title: words.menu.integrations,
    lead: words.integrations.lead,
    active: 'integrations',
    ...(create ? { actions: create } : {}),
    body:
      integrations.length === 0
        ? emptyState(words.integrations.none, words.integrations.noneText, create)
        : dataTable(
            words.menu.integrations,
            [
              { label: words.integrations.title },
              { label: 'client_id' },
              { label: words.state },
              { label: words.integrations.lastUsed },
              { label: words.created },
            ],
            integrations.map((each) => [
              html`<a href="/console/integrations/${each.id}"><bdi>${each.title}</bdi></a>`,
              html`<code>${each.clientId}</code>`,
              stateTag(visit, each),
              each.lastUsedAt ? timeTag(each.lastUsedAt) : words.never,
              timeTag(each.createdAt),
            ]),
          ),
  });
}

function stateTag({ words }: HolderRequest, integration: Integration): Html {
  return integration.status === 'active' ? tag('s', words.active) : tag('e', words.integrations.revoked);
}

function newPage(visit: HolderRequest, errors?: FieldErrors): Promise<FastifyReply> {
  const { words } = visit;
  return renderPage(visit, {
    title: words.integrations.create,
    lead: words.integrations.createLead,
    active: 'integrations',
    ...(errors ? { status: 400 } : {}),
    body: html`<div class="card">${errorBox(visit, errors)}${postForm(
      visit,
      '/integrations',
      html`${inputField({ name: 'title', label: words.integrations.title, hint: words.integrations.titleHint, value: fieldOf(visit, 'title'), required: true, errors, more: html`maxlength="120"` })}${callbackField(visit, fieldOf(visit, 'callback_url', 2_048), errors)}<button>${words.integrations.create}</button>`,
    )}</div>`,
  });
}

function callbackField({ words }: HolderRequest, value: string, errors?: FieldErrors): Html {
  return inputField({
    name: 'callback_url',
    label: words.integrations.callbackUrl,
    hint: words.integrations.callbackHint,
    type: 'url',
    value,
    errors,
    more: html`maxlength="2048"`,
  });
}

async function create(visit: HolderRequest): Promise<FastifyReply> {
  const { ctx, words } = visit;
  const title = fieldOf(visit, 'title', 500);
  const callbackUrl = fieldOf(visit, 'callback_url', 2_048);
  const errors: FieldErrors = {};
  if (title === '' || Array.from(title).length > MAX_TITLE) errors.title = [words.integrations.titleWrong];
  const refused = callbackUrl === '' ? null : refuseUrl(visit, callbackUrl);
  if (refused !== null) errors.callback_url = [refused];
  if (Object.keys(errors).length > 0) return newPage(visit, errors);
  const made = await createIntegration(
    ctx,
    visit.actor,
    visit.holder.id,
    title,
    callbackUrl ? { defaultCallbackUrl: callbackUrl } : {},
  );
  return createdPage(visit, made);
}

function refuseUrl({ ctx, words }: HolderRequest, url: string): string | null {
  return isHttpUrl(url) ? ctx.checkCallbackUrl(url) : words.urlWrong;
}

/** The one time that the secrets are on a page. */
function createdPage(visit: HolderRequest, made: CreatedIntegration): Promise<FastifyReply> {
  const { words } = visit;
  const samples = writeSamples(
    { baseUrl: publicUrl(visit.ctx.config), clientId: made.clientId, sender: made.title, secretKey: made.secretKey },
    sampleParams(visit.ctx.catalog),
  );
  return renderPage(visit, {
    title: words.integrations.made(made.title),
    lead: words.integrations.once,
    active: 'integrations',
    body: html`<p class="box warn">${words.integrations.onceWarning}</p><div class="card"><h2>${words.integrations.keys}</h2><p class="m">client_id</p>${copyLine(visit, 'client-id', made.clientId, 'client_id')}<p class="m">sender</p>${copyLine(visit, 'sender', made.title, 'sender')}<p class="m">secret_key</p>${copyLine(visit, 'secret-key', made.secretKey, 'secret_key')}<p class="m">${words.integrations.callbackSecret}</p>${copyLine(visit, 'callback-secret', made.callbackSecret, words.integrations.callbackSecret)}</div>
<div class="card"><h2>${words.integrations.firstRequest}</h2><p class="m">${words.integrations.firstRequestText}</p><h3>curl</h3>${codeBlock(visit, 'sample-curl', samples.curl, 'curl')}<h3>TypeScript</h3>${codeBlock(visit, 'sample-typescript', samples.typescript, 'TypeScript')}<h3>Python</h3>${codeBlock(visit, 'sample-python', samples.python, 'Python')}</div><p><a class="btn" href="/console/integrations/${made.id}">${words.integrations.stored}</a></p>`,
  });
}

async function integrationPage(visit: HolderRequest, errors?: FieldErrors): Promise<FastifyReply> {
  const { words, role } = visit;
  const integration = await requireIntegration(visit.ctx.db, visit.holder.id, idOf(paramOf(visit, 'id')));
  const path = `/integrations/${integration.id}`;
  const may = BUILDERS.includes(role) && integration.status === 'active';
  return renderPage(visit, {
    title: integration.title,
    active: 'integrations',
    ...(errors ? { status: 400 } : {}),
    body: html`<div class="card">${facts([
      [words.state, stateTag(visit, integration)],
      ['client_id', html`<code>${integration.clientId}</code>`],
      ['sender', html`<bdi>${integration.title}</bdi>`],
      [words.integrations.lastUsed, integration.lastUsedAt ? timeTag(integration.lastUsedAt) : words.never],
      [words.created, timeTag(integration.createdAt)],
      [words.integrations.callbackUrl, integration.defaultCallbackUrl ?? '–'],
      [words.integrations.allowed, integration.allowedAddresses.join(', ') || words.integrations.anyAddress],
    ])}<p><a href="/console/requests?integration=${integration.id}">${words.menu.requests}</a></p></div>
${
  may &&
  html`<div class="two"><section class="card"><h2>${words.settings}</h2>${errorBox(visit, errors)}${postForm(
    visit,
    path,
    html`${callbackField(visit, errors ? fieldOf(visit, 'callback_url', 2_048) : (integration.defaultCallbackUrl ?? ''), errors)}${textField({ name: 'allowed_addresses', label: words.integrations.allowed, hint: words.integrations.allowedHint, value: errors ? fieldOf(visit, 'allowed_addresses', 4_000) : integration.allowedAddresses.join('\n'), rows: 3, errors })}<button>${words.save}</button>`,
  )}</section>
<section class="card"><h2>${words.integrations.secrets}</h2><p class="m">${words.integrations.rotateText}</p>${rotateForm(visit, path, 'api', words.integrations.rotateApi)}${rotateForm(visit, path, 'callback', words.integrations.rotateCallback)}${dangerForm(visit, `${path}/revoke`, words.integrations.revoke, words.integrations.revokeMeaning)}</section></div>`
}`,
  });
}

function rotateForm(visit: HolderRequest, path: string, kind: SecretKind, label: string): Html {
  const { words } = visit;
  const choices = OVERLAPS.map((seconds) => [seconds, words.integrations.overlaps[seconds]] as const);
  return html`<details><summary>${label}…</summary>${postForm(visit, `${path}/rotate`, html`<input type="hidden" name="kind" value="${kind}">${selectField({ name: `overlap_${kind}`, label: words.integrations.overlap, value: '86400', choices })}<button>${label}</button>`)}</details>`;
}

async function change(visit: HolderRequest): Promise<FastifyReply> {
  const id = idOf(paramOf(visit, 'id'));
  const callbackUrl = fieldOf(visit, 'callback_url', 2_048);
  const refused = callbackUrl === '' ? null : refuseUrl(visit, callbackUrl);
  if (refused !== null) return integrationPage(visit, { callback_url: [refused] });
  const allowedAddresses = fieldOf(visit, 'allowed_addresses', 4_000)
    .split(/[\s,]+/)
    .filter(Boolean);
  try {
    await updateIntegration(visit.ctx, visit.actor, visit.holder.id, id, {
      allowedAddresses,
      defaultCallbackUrl: callbackUrl || null,
    });
  } catch (error) {
    if (error instanceof Problem && error.details.errors) return integrationPage(visit, error.details.errors);
    throw error;
  }
  return redirect(visit, `/console/integrations/${id}`, 'saved');
}

async function rotate(visit: HolderRequest): Promise<FastifyReply> {
  const { words } = visit;
  const id = idOf(paramOf(visit, 'id'));
  const kind: SecretKind = fieldOf(visit, 'kind') === 'callback' ? 'callback' : 'api';
  const overlap = OVERLAPS.find((seconds) => seconds === fieldOf(visit, `overlap_${kind}`)) ?? '86400';
  const { secret, previousExpiresAt } = await rotateSecret(
    visit.ctx,
    visit.actor,
    visit.holder.id,
    id,
    kind,
    Number(overlap),
  );
  const name = kind === 'api' ? 'secret_key' : words.integrations.callbackSecret;
  return renderPage(visit, {
    title: words.integrations.rotated,
    lead: words.integrations.once,
    active: 'integrations',
    body: html`<p class="box warn">${words.integrations.onceWarning}</p><div class="card"><p class="m">${name}</p>${copyLine(visit, 'new-secret', secret, name)}<p>${words.integrations.previousUntil} ${timeTag(previousExpiresAt)}</p></div><p><a class="btn" href="/console/integrations/${id}">${words.integrations.stored}</a></p>`,
  });
}

async function revoke(visit: HolderRequest): Promise<FastifyReply> {
  const id = idOf(paramOf(visit, 'id'));
  await updateIntegration(visit.ctx, visit.actor, visit.holder.id, id, { status: 'revoked' });
  return redirect(visit, `/console/integrations/${id}`, 'revoked');
}
