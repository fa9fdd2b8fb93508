// The addresses that callbacks go to, those with a problem first: how many arrive, since when one fails, and resuming it.

import {
  type EndpointSummary,
  type FailingReceiver,
  listFailingReceivers,
  listPausedAddresses,
  type PausedAddress,
  SUMMARISED_EVENTS,
  summariseEndpoints,
} from '../callbacks/endpoints.ts';
import { type Html, html } from '../platform/html.ts';
import { shareBar, status } from '../ui/components.ts';
import { timeTag } from './components.ts';
import type { HolderRequest } from './console-request.ts';
import { postButton } from './form-components.ts';
import { BUILDERS } from './route.ts';

type Endpoint = EndpointSummary & { failing: FailingReceiver | undefined; paused: PausedAddress | undefined };

export async function endpointsCard(request: HolderRequest): Promise<Html | false> {
  const { ctx, holder, t } = request;
  const [summaries, failing, paused] = await Promise.all([
    summariseEndpoints(ctx.db, holder.id),
    listFailingReceivers(ctx.db, holder.id),
    listPausedAddresses(ctx.db, holder.id),
  ]);
  const endpoints = joined(summaries, failing, paused);
  if (endpoints.length === 0) return false;
  return html`
    <section class="card" aria-labelledby="endpoints-title">
      <div class="card-head">
        <h2 id="endpoints-title">${t.callbacks.endpoints}</h2>
        <span class="muted">${t.callbacks.newest(SUMMARISED_EVENTS)}</span>
      </div>
      <ul class="plain">${endpoints.map((each) => endpointItem(request, each))}</ul>
    </section>
  `;
}

/** An address may be paused or fail although none of its events is among the newest. */
function joined(
  summaries: readonly EndpointSummary[],
  failing: readonly FailingReceiver[],
  paused: readonly PausedAddress[],
): Endpoint[] {
  const none = { events: 0, delivered: 0, waiting: 0, givenUp: 0 };
  const known = (url: string) => summaries.some((each) => each.url === url);
  const missing = [
    ...paused.map(({ url, pausedAt }) => ({ ...none, url, lastEventAt: pausedAt })),
    ...failing
      .filter(({ origin }) => !summaries.some(({ url }) => originOf(url) === origin))
      .map(({ origin, failingSince, waiting }) => ({ ...none, url: origin, waiting, lastEventAt: failingSince })),
  ].filter(({ url }) => !known(url));
  const endpoints = [...summaries, ...missing].map((each) => ({
    ...each,
    failing: failing.find(({ origin }) => origin === originOf(each.url)),
    paused: paused.find(({ url }) => url === each.url),
  }));
  return endpoints.sort((left, right) => rank(right) - rank(left));
}

/** Paused before failing before what lost some. */
function rank({ paused, failing, waiting, givenUp }: Endpoint): number {
  if (paused) return 3;
  if (failing) return 2;
  return waiting + givenUp > 0 ? 1 : 0;
}

function originOf(url: string): string {
  return URL.parse(url)?.origin ?? url;
}

function endpointItem(request: HolderRequest, endpoint: Endpoint): Html {
  const { t } = request;
  const { url, events, delivered, waiting, givenUp } = endpoint;
  const tone = endpoint.paused || endpoint.failing ? 'error' : waiting + givenUp > 0 ? 'warning' : 'success';
  return html`
    <li>
      <div class="card-head">
        <b class="wrap">${url.replace(/^https?:\/\//, '')}</b>
        ${stateOf(request, endpoint)}
      </div>
      ${events > 0 && shareBar(delivered / events, tone)}
      <p class="muted">
        ${events > 0 && t.callbacks.deliveredOf(delivered, events)}
        ${waiting > 0 && html` · <a href="/console/callbacks?status=retrying">${t.home.callbacksWaiting(waiting)}</a>`}
        ${givenUp > 0 && html` · <a href="/console/callbacks?status=given_up">${t.callbacks.givenUpCount(givenUp)}</a>`}
      </p>
      ${problemOf(request, endpoint)}
    </li>
  `;
}

function stateOf({ t }: HolderRequest, { paused, failing }: Endpoint): Html {
  if (paused) return status('error', t.callbacks.states.paused);
  return failing ? status('error', t.callbacks.failing) : status('success', t.callbacks.working);
}

function problemOf(request: HolderRequest, { url, paused, failing }: Endpoint): Html | false {
  const { t, role } = request;
  if (paused)
    return html`
      <p>${t.callbacks.pausedSince} ${timeTag(request, paused.pausedAt)}</p>
      ${
        BUILDERS.includes(role) &&
        postButton(request, '/callbacks/resume', t.callbacks.resume, { variant: 'secondary', hidden: { url } })
      }
    `;
  if (!failing) return false;
  return html`
    <p>
      ${t.callbacks.failingSince} ${timeTag(request, failing.failingSince)}:
      ${' '}
      <code class="wrap">${failing.lastError}</code>
    </p>
  `;
}
