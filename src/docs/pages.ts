// The layout of a documentation page: a search box, a list of contents, the text. No script.

import { type Html, type HtmlPage, html, styleFile } from '../platform/html.ts';
import type { SearchHit } from './search.ts';

export type Contents = { title: string; url: string }[];

const STYLE = styleFile(new URL('./pages.css', import.meta.url));

export function docsPage(
  brand: string,
  title: string,
  contents: Contents,
  body: Html,
  { markdownUrl = null, query = '' }: { markdownUrl?: string | null; query?: string } = {},
): HtmlPage {
  return {
    language: 'en',
    title: `${title} · ${brand} documentation`,
    styles: [STYLE],
    body: html`
      <a class="skip" href="#content">Skip to content</a>
      <header>
        <form role="search" action="/docs/search">
          <label for="q">Search</label>
          <input id="q" name="q" type="search" maxlength="200" value="${query}">
          <button>Search</button>
        </form>
        <nav aria-label="Documentation">
          <ul>${contents.map((entry) => html`<li><a href="${entry.url}">${entry.title}</a></li>`)}</ul>
        </nav>
      </header>
      <main id="content">${body}</main>
      <footer>
        ${
          markdownUrl &&
          html`<p>This page <a href="${markdownUrl}">as Markdown</a>. The API <a href="/openapi.json">as OpenAPI</a>.</p>`
        }
      </footer>
    `,
  };
}

/** The search results: links, each with an excerpt. */
export function searchResults(query: string, found: SearchHit[]): Html {
  if (query === '') return html`<h1>Search</h1><p>Search the guides, operations and error codes.</p>`;
  if (found.length === 0)
    return html`
      <h1>Nothing found for “${query}”</h1>
      <p>Try a single word, or the beginning of one. <a href="/docs">All pages</a>.</p>
    `;
  return html`
    <h1>Results for “${query}”</h1>
    <ol class="found">${found.map(searchResult)}</ol>
  `;
}

function searchResult({ title, page, url, excerpt }: SearchHit): Html {
  return html`
    <li>
      <a href="${url}">${title}</a>
      ${page !== title && html` <span class="soft">${page}</span>`}
      <p>${excerpt}</p>
    </li>
  `;
}
