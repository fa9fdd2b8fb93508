// Full-text search over the documentation with `minisearch`: guides by section, operations, error codes. A word in a heading
// counts more than one in the text, a rare word more than a common one, a whole word more than its beginning.

import MiniSearch from 'minisearch';
import { sectionsOf } from './markdown.ts';

const MAX_QUERY_LENGTH = 200;
const MAX_TOKENS = 8;
const MAX_RESULTS = 20;
const EXCERPT_LENGTH = 200;
const INDEXED_AT_ONCE = 10;
/** Shorter beginnings match too much to be useful. */
const MIN_PREFIX_LENGTH = 3;
const PREFIX_WEIGHT = 0.4;
const FIELD_WEIGHTS = { title: 6, keywords: 5, page: 1, text: 1 };
/** A page about the word, an operation and an error rank above a mention in a guide. */
const RANK = { page: 1.6, operation: 1.3, error: 1.3, guide: 1, background: 0.5 };

/** Words of which people type one and our pages write the other. */
const SYNONYMS: ReadonlyMap<string, string> = new Map([
  ['webhook', 'callback'],
  ['hook', 'callback'],
  ['momo', 'mtn'],
  ['signin', 'login'],
  ['signup', 'register'],
  ['disbursement', 'payout'],
  ['chargeback', 'reversal'],
]);
/** Names that are written with a dash, and without. */
const ONE_WORD: readonly (readonly [pattern: RegExp, word: string])[] = [
  [/\bm-pesa\b/gi, 'mpesa'],
  [/\be-mail/gi, 'email'],
  [/\bsign-in\b/gi, 'login'],
  [/\b(?:two-step verification|two-factor|second factor)/gi, '2fa'],
];

/** A section of a page, with its address. */
export type SearchPlace = {
  kind: 'guide' | 'operation' | 'error';
  title: string;
  page: string;
  url: string;
  text: string;
  /** What people call it otherwise. */
  keywords?: string;
  /** Read by few: it comes after pages that people use. */
  isBackground?: boolean;
};
export type SearchHit = SearchPlace & { excerpt: string };
export type SearchIndex = { places: readonly SearchPlace[]; index: MiniSearch };

/** In small portions: payments are served meanwhile. */
export async function indexPlaces(places: readonly SearchPlace[]): Promise<SearchIndex> {
  const index = new MiniSearch({ fields: Object.keys(FIELD_WEIGHTS), tokenize: tokensOf, processTerm: (word) => word });
  const documents = places.map(({ title, page, text, keywords = '' }, id) => ({ id, title, page, text, keywords }));
  await index.addAllAsync(documents, { chunkSize: INDEXED_AT_ONCE });
  return { places, index };
}

/** The best places first: those with most of the words, then by score. */
export function search({ places, index }: SearchIndex, typed: string): SearchHit[] {
  const query = typed.slice(0, MAX_QUERY_LENGTH);
  const asked = [...new Set(tokensOf(query))].slice(0, MAX_TOKENS);
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
      return place ? [{ ...place, excerpt: excerptOf(place.text, [...plainTerms(query), ...asked]) }] : [];
    });
}

function rankOf(place: SearchPlace | undefined, word: string): number {
  const names = place ? tokensOf(`${place.title} ${place.keywords ?? ''}`) : [];
  const isAbout = place !== undefined && place.title === place.page && names.includes(word);
  if (place?.isBackground) return RANK.background;
  return RANK[isAbout ? 'page' : (place?.kind ?? 'guide')];
}

/** Words without accents, capitals and plurals. A name such as `callback_url` is indexed as itself and as its parts. */
export function tokensOf(text: string): string[] {
  return plainTerms(text).flatMap((word) => {
    const parts = word.split('_').filter((part) => part !== '');
    return (parts.length > 1 ? [word, ...parts] : parts).map((part) => {
      const one = singular(part);
      return SYNONYMS.get(one) ?? one;
    });
  });
}

function plainTerms(text: string): string[] {
  let plain = text.normalize('NFD').replace(/\p{Mark}/gu, '');
  for (const [pattern, word] of ONE_WORD) plain = plain.replace(pattern, word);
  return [...plain.toLowerCase().matchAll(/[\p{Letter}\p{Number}_]+/gu)].map(([word]) => word);
}

function singular(word: string): string {
  return word.length > 3 && /[^s]s$/.test(word) ? word.slice(0, -1) : word;
}

/** The text around the first word of the query. */
function excerptOf(text: string, asked: readonly string[]): string {
  const lower = text.toLowerCase();
  const found = asked.map((word) => lower.indexOf(word)).filter((at) => at >= 0);
  const first = Math.min(...(found.length > 0 ? found : [0]));
  // A text whose beginning shows the word is read from its beginning.
  const start = first < EXCERPT_LENGTH * 0.7 ? 0 : first - EXCERPT_LENGTH / 4;
  const from = start === 0 ? 0 : text.indexOf(' ', start) + 1;
  const end = from + EXCERPT_LENGTH < text.length ? text.lastIndexOf(' ', from + EXCERPT_LENGTH) : text.length;
  const shown = text.slice(from, end > from ? end : from + EXCERPT_LENGTH).trim();
  return `${from > 0 ? '… ' : ''}${shown}${end < text.length ? ' …' : ''}`;
}

/** A text by its headings: each section is a place. */
export function placesOf(kind: SearchPlace['kind'], page: string, url: string, text: string): SearchPlace[] {
  return sectionsOf(text)
    .filter(({ heading, text: content }) => heading !== null || content !== '')
    .map(({ heading, text: content }) => {
      const isWhole = heading === null || heading.depth === 1;
      return isWhole
        ? { kind, page, title: page, url, text: content }
        : { kind, page, title: heading.text, url: `${url}#${heading.anchor}`, text: content };
    });
}
