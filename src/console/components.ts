// The pieces that pages are made of: forms, fields, tables that become cards, times, states, things to copy.

import type { Direction } from '../catalog/catalog.ts';
import type { Status } from '../payments/states.ts';
import type { FieldErrors } from '../platform/errors.ts';
import { type Html, type HtmlValue, html } from '../platform/html.ts';
import type { ConsoleRequest } from './console-request.ts';

export type Tone = 's' | 'e' | 'w' | 'n';

const STATUS_TONES: Record<Status, Tone> = {
  pending: 'n',
  processing: 'w',
  success: 's',
  failed: 'e',
  expired: 'e',
  reversed: 'w',
};

/** A moment: UTC from the server, the viewer's own zone once the script has run. */
export function timeTag(moment: Date | null | undefined): Html | false {
  if (!moment) return false;
  const iso = moment.toISOString();
  return html`<time datetime="${iso}" title="${iso.slice(0, 19).replace('T', ' ')} UTC">${iso.slice(0, 16).replace('T', ' ')} UTC</time>`;
}

export function tag(tone: Tone, text: string): Html {
  return html`<span class="tag ${tone}">${text}</span>`;
}

export function statusTag(visit: ConsoleRequest, status: Status, direction: Direction): Html {
  const { words } = visit;
  // Nobody has to pay for a payout: while it is pending it waits for us, or for a second person.
  const text = status === 'pending' && direction === 'payout' ? words.payouts.notSent : words.status[status];
  return tag(STATUS_TONES[status], text);
}

/** A form of this visitor's own. */
export function postForm(visit: ConsoleRequest, action: string, body: Html, attributes: Html | false = false): Html {
  return html`<form method="post" action="/console${action}"${attributes && html` ${attributes}`}><input type="hidden" name="csrf" value="${visit.csrf}">${body}</form>`;
}

/** A button that does one thing. */
export function postButton(
  visit: ConsoleRequest,
  action: string,
  label: string,
  options: { look?: 'q' | 'x' | 'lk'; fields?: Record<string, string> } = {},
): Html {
  return postForm(
    visit,
    action,
    html`${Object.entries(options.fields ?? {}).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}<button class="${options.look ?? ''}">${label}</button>`,
  );
}

/** Something that cannot be undone: what it means is read before the button appears. */
export function dangerForm(
  visit: ConsoleRequest,
  action: string,
  label: string,
  meaning: string,
  extra: Html | false = false,
): Html {
  return html`<details><summary>${label}…</summary><p>${meaning}</p>${postForm(visit, action, html`${extra}<button class="x">${label}</button>`)}</details>`;
}

export type FieldOptions = {
  name: string;
  label: string;
  value?: string | undefined;
  hint?: string | undefined;
  type?: string | undefined;
  required?: boolean | undefined;
  errors?: FieldErrors | undefined;
  /** Further attributes of the input, of our own writing. */
  more?: Html | undefined;
};

export function inputField(options: FieldOptions): Html {
  const { name, label, errors } = options;
  return wrapField(
    options,
    html`<label for="f-${name}">${label}</label>${hintOf(options)}<input id="f-${name}" name="${name}" type="${options.type ?? 'text'}" value="${options.value ?? ''}"${options.required && html` required`}${described(options)}${errors?.[name] && html` aria-invalid="true"`}${options.more && html` ${options.more}`}>`,
  );
}

export function textField(options: FieldOptions & { rows?: number }): Html {
  const { name, label, errors } = options;
  return wrapField(
    options,
    html`<label for="f-${name}">${label}</label>${hintOf(options)}<textarea id="f-${name}" name="${name}" rows="${options.rows ?? 8}" spellcheck="false"${options.required && html` required`}${described(options)}${errors?.[name] && html` aria-invalid="true"`}>${options.value ? html`\n${options.value}` : ''}</textarea>`,
  );
}

export function selectField(
  options: FieldOptions & { choices: readonly (readonly [value: string, label: string])[] },
): Html {
  const { name, label, errors, choices, value } = options;
  return wrapField(
    options,
    html`<label for="f-${name}">${label}</label>${hintOf(options)}<select id="f-${name}" name="${name}"${options.required && html` required`}${described(options)}${errors?.[name] && html` aria-invalid="true"`}>${choices.map(([code, text]) => html`<option value="${code}"${code === value && html` selected`}>${text}</option>`)}</select>`,
  );
}

export function checkField(name: string, label: string, checked: boolean): Html {
  return html`<div class="f"><label><input type="checkbox" name="${name}" value="yes"${checked && html` checked`}>${label}</label></div>`;
}

function hintOf({ name, hint }: FieldOptions): Html | false {
  return hint !== undefined && html`<span class="m" id="h-${name}">${hint}</span>`;
}

function described({ name, hint, errors }: FieldOptions): Html | false {
  const ids = [hint !== undefined ? `h-${name}` : '', errors?.[name] ? `e-${name}` : ''].filter(Boolean).join(' ');
  return ids !== '' && html` aria-describedby="${ids}"`;
}

function wrapField({ name, errors }: FieldOptions, body: Html): Html {
  return html`<div class="f">${body}${errors?.[name] && html`<p class="er" id="e-${name}">${errors[name].join(' ')}</p>`}</div>`;
}

/** What was wrong with a form, on top of it. */
export function errorBox(visit: ConsoleRequest, errors: FieldErrors | undefined, message?: string): Html | false {
  const lines = Object.entries(errors ?? {});
  if (lines.length === 0 && message === undefined) return false;
  return html`<div class="box bad" role="alert"><p>${message ?? visit.words.pleaseCorrect}</p>${lines.length > 0 && html`<ul>${lines.map(([name, sentences]) => html`<li><a href="#f-${name}">${sentences.join(' ')}</a></li>`)}</ul>`}</div>`;
}

export type Column = { label: string; right?: true };

/** A table on a desktop, cards on a phone. */
export function dataTable(caption: string, columns: readonly Column[], rows: readonly (readonly HtmlValue[])[]): Html {
  const side = (column: Column | undefined) => column?.right && html` class="r"`;
  return html`<div class="scroll t" role="group" tabindex="0" aria-label="${caption}"><table><caption class="hid">${caption}</caption><thead><tr>${columns.map((column) => html`<th scope="col"${side(column)}>${column.label}</th>`)}</tr></thead><tbody>${rows.map(
    (cells) =>
      html`<tr>${cells.map((cell, index) => html`<td${side(columns[index])} data-l="${columns[index]?.label ?? ''}"><div>${cell}</div></td>`)}</tr>`,
  )}</tbody></table></div>`;
}

/** An empty list says what would be here and how to get it. */
export function emptyState(title: string, text: string, action: Html | false = false): Html {
  return html`<div class="card none"><b>${title}</b><p>${text}</p>${action}</div>`;
}

/** Text with a button that copies it. */
export function copyLine(visit: ConsoleRequest, id: string, text: string, label: string): Html {
  return html`<div class="copyline"><code id="${id}">${text}</code><button type="button" class="q" data-copy="#${id}" data-done="${visit.words.copied}" aria-label="${visit.words.copy}: ${label}" hidden>${visit.words.copy}</button></div>`;
}

export function codeBlock(visit: ConsoleRequest, id: string, text: string, label: string): Html {
  return html`<pre id="${id}" tabindex="0" aria-label="${label}">${text}</pre><button type="button" class="q" data-copy="#${id}" data-done="${visit.words.copied}" aria-label="${visit.words.copy}: ${label}" hidden>${visit.words.copy}</button>`;
}

export function facts(rows: readonly (readonly [label: string, value: HtmlValue])[]): Html {
  const shown = rows.filter(([, value]) => value !== null && value !== undefined && value !== false && value !== '');
  return html`<dl class="facts">${shown.map(([label, value]) => html`<div><dt>${label}</dt><dd>${value}</dd></div>`)}</dl>`;
}

export function pager(visit: ConsoleRequest, next: string | null, note: HtmlValue = null): Html | false {
  if (next === null && note === null) return false;
  return html`<div class="pager">${next !== null && html`<a class="btn q" rel="next" href="${next}">${visit.words.older}</a>`}${note !== null && html`<span class="m">${note}</span>`}</div>`;
}
