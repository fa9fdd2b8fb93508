// The files of migrations/: NNNN_name.sql, and the rights of the roles in privileges.sql.

import { readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type MigrationHeader, readHeader } from './migration-header.ts';
import { sha256 } from './secrets.ts';
import { type SqlStatement, splitStatements } from './sql-statements.ts';

export const MIGRATIONS_FOLDER = resolve(import.meta.dirname, '../../migrations');
export const PRIVILEGES_FILE = 'privileges.sql';

/** The database cannot be migrated. The message says why and what to do. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError';
}

export type Migration = MigrationHeader & {
  version: number;
  name: string;
  file: string;
  sql: string;
  checksum: string;
};

export type Privileges = { sql: string; checksum: string };

/** The migrations of this version, in order. */
export async function readMigrations(folder = MIGRATIONS_FOLDER): Promise<Migration[]> {
  const files = (await readdir(folder)).filter((file) => /^\d{4}_.+\.sql$/.test(file)).sort();
  return await Promise.all(
    files.map(async (file, index) => {
      const version = Number(file.slice(0, 4));
      if (files[index - 1]?.startsWith(file.slice(0, 5)))
        throw new MigrationError(`Two migrations have the number ${version}: ${files[index - 1]} and ${file}.`);
      const sql = await readText(join(folder, file));
      const header = parse(file, () => readHeader(sql));
      return { version, file, sql, name: file.slice(5, -4), checksum: checksumOf(sql), ...header };
    }),
  );
}

/** The grants of this version. Null: the folder has none. */
export async function readPrivileges(folder = MIGRATIONS_FOLDER): Promise<Privileges | null> {
  const sql = await readText(join(folder, PRIVILEGES_FILE)).catch(() => null);
  return sql === null ? null : { sql, checksum: checksumOf(sql) };
}

/** Not done when the files are read: /readyz reads them often, and needs only their names. */
export function statementsOf({ file, sql }: Pick<Migration, 'file' | 'sql'>): SqlStatement[] {
  return parse(file, () => splitStatements(sql));
}

/** A checkout with Windows line ends is the same migration. */
async function readText(path: string): Promise<string> {
  return (await readFile(path, 'utf8')).replaceAll('\r\n', '\n');
}

const checksumOf = (sql: string) => sha256(sql).toString('hex');

function parse<T>(file: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new MigrationError(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}.`);
  }
}
