// The version that migrations must live beside (migrations/released.json): the last release, or before the first one the last state
// of the main branch that people may be running. `node test/upgrade/released.ts <commit>` records another one.

import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { MIGRATIONS_FOLDER, type Migration, readMigrations } from '../../src/platform/migration-files.ts';
import { sha256 } from '../../src/platform/secrets.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const FILE = join(MIGRATIONS_FOLDER, 'released.json');

export type Released = {
  /** Its last migration. */
  migration: number;
  /** Over the checksums of its migrations, which never change again. */
  checksum: string;
  commit: string;
  /** Whether it starts on a database that a newer version has migrated. */
  starts_on_newer: boolean;
};

export function readReleased(): Released {
  return JSON.parse(readFileSync(FILE, 'utf8')) as Released;
}

export function checksumUpTo(migrations: Migration[], last: number): string {
  const checksums = migrations.filter(({ version }) => version <= last).map(({ checksum }) => checksum);
  return sha256(checksums.join('\n')).toString('hex');
}

/** A file of that version; null in a copy of the repository without its history. */
export function fileOfReleased({ commit }: Released, path: string): string | null {
  try {
    return execFileSync('git', ['show', `${commit}:${path}`], {
      cwd: ROOT,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  } catch {
    return null;
  }
}

if (process.argv[1] === import.meta.filename) {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim();
  const commit = git('rev-parse', '--verify', `${process.argv[2] ?? 'HEAD'}^{commit}`);
  const files = git('ls-tree', '--name-only', commit, 'migrations/').match(/\d{4}(?=_)/g) ?? [];
  const migration = Number(files.sort().at(-1));
  const checksum = checksumUpTo(await readMigrations(), migration);
  const released: Released = { migration, checksum, commit, starts_on_newer: true };
  writeFileSync(FILE, `${JSON.stringify(released, null, 2)}\n`);
  console.error(`Migrations must live beside ${commit}, which ends at ${migration}.`);
}
