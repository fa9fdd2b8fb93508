// Components of every page but the payer's. They take texts, never a request, so that console, docs and sandbox can use them.

import { type Html, type HtmlValue, html, styleFile } from '../platform/html.ts';
import { icon } from './icons.ts';

export const COMPONENTS = styleFile(new URL('./components.css', import.meta.url));

/** Success is quiet, failure is loud; warning waits, neutral only informs. */
export type Tone = 'success' | 'error' | 'warning' | 'neutral';

/** A dot and a word. A failure is a filled pill, with its reason beside it. */
export function status(tone: Tone, text: string, reason?: string | null): Html {
  return html`
    <span class="status ${tone}">${text}</span>
    ${reason && html` <span class="muted">${reason}</span>`}
  `;
}

export function tag(tone: Tone, text: string): Html {
  return html`<span class="tag ${tone}">${text}</span>`;
}

/** Where a column goes on a phone, where a row has two lines: who, amount and status, small buttons beside them. Others are not shown. */
export type PhonePlace = 'main' | 'amount' | 'status' | 'buttons';
export type Column = { label: string; right?: true; phone?: PhonePlace };

/** A table. On a phone: two lines a row where columns have a place, else names and values. */
export function dataTable(caption: string, columns: readonly Column[], rows: readonly (readonly HtmlValue[])[]): Html {
  const hasPlaces = columns.some((column) => column.phone);
  const classOf = (column: Column | undefined) => {
    const names = [column?.right && 'right', column?.phone && `row-${column.phone}`].filter(Boolean).join(' ');
    return names !== '' && html` class="${names}"`;
  };
  const heading = (column: Column) => html`<th scope="col"${classOf(column)}>${column.label}</th>`;
  const cell = (content: HtmlValue, column: Column | undefined) => html`
    <td${classOf(column)} data-label="${column?.label ?? ''}"><div>${content}</div></td>
  `;
  return html`
    <div class="table${hasPlaces && ' rows'}" role="group" tabindex="0" aria-label="${caption}">
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

/** The first column of most lists: a name that leads to the page of the row, and a line under it. */
export function who(name: HtmlValue, second: HtmlValue, options: { href?: string; tile?: Html } = {}): Html {
  const { href, tile } = options;
  return html`
    <div class="who">
      ${tile}
      <div>
        <b>${href === undefined ? name : html`<a href="${href}">${name}</a>`}</b>
        <span class="muted">${second}</span>
      </div>
    </div>
  `;
}

/** A neutral tile with the letters of an operator. It has no logo: those belong to the operators. */
export function operatorTile(methodName: string): Html {
  const known = TILES.find(({ pattern }) => pattern.test(methodName));
  const letters = known?.letters ?? methodName.slice(0, 1).toUpperCase();
  return html`<span class="tile${known && ` ${known.name}`}" aria-hidden="true">${letters}</span>`;
}

const TILES = [
  { pattern: /m-?pesa/i, name: 'mpesa', letters: 'M' },
  { pattern: /\bmtn\b/i, name: 'mtn', letters: 'MTN' },
  { pattern: /airtel/i, name: 'airtel', letters: 'a' },
  { pattern: /orange/i, name: 'orange', letters: 'O' },
  { pattern: /\bwave\b/i, name: 'wave', letters: 'W' },
  { pattern: /tigo|mixx|yas/i, name: 'tigo', letters: 'T' },
  { pattern: /ban[ckq]|benki|pesalink|transfer/i, name: 'bank', letters: 'B' },
] as const;

/** One number of business: what it is, the number, and how it compares. */
export function figureCard(label: HtmlValue, figure: HtmlValue, ...notes: HtmlValue[]): Html {
  return html`
    <div class="card">
      <p class="figure-label">${label}</p>
      <p class="figure">${figure}</p>
      ${notes.map((note) => note && html`<p class="muted">${note}</p>`)}
    </div>
  `;
}

/** An empty list says what would be here and how to get it. */
export function emptyState(title: string, text: string, action: HtmlValue = false, iconName = 'inbox'): Html {
  return html`
    <div class="card empty">
      ${icon(iconName)}
      <b>${title}</b>
      <p>${text}</p>
      ${action && html`<div class="actions">${action}</div>`}
    </div>
  `;
}

/** Something that needs a person: what, more about it, and the button that begins. */
export function todo(tone: Tone, title: HtmlValue, text: HtmlValue, action: HtmlValue): Html {
  return html`
    <li class="todo">
      <span class="dot ${tone}"></span>
      <div>
        <b>${title}</b>
        ${text && html`<span class="muted">${text}</span>`}
      </div>
      ${action}
    </li>
  `;
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

/** Money as an addition: lines, and the sum last. */
export function sum(rows: readonly (readonly [label: HtmlValue, value: HtmlValue])[]): Html {
  return html`<dl class="sum">${rows.map(([label, value]) => html`<div><dt>${label}</dt><dd>${value}</dd></div>`)}</dl>`;
}

/** How much of something: 0.98 of all callbacks. The number stands beside it, so it is only seen. */
export function shareBar(share: number, tone: Tone = 'success'): Html {
  return html`
    <svg class="share-bar ${tone}" width="100%" height="6" aria-hidden="true">
      <rect class="share-all" width="100%" height="6" rx="3"/><rect width="${(share * 100).toFixed(1)}%" height="6" rx="3"/>
    </svg>
  `;
}

export type Choice = { label: string; href: string; current: boolean; count?: HtmlValue };

/** Tabs over a list, each with its count. */
export function chips(label: string, choices: readonly Choice[]): Html {
  return html`
    <nav aria-label="${label}">
      <ul class="chips">${choices.map((choice) => html`<li>${chip(choice)}</li>`)}</ul>
    </nav>
  `;
}

function chip({ label, href, current, count }: Choice): Html {
  return html`
    <a class="chip" href="${href}"${current && html` aria-current="true"`}>
      ${label}${count !== undefined && html`<span>${count}</span>`}
    </a>
  `;
}

/** One of a few ranges, such as 7 days, 14 days, this month. */
export function segments(label: string, choices: readonly Choice[]): Html {
  const segment = ({ label: text, href, current }: Choice) =>
    html`<a href="${href}"${current && html` aria-current="true"`}>${text}</a>`;
  return html`<nav class="segments" aria-label="${label}">${choices.map(segment)}</nav>`;
}

/** A button that unfolds a menu of links. It works without a script. */
export function menuButton(label: HtmlValue, links: readonly { label: string; href: string; icon: string }[]): Html {
  return html`
    <details class="unfold">
      <summary class="button">${label}</summary>
      <div class="popover">
        ${links.map((link) => html`<a href="${link.href}">${icon(link.icon)}${link.label}</a>`)}
      </div>
    </details>
  `;
}

/** Where this page is: each page above it, as links. */
export function breadcrumbs(
  label: string,
  parents: readonly (readonly [text: string, href: string])[],
  here: HtmlValue,
): Html {
  return html`
    <nav class="muted" aria-label="${label}">
      ${parents.map(([text, href]) => html`<a class="quiet-link" href="${href}">${text}</a> › `)}
      <span aria-current="page">${here}</span>
    </nav>
  `;
}
