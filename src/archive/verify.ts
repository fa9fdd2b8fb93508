// Verifies an archive without a database: every file of every month is there, can be unpacked, and is what its manifest says.

import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Month } from '../platform/months.ts';
import {
  type ArchivedFile,
  ArchiveError,
  fileName,
  folderOf,
  MANIFEST,
  type Manifest,
  readFacts,
  readManifest,
  requireArchive,
} from './month-folder.ts';

export type VerifiedMonth = { month: string; rows: number; manifest_sha256: string };
export type ArchiveVerification = {
  months: VerifiedMonth[];
  /** One sentence for each file that is not what was written. */
  problems: string[];
};

export async function verifyArchive(
  archive: string,
  onFile: (path: string) => void = () => undefined,
): Promise<ArchiveVerification> {
  const { months, unfinished } = await requireArchive(archive);
  const verified: VerifiedMonth[] = [];
  const problems = unfinished.map((name) => `${name} was not finished. Write the archive again.`);
  for (const month of months) {
    const found = await verifyMonth(archive, month, onFile);
    problems.push(...found.problems);
    if (found.month) verified.push(found.month);
  }
  return { months: verified, problems };
}

/** Throws when a file of the month is not what was written. */
export async function requireIntactMonth(
  archive: string,
  month: Month,
): Promise<{ manifest: Manifest; sha256: string }> {
  const { problems } = await verifyMonth(archive, month, () => undefined);
  if (problems[0] !== undefined) throw new ArchiveError(problems[0]);
  return await readManifest(archive, month);
}

async function verifyMonth(archive: string, month: Month, onFile: (path: string) => void) {
  try {
    const { manifest, sha256 } = await readManifest(archive, month);
    const problems: string[] = [];
    for (const file of manifest.files) {
      onFile(join(month.name, fileName(file.table)));
      const problem = await verifyFile(archive, month, file);
      if (problem) problems.push(problem);
    }
    const expected = new Set([MANIFEST, ...manifest.files.map(({ table }) => fileName(table))]);
    for (const name of await readdir(folderOf(archive, month)))
      if (!expected.has(name)) problems.push(`${join(month.name, name)} does not belong to the archive.`);
    const rows = manifest.files.reduce((sum, file) => sum + file.rows, 0);
    return { month: { month: month.name, rows, manifest_sha256: sha256 }, problems };
  } catch (error) {
    if (error instanceof ArchiveError) return { month: null, problems: [error.message] };
    throw error;
  }
}

async function verifyFile(archive: string, month: Month, file: ArchivedFile): Promise<string | null> {
  const path = join(month.name, fileName(file.table));
  try {
    const found = await readFacts(folderOf(archive, month), file.table);
    const same = found.sha256 === file.sha256 && found.content_sha256 === file.content_sha256;
    return same && found.rows === file.rows ? null : `${path} was changed.`;
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error)) throw error;
    if (error.code === 'ENOENT') return `${path} is missing.`;
    if (!String(error.code).startsWith('Z_')) throw error;
    // By its size: zlib also misses the end of a file in which a byte was changed.
    const { size } = await stat(join(archive, path));
    return size < file.bytes ? `${path} was cut short.` : `${path} was changed.`;
  }
}
