// The texts that are served: the Markdown files of docs/ and of its folders, two texts of the repository, and data files and
// pictures that they refer to. Read once at start; the default address in them is replaced by the address of this gateway.

import { closeSync, existsSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { titleOf } from './markdown.ts';
import { writeErrors } from './reference.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const DEFAULT_URL = 'http://localhost:8080';
const FOLDERS = ['docs', 'docs/decisions', 'docs/merchants', 'docs/rails'];
const PICTURES = 'docs/images';
/** Texts of the repository outside docs/; a container image may not have them. */
const ELSEWHERE = { 'ARCHITECTURE.md': '/docs/architecture', 'CHANGELOG.md': '/docs/changelog' } as const;
/** A PNG file says here how large it is. */
const PNG_WIDTH_AT = 16;
const PNG_HEIGHT_AT = 20;
const PNG_START_BYTES = 24;

/** `file` is its place in the repository, from which its links lead on. */
export type Guide = { path: string; file: string; title: string; text: string };
export type Picture = { file: string; width: number; height: number };
export type Library = {
  /** By their address. */
  guides: ReadonlyMap<string, Guide>;
  /** Files that guides link to, by name. */
  data: ReadonlyMap<string, string>;
  pictures: ReadonlyMap<string, Picture>;
};

export function readLibrary(base: string): Library {
  const read = (file: string) => readFileSync(join(ROOT, file), 'utf8').replaceAll(DEFAULT_URL, base);
  const files = FOLDERS.flatMap((folder) =>
    namesIn(folder)
      // errors.md is generated from the table of problems, see writeErrors.
      .filter((name) => name.endsWith('.md') && name !== 'errors.md')
      .map((name) => `${folder}/${name}`),
  );
  const elsewhere = Object.keys(ELSEWHERE).filter((file) => existsSync(join(ROOT, file)));
  const written = [...files, ...elsewhere].map((file) => toGuide(file, read(file)));
  const generated = [
    toGuide('docs/errors.md', writeErrors()),
    toGuide('docs/decisions.md', writeDecisions(written.filter(({ path }) => path.startsWith('/docs/decisions/')))),
  ];
  const data = namesIn('docs').filter((name) => name.endsWith('.json') && name !== 'openapi.json');
  const pictures = namesIn(PICTURES).filter((name) => name.endsWith('.png'));
  return {
    guides: new Map([...written, ...generated].map((guide) => [guide.path, guide])),
    data: new Map(data.map((name) => [name, readFileSync(join(ROOT, 'docs', name), 'utf8')])),
    pictures: new Map(pictures.map((name) => [name, toPicture(join(ROOT, PICTURES, name))])),
  };
}

/** The address of a text of the repository: without the ending, a README under the name of its folder. */
export function pathOfFile(file: string): string {
  if (file in ELSEWHERE) return ELSEWHERE[file as keyof typeof ELSEWHERE];
  return `/${file.replace(/(?:\/README)?\.md$/, '')}`;
}

function namesIn(folder: string): string[] {
  const path = join(ROOT, folder);
  if (!existsSync(path)) return [];
  return readdirSync(path, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => entry.name)
    .sort();
}

function toGuide(file: string, text: string): Guide {
  return { path: pathOfFile(file), file, title: titleOf(text), text };
}

/** Only the size is read now: pages say it, so that their text does not move when the picture comes. */
function toPicture(file: string): Picture {
  const start = Buffer.alloc(PNG_START_BYTES);
  const opened = openSync(file, 'r');
  try {
    readSync(opened, start);
  } finally {
    closeSync(opened);
  }
  return { file, width: start.readUInt32BE(PNG_WIDTH_AT), height: start.readUInt32BE(PNG_HEIGHT_AT) };
}

function writeDecisions(decisions: readonly Guide[]): string {
  const rows = decisions.map(({ path, title }) => `- [${title}](${path})`);
  return `# Decisions\n\nDesign decisions: the context, the choice and its cost.\n\n${rows.join('\n')}\n`;
}
