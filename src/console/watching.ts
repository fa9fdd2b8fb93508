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
import {
  dataTable,
  emptyState,
  inputField,
  pager,
  postButton,
  postForm,
  selectField,
  tag,
  timeTag,
} from './components.ts';
import { fieldOf, type HolderRequest, idOf, money, paramOf, queryOf } from './console-request.ts';
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

async function callbacksPage(visit: HolderRequest): Promise<FastifyReply> {
  const { ctx, holder, words, role } = visit;
  const status = DELIVERY_STATES.find((each) => each === queryOf(visit, 'status'));
  const after = queryOf(visit, 'after', 40);
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
  return renderPage(visit, {
    title: words.menu.callbacks,
    lead: words.callbacks.lead,
    active: 'callbacks',
    body: html`${failing.map((each) => html`<p class="box bad">${words.home.receiverFails(each.origin, each.waiting)} ${words.since} ${timeTag(each.failingSince)}. <code>${each.lastError}</code></p>`)}${paused.map((each) => html`<div class="box warn"><p>${words.callbacks.paused(each.url)} ${timeTag(each.pausedAt)}</p>${BUILDERS.includes(role) && postButton(visit, '/callbacks/resume', words.callbacks.resume, { look: 'q', fields: { url: each.url } })}</div>`)}${failing.length + paused.length === 0 && html`<p class="box good">${words.callbacks.healthy}</p>`}
<form action="/console/callbacks" class="card"><div class="row">${selectField({ name: 'status', label: words.state, value: status ?? '', choices: [['', words.any], ...DELIVERY_STATES.map((each) => [each, words.callbacks.states[each]] as const)] })}</div><button class="q">${words.show}</button></form>${
      deliveries.length === 0
        ? emptyState(words.callbacks.none, words.callbacks.noneText)
        : dataTable(
            words.menu.callbacks,
            [
              { label: words.callbacks.event },
              { label: words.state },
              { label: words.callbacks.to },
              { label: words.callbacks.tries, right: true },
              { label: words.reference },
              { label: words.created },
            ],
            deliveries.map((each) => [
              html`<a href="/console/callbacks/${each.eventId}">${each.type}</a>`,
              tag(DELIVERY_TONES[each.status], words.callbacks.states[each.status]),
              each.url ?? words.callbacks.feedOnly,
              each.attempts.length,
              html`<a href="/console/transactions/${each.transactionRef}"><code>…${each.transactionRef.slice(-8)}</code></a>`,
              timeTag(each.createdAt),
            ]),
          )
    }${pager(visit, next)}${BUILDERS.includes(role) && html`<section class="card"><h2>${words.callbacks.replay}</h2><p class="m">${words.callbacks.replayText}</p>${postForm(visit, '/callbacks/replay', html`${inputField({ name: 'since', label: words.callbacks.replaySince, type: 'date', required: true })}<button class="q">${words.callbacks.replay}</button>`)}</section>`}`,
  });
}

async function deliveryPage(visit: HolderRequest): Promise<FastifyReply> {
  const { words } = visit;
  const [delivery] = await listDeliveries(visit.ctx.db, visit.holder.id, { eventId: paramOf(visit, 'id'), limit: 1 });
  if (!delivery) throw new Problem('not_found');
  return renderPage(visit, {
    title: delivery.type,
    active: 'callbacks',
    body: html`<div class="card">${deliveryBody(visit, delivery, `/callbacks/${delivery.eventId}/resend`)}<p><a href="/console/transactions/${delivery.transactionRef}">${words.callbacks.toFile}</a></p></div>`,
  });
}

async function noteAudit(visit: HolderRequest, action: string, subject: string, details: Record<string, unknown> = {}) {
  const { ctx, holder, actor } = visit;
  await ctx.db.transaction((tx) =>
    recordAudit(tx, { holderId: holder.id, actor, action, subject, details }, ctx.clock.now()),
  );
}

async function resend(visit: HolderRequest): Promise<FastifyReply> {
  const event = paramOf(visit, 'id');
  await resendEvent(visit.ctx, visit.holder.id, event);
  await noteAudit(visit, 'callback.resent', event);
  await visit.parts.deliverer.pass();
  return redirect(visit, `/console/callbacks/${event}`, 'resent');
}

async function replay(visit: HolderRequest): Promise<FastifyReply> {
  const since = readDay(fieldOf(visit, 'since', 10));
  if (!since) throw new Problem('invalid_params', { message: visit.words.callbacks.replaySince });
  const count = await replayFailed(visit.ctx, visit.holder.id, since);
  await noteAudit(visit, 'callback.replayed', since.toISOString(), { count });
  return redirect(visit, '/console/callbacks', 'replayed');
}

async function resume(visit: HolderRequest): Promise<FastifyReply> {
  const url = fieldOf(visit, 'url', 2_048);
  await resumeAddress(visit.ctx, visit.holder.id, url);
  await noteAudit(visit, 'callback.resumed', url);
  return redirect(visit, '/console/callbacks', 'saved');
}

async function requestsPage(visit: HolderRequest): Promise<FastifyReply> {
  const { ctx, holder, words } = visit;
  const integrations = await listIntegrations(ctx.db, holder.id);
  const integration = integrations.find((each) => String(each.id) === queryOf(visit, 'integration'));
  const family = ['2', '4', '5'].find((each) => each === queryOf(visit, 'status'));
  const code = queryOf(visit, 'code', 60);
  const id = queryOf(visit, 'id', 40);
  const before = new Date(Number(queryOf(visit, 'before', 16)) || Number.NaN);
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
  return renderPage(visit, {
    title: words.menu.requests,
    lead: words.requests.lead,
    active: 'requests',
    body: html`${ctx.config.requestLog === 'off' && html`<p class="box warn">${words.requests.off}</p>`}<form action="/console/requests" class="card"><div class="row">${selectField({ name: 'integration', label: words.menu.integrations, value: queryOf(visit, 'integration'), choices: [['', words.any], ...integrations.map((each) => [String(each.id), each.title] as const)] })}${selectField(
      {
        name: 'status',
        label: words.requests.verdict,
        value: family ?? '',
        choices: [
          ['', words.any],
          ['2', words.requests.ok],
          ['4', words.requests.refused],
          ['5', words.requests.ours],
        ],
      },
    )}${inputField({ name: 'code', label: words.requests.code, value: code })}${inputField({ name: 'id', label: 'request_id', value: id })}</div><button class="q">${words.show}</button></form>${
      rows.length === 0
        ? emptyState(words.requests.none, words.requests.noneText)
        : dataTable(
            words.menu.requests,
            [
              { label: words.when },
              { label: words.requests.request },
              { label: words.requests.verdict },
              { label: words.requests.took, right: true },
              { label: words.reference },
              { label: words.address },
              { label: 'request_id' },
            ],
            rows.map((row) => [
              timeTag(row.at),
              html`<code>${row.route}</code><span class="m"><bdi>${integrations.find((each) => each.id === row.integration_id)?.title ?? ''}</bdi></span>`,
              html`${tag(row.status < 400 ? 's' : 'e', String(row.status))}${row.code && html` <a href="/docs/errors/${row.code}">${row.code}</a>`}`,
              `${row.ms.toFixed(1)} ms`,
              row.transaction_id &&
                html`<a href="/console/transactions/${refOf({ id: row.transaction_id })}"><code>…${refOf({ id: row.transaction_id }).slice(-8)}</code></a>`,
              row.address,
              html`<code>…${publicId('req', row.id).slice(-8)}</code>`,
            ]),
          )
    }${pager(visit, next)}`,
  });
}

async function casesPage(visit: HolderRequest): Promise<FastifyReply> {
  const { words } = visit;
  const cases = await listOpenCases(visit.ctx.db, visit.holder.id, 200);
  const item = (each: (typeof cases)[number]): Html =>
    html`<div class="card">${caseBody(visit, each)}<p class="m">${timeTag(each.opened_at)}${each.transaction_id && html` · <a href="/console/transactions/${refOf({ id: each.transaction_id })}">${words.callbacks.toFile}</a>`}</p></div>`;
  return renderPage(visit, {
    title: words.menu.cases,
    lead: words.cases.lead,
    active: 'cases',
    body: cases.length === 0 ? emptyState(words.cases.none, words.cases.noneText) : html`${cases.map(item)}`,
  });
}

async function auditPage(visit: HolderRequest): Promise<FastifyReply> {
  const { words } = visit;
  const after = queryOf(visit, 'after', 20);
  const rows = await listAudit(visit.ctx.db, visit.holder.id, PAGE_ROWS, after === '' ? undefined : idOf(after));
  const last = rows.at(-1);
  return renderPage(visit, {
    title: words.menu.audit,
    lead: words.auditLead,
    active: 'audit',
    body: html`${dataTable(
      words.menu.audit,
      [
        { label: words.when },
        { label: words.who },
        { label: words.file.what },
        { label: words.subject },
        { label: words.details },
      ],
      rows.map((row) => [
        timeTag(row.at),
        html`<bdi>${row.actor}</bdi>`,
        html`<code>${row.action}</code>`,
        auditSubject(row.subject),
        auditDetails(visit, row.details),
      ]),
    )}${pager(visit, rows.length === PAGE_ROWS && last ? `/console/audit?after=${last.id}` : null)}`,
  });
}

function auditSubject(subject: string): Html | string {
  if (/^TX_\w{26}$/.test(subject))
    return html`<a href="/console/transactions/${subject}"><code>…${subject.slice(-8)}</code></a>`;
  return subject === '' ? '' : html`<bdi>${subject}</bdi>`;
}

/** What else was noted, in words; amounts are noted in hundredths. */
function auditDetails(visit: HolderRequest, details: Record<string, unknown>): Html | string {
  const { amount, currency, ...rest } = details;
  const said = Object.entries(rest).map(
    ([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  if (typeof amount === 'string' && typeof currency === 'string' && /^\d{1,18}$/.test(amount))
    said.unshift(money(visit, BigInt(amount), currency));
  return said.length === 0 ? '' : html`<bdi class="wrap">${said.join(' · ')}</bdi>`;
}
