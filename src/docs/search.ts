// Full-text search over the documentation, in memory: guides by section, operations, error codes. Words are matched
// whole or by their beginning; a word in a heading weighs more than one in the text, a rare word more than a common one.

import { anchorOf } from './markdown.ts';

const MAX_QUERY_LENGTH = 200;
const MAX_WORDS = 8;
const MAX_RESULTS = 20;
const EXCERPT_LENGTH = 200;
/** Shorter beginnings match too much to mean anything. */
const SHORTEST_BEGINNING = 3;
const HEADING_WEIGHT = 6;
/** A beginning of a word says less than the word. */
const BEGINNING_WEIGHT = 0.4;
/** A page with the word in its title, and what is said of one operation or one error, come before mentions in guides. */
const RANK = { page: 1.6, operation: 1.3, error: 1.3, guide: 1 };
/** How fast repetition stops to count, and how much a long text is discounted: the usual values of BM25. */
const SATURATION = 1.2;
const LENGTH_DISCOUNT = 0.75;

/** A place that can be found: a section of a page, with its address. */
export type SearchPlace = {
  kind: 'guide' | 'operation' | 'error';
  title: string;
  page: string;
  url: string;
  text: string;
};
export type SearchHit = SearchPlace & { excerpt: string };
export type SearchIndex = {
  places: readonly SearchPlace[];
  lengths: readonly number[];
  /** Word → place → how often, weighted. */
  words: ReadonlyMap<string, ReadonlyMap<number, number>>;
};

export function indexPlaces(places: readonly SearchPlace[]): SearchIndex {
  const words = new Map<string, Map<number, number>>();
  const lengths = places.map((place, at) => {
    const add = (word: string, weight: number) => {
      const counts = words.get(word) ?? new Map<number, number>();
      words.set(word, counts.set(at, (counts.get(at) ?? 0) + weight));
    };
    for (const word of tokensOf(place.title)) add(word, HEADING_WEIGHT);
    for (const word of tokensOf(place.page)) add(word, 1);
    const body = tokensOf(place.text);
    for (const word of body) add(word, 1);
    return body.length + 1;
  });
  return { places, lengths, words };
}

/** The best places first: those with most of the words, and among them those that say most about them. */
export function search(index: SearchIndex, query: string): SearchHit[] {
  const asked = [...new Set(tokensOf(query.slice(0, MAX_QUERY_LENGTH)))].slice(0, MAX_WORDS);
  const average = index.lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, index.lengths.length);
  const scores = new Map<number, { matched: number; score: number }>();
  for (const word of asked) {
    const counts = countsOf(index, word);
    const rarity = Math.log(1 + index.places.length / (1 + counts.size));
    for (const [at, count] of counts) {
      const length = (index.lengths[at] ?? average) / average;
      const worth = count / (count + SATURATION * (1 - LENGTH_DISCOUNT + LENGTH_DISCOUNT * length));
      const { matched, score } = scores.get(at) ?? { matched: 0, score: 0 };
      scores.set(at, { matched: matched + 1, score: score + rarity * worth * rankOf(index.places[at], word) });
    }
  }
  return [...scores]
    .sort(([a, left], [b, right]) => right.matched - left.matched || right.score - left.score || a - b)
    .slice(0, MAX_RESULTS)
    .flatMap(([at]) => {
      const place = index.places[at];
      return place ? [{ ...place, excerpt: excerptOf(place.text, asked) }] : [];
    });
}

function rankOf(place: SearchPlace | undefined, word: string): number {
  const isAbout = place !== undefined && place.title === place.page && tokensOf(place.title).includes(word);
  return RANK[isAbout ? 'page' : (place?.kind ?? 'guide')];
}

/** Places that have the word, or a word that begins so. */
function countsOf(index: SearchIndex, word: string): Map<number, number> {
  const counts = new Map(index.words.get(word));
  if (word.length < SHORTEST_BEGINNING) return counts;
  for (const [known, places] of index.words) {
    if (known === word || !known.startsWith(word)) continue;
    for (const [at, count] of places) counts.set(at, (counts.get(at) ?? 0) + count * BEGINNING_WEIGHT);
  }
  return counts;
}

/** Words without accents, capitals and plurals. A name such as `callback_url` counts as itself and as its parts. */
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

/** The text around the first word that was asked for. */
function excerptOf(text: string, asked: readonly string[]): string {
  const lower = text.toLowerCase();
  const found = asked.map((word) => lower.indexOf(word)).filter((at) => at >= 0);
  const start = Math.max(0, Math.min(...(found.length > 0 ? found : [0])) - EXCERPT_LENGTH / 4);
  const from = start === 0 ? 0 : text.indexOf(' ', start) + 1;
  const end = from + EXCERPT_LENGTH < text.length ? text.lastIndexOf(' ', from + EXCERPT_LENGTH) : text.length;
  const shown = text.slice(from, end > from ? end : from + EXCERPT_LENGTH).trim();
  return `${from > 0 ? '… ' : ''}${shown}${end < text.length ? ' …' : ''}`;
}

/** A text cut at its headings: each section is a place of its own. */
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

/** Markdown as running text: what is marked stays, the marks go. */
function plain(lines: string[]): string {
  return lines
    .join(' ')
    .replace(/```\w*|\|(?:\s*:?-+:?\s*\|)+|\*\*|[`<>]/g, ' ')
    .replace(/\[([^\]]+)\]\([^)\s]+\)/g, '$1')
    .replace(/\|/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();
}
