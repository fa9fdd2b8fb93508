// The frame of a documentation page: top bar with search, menu of all pages, the text, what is on this page, next and previous.

import type { Config } from '../platform/config.ts';
import { type Html, type HtmlPage, html, scriptFile, styleFile } from '../platform/html.ts';
import { brandOf } from '../ui/brand.ts';
import { COMPONENTS } from '../ui/components.ts';
import { icon } from '../ui/icons.ts';
import { TOKENS } from '../ui/tokens.ts';
import { type DocsGroup, type DocsPage, listPages } from './contents.ts';
import type { Heading } from './markdown.ts';

const STYLE = styleFile(new URL('./docs.css', import.meta.url));
const SCRIPT = scriptFile(new URL('./docs.js', import.meta.url));
/** A list of fewer headings says nothing that the page does not. */
const MIN_HEADINGS = 2;

export type DocsContent = {
  title: string;
  /** Its address, by which the menu knows it. */
  path: string;
  body: Html;
  headings?: readonly Heading[];
  /** A page in two columns has no room for its headings beside it: the menu lists them. */
  isWide?: boolean;
  /** The same page for programs. */
  markdownPath?: string;
  query?: string;
  status?: number;
};

export function layoutDocs(config: Config, groups: readonly DocsGroup[], content: DocsContent): HtmlPage {
  const { title, body, headings = [], isWide = false } = content;
  const brand = brandOf(config);
  const shown = headings.filter(({ depth }) => depth === 2 || (depth === 3 && headings.length < 30));
  const hasHeadings = shown.length >= MIN_HEADINGS;
  return {
    language: 'en',
    title: `${title} – ${brand.name} docs`,
    icon: '/favicon.svg',
    styles: [TOKENS, COMPONENTS, STYLE],
    scripts: [SCRIPT],
    referrer: 'same-origin',
    ...(content.status === undefined ? {} : { status: content.status }),
    attributes: html`class="docs${isWide && ' wide'}"`,
    body: html`
      <a class="skip" href="#content">Skip to content</a>
      ${topBar(config, groups, content)}
      <div class="frame">
        <div class="side"><nav aria-label="Documentation">${menu(groups, content)}</nav></div>
        <main id="content">
          ${hasHeadings && !isWide && html`<details class="toc-folded"><summary>On this page</summary>${tableOfContents(shown)}</details>`}
          <article>${body}</article>
          ${neighbours(groups, content.path)}
          ${foot(content)}
        </main>
        ${hasHeadings && !isWide && html`<aside class="toc" aria-label="On this page"><p>On this page</p>${tableOfContents(shown)}</aside>`}
      </div>
      <p id="say" role="status" class="visually-hidden"></p>
    `,
  };
}

function topBar(config: Config, groups: readonly DocsGroup[], content: DocsContent): Html {
  const brand = brandOf(config);
  return html`
    <header class="docs-bar">
      <details class="docs-menu">
        <summary>${icon('list')}<span class="visually-hidden">All pages</span></summary>
        <div class="sheet"><nav aria-label="All pages">${menu(groups, content)}${doors()}</nav></div>
      </details>
      <a class="brand" href="/docs">${brand.mark}<span>${brand.name} <span class="docs-word">Docs</span></span></a>
      <form class="docs-search" role="search" action="/docs/search">
        ${icon('search')}
        <input id="q" name="q" type="search" maxlength="200" aria-label="Search the documentation" placeholder="Search"
          value="${content.query ?? ''}">
        <kbd aria-hidden="true">/</kbd>
      </form>
      ${config.mode === 'sandbox' && html`<span class="sandbox-mark">Sandbox</span>`}
      <nav class="docs-doors" aria-label="Elsewhere">${doors()}</nav>
    </header>
  `;
}

function doors(): Html {
  return html`<ul class="doors-list"><li><a href="/console">Console</a></li><li><a href="/">Home</a></li></ul>`;
}

function menu(groups: readonly DocsGroup[], content: DocsContent): Html[] {
  const isHere = (page: DocsPage) => page.path === content.path;
  const link = (page: DocsPage) =>
    html`<a href="${page.path}"${isHere(page) && html` aria-current="page"`}>${page.title}</a>`;
  const entry = (page: DocsPage) => {
    const { children = [] } = page;
    const isOpen = isHere(page) || children.some(isHere);
    return html`
      <li>
        ${link(page)}
        ${isOpen && children.length > 0 && html`<ul>${children.map((child) => html`<li>${link(child)}</li>`)}</ul>`}
        ${isHere(page) && content.isWide && operations(content.headings ?? [])}
      </li>
    `;
  };
  return groups.map(({ title, pages }) => html`<p class="menu-title">${title}</p><ul>${pages.map(entry)}</ul>`);
}

function operations(headings: readonly Heading[]): Html | false {
  const shown = headings.filter(({ depth }) => depth === 2);
  return (
    shown.length > 1 &&
    html`<ul>${shown.map(({ text, anchor }) => html`<li><a href="#${anchor}">${text}</a></li>`)}</ul>`
  );
}

function tableOfContents(headings: readonly Heading[]): Html {
  return html`
    <ul>
      ${headings.map(({ depth, text, anchor }) => html`<li${depth > 2 && html` class="deep"`}><a href="#${anchor}">${text}</a></li>`)}
    </ul>
  `;
}

/** The pages before and after this one, in the order of the menu. */
function neighbours(groups: readonly DocsGroup[], path: string): Html | false {
  const pages = listPages(groups);
  const place = pages.findIndex((page) => page.path === path);
  if (place < 0) return false;
  const previous = pages[place - 1];
  const next = pages[place + 1];
  return html`
    <nav class="neighbours" aria-label="Next and previous">
      ${previous && html`<a href="${previous.path}" rel="prev"><span>Previous</span><b>${previous.title}</b></a>`}
      ${next && html`<a class="next" href="${next.path}" rel="next"><span>Next</span><b>${next.title}</b></a>`}
    </nav>
  `;
}

function foot({ markdownPath }: DocsContent): Html {
  return html`
    <footer class="docs-foot">
      ${markdownPath !== undefined && html`<a href="${markdownPath}">This page as Markdown</a>`}
      <a href="/openapi.json">OpenAPI</a>
      <a href="/llms.txt">llms.txt</a>
    </footer>
  `;
}
