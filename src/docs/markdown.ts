// Markdown to HTML with `marked`, in the markup that our pages use. HTML in a text is shown as text, and a link leads to a
// page or to an http, https or mailto address, nowhere else.

import { Marked, type Tokens } from 'marked';
import { type Html, html, printHtml, trusted } from '../platform/html.ts';

const LINK_TARGET = /^(?:https?:\/\/|mailto:|(?![a-z][a-z0-9+.-]*:)[A-Za-z0-9./#?=_-])[^\s"<>]*$/i;

/** The markup of a whole text. `link` turns the target of a link into an address. */
export function renderMarkdown(text: string, link: (target: string) => string = (target) => target): Html {
  return trusted(createMarked(link).parse(text, { async: false }));
}

function createMarked(link: (target: string) => string): Marked {
  return new Marked({
    // HTML is not recognised, so that it is escaped like any text; nor are addresses in running text, which are examples.
    tokenizer: { html: () => undefined, tag: () => undefined, url: () => undefined },
    renderer: {
      image: ({ raw }) => printHtml(html`${raw}`),
      code: ({ text }) => printHtml(html`<pre tabindex="0"><code>${text}</code></pre>`),
      codespan: ({ text }) => printHtml(html`<code>${text}</code>`),
      checkbox: ({ checked }) => (checked ? '☑ ' : '☐ '),
      heading({ depth, text, tokens }) {
        const level = `h${Math.min(depth, 4)}`;
        return `<${level} id="${anchorOf(text)}">${this.parser.parseInline(tokens)}</${level}>`;
      },
      link({ href, raw, tokens }) {
        if (!LINK_TARGET.test(href)) return printHtml(html`${raw}`);
        return printHtml(html`<a href="${link(href)}">${trusted(this.parser.parseInline(tokens))}</a>`);
      },
      table({ header, rows }) {
        const row = (cells: Tokens.TableCell[]) => trusted(cells.map((cell) => this.tablecell(cell)).join(''));
        return printHtml(html`
          <div class="table" tabindex="0">
            <table>
              <thead><tr>${row(header)}</tr></thead>
              <tbody>${rows.map((cells) => html`<tr>${row(cells)}</tr>`)}</tbody>
            </table>
          </div>
        `);
      },
      tablecell({ header, tokens }) {
        const content = trusted(this.parser.parseInline(tokens));
        return printHtml(header ? html`<th scope="col">${content}</th>` : html`<td>${content}</td>`);
      },
    },
  });
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
