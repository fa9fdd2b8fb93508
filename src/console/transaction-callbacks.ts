// The callbacks of a transaction: each event with the last answer of its receiver, the button that sends it again, and its body
// behind a click.

import type { Delivery } from '../callbacks/resend.ts';
import { refOf, type Transaction } from '../payments/transactions.ts';
import { DAY_MS } from '../platform/clock.ts';
import { type Html, html } from '../platform/html.ts';
import { status, type Tone } from '../ui/components.ts';
import { timeTag } from './components.ts';
import type { HolderRequest } from './console-request.ts';
import { attemptDetails } from './delivery-details.ts';
import { postButton } from './form-components.ts';
import { BUILDERS } from './route.ts';
import type { TransactionDetails } from './transaction-details.ts';

const EVENTS_KEPT_MS = 90 * DAY_MS;

const TONES: Record<Delivery['status'], Tone> = {
  waiting: 'warning',
  retrying: 'warning',
  paused: 'error',
  delivered: 'success',
  given_up: 'error',
  feed_only: 'neutral',
};

export function callbackCards(request: HolderRequest, { transaction, deliveries }: TransactionDetails): Html | Html[] {
  const { t } = request;
  if (deliveries.length === 0)
    return html`
      <section class="card">
        <h2>${t.transaction.callback.title}</h2>
        <p class="muted">${areDeleted(request, transaction) ? t.callbacks.deletedByAge : t.callbacks.noneYet}</p>
      </section>
    `;
  return deliveries.map((delivery) => callbackCard(request, refOf(transaction), delivery));
}

/** A payment has an event when it ends, and the event is kept for ninety days from then. */
function areDeleted({ ctx }: HolderRequest, { status: state, updated_at }: Transaction): boolean {
  const isFinal = state !== 'pending' && state !== 'processing';
  return isFinal && ctx.clock.millis() - updated_at.getTime() > EVENTS_KEPT_MS;
}

function callbackCard(request: HolderRequest, ref: string, delivery: Delivery): Html {
  const { t, role } = request;
  const { url, nextAttemptAt, attempts } = delivery;
  return html`
    <section class="card">
      <div class="card-head">
        <h2>${t.transaction.callback.title}</h2>
        ${status(TONES[delivery.status], capital(t.callbacks.states[delivery.status]))}
      </div>
      <p class="callback-type">${delivery.type}</p>
      <p class="muted wrap">${callbackFacts(request, delivery)}</p>
      ${
        nextAttemptAt &&
        delivery.status === 'retrying' &&
        html`<p class="muted">${t.callbacks.next} ${timeTag(request, nextAttemptAt)}</p>`
      }
      <div class="callback-actions">
        ${
          url &&
          BUILDERS.includes(role) &&
          postButton(request, `/transactions/${ref}/resend`, t.callbacks.resend, {
            variant: 'secondary',
            hidden: { event: delivery.eventId },
          })
        }
        <details>
          <summary class="button button-secondary">${t.transaction.callback.viewBody}</summary>
          <pre tabindex="0" aria-label="${t.callbacks.body}">${delivery.body}</pre>
          ${attempts.map((attempt) => attemptDetails(request, attempt))}
        </details>
      </div>
    </section>
  `;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Where it went, the last answer, and how often it was tried. */
function callbackFacts({ t }: HolderRequest, { url, attempts }: Delivery): string {
  const last = attempts.at(-1);
  return [
    url === null ? t.callbacks.feedOnly : url.replace(/^https?:\/\//, ''),
    last && t.transaction.callback.answer(String(last.status ?? last.error ?? '–'), last.latencyMs),
    attempts.length > 0 && t.callbacks.attempts(attempts.length),
  ]
    .filter(Boolean)
    .join(' · ');
}
