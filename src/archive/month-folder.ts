// A month in an archive is a folder: one CSV file (gzip) for each table and a manifest, which is written last. The folder gets its
// name when everything in it was read back and compared, so a folder with a name is complete.

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import Type, { type Static } from 'typebox';
import { Check } from 'typebox/schema';
import { type Month, monthNamed } from '../platform/months.ts';

export const MANIFEST = 'manifest.json';
const UNFINISHED = '.unfinished';
const QUOTE = 0x22;
const LINE_FEED = 0x0a;

/** The archive cannot be written, or is not what was written. The message says which file, and what to do. */
export class ArchiveError extends Error {
  override readonly name = 'ArchiveError';
}

const Sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' });
const FileFacts = Type.Object({
  table: Type.String({ pattern: '^[a-z_]{1,63}$' }),
  rows: Type.Integer({ minimum: 0 }),
  bytes: Type.Integer({ minimum: 0 }),
  sha256: Sha256,
  /** Of the CSV inside. */
  content_sha256: Sha256,
});
const ManifestSchema = Type.Object({
  format: Type.Literal(1),
  month: Type.String(),
  version: Type.String(),
  mode: Type.String(),
  written_at: Type.String(),
  /** The newest migration. */
  schema: Type.Integer(),
  /** The newest block of the hash chain when the month was written, as `ledger verify --known-block` takes it. */
  ledger_block: Type.Union([Type.String(), Type.Null()]),
  /** The newest evidence in it. What came later stays in the database. */
  last_evidence: Type.String({ pattern: '^\\d{1,19}$' }),
  files: Type.Array(FileFacts),
});

export type ArchivedFile = Static<typeof FileFacts>;
export type Manifest = Static<typeof ManifestSchema>;
export type Content = Pick<ArchivedFile, 'rows' | 'content_sha256'>;

export const fileName = (table: string) => `${table}.csv.gz`;
export const folderOf = (archive: string, month: Month) => join(archive, month.name);
export const unfinishedFolderOf = (archive: string, month: Month) => `${folderOf(archive, month)}${UNFINISHED}`;

/** The months that a folder has, oldest first, and those that were begun and not finished. */
export async function listArchive(archive: string): Promise<{ months: Month[]; unfinished: string[] }> {
  const entries = await readdir(archive, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  const names = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  const months = names.map((name) => monthNamed(name)).filter((month) => month !== null);
  return {
    months: months.sort((left, right) => left.from.getTime() - right.from.getTime()),
    unfinished: names.filter((name) => name.endsWith(UNFINISHED)).sort(),
  };
}

/** The same of a folder that must have some: a mistyped one has nothing, and would look as if nothing were left to do. */
export async function requireArchive(archive: string): Promise<{ months: Month[]; unfinished: string[] }> {
  const found = await listArchive(archive);
  if (found.months.length === 0 && found.unfinished.length === 0)
    throw new ArchiveError(`${archive} has no archive: there is no folder of a month in it.`);
  return found;
}

/** The manifest of a month, and its hash, which the audit log has. */
export async function readManifest(archive: string, month: Month): Promise<{ manifest: Manifest; sha256: string }> {
  const path = join(month.name, MANIFEST);
  const text = await readFile(join(archive, path)).catch(() => null);
  if (text === null) throw new ArchiveError(`${path} is missing.`);
  const manifest = parse(text.toString());
  if (!Check(ManifestSchema, manifest) || manifest.month !== month.name)
    throw new ArchiveError(`${path} was changed: it is not a manifest of this month.`);
  return { manifest, sha256: createHash('sha256').update(text).digest('hex') };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Writes the manifest and makes everything durable. Returns the hash of the manifest. */
export async function writeManifest(archive: string, month: Month, manifest: Manifest): Promise<string> {
  const folder = unfinishedFolderOf(archive, month);
  const text = `${JSON.stringify(manifest, null, 2)}\n`;
  await writeFile(join(folder, MANIFEST), text, { mode: 0o600, flush: true });
  await syncFolder(folder);
  return createHash('sha256').update(text).digest('hex');
}

/** Gives the folder its name: from now on the month is complete, and is not written again. */
export async function nameMonth(archive: string, month: Month): Promise<void> {
  await rename(unfinishedFolderOf(archive, month), folderOf(archive, month));
  await syncFolder(archive);
}

/** A new file, or a new name, is only certain after its folder was written too. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

export function removeUnfinished(archive: string, month: Month): Promise<void> {
  return rm(unfinishedFolderOf(archive, month), { recursive: true, force: true });
}

/** Reads a file to its end. Throws when it cannot be unpacked. */
export async function readFacts(folder: string, table: string): Promise<ArchivedFile> {
  const path = join(folder, fileName(table));
  const packed = createHash('sha256');
  const content = createContentCounter();
  await pipeline(
    createReadStream(path),
    async function* (chunks: AsyncIterable<Buffer>) {
      for await (const chunk of chunks) {
        packed.update(chunk);
        yield chunk;
      }
    },
    createGunzip(),
    async (chunks: AsyncIterable<Buffer>) => {
      for await (const chunk of chunks) content.add(chunk);
    },
  );
  return { table, bytes: (await stat(path)).size, sha256: packed.digest('hex'), ...content.end() };
}

/** The hash of CSV, and its rows without the heading. A line feed within quotes ends no row. */
export function createContentCounter(): { add(chunk: Buffer): void; rows(): number; end(): Content } {
  const hash = createHash('sha256');
  let lines = 0;
  let quoted = false;
  return {
    add(chunk) {
      hash.update(chunk);
      for (let at = 0; at < chunk.length; at++) {
        if (chunk[at] === QUOTE) quoted = !quoted;
        else if (chunk[at] === LINE_FEED && !quoted) lines++;
      }
    },
    rows: () => Math.max(0, lines - 1),
    end: () => ({ rows: Math.max(0, lines - 1), content_sha256: hash.digest('hex') }),
  };
}
