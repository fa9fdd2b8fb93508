// Pages: an `html` tag that escapes whatever is not already markup, and the way a page leaves us. Style and script
// stand inline (a page is one round trip), and a strict policy names their hashes: nothing else runs or loads.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { brotliCompress, gzip, constants as zlib } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { html as escaping } from 'ghtml';
import { minifyScript } from './minify.ts';

const deflate = promisify(gzip);
const squeeze = promisify(brotliCompress);

/** Not worth the processor's time below this. */
const COMPRESS_FROM_BYTES = 600;
const BROTLI_QUALITY = 5;

const markupOf = Symbol('markup');

/** Markup that is safe to send: only `html` and `trusted` make it. */
export type Html = { readonly [markupOf]: string };

export type HtmlValue = string | number | bigint | Html | false | null | undefined | readonly HtmlValue[];

/**
 * Markup with values. Texts are escaped, markup is not; false, null and undefined are nothing; lists are joined.
 * Line breaks and indentation of the template are for the reader of the source and are not sent: beside a tag or a
 * value they disappear, between two words they are one space. Write `${' '}` where a space must stay beside a value.
 */
export function html(literals: TemplateStringsArray, ...values: HtmlValue[]): Html {
  const parts = collapsedParts(literals);
  let markup = parts[0] ?? '';
  for (const [index, value] of values.entries()) markup += render(value) + (parts[index + 1] ?? '');
  return { [markupOf]: markup };
}

/** Templates without their layout. A template's literals are one object for the life of the process. */
const collapsed = new WeakMap<TemplateStringsArray, string[]>();

function collapsedParts(literals: TemplateStringsArray): string[] {
  let parts = collapsed.get(literals);
  if (!parts) {
    parts = literals.map((literal) =>
      literal.replace(/\s*\n\s*/g, (space, at: number) => {
        const before = literal[at - 1];
        const after = literal[at + space.length];
        return before === undefined || after === undefined || before === '>' || after === '<' || after === '>'
          ? ''
          : ' ';
      }),
    );
    collapsed.set(literals, parts);
  }
  return parts;
}

/** Markup of our own making that did not come through `html`, such as a generated picture. Never anything a person wrote. */
export function trusted(markup: string): Html {
  return { [markupOf]: markup };
}

/** The text of the markup. */
export function printHtml(page: Html): string {
  return page[markupOf];
}

function render(value: HtmlValue): string {
  if (value === null || value === undefined || value === false) return '';
  if (typeof value === 'string') return escaping`${value}`;
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  if (markupOf in value) return value[markupOf];
  return value.map(render).join('');
}

/** A style or script that stands inline, with the hash by which the policy allows it. */
export type Inline = { readonly markup: Html; readonly hash: string; readonly bytes: number };

/** A style sheet of ours, minified: `styleFile(new URL('./page.css', import.meta.url))`. Read once, at start. */
export function styleFile(file: URL): Inline {
  return inlineStyle(readFileSync(file, 'utf8'));
}

/** A script of ours, minified: `scriptFile(new URL('./page.js', import.meta.url))`. Read once, at start. */
export function scriptFile(file: URL): Inline {
  return inlineScript(readFileSync(file, 'utf8'));
}

export function inlineStyle(css: string): Inline {
  const text = css
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/\s+/g, ' ')
    .replace(/ ?([{};,>]) ?/g, '$1')
    .replace(/: /g, ':')
    .replace(/\b0\.(?=\d)/g, '.')
    .replace(/;\}/g, '}')
    .trim();
  return { markup: trusted(`<style>${text}</style>`), hash: hashOf(text), bytes: Buffer.byteLength(text) };
}

export function inlineScript(source: string): Inline {
  const text = minifyScript(source);
  return { markup: trusted(`<script>${text}</script>`), hash: hashOf(text), bytes: Buffer.byteLength(text) };
}

function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}

/** What a person chose, or what their system has. */
export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];
export const THEME_COOKIE = 'theme';

/** The theme of the visitor's cookie. */
export function themeOf({ headers }: FastifyRequest): Theme {
  const chosen = /(?:^|;\s*)theme=(light|dark)(?:;|$)/.exec(headers.cookie ?? '')?.[1];
  return THEMES.find((theme) => theme === chosen) ?? 'system';
}

export type HtmlPage = {
  language: string;
  /** Without one: that of the visitor's cookie. */
  theme?: Theme;
  title: string;
  styles: readonly Inline[];
  scripts?: readonly Inline[];
  head?: Html;
  /** The address of the browser tab's picture. Payers' pages have none: it is one more request on a slow network. */
  icon?: string;
  /** Attributes of the body, for instance what the script needs to know. */
  attributes?: Html;
  body: Html;
  status?: number;
  /** Pages whose forms are checked for where they came from must let the browser say so. */
  referrer?: 'no-referrer' | 'same-origin';
};

/** The whole document. */
export function printPage(page: HtmlPage): string {
  const { language, theme = 'system', title, styles, scripts = [], head, attributes, body } = page;
  return printHtml(html`
    <!doctype html>
    <html lang="${language}"${theme !== 'system' && html` data-theme="${theme}"`}>
      <head>
        <meta charset="utf-8">
        <title>${title}</title>
        <meta name="viewport" content="width=device-width,initial-scale=1">
        <meta name="robots" content="noindex">
        <meta name="color-scheme" content="light dark">
        <link rel="icon" href="${page.icon ?? 'data:,'}">
        ${styles.map((style) => style.markup)}
        ${head}
      </head>
      <body${attributes && html` ${attributes}`}>
        ${body}
        ${scripts.map((script) => script.markup)}
      </body>
    </html>
  `);
}

/** What every page is sent with. */
export function pageHeaders(page: Pick<HtmlPage, 'styles' | 'scripts' | 'referrer'>): Record<string, string> {
  const hashes = (inlines: readonly Inline[]) => inlines.map((inline) => inline.hash).join(' ') || "'none'";
  return {
    'Content-Security-Policy': [
      "default-src 'none'",
      `style-src ${hashes(page.styles)}`,
      `script-src ${hashes(page.scripts ?? [])}`,
      "img-src 'self' data:",
      "connect-src 'self'",
      "form-action 'self'",
      "base-uri 'none'",
      "frame-ancestors 'none'",
    ].join('; '),
    'Cache-Control': 'no-store',
    'Referrer-Policy': page.referrer ?? 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY',
    'Cross-Origin-Opener-Policy': 'same-origin',
  };
}

/** Sends a page, compressed as the browser allows. */
export async function sendPage(request: FastifyRequest, reply: FastifyReply, page: HtmlPage): Promise<FastifyReply> {
  void reply.headers(pageHeaders(page)).type('text/html; charset=utf-8');
  if (page.status !== undefined) void reply.code(page.status);
  return sendCompressed(request, reply, printPage({ theme: themeOf(request), ...page }));
}

/** Sends text in the smallest form that the browser takes. */
export async function sendCompressed(
  request: FastifyRequest,
  reply: FastifyReply,
  text: string,
): Promise<FastifyReply> {
  const bytes = Buffer.from(text);
  void reply.header('Vary', 'Accept-Encoding, Accept-Language');
  const accepted = String(request.headers['accept-encoding'] ?? '');
  if (bytes.length < COMPRESS_FROM_BYTES) return reply.send(bytes);
  if (/\bbr\b/.test(accepted)) {
    const params = { [zlib.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY, [zlib.BROTLI_PARAM_SIZE_HINT]: bytes.length };
    return reply.header('Content-Encoding', 'br').send(await squeeze(bytes, { params }));
  }
  if (/\bgzip\b/.test(accepted)) return reply.header('Content-Encoding', 'gzip').send(await deflate(bytes));
  return reply.send(bytes);
}

/**
 * A page in answer to an error (`problemPage` of a route): only the text is returned, the headers are set here, because
 * the error handler sends it.
 */
export function problemText(reply: FastifyReply, page: HtmlPage): string {
  void reply.headers(pageHeaders(page));
  return printPage({ theme: themeOf(reply.request), ...page });
}
