// Integrations: the list, and creating one. Its secrets are shown once, with requests that are ready to run.

import type { FastifyReply } from 'fastify';
import {
  type CreatedIntegration,
  createIntegration,
  type Integration,
  listIntegrations,
} from '../holders/integrations.ts';
import { publicUrl } from '../platform/config.ts';
import type { FieldErrors } from '../platform/errors.ts';
import { type Html, html } from '../platform/html.ts';
import { MAX_URL_CHARACTERS } from '../platform/http-url.ts';
import { dataTable, emptyState, who } from '../ui/components.ts';
import { CODE_TABS_STYLE, codeTabs } from './code-tabs.ts';
import { codeBlock, timeTag } from './components.ts';
import { fieldOf, type HolderRequest } from './console-request.ts';
import { errorBox, form } from './form-components.ts';
import {
  callbackField,
  checkUrl,
  integrationPath,
  integrationTag,
  labelledLine,
  storedButton,
} from './integration-components.ts';
import { renderPage } from './layout.ts';
import { BUILDERS, type ConsoleRoute, EVERYONE, forRoles } from './route.ts';
import { clientSample, environmentFile, sampleParams, writeSamples } from './samples.ts';

const MAX_TITLE = 120;

export const integrationRoutes: ConsoleRoute[] = [
  forRoles(EVERYONE, 'GET', '/integrations', listPage),
  forRoles(BUILDERS, 'GET', '/integrations/new', (request) => newPage(request), { confirm: true }),
  forRoles(BUILDERS, 'POST', '/integrations', create, { confirm: true }),
];

async function listPage(request: HolderRequest): Promise<FastifyReply> {
  const { t, role } = request;
  const integrations = await listIntegrations(request.ctx.db, request.holder.id);
  const createLink =
    BUILDERS.includes(role) && html`<a class="button" href="/console/integrations/new">${t.integrations.create}</a>`;
  return renderPage(request, {
    title: t.menu.integrations,
    lead: t.integrations.lead,
    active: 'integrations',
    ...(createLink ? { actions: createLink } : {}),
    body:
      integrations.length === 0
        ? emptyState(t.integrations.none, t.integrations.noneText, createLink)
        : integrationTable(request, integrations),
  });
}

function integrationTable(request: HolderRequest, integrations: readonly Integration[]): Html {
  const { t } = request;
  return dataTable(
    t.menu.integrations,
    [
      { label: t.integrations.title, phone: 'main' },
      { label: t.state, phone: 'status' },
      { label: t.integrations.lastUsed, right: true, phone: 'amount' },
      { label: t.created, right: true },
    ],
    integrations.map((integration) => [
      who(html`<bdi>${integration.title}</bdi>`, html`<code>${integration.clientId}</code>`, {
        href: `/console${integrationPath(integration)}`,
      }),
      integrationTag(request, integration),
      integration.lastUsedAt ? timeTag(request, integration.lastUsedAt) : t.never,
      timeTag(request, integration.createdAt),
    ]),
  );
}

function newPage(request: HolderRequest, errors?: FieldErrors): Promise<FastifyReply> {
  const { t } = request;
  return renderPage(request, {
    title: t.integrations.create,
    lead: t.integrations.createLead,
    active: 'integrations',
    ...(errors ? { status: 400 } : {}),
    body: html`
      <div class="card">
        ${errorBox(request, errors)}
        ${form(request, {
          action: '/integrations',
          errors,
          fields: [
            {
              name: 'title',
              label: t.integrations.title,
              hint: t.integrations.titleHint,
              value: fieldOf(request, 'title'),
              required: true,
              attributes: html`maxlength="${MAX_TITLE}"`,
            },
            callbackField(request, fieldOf(request, 'callback_url', MAX_URL_CHARACTERS + 1)),
          ],
          submit: t.integrations.create,
        })}
      </div>
    `,
  });
}

async function create(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, t } = request;
  const title = fieldOf(request, 'title', 500);
  const callbackUrl = fieldOf(request, 'callback_url', MAX_URL_CHARACTERS + 1);
  const errors: FieldErrors = {};
  if (title === '' || Array.from(title).length > MAX_TITLE) errors.title = [t.integrations.titleInvalid];
  const urlError = checkUrl(request, callbackUrl);
  if (urlError !== null) errors.callback_url = [urlError];
  if (Object.keys(errors).length > 0) return newPage(request, errors);
  const created = await createIntegration(
    ctx,
    request.actor,
    request.holder.id,
    title,
    callbackUrl ? { defaultCallbackUrl: callbackUrl } : {},
  );
  return createdPage(request, created);
}

/** The only page that shows the secrets. */
function createdPage(request: HolderRequest, created: CreatedIntegration): Promise<FastifyReply> {
  const { t, ctx } = request;
  const { clientId, title, secretKey, callbackSecret } = created;
  const facts = { baseUrl: publicUrl(ctx.config), clientId, sender: title, secretKey };
  const params = sampleParams(ctx.catalog);
  const samples = writeSamples(facts, params);
  return renderPage(request, {
    title: t.integrations.created(title),
    lead: t.integrations.secretsOnce,
    active: 'integrations',
    styles: [CODE_TABS_STYLE],
    body: html`
      <p class="box warning">${t.integrations.secretsWarning}</p>
      <div class="columns">
        <section class="card">
          <h2>${t.integrations.keys}</h2>
          ${labelledLine(request, 'client-id', clientId, 'client_id')}
          ${labelledLine(request, 'sender', title, 'sender')}
          ${labelledLine(request, 'secret-key', secretKey, 'secret_key')}
          ${labelledLine(request, 'callback-secret', callbackSecret, t.integrations.callbackSecret)}
        </section>
        <section class="card">
          <h2>.env</h2>
          <p class="muted">${t.integrations.environmentText}</p>
          ${codeBlock(request, 'env-file', environmentFile(facts, callbackSecret), '.env')}
        </section>
      </div>
      <div class="card">
        <h2>${t.integrations.firstRequest}</h2>
        <p class="muted">${t.integrations.firstRequestText}</p>
        ${codeTabs(request, 'sample', t.integrations.firstRequest, [
          { id: 'sdk', label: 'Simbi SDK', code: clientSample(facts, params) },
          { id: 'curl', label: 'curl', code: samples.curl },
          { id: 'php', label: 'PHP', code: samples.php },
          { id: 'python', label: 'Python', code: samples.python },
          { id: 'typescript', label: 'TypeScript', code: samples.typescript },
        ])}
        <p><a href="/docs/sdk">${t.integrations.sdkGuide}</a></p>
      </div>
      ${storedButton(request, created)}
    `,
  });
}
