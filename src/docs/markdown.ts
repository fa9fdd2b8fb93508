// Markdown to HTML with `marked`, in the markup that our pages use. HTML in a text is shown as text, comments are left out, and
// a link leads to a page or to an http, https or mailto address, nowhere else. Between the comments `tabs` and `/tabs` every
// heading begins a tab.

import { Marked, type Token, type TokenizerAndRendererExtension, type Tokens } from 'marked';
import { type Html, html, printHtml, trusted } from '../platform/html.ts';
import { icon } from '../ui/icons.ts';
import { highlight } from './highlight.ts';
import { languageTabs } from './tabs.ts';

const LINK_TARGET = /^(?:https?:\/\/|mailto:|(?![a-z][a-z0-9+.-]*:)[A-Za-z0-9./#?=_-])[^\s"<>]*$/i;
const COMMENT = /^<!--(?! tabs )[\s\S]*?-->[ \t]*(?:\n|$)/;
const TABS = /^<!-- tabs -->\n([\s\S]*?)<!-- \/tabs -->[ \t]*(?:\n|$)/;
/** The words after the language of a code block: `ts file=sign.ts`. */
const FILE = /\bfile=(\S+)/;

export type MarkdownOptions = {
  /** Turns the target of a link into an address. */
  link?: (target: string) => string;
  /** The markup of a picture; without it, or where it is null, nothing is shown. */
  picture?: (target: string, description: string) => Html | null;
  /** Begins the names of tabs and of the headings in them, where one page is made of several texts. */
  prefix?: string;
};

export type Heading = { depth: number; text: string; anchor: string };
/** A part of a text: what stands below a heading. The first part has no heading. */
export type Section = { heading: Heading | null; text: string };

/** The markup of a whole text. */
export function renderMarkdown(text: string, options: MarkdownOptions = {}): Html {
  return trusted(createMarked(options).parse(text, { async: false }));
}

function createMarked(options: MarkdownOptions): Marked {
  const { link = (target) => target, picture = () => null } = options;
  return new Marked({
    extensions: [commentExtension, createTabsExtension(options.prefix ?? 'code')],
    // HTML is not recognised, so that it is escaped like any text; nor are addresses in running text, which are examples.
    tokenizer: { html: () => undefined, tag: () => undefined, url: () => undefined },
    renderer: {
      image: ({ href, text }) => printHtml(html`${picture(href, text)}`),
      code: ({ text, lang = '' }) => printHtml(codeBlock(text, lang)),
      codespan: ({ text }) => printHtml(html`<code>${text}</code>`),
      checkbox: ({ checked }) => (checked ? '☑ ' : '☐ '),
      heading({ depth, tokens }) {
        const level = `h${Math.min(depth, 4)}`;
        return `<${level} id="${anchorOf(textOf(tokens))}">${this.parser.parseInline(tokens)}</${level}>`;
      },
      link({ href, raw, tokens }) {
        if (!LINK_TARGET.test(href)) return printHtml(html`${raw}`);
        return printHtml(html`<a href="${link(href)}">${trusted(this.parser.parseInline(tokens))}</a>`);
      },
      table({ header, rows }) {
        const labels = header.map(({ tokens }) => textOf(tokens));
        // A heading without a text would be read out as a heading of nothing.
        const headings = header.map(({ tokens }, index) =>
          labels[index] === ''
            ? html`<td></td>`
            : html`<th scope="col">${trusted(this.parser.parseInline(tokens))}</th>`,
        );
        const cell = ({ tokens }: Tokens.TableCell, index: number) => html`
          <td data-label="${labels[index] ?? ''}"><div>${trusted(this.parser.parseInline(tokens))}</div></td>
        `;
        return printHtml(html`
          <div class="table" role="group" tabindex="0" aria-label="${labels.filter(Boolean).join(', ')}">
            <table>
              <thead><tr>${headings}</tr></thead>
              <tbody>${rows.map((cells) => html`<tr>${cells.map(cell)}</tr>`)}</tbody>
            </table>
          </div>
        `);
      },
    },
  });
}

/** Comments mark what scripts generate; a reader does not see them. */
const commentExtension: TokenizerAndRendererExtension = {
  name: 'comment',
  level: 'block',
  start: (source) => source.match(/^<!--/m)?.index,
  tokenizer(source) {
    const raw = COMMENT.exec(source)?.[0];
    return raw === undefined ? undefined : { type: 'comment', raw };
  },
  renderer: () => '',
};

function createTabsExtension(prefix: string): TokenizerAndRendererExtension {
  let count = 0;
  return {
    name: 'tabs',
    level: 'block',
    start: (source) => source.match(/^<!-- tabs -->/m)?.index,
    tokenizer(source) {
      const [raw, inner = ''] = TABS.exec(source) ?? [];
      return raw === undefined ? undefined : { type: 'tabs', raw, tokens: this.lexer.blockTokens(inner, []) };
    },
    childTokens: ['tokens'],
    renderer(token) {
      count += 1;
      const name = `${prefix}-${count}`;
      const tabs = splitAtHeadings(token.tokens ?? []).flatMap(({ heading, tokens }) => {
        if (!heading) return [];
        const id = prefix === 'code' ? heading.anchor : `${name}-${heading.anchor}`;
        const content = html`
          <h3 id="${id}" class="visually-hidden">${heading.text}</h3>
          ${trusted(this.parser.parse(tokens))}
        `;
        return [{ label: heading.text, content }];
      });
      return printHtml(languageTabs(name, tabs));
    },
  };
}

/** For texts that are only read. */
const READER = createMarked({});

/** A block of code with its copy button, which the script shows. */
function codeBlock(text: string, information: string): Html {
  const file = FILE.exec(information)?.[1];
  return html`
    <div class="code">
      ${file !== undefined && html`<p class="code-name">${file}</p>`}
      <button type="button" class="copy" aria-label="Copy" hidden>${icon('copy')}</button>
      <pre tabindex="0"><code>${highlight(text, information.split(/\s/)[0] ?? '')}</code></pre>
    </div>
  `;
}

/** The headings of a text, without those of tabs. */
export function headingsOf(text: string): Heading[] {
  return splitAtHeadings(READER.lexer(text)).flatMap(({ heading }) => heading ?? []);
}

/** The heading with which a text begins. Only that much is read: every text has its title read at start. */
export function titleOf(text: string): string {
  const [first = ''] = text.split('\n\n', 1);
  return headingsOf(first).find(({ depth }) => depth === 1)?.text ?? 'Untitled';
}

/** A text by its headings, those of tabs included, as plain text. */
export function sectionsOf(text: string): Section[] {
  const tokens = READER.lexer(text).flatMap((token) =>
    token.type === 'tabs' ? ((token as Tokens.Generic).tokens ?? []) : [token],
  );
  return splitAtHeadings(tokens).map((part) => ({ heading: part.heading, text: textOf(part.tokens) }));
}

type Part = { heading: Heading | null; tokens: Token[] };

function splitAtHeadings(tokens: readonly Token[]): Part[] {
  const parts: Part[] = [{ heading: null, tokens: [] }];
  for (const token of tokens) {
    if (token.type === 'heading') {
      const text = textOf(token.tokens ?? []);
      parts.push({ heading: { depth: token.depth as number, text, anchor: anchorOf(text) }, tokens: [] });
    } else parts.at(-1)?.tokens.push(token);
  }
  return parts;
}

/** What is read, without markup, on one line. */
function textOf(tokens: readonly Token[]): string {
  const texts: string[] = [];
  void READER.walkTokens([...tokens], (token) => {
    const isLeaf = 'text' in token && !('tokens' in token && token.tokens) && token.type !== 'list';
    if (isLeaf) texts.push(token.text as string);
  });
  return texts
    .join(' ')
    .replace(/\s+/g, ' ')
    .replace(/ (?=[.,:;?!)’”])/g, '')
    .trim();
}

/** The name by which a heading can be linked to. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');
}
