// How a page of the documentation looks: one column, a list of contents, no script. Light and dark as the reader's
// machine wishes.

import { type Html, type HtmlPage, html, inlineStyle } from '../platform/html.ts';
import type { SearchHit } from './search.ts';

export type Contents = { title: string; url: string }[];

const STYLE = inlineStyle(`
:root{--text:#1b2430;--soft:#566274;--line:#d5dbe3;--back:#fff;--code:#f3f5f8;--link:#0b57a4}
@media (prefers-color-scheme:dark){:root{--text:#e7ebf0;--soft:#a5b0bf;--line:#3a4452;--back:#141a21;--code:#1e262f;--link:#8cc2ff}}
*{box-sizing:border-box}
body{margin:0;overflow-wrap:anywhere;background:var(--back);color:var(--text);font:1rem/1.55 system-ui,sans-serif}
a{color:var(--link)}
a:focus-visible,[tabindex]:focus-visible{outline:3px solid var(--link);outline-offset:2px}
.skip{position:absolute;left:-99rem}.skip:focus{left:1rem;top:1rem;background:var(--back);padding:.5rem}
header,main,footer{max-width:62rem;margin:0 auto;padding:1rem}
header{border-bottom:1px solid var(--line)}
nav ul{display:flex;flex-wrap:wrap;gap:.25rem 1rem;list-style:none;margin:0;padding:0}
nav a{display:inline-block;padding:.4rem 0}
form{display:flex;flex-wrap:wrap;gap:.5rem;align-items:center;margin:0 0 .5rem}
input,button{font:inherit;color:inherit;background:var(--back);border:1px solid var(--soft);border-radius:4px;padding:.4rem .6rem;min-height:2.5rem}
input{flex:1 1 12rem;max-width:26rem}
input:focus-visible,button:focus-visible{outline:3px solid var(--link);outline-offset:2px}
.found{list-style:none;padding:0}.found li{margin:0 0 1.2rem}.found p{margin:.2rem 0}.soft{color:var(--soft)}
h1,h2,h3,h4{line-height:1.25;overflow-wrap:anywhere}
h2{margin-top:2.5rem;border-top:1px solid var(--line);padding-top:1.5rem}
h3{margin-top:2rem}
pre,code{font-family:ui-monospace,monospace;font-size:.9em}
code{background:var(--code);padding:.1em .3em;border-radius:3px;overflow-wrap:anywhere}
pre{background:var(--code);padding:.8rem;overflow-x:auto;border-radius:4px}
pre,th,td{overflow-wrap:normal}
pre code{padding:0;background:none;overflow-wrap:normal}
.table{overflow-x:auto}
table{border-collapse:collapse;min-width:50%}
th,td{border:1px solid var(--line);padding:.35rem .6rem;text-align:left;vertical-align:top}
td:first-child code{overflow-wrap:normal;white-space:nowrap}
blockquote{margin:0;padding-left:1rem;border-left:4px solid var(--line)}
footer{color:var(--soft);border-top:1px solid var(--line);margin-top:3rem}
`);

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
    body: html`<a class="skip" href="#content">Skip to the text</a>
<header><form role="search" action="/docs/search"><label for="q">Search</label><input id="q" name="q" type="search" maxlength="200" value="${query}"><button>Find</button></form>
<nav aria-label="Documentation"><ul>${contents.map((entry) => html`<li><a href="${entry.url}">${entry.title}</a></li>`)}</ul></nav></header>
<main id="content">${body}</main>
<footer>${markdownUrl && html`<p>This page <a href="${markdownUrl}">as Markdown</a>. The API <a href="/openapi.json">as OpenAPI</a>.</p>`}</footer>`,
  };
}

/** What was found, as a list of links with the text around the words. */
export function searchResults(query: string, found: SearchHit[]): Html {
  if (query === '')
    return html`<h1>Search</h1><p>Guides, operations and error codes: write what you look for above.</p>`;
  if (found.length === 0)
    return html`<h1>Nothing found for “${query}”</h1><p>Try a single word, or the beginning of one. <a href="/docs">All pages</a>.</p>`;
  return html`<h1>Found for “${query}”</h1><ol class="found">${found.map(
    ({ title, page, url, excerpt }) =>
      html`<li><a href="${url}">${title}</a>${page !== title && html` <span class="soft">${page}</span>`}<p>${excerpt}</p></li>`,
  )}</ol>`;
}
