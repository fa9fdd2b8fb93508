// What pages of the console are made of, beside the components of every page (ui/components.ts): times, status, text to copy.

import { linkQrSvg } from '../links/qr.ts';
import type { Status, TransactionDirection } from '../payments/states.ts';
import { withColon } from '../platform/french-spaces.ts';
import { type Html, type HtmlValue, html, trusted } from '../platform/html.ts';
import { shortId } from '../platform/ids.ts';
import { dateLocale } from '../platform/locales.ts';
import { memoize } from '../platform/memoize.ts';
import { dayIn } from '../platform/time-zones.ts';
import { status, type Tone } from '../ui/components.ts';
import type { ConsoleRequest } from './console-request.ts';

const STATUS_TONES: Record<Status, Tone> = {
  pending: 'neutral',
  processing: 'warning',
  success: 'success',
  failed: 'error',
  expired: 'error',
  reversed: 'warning',
};

/** A moment in the holder's time zone. Without a holder (pages of administrators) it is in UTC. */
export function timeTag(request: ConsoleRequest, moment: Date | null | undefined): Html | false {
  if (!moment) return false;
  const zone = zoneOf(request);
  const iso = moment.toISOString();
  const title = `${dateTimeFormat(request, zone, 'full').format(moment)} (${zone})`;
  return html`<time datetime="${iso}" title="${title}">${shortTime(request, moment)}</time>`;
}

/** The same to the second, for what happens within one minute: "14:31:06", or "14 Nov, 14:31:06". */
export function exactTimeTag(request: ConsoleRequest, moment: Date): Html {
  const zone = zoneOf(request);
  const title = `${dateTimeFormat(request, zone, 'full').format(moment)} (${zone})`;
  const kind = dayIn(zone, moment) === dayIn(zone, request.ctx.clock.now()) ? 'second' : 'daySecond';
  const text = dateTimeFormat(request, zone, kind).format(moment);
  return html`<time datetime="${moment.toISOString()}" title="${title}">${text}</time>`;
}

/** "14:31" today, "14 Nov, 14:31" this year, "14 Nov 2025, 14:31" before. */
export function shortTime(request: ConsoleRequest, moment: Date): string {
  const zone = zoneOf(request);
  const today = dayIn(zone, request.ctx.clock.now());
  const day = dayIn(zone, moment);
  const kind = day === today ? 'time' : day.slice(0, 4) === today.slice(0, 4) ? 'day' : 'year';
  return dateTimeFormat(request, zone, kind).format(moment);
}

export function zoneOf(request: ConsoleRequest): string {
  return request.holder?.time_zone ?? 'UTC';
}

const TIME = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
const KINDS = {
  time: TIME,
  second: { ...TIME, second: '2-digit' },
  daySecond: { ...TIME, second: '2-digit', day: 'numeric', month: 'short' },
  day: { ...TIME, day: 'numeric', month: 'short' },
  year: { ...TIME, day: 'numeric', month: 'short', year: 'numeric' },
  full: { ...TIME, second: '2-digit', day: 'numeric', month: 'long', year: 'numeric' },
} as const satisfies Record<string, Intl.DateTimeFormatOptions>;

/** By "fr Africa/Douala full": locale, time zone and kind. */
const formatBy = memoize((key) => {
  const [locale, timeZone = '', kind] = key.split(' ');
  return new Intl.DateTimeFormat(locale, { ...KINDS[kind as keyof typeof KINDS], timeZone });
});

function dateTimeFormat({ language }: ConsoleRequest, timeZone: string, kind: keyof typeof KINDS): Intl.DateTimeFormat {
  return formatBy(`${dateLocale(language)} ${timeZone} ${kind}`);
}

export function statusTag(request: ConsoleRequest, state: Status, direction: TransactionDirection): Html {
  const { t } = request;
  // A pending payout waits for approval or to be sent; a pending collection waits for its payer.
  const text = state === 'pending' && direction !== 'collection' ? t.payouts.notSent : t.status[state];
  return status(STATUS_TONES[state], text);
}

/** Text with a button that copies it. */
export function copyLine(request: ConsoleRequest, id: string, text: string, label: string): Html {
  return html`<div class="copyline"><code id="${id}">${text}</code>${copyButton(request, id, label)}</div>`;
}

export function codeBlock(request: ConsoleRequest, id: string, text: string, label: string): Html {
  return html`<pre id="${id}" tabindex="0" aria-label="${label}">${text}</pre>${copyButton(request, id, label)}`;
}

/** Hidden until the script runs: without it there is nothing to press. */
export function copyButton(request: ConsoleRequest, id: string, label: string): Html {
  const { t } = request;
  return html`
    <button type="button" class="button-secondary" data-copy="#${id}" data-done="${t.copied}"
      aria-label="${withColon(request, t.copy)} ${label}" hidden>${t.copy}</button>
  `;
}

export function qrPicture(text: string, label: string): Html {
  return html`<div class="qr" role="img" aria-label="${label}">${trusted(linkQrSvg(text))}</div>`;
}

/** A short form of a transaction's reference, as a link to its page. */
export function transactionLink(ref: string): Html {
  return html`<a href="/console/transactions/${ref}"><code>…${shortId(ref)}…</code></a>`;
}

/** The link to the next page of a list, and a note about how far the list goes. */
export function pager(
  request: ConsoleRequest,
  next: string | null,
  note: HtmlValue = null,
  label: string = request.t.older,
): Html | false {
  if (next === null && note === null) return false;
  return html`
    <div class="pager">
      ${next !== null && html`<a class="button button-secondary" rel="next" href="${next}">${label}</a>`}
      ${note !== null && html`<span class="muted">${note}</span>`}
    </div>
  `;
}
