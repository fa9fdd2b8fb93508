// Full-text search over the documentation with `minisearch`: guides by section, operations, error codes. A word in a heading
// counts more than one in the text, a rare word more than a common one, a whole word more than its beginning.

import MiniSearch from 'minisearch';
import { anchorOf } from './markdown.ts';

const MAX_QUERY_LENGTH = 200;
const MAX_TOKENS = 8;
const MAX_RESULTS = 20;
const EXCERPT_LENGTH = 200;
/** Shorter beginnings match too much to be useful. */
const MIN_PREFIX_LENGTH = 3;
const PREFIX_WEIGHT = 0.4;
const FIELD_WEIGHTS = { title: 6, page: 1, text: 1 };
/** A page about the word, an operation and an error rank above a mention in a guide. */
const RANK = { page: 1.6, operation: 1.3, error: 1.3, guide: 1 };

/** A section of a page, with its address. */
export type SearchPlace = {
  kind: 'guide' | 'operation' | 'error';
  title: string;
  page: string;
  url: string;
  text: string;
};
export type SearchHit = SearchPlace & { excerpt: string };
export type SearchIndex = { places: readonly SearchPlace[]; index: MiniSearch };

export function indexPlaces(places: readonly SearchPlace[]): SearchIndex {
  const index = new MiniSearch({ fields: Object.keys(FIELD_WEIGHTS), tokenize: tokensOf, processTerm: (word) => word });
  index.addAll(places.map(({ title, page, text }, id) => ({ id, title, page, text })));
  return { places, index };
}

/** The best places first: those with most of the words, then by score. */
export function search({ places, index }: SearchIndex, query: string): SearchHit[] {
  const asked = [...new Set(tokensOf(query.slice(0, MAX_QUERY_LENGTH)))].slice(0, MAX_TOKENS);
  return index
    .search(asked.join(' '), {
      tokenize: (text) => text.split(' ').filter(Boolean),
      boost: FIELD_WEIGHTS,
      prefix: (word) => word.length >= MIN_PREFIX_LENGTH,
      weights: { prefix: PREFIX_WEIGHT, fuzzy: 0 },
      boostDocument: (id, word) => rankOf(places[id as number], word),
    })
    .sort((left, right) => right.queryTerms.length - left.queryTerms.length || right.score - left.score)
    .slice(0, MAX_RESULTS)
    .flatMap(({ id }) => {
      const place = places[id as number];
      return place ? [{ ...place, excerpt: excerptOf(place.text, asked) }] : [];
    });
}

function rankOf(place: SearchPlace | undefined, word: string): number {
  const isAbout = place !== undefined && place.title === place.page && tokensOf(place.title).includes(word);
  return RANK[isAbout ? 'page' : (place?.kind ?? 'guide')];
}

/** Words without accents, capitals and plurals. A name such as `callback_url` is indexed as itself and as its parts. */
export function tokensOf(text: string): string[] {
  const plain = text
    .normalize('NFD')
    .replace(/\p{Mark}/gu, '')
    .toLowerCase();
  return [...plain.matchAll(/[\p{Letter}\p{Number}_]+/gu)].flatMap(([word]) => {
    const parts = word.split('_').filter((part) => part !== '');
    return (parts.length > 1 ? [word, ...parts] : parts).map(singular);
  });
}

function singular(word: string): string {
  return word.length > 3 && /[^s]s$/.test(word) ? word.slice(0, -1) : word;
}

/** The text around the first word of the query. */
function excerptOf(text: string, asked: readonly string[]): string {
  const lower = text.toLowerCase();
  const found = asked.map((word) => lower.indexOf(word)).filter((at) => at >= 0);
  const start = Math.max(0, Math.min(...(found.length > 0 ? found : [0])) - EXCERPT_LENGTH / 4);
  const from = start === 0 ? 0 : text.indexOf(' ', start) + 1;
  const end = from + EXCERPT_LENGTH < text.length ? text.lastIndexOf(' ', from + EXCERPT_LENGTH) : text.length;
  const shown = text.slice(from, end > from ? end : from + EXCERPT_LENGTH).trim();
  return `${from > 0 ? '… ' : ''}${shown}${end < text.length ? ' …' : ''}`;
}

/** A text split at its headings: each section is a place. */
export function sectionsOf(kind: SearchPlace['kind'], page: string, url: string, text: string): SearchPlace[] {
  const places: SearchPlace[] = [];
  let current = { title: page, url, lines: [] as string[] };
  const close = () => places.push({ kind, page, title: current.title, url: current.url, text: plain(current.lines) });
  let inCode = false;
  for (const line of text.split('\n')) {
    if (line.startsWith('```')) inCode = !inCode;
    const heading = inCode ? null : /^#{2,4} (.+)$/.exec(line)?.[1];
    if (!heading) {
      if (!line.startsWith('# ') || inCode) current.lines.push(line);
      continue;
    }
    close();
    current = { title: plain([heading]), url: `${url}#${anchorOf(heading)}`, lines: [] };
  }
  close();
  return places;
}

/** Markdown as plain text. */
function plain(lines: string[]): string {
  return lines
    .join(' ')
    .replace(/```\w*|\|(?:\s*:?-+:?\s*\|)+|\*\*|[`<>]/g, ' ')
    .replace(/\[([^\]]+)\]\([^)\s]+\)/g, '$1')
    .replace(/\|/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();
}
