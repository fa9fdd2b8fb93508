// Markdown to markup, for the subset our guides are written in: headings, paragraphs, fenced code, tables, lists, quotes,
// and within a line code, bold, emphasis and links. Everything else is text, and text is escaped.

import { type Html, html } from '../platform/html.ts';

const FENCE = /^```(\S*)/;
const HEADING = /^(#{1,4}) (.+)$/;
const ITEM = /^(\s*)(?:[-*]|(\d+)\.) (.*)$/;
const TABLE_RULE = /^\|(?:\s*:?-+:?\s*\|)+$/;
const LINK_TARGET = /^(?:https?:\/\/|mailto:|[A-Za-z0-9./#?=_-])[^\s"<>]*$/;

/** The markup of a whole text. `link` turns the target of a link into an address. */
export function renderMarkdown(text: string, link: (target: string) => string = (target) => target): Html {
  return html`${blocks(text.replaceAll('\r\n', '\n').split('\n'), link)}`;
}

/** The first heading of a text. */
export function titleOf(text: string): string {
  return /^# (.+)$/m.exec(text)?.[1] ?? 'Untitled';
}

/** The first sentence of the first paragraph, as plain text on one line. */
export function summaryOf(text: string): string {
  const paragraph = text.split(/\n\s*\n/).find((block) => /^[A-Za-z*_`[]/.test(block.trim())) ?? '';
  return paragraph
    .replace(/\s+/g, ' ')
    .replace(/[*_`]|\[|\]\([^)]*\)/g, '')
    .trim()
    .replace(/([.:]) .*$|:$/, '.');
}

/** The name by which a heading can be linked to. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');
}

type Link = (target: string) => string;

function blocks(lines: string[], link: Link): Html[] {
  const out: Html[] = [];
  let at = 0;
  while (at < lines.length) {
    const [block, next] = readBlock(lines, at, link);
    if (block) out.push(block);
    at = next;
  }
  return out;
}

/** One block from line `at` on, and where the next one begins. */
function readBlock(lines: string[], at: number, link: Link): [Html | null, number] {
  const line = lines[at] ?? '';
  if (line.trim() === '') return [null, at + 1];
  if (FENCE.test(line)) return readFence(lines, at);
  const heading = HEADING.exec(line);
  if (heading) return [renderHeading(heading[1]?.length ?? 1, heading[2] ?? '', link), at + 1];
  if (line.startsWith('|') && TABLE_RULE.test(lines[at + 1] ?? '')) return readTable(lines, at, link);
  if (ITEM.test(line)) return readList(lines, at, link);
  if (/^-{3,}$/.test(line)) return [html`<hr>`, at + 1];
  if (line.startsWith('>')) {
    const end = endOf(lines, at, (next) => next.startsWith('>'));
    const inner = lines.slice(at, end).map((quoted) => quoted.replace(/^> ?/, ''));
    return [html`<blockquote>${blocks(inner, link)}</blockquote>`, end];
  }
  const end = endOf(lines, at, (next) => next.trim() !== '' && !startsBlock(next));
  const text = lines
    .slice(at, end)
    .map((part) => part.trim())
    .join(' ');
  return [html`<p>${inline(text, link)}</p>`, end];
}

function startsBlock(line: string): boolean {
  return FENCE.test(line) || HEADING.test(line) || ITEM.test(line) || line.startsWith('|') || line.startsWith('>');
}

function endOf(lines: string[], at: number, belongs: (line: string) => boolean): number {
  let end = at + 1;
  while (end < lines.length && belongs(lines[end] ?? '')) end++;
  return end;
}

function readFence(lines: string[], at: number): [Html, number] {
  const end = endOf(lines, at, (line) => !line.startsWith('```'));
  const code = lines.slice(at + 1, end).join('\n');
  return [html`<pre tabindex="0"><code>${code}</code></pre>`, end + 1];
}

function renderHeading(level: number, text: string, link: Link): Html {
  const id = anchorOf(text);
  const inner = inline(text, link);
  if (level === 1) return html`<h1 id="${id}">${inner}</h1>`;
  if (level === 2) return html`<h2 id="${id}">${inner}</h2>`;
  return level === 3 ? html`<h3 id="${id}">${inner}</h3>` : html`<h4 id="${id}">${inner}</h4>`;
}

function readTable(lines: string[], at: number, link: Link): [Html, number] {
  const end = endOf(lines, at, (line) => line.startsWith('|'));
  const [head = [], , ...rows] = lines.slice(at, end).map(splitRow);
  const markup = html`<div class="table" tabindex="0"><table><thead><tr>${head.map((cell) => html`<th scope="col">${inline(cell, link)}</th>`)}</tr></thead>
<tbody>${rows.map((row) => html`<tr>${row.map((cell) => html`<td>${inline(cell, link)}</td>`)}</tr>`)}</tbody></table></div>`;
  return [markup, end];
}

/** The cells of a row. A bar within a cell is written \|. */
export function splitRow(line: string): string[] {
  return line
    .trim()
    .replace(/^\||\|$/g, '')
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll('\\|', '|'));
}

function readList(lines: string[], at: number, link: Link): [Html, number] {
  const ordered = ITEM.exec(lines[at] ?? '')?.[2] !== undefined;
  const indent = ITEM.exec(lines[at] ?? '')?.[1]?.length ?? 0;
  const items: string[][] = [];
  let next = at;
  while (next < lines.length) {
    const line = lines[next] ?? '';
    const item = ITEM.exec(line);
    const isSibling = item?.[1]?.length === indent && (item[2] !== undefined) === ordered;
    const isInside =
      line.startsWith(' '.repeat(indent + 2)) || (line.trim() === '' && isIndented(lines[next + 1], indent));
    if (isSibling) items.push([item?.[3] ?? '']);
    else if (isInside && items.length > 0) items.at(-1)?.push(line);
    else break;
    next++;
  }
  const markup = items.map((item) => html`<li>${renderItem(item, link)}</li>`);
  return [ordered ? html`<ol>${markup}</ol>` : html`<ul>${markup}</ul>`, next];
}

function isIndented(line: string | undefined, indent: number): boolean {
  return line?.startsWith(' '.repeat(indent + 2)) === true && line.trim() !== '';
}

/** The text of an item stands without a paragraph of its own; what is nested in it are blocks. */
function renderItem(lines: string[], link: Link): Html {
  const dedent = Math.min(
    ...lines
      .slice(1)
      .filter((line) => line.trim())
      .map((line) => line.search(/\S/)),
  );
  const inner = lines.slice(1).map((line) => line.slice(Number.isFinite(dedent) ? dedent : 0));
  const end = inner.findIndex((line) => line.trim() === '' || startsBlock(line));
  const text = [(lines[0] ?? '').replace(/^\[ \] /, '☐ '), ...inner.slice(0, end < 0 ? inner.length : end)].join(' ');
  return html`${inline(text, link)}${end < 0 ? null : blocks(inner.slice(end), link)}`;
}

const INLINE =
  /(`+)(.+?)\1|\*\*(.+?)\*\*|(?<![\w*])[*_](?![\s_*])(.+?)(?<!\s)[*_](?!\w)|\[([^\]]+)\]\(([^)\s]+)\)|<(https?:\/\/[^>\s]+)>/g;

function inline(text: string, link: Link): Html[] {
  const out: Html[] = [];
  let at = 0;
  for (const match of text.matchAll(INLINE)) {
    if (match.index > at) out.push(html`${text.slice(at, match.index)}`);
    out.push(renderInline(match, link));
    at = match.index + match[0].length;
  }
  out.push(html`${text.slice(at)}`);
  return out;
}

function renderInline(match: RegExpExecArray, link: Link): Html {
  const [whole, , code, bold, emphasis, label, target, address] = match;
  if (code !== undefined) return html`<code>${code}</code>`;
  if (bold !== undefined) return html`<strong>${inline(bold, link)}</strong>`;
  if (emphasis !== undefined) return html`<em>${inline(emphasis, link)}</em>`;
  if (address !== undefined) return html`<a href="${address}">${address}</a>`;
  // A target that is no address (javascript:, for one) stays text.
  if (target !== undefined && LINK_TARGET.test(target) && !/^[a-z]+:(?!\/\/)/i.test(target.replace(/^mailto:/, '')))
    return html`<a href="${link(target)}">${inline(label ?? '', link)}</a>`;
  return html`${whole}`;
}
