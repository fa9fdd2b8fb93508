// What a holder watches: callbacks and their receivers, the log of requests, open cases, and what people did.

import type { FastifyReply } from 'fastify';
import { listFailingReceivers, listPausedAddresses, resumeAddress } from '../callbacks/endpoints.ts';
import { type DeliveryStatus, listDeliveries, replayFailed, resendEvent } from '../callbacks/resend.ts';
import { listAudit, recordAudit } from '../holders/audit.ts';
import { listIntegrations } from '../holders/integrations.ts';
import { listOpenCases } from '../payments/cases.ts';
import { refOf } from '../payments/transactions.ts';
import { Problem } from '../platform/errors.ts';
import { type Html, html } from '../platform/html.ts';
import { publicId, uuidFromPublicId } from '../platform/ids.ts';
import { dataTable, emptyState, pager, tag, timeTag } from './components.ts';
import { fieldOf, type HolderRequest, idOf, money, paramOf, queryOf } from './console-request.ts';
import { formField, postButton, postForm } from './form-components.ts';
import { redirect, renderPage } from './layout.ts';
import { KEPT_DAYS, listRequests } from './request-log.ts';
import { BUILDERS, type ConsoleRoute, EVERYONE, forRoles } from './route.ts';
import { caseBody, DELIVERY_TONES, deliveryBody } from './transaction-page.ts';
import { readDay } from './transactions.ts';

const PAGE_ROWS = 50;
const DAY_MS = 86_400_000;
const DELIVERY_STATES = Object.keys(DELIVERY_TONES) as DeliveryStatus[];

export const watchingRoutes: ConsoleRoute[] = [
  forRoles(EVERYONE, 'GET', '/callbacks', callbacksPage),
  forRoles(EVERYONE, 'GET', '/callbacks/:id', deliveryPage),
  forRoles(BUILDERS, 'POST', '/callbacks/:id/resend', resend),
  forRoles(BUILDERS, 'POST', '/callbacks/replay', replay),
  forRoles(BUILDERS, 'POST', '/callbacks/resume', resume),
  forRoles(EVERYONE, 'GET', '/requests', requestsPage),
  forRoles(EVERYONE, 'GET', '/cases', casesPage),
  forRoles(EVERYONE, 'GET', '/audit', auditPage),
];

async function callbacksPage(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, holder, t, role } = request;
  const status = DELIVERY_STATES.find((each) => each === queryOf(request, 'status'));
  const after = queryOf(request, 'after', 40);
  const before = uuidFromPublicId('evt', after) ? after : undefined;
  const [deliveries, failing, paused] = await Promise.all([
    listDeliveries(ctx.db, holder.id, { status, before, limit: PAGE_ROWS }),
    listFailingReceivers(ctx.db, holder.id),
    listPausedAddresses(ctx.db, holder.id),
  ]);
  const last = deliveries.at(-1);
  const next =
    deliveries.length === PAGE_ROWS && last
      ? `/console/callbacks?${new URLSearchParams({ ...(status ? { status } : {}), after: last.eventId }).toString()}`
      : null;
  return renderPage(request, {
    title: t.menu.callbacks,
    lead: t.callbacks.lead,
    active: 'callbacks',
    body: html`${failing.map((each) => html`<p class="box error">${t.home.receiverFails(each.origin, each.waiting)} ${t.since} ${timeTag(each.failingSince)}. <code>${each.lastError}</code></p>`)}${paused.map((each) => html`<div class="box warning"><p>${t.callbacks.paused(each.url)} ${timeTag(each.pausedAt)}</p>${BUILDERS.includes(role) && postButton(request, '/callbacks/resume', t.callbacks.resume, { variant: 'secondary', hidden: { url: each.url } })}</div>`)}${failing.length + paused.length === 0 && html`<p class="box success">${t.callbacks.healthy}</p>`}
<form action="/console/callbacks" class="card"><div class="field-row">${formField({ type: 'select', name: 'status', label: t.state, value: status ?? '', choices: [['', t.any], ...DELIVERY_STATES.map((each) => [each, t.callbacks.states[each]] as const)] })}</div><button class="button-secondary">${t.show}</button></form>${
      deliveries.length === 0
        ? emptyState(t.callbacks.none, t.callbacks.noneText)
        : dataTable(
            t.menu.callbacks,
            [
              { label: t.callbacks.event },
              { label: t.state },
              { label: t.callbacks.to },
              { label: t.callbacks.tries, right: true },
              { label: t.reference },
              { label: t.created },
            ],
            deliveries.map((each) => [
              html`<a href="/console/callbacks/${each.eventId}">${each.type}</a>`,
              tag(DELIVERY_TONES[each.status], t.callbacks.states[each.status]),
              each.url ?? t.callbacks.feedOnly,
              each.attempts.length,
              html`<a href="/console/transactions/${each.transactionRef}"><code>…${each.transactionRef.slice(-8)}</code></a>`,
              timeTag(each.createdAt),
            ]),
          )
    }${pager(request, next)}${BUILDERS.includes(role) && html`<section class="card"><h2>${t.callbacks.replay}</h2><p class="muted">${t.callbacks.replayText}</p>${postForm(request, '/callbacks/replay', html`${formField({ name: 'since', label: t.callbacks.replaySince, type: 'date', required: true })}<button class="button-secondary">${t.callbacks.replay}</button>`)}</section>`}`,
  });
}

async function deliveryPage(request: HolderRequest): Promise<FastifyReply> {
  const { t } = request;
  const [delivery] = await listDeliveries(request.ctx.db, request.holder.id, {
    eventId: paramOf(request, 'id'),
    limit: 1,
  });
  if (!delivery) throw new Problem('not_found');
  return renderPage(request, {
    title: delivery.type,
    active: 'callbacks',
    body: html`<div class="card">${deliveryBody(request, delivery, `/callbacks/${delivery.eventId}/resend`)}<p><a href="/console/transactions/${delivery.transactionRef}">${t.callbacks.toFile}</a></p></div>`,
  });
}

async function noteAudit(
  request: HolderRequest,
  action: string,
  subject: string,
  details: Record<string, unknown> = {},
) {
  const { ctx, holder, actor } = request;
  await ctx.db.transaction((tx) =>
    recordAudit(tx, { holderId: holder.id, actor, action, subject, details }, ctx.clock.now()),
  );
}

async function resend(request: HolderRequest): Promise<FastifyReply> {
  const event = paramOf(request, 'id');
  await resendEvent(request.ctx, request.holder.id, event);
  await noteAudit(request, 'callback.resent', event);
  await request.services.deliverer.pass();
  return redirect(request, `/console/callbacks/${event}`, 'resent');
}

async function replay(request: HolderRequest): Promise<FastifyReply> {
  const since = readDay(fieldOf(request, 'since', 10));
  if (!since) throw new Problem('invalid_params', { message: request.t.callbacks.replaySince });
  const count = await replayFailed(request.ctx, request.holder.id, since);
  await noteAudit(request, 'callback.replayed', since.toISOString(), { count });
  return redirect(request, '/console/callbacks', 'replayed');
}

async function resume(request: HolderRequest): Promise<FastifyReply> {
  const url = fieldOf(request, 'url', 2_048);
  await resumeAddress(request.ctx, request.holder.id, url);
  await noteAudit(request, 'callback.resumed', url);
  return redirect(request, '/console/callbacks', 'saved');
}

async function requestsPage(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, holder, t } = request;
  const integrations = await listIntegrations(ctx.db, holder.id);
  const integration = integrations.find((each) => String(each.id) === queryOf(request, 'integration'));
  const family = ['2', '4', '5'].find((each) => each === queryOf(request, 'status'));
  const code = queryOf(request, 'code', 60);
  const id = queryOf(request, 'id', 40);
  const before = new Date(Number(queryOf(request, 'before', 16)) || Number.NaN);
  const rows = await listRequests(
    ctx.db,
    holder.id,
    {
      since: new Date(ctx.clock.millis() - KEPT_DAYS * DAY_MS),
      before: Number.isNaN(before.getTime()) ? undefined : before,
      integrationId: integration?.id,
      family: family ? Number(family) : undefined,
      code: code || undefined,
      id: uuidFromPublicId('req', id) ?? undefined,
    },
    PAGE_ROWS,
  );
  const last = rows.at(-1);
  const query = new URLSearchParams(
    Object.entries({ integration: integration ? String(integration.id) : '', status: family ?? '', code }).filter(
      ([, value]) => value !== '',
    ),
  );
  const next =
    rows.length === PAGE_ROWS && last ? `/console/requests?${query.toString()}&before=${last.at.getTime()}` : null;
  return renderPage(request, {
    title: t.menu.requests,
    lead: t.requests.lead,
    active: 'requests',
    body: html`${ctx.config.requestLog === 'off' && html`<p class="box warning">${t.requests.off}</p>`}<form action="/console/requests" class="card"><div class="field-row">${formField({ type: 'select', name: 'integration', label: t.menu.integrations, value: queryOf(request, 'integration'), choices: [['', t.any], ...integrations.map((each) => [String(each.id), each.title] as const)] })}${formField(
      {
        type: 'select',
        name: 'status',
        label: t.requests.verdict,
        value: family ?? '',
        choices: [
          ['', t.any],
          ['2', t.requests.ok],
          ['4', t.requests.refused],
          ['5', t.requests.ours],
        ],
      },
    )}${formField({ name: 'code', label: t.requests.code, value: code })}${formField({ name: 'id', label: 'request_id', value: id })}</div><button class="button-secondary">${t.show}</button></form>${
      rows.length === 0
        ? emptyState(t.requests.none, t.requests.noneText)
        : dataTable(
            t.menu.requests,
            [
              { label: t.when },
              { label: t.requests.request },
              { label: t.requests.verdict },
              { label: t.requests.took, right: true },
              { label: t.reference },
              { label: t.address },
              { label: 'request_id' },
            ],
            rows.map((row) => [
              timeTag(row.at),
              html`<code>${row.route}</code><span class="muted"><bdi>${integrations.find((each) => each.id === row.integration_id)?.title ?? ''}</bdi></span>`,
              html`${tag(row.status < 400 ? 'success' : 'error', String(row.status))}${row.code && html` <a href="/docs/errors/${row.code}">${row.code}</a>`}`,
              `${row.ms.toFixed(1)} ms`,
              row.transaction_id &&
                html`<a href="/console/transactions/${refOf({ id: row.transaction_id })}"><code>…${refOf({ id: row.transaction_id }).slice(-8)}</code></a>`,
              row.address,
              html`<code>…${publicId('req', row.id).slice(-8)}</code>`,
            ]),
          )
    }${pager(request, next)}`,
  });
}

async function casesPage(request: HolderRequest): Promise<FastifyReply> {
  const { t } = request;
  const cases = await listOpenCases(request.ctx.db, request.holder.id, 200);
  const item = (each: (typeof cases)[number]): Html =>
    html`<div class="card">${caseBody(request, each)}<p class="muted">${timeTag(each.opened_at)}${each.transaction_id && html` · <a href="/console/transactions/${refOf({ id: each.transaction_id })}">${t.callbacks.toFile}</a>`}</p></div>`;
  return renderPage(request, {
    title: t.menu.cases,
    lead: t.cases.lead,
    active: 'cases',
    body: cases.length === 0 ? emptyState(t.cases.none, t.cases.noneText) : html`${cases.map(item)}`,
  });
}

async function auditPage(request: HolderRequest): Promise<FastifyReply> {
  const { t } = request;
  const after = queryOf(request, 'after', 20);
  const rows = await listAudit(request.ctx.db, request.holder.id, PAGE_ROWS, after === '' ? undefined : idOf(after));
  const last = rows.at(-1);
  return renderPage(request, {
    title: t.menu.audit,
    lead: t.auditLead,
    active: 'audit',
    body: html`${dataTable(
      t.menu.audit,
      [{ label: t.when }, { label: t.who }, { label: t.file.what }, { label: t.subject }, { label: t.details }],
      rows.map((row) => [
        timeTag(row.at),
        html`<bdi>${row.actor}</bdi>`,
        html`<code>${row.action}</code>`,
        auditSubject(row.subject),
        auditDetails(request, row.details),
      ]),
    )}${pager(request, rows.length === PAGE_ROWS && last ? `/console/audit?after=${last.id}` : null)}`,
  });
}

function auditSubject(subject: string): Html | string {
  if (/^TX_\w{26}$/.test(subject))
    return html`<a href="/console/transactions/${subject}"><code>…${subject.slice(-8)}</code></a>`;
  return subject === '' ? '' : html`<bdi>${subject}</bdi>`;
}

/** What else was noted, in words; amounts are noted in hundredths. */
function auditDetails(request: HolderRequest, details: Record<string, unknown>): Html | string {
  const { amount, currency, ...rest } = details;
  const said = Object.entries(rest).map(
    ([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  if (typeof amount === 'string' && typeof currency === 'string' && /^\d{1,18}$/.test(amount))
    said.unshift(money(request, BigInt(amount), currency));
  return said.length === 0 ? '' : html`<bdi class="wrap">${said.join(' · ')}</bdi>`;
}
