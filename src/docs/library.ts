// The texts that are served: the guides of docs/ in the order a newcomer reads them, decisions, and data files that guides
// link to. Read once at start; the default address in them is replaced by the address of this gateway.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { summaryOf, titleOf } from './markdown.ts';
import { writeErrors } from './reference.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const FOLDER = resolve(ROOT, 'docs');
const DEFAULT_URL = 'http://localhost:8080';
/** Other guides follow, by name. */
const ORDER = [
  'quickstart',
  'signing',
  'keys',
  'collections',
  'refunds',
  'payment-links',
  'callbacks',
  'sdk',
  'sandbox',
  'errors',
  'rails',
  'going-live',
  'operating',
  'configuration',
  'performance',
  'conformance',
  'architecture',
  'decisions',
  'changelog',
];
/** Texts of the repository outside docs/; a container image may not have them. */
const ELSEWHERE = [
  { name: 'architecture', title: 'Architecture', file: 'ARCHITECTURE.md' },
  { name: 'changelog', title: 'Changelog', file: 'CHANGELOG.md' },
];

export type Guide = { name: string; title: string; summary: string; text: string };
export type Library = {
  guides: Guide[];
  decisions: Guide[];
  /** One for each operator; their overview is the guide `rails`. */
  rails: Guide[];
  /** Files that guides link to, by name. */
  data: Map<string, string>;
};

export function readLibrary(base: string): Library {
  const read = (path: string) => readFileSync(path, 'utf8').replaceAll(DEFAULT_URL, base);
  const files = namesIn(FOLDER);
  const written = files
    // errors.md is generated from the table of problems, see writeErrors.
    .filter((name) => name.endsWith('.md') && name !== 'errors.md')
    .map((name) => toGuide(name.replace(/\.md$/, ''), read(resolve(FOLDER, name))));
  const elsewhere = ELSEWHERE.filter(({ file }) => existsSync(resolve(ROOT, file))).map(({ name, title, file }) => ({
    ...toGuide(name, read(resolve(ROOT, file))),
    title,
  }));
  const decisions = namesIn(resolve(FOLDER, 'decisions'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => toGuide(name.replace(/\.md$/, ''), read(resolve(FOLDER, 'decisions', name))));
  const rails = namesIn(resolve(FOLDER, 'rails'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => toGuide(name.replace(/\.md$/, ''), fromFolder('rails', read(resolve(FOLDER, 'rails', name)))));
  const overview = rails.filter(({ name }) => name === 'README').map((guide) => ({ ...guide, name: 'rails' }));
  const generated = [toGuide('errors', writeErrors()), toGuide('decisions', writeDecisions(decisions))];
  const data = files.filter((name) => name.endsWith('.json') && name !== 'openapi.json');
  return {
    guides: [...written, ...elsewhere, ...overview, ...generated].sort(
      (left, right) => placeOf(left) - placeOf(right) || (left.name < right.name ? -1 : 1),
    ),
    decisions,
    rails,
    data: new Map(data.map((name) => [name, readFileSync(resolve(FOLDER, name), 'utf8')])),
  };
}

/** Links of a page in a folder of docs/, as a page of docs/ itself would write them. */
function fromFolder(folder: string, text: string): string {
  return text.replace(/\]\((\.\.\/)?([\w-]+\.md)/g, (_, up: string | undefined, file: string) =>
    up ? `](${file}` : `](${folder}/${file}`,
  );
}

function namesIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => entry.name)
    .sort();
}

function toGuide(name: string, text: string): Guide {
  return { name, title: titleOf(text), summary: summaryOf(text), text };
}

function placeOf({ name }: Guide): number {
  return ORDER.includes(name) ? ORDER.indexOf(name) : ORDER.length;
}

function writeDecisions(decisions: Guide[]): string {
  const rows = decisions.map(({ name, title }) => `- [${title}](/docs/decisions/${name})`);
  return `# Decisions\n\nDesign decisions: the context, the choice and its cost.\n\n${rows.join('\n')}\n`;
}
