// What pages are made of: tables that become cards on a phone, times, tags, lists of facts, text to copy.

import { linkQrSvg } from '../links/qr.ts';
import type { Status, TransactionDirection } from '../payments/states.ts';
import { type Html, type HtmlValue, html, trusted } from '../platform/html.ts';
import { shortId } from '../platform/ids.ts';
import type { ConsoleRequest } from './console-request.ts';

export type Tone = 'success' | 'error' | 'warning' | 'neutral';

const STATUS_TONES: Record<Status, Tone> = {
  pending: 'neutral',
  processing: 'warning',
  success: 'success',
  failed: 'error',
  expired: 'error',
  reversed: 'warning',
};

/** A time: UTC from the server, in the viewer's time zone once the script has run. */
export function timeTag(moment: Date | null | undefined): Html | false {
  if (!moment) return false;
  const iso = moment.toISOString();
  const utc = iso.slice(0, 19).replace('T', ' ');
  return html`<time datetime="${iso}" title="${utc} UTC">${utc.slice(0, 16)} UTC</time>`;
}

export function tag(tone: Tone, text: string): Html {
  return html`<span class="tag ${tone}">${text}</span>`;
}

export function statusTag(request: ConsoleRequest, status: Status, direction: TransactionDirection): Html {
  const { t } = request;
  // A pending payout waits for approval or to be sent; a pending collection waits for its payer.
  const text = status === 'pending' && direction !== 'collection' ? t.payouts.notSent : t.status[status];
  return tag(STATUS_TONES[status], text);
}

export type Column = { label: string; right?: true };

/** A table on a desktop, cards on a phone. */
export function dataTable(caption: string, columns: readonly Column[], rows: readonly (readonly HtmlValue[])[]): Html {
  const side = (column: Column | undefined) => column?.right && html` class="right"`;
  const heading = (column: Column) => html`<th scope="col"${side(column)}>${column.label}</th>`;
  const cell = (content: HtmlValue, column: Column | undefined) => html`
    <td${side(column)} data-label="${column?.label ?? ''}"><div>${content}</div></td>
  `;
  return html`
    <div class="table" role="group" tabindex="0" aria-label="${caption}">
      <table>
        <caption class="visually-hidden">${caption}</caption>
        <thead><tr>${columns.map(heading)}</tr></thead>
        <tbody>
          ${rows.map((cells) => html`<tr>${cells.map((content, index) => cell(content, columns[index]))}</tr>`)}
        </tbody>
      </table>
    </div>
  `;
}

/** One number or amount with notes under it. */
export function figureCard(figure: HtmlValue, ...notes: HtmlValue[]): Html {
  return html`
    <div class="card">
      <p class="figure">${figure}</p>
      ${notes.map((note) => note && html`<p class="muted">${note}</p>`)}
    </div>
  `;
}

/** An empty list says what would be here and how to get it. */
export function emptyState(title: string, text: string, action: Html | false = false): Html {
  return html`
    <div class="card empty">
      <b>${title}</b>
      <p>${text}</p>
      ${action}
    </div>
  `;
}

/** Text with a button that copies it. */
export function copyLine(request: ConsoleRequest, id: string, text: string, label: string): Html {
  return html`<div class="copyline"><code id="${id}">${text}</code>${copyButton(request, id, label)}</div>`;
}

export function codeBlock(request: ConsoleRequest, id: string, text: string, label: string): Html {
  return html`<pre id="${id}" tabindex="0" aria-label="${label}">${text}</pre>${copyButton(request, id, label)}`;
}

/** Hidden until the script runs: without it there is nothing to press. */
function copyButton({ t }: ConsoleRequest, id: string, label: string): Html {
  return html`
    <button type="button" class="button-secondary" data-copy="#${id}" data-done="${t.copied}"
      aria-label="${t.copy}: ${label}" hidden>${t.copy}</button>
  `;
}

export function qrPicture(text: string, label: string): Html {
  return html`<div class="qr" role="img" aria-label="${label}">${trusted(linkQrSvg(text))}</div>`;
}

/** A short form of a transaction's reference, as a link to its page. */
export function transactionLink(ref: string): Html {
  return html`<a href="/console/transactions/${ref}"><code>…${shortId(ref)}…</code></a>`;
}

/** Names and values; rows without a value are left out. */
export function facts(rows: readonly (readonly [label: string, value: HtmlValue])[]): Html {
  const shown = rows.filter(([, value]) => value !== null && value !== undefined && value !== false && value !== '');
  return html`
    <dl class="facts">
      ${shown.map(([label, value]) => html`<div><dt>${label}</dt><dd>${value}</dd></div>`)}
    </dl>
  `;
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
