// Callbacks: what was sent to the holder's servers, which of them fail, and sending again.

import type { FastifyReply } from 'fastify';
import { resumeAddress } from '../callbacks/endpoints.ts';
import { type Delivery, type DeliveryStatus, listDeliveries, replayFailed, resendEvent } from '../callbacks/resend.ts';
import { Problem, wrongField } from '../platform/errors.ts';
import { type Html, html } from '../platform/html.ts';
import { uuidFromPublicId } from '../platform/ids.ts';
import { chips, dataTable, emptyState, who } from '../ui/components.ts';
import { icon } from '../ui/icons.ts';
import { endpointsCard } from './callback-endpoints.ts';
import { pager, timeTag, transactionLink } from './components.ts';
import { fieldOf, type HolderRequest, paramOf, queryOf, readDay } from './console-request.ts';
import { exportButton } from './csv-export.ts';
import { DELIVERY_STATES, deliveryDetails, deliveryTag } from './delivery-details.ts';
import { form } from './form-components.ts';
import { redirect, renderPage } from './layout.ts';
import { BUILDERS, type ConsoleRoute, EVERYONE, forRoles } from './route.ts';
import { sampleShopButton } from './sample-shop-button.ts';

const PAGE_ROWS = 50;

export const callbackPageRoutes: ConsoleRoute[] = [
  forRoles(EVERYONE, 'GET', '/callbacks', listPage),
  forRoles(EVERYONE, 'GET', '/callbacks/:id', deliveryPage),
  forRoles(BUILDERS, 'POST', '/callbacks/:id/resend', resend),
  forRoles(BUILDERS, 'POST', '/callbacks/replay', replay, { formOn: '/callbacks' }),
  forRoles(BUILDERS, 'POST', '/callbacks/resume', resume),
];

async function listPage(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, holder, t, role } = request;
  const status = DELIVERY_STATES.find((each) => each === queryOf(request, 'status'));
  const after = queryOf(request, 'after', 40);
  const before = uuidFromPublicId('evt', after) ? after : undefined;
  const [deliveries, endpoints] = await Promise.all([
    listDeliveries(ctx.db, holder.id, { status, before, limit: PAGE_ROWS }),
    endpointsCard(request),
  ]);
  return renderPage(request, {
    title: t.menu.callbacks,
    lead: t.callbacks.lead,
    active: 'callbacks',
    actions: html`
      ${ctx.config.mode === 'sandbox' && receiverLink(request)}
      ${exportButton(request, '/console/callbacks.csv', status ? `status=${status}` : '')}
    `,
    body: html`
      ${endpoints}
      ${stateChips(request, status)}
      ${
        deliveries.length > 0
          ? table(request, deliveries)
          : status || before
            ? emptyState(t.transactions.noMatch, t.links.noneHereText, false, 'bell')
            : emptyState(t.callbacks.none, t.callbacks.noneText, sampleShopButton(request), 'bell')
      }
      ${pager(request, nextPage(deliveries, status))}
      ${BUILDERS.includes(role) && replayCard(request)}
    `,
  });
}

/** The sandbox has a receiver of its own, which shows what arrived. */
function receiverLink({ t }: HolderRequest): Html {
  return html`
    <a class="button button-secondary" href="/sandbox/callbacks" target="_blank" rel="noopener">
      ${icon('inbox')}${t.callbacks.receiver}
    </a>
  `;
}

function stateChips({ t }: HolderRequest, shown: DeliveryStatus | undefined): Html {
  const choice = (state: DeliveryStatus | undefined) => ({
    label: state ? t.callbacks.states[state] : t.all,
    href: state ? `/console/callbacks?status=${state}` : '/console/callbacks',
    current: state === shown,
  });
  return chips(t.state, [undefined, ...DELIVERY_STATES].map(choice));
}

function table(request: HolderRequest, deliveries: readonly Delivery[]): Html {
  const { t } = request;
  return dataTable(
    t.menu.callbacks,
    [
      { label: t.callbacks.event, phone: 'main' },
      { label: t.reference },
      { label: t.state, phone: 'status' },
      { label: t.callbacks.attemptCount, right: true },
      { label: t.time, right: true, phone: 'amount' },
    ],
    deliveries.map((each) => [
      who(each.type, html`<span class="wrap">${shortUrl(each.url) ?? t.callbacks.feedOnly}</span>`, {
        href: `/console/callbacks/${each.eventId}`,
      }),
      transactionLink(each.transactionRef),
      deliveryTag(request, each.status),
      each.attempts.length,
      timeTag(request, each.createdAt),
    ]),
  );
}

/** An address without its scheme, which every one of them has. */
function shortUrl(url: string | null): string | null {
  return url?.replace(/^https?:\/\//, '') ?? null;
}

function nextPage(deliveries: readonly Delivery[], status: DeliveryStatus | undefined): string | null {
  const last = deliveries.at(-1);
  if (deliveries.length < PAGE_ROWS || !last) return null;
  return `/console/callbacks?${new URLSearchParams({ ...(status ? { status } : {}), after: last.eventId }).toString()}`;
}

function replayCard(request: HolderRequest): Html {
  const { t } = request;
  return html`
    <section class="card">
      <h2>${t.callbacks.replay}</h2>
      <p class="muted">${t.callbacks.replayText}</p>
      ${form(request, {
        action: '/callbacks/replay',
        fields: [{ type: 'date', name: 'since', label: t.callbacks.replaySince, required: true }],
        submit: t.callbacks.replay,
        variant: 'secondary',
      })}
    </section>
  `;
}

async function deliveryPage(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, holder, t } = request;
  const [delivery] = await listDeliveries(ctx.db, holder.id, { eventId: paramOf(request, 'id'), limit: 1 });
  if (!delivery) throw new Problem('not_found');
  return renderPage(request, {
    title: delivery.type,
    active: 'callbacks',
    body: html`
      <div class="card">
        ${deliveryDetails(request, delivery, `/callbacks/${delivery.eventId}/resend`)}
        <p><a href="/console/transactions/${delivery.transactionRef}">${t.callbacks.viewTransaction}</a></p>
      </div>
    `,
  });
}

async function resend(request: HolderRequest): Promise<FastifyReply> {
  const event = paramOf(request, 'id');
  await resendEvent(request.ctx, request.holder.id, event, request.actor);
  request.services.deliverer.wake();
  return redirect(request, `/console/callbacks/${event}`, 'callbackResent');
}

async function replay(request: HolderRequest): Promise<FastifyReply> {
  const since = readDay(fieldOf(request, 'since', 10));
  if (!since) throw wrongField('since', request.t.callbacks.replayDayMissing);
  await replayFailed(request.ctx, request.holder.id, since, request.actor);
  return redirect(request, '/console/callbacks', 'callbacksResent');
}

async function resume(request: HolderRequest): Promise<FastifyReply> {
  const url = fieldOf(request, 'url', 2_048);
  await resumeAddress(request.ctx, request.actor, request.holder.id, url);
  return redirect(request, '/console/callbacks', 'saved');
}
