// The results of a search, as a page for those who press Enter or have no scripts.

import { type Html, html } from '../platform/html.ts';
import { emptyState } from '../ui/components.ts';
import type { SearchHit } from './search.ts';

export function searchResults(query: string, found: readonly SearchHit[]): Html {
  if (query === '') return html`<h1>Search</h1><p class="lead">Search the guides, operations and error codes.</p>`;
  if (found.length === 0)
    return html`
      <h1>Nothing found for “${query}”</h1>
      ${emptyState(
        'No page has this word',
        'Try a single word, or the beginning of one.',
        html`<a class="button" href="/docs">All pages</a>`,
        'search',
      )}
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
      ${page !== title && html` <span class="muted">${page}</span>`}
      <p>${excerpt}</p>
    </li>
  `;
}
