// One callback delivery: where it goes, every attempt with its answer, and the button that sends it again.

import type { Delivery } from '../callbacks/resend.ts';
import { type Html, html } from '../platform/html.ts';
import { status as statusText, type Tone, tag } from '../ui/components.ts';
import { timeTag } from './components.ts';
import type { HolderRequest } from './console-request.ts';
import { postButton } from './form-components.ts';
import { BUILDERS } from './route.ts';

/** Enough for an error message; the whole answer could be that of somebody else's service. */
const SHOWN_ANSWER_BYTES = 256;

const DELIVERY_TONES: Record<Delivery['status'], Tone> = {
  waiting: 'neutral',
  retrying: 'warning',
  paused: 'error',
  delivered: 'success',
  given_up: 'error',
  feed_only: 'neutral',
};

export const DELIVERY_STATES = Object.keys(DELIVERY_TONES) as Delivery['status'][];

export function deliveryTag({ t }: HolderRequest, status: Delivery['status']): Html {
  return statusText(DELIVERY_TONES[status], t.callbacks.states[status]);
}

export function deliveryDetails(request: HolderRequest, delivery: Delivery, resendPath: string): Html {
  const { t, role } = request;
  const { url, nextAttemptAt, attempts } = delivery;
  return html`
    <p>
      <b>${delivery.type}</b>
      ${' '}
      ${deliveryTag(request, delivery.status)}
      ${' '}
      <span class="muted">${url ?? t.callbacks.feedOnly}</span>
    </p>
    ${
      nextAttemptAt &&
      delivery.status === 'retrying' &&
      html`<p class="muted">${t.callbacks.next} ${timeTag(request, nextAttemptAt)}</p>`
    }
    <details>
      <summary>${t.callbacks.attempts(attempts.length)}</summary>
      ${attempts.map((attempt) => attemptDetails(request, attempt))}
      <p class="muted">${t.callbacks.body}</p>
      <pre tabindex="0" aria-label="${t.callbacks.body}">${delivery.body}</pre>
    </details>
    ${
      url &&
      BUILDERS.includes(role) &&
      postButton(request, resendPath, t.callbacks.resend, {
        variant: 'secondary',
        hidden: { event: delivery.eventId },
      })
    }
  `;
}

export function attemptDetails(request: HolderRequest, attempt: Delivery['attempts'][number]): Html {
  const { t } = request;
  const { at, delivered, status, error, latencyMs, answerStart } = attempt;
  const result = delivered ? tag('success', String(status ?? '')) : tag('error', String(status ?? error ?? '–'));
  return html`
    <p>${timeTag(request, at)} · ${result} · ${latencyMs} ms</p>
    ${answerStart && html`<pre tabindex="0" aria-label="${t.callbacks.response}">${firstBytes(answerStart)}</pre>`}
  `;
}

/** The beginning of an answer, without a character that is cut in the middle. */
function firstBytes(text: string): string {
  return new TextDecoder().decode(Buffer.from(text).subarray(0, SHOWN_ANSWER_BYTES), { stream: true });
}
