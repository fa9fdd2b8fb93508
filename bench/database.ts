// The PostgreSQL that a benchmark runs in: the embedded one, or one that is installed on the machine as for live use. The programs
// of the embedded one are compiled to be small (-Os), those of Debian and others to be fast.

import { readFileSync } from 'node:fs';
import pg from 'pg';
import { startEmbeddedPostgres } from '../src/embedded-postgres/server.ts';
import { parentOf } from './gateway-process.ts';
import { say } from './measures.ts';

export type Database = {
  readonly url: string;
  /** Of the process that is the parent of all others: their CPU time is that of the database. */
  readonly pid: number;
  stop(): Promise<void>;
};

/** `url`: an empty database of a PostgreSQL on this machine; undefined: the embedded PostgreSQL with its data in `dataDir`. */
export async function openDatabase(dataDir: string, url: string | undefined): Promise<Database> {
  if (url === undefined) return await startEmbeddedPostgres({ dataDir, onProgress: say });
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<{ backend: number; tables: number }>(
      `select pg_backend_pid() as backend, (select count(*)::integer from pg_tables where schemaname = 'public') as tables`,
    );
    const { backend = 0, tables = 0 } = rows[0] ?? {};
    if (tables > 0) throw new Error(`The database has ${tables} tables. Name an empty one: the benchmark fills it.`);
    if (nameOf(backend) !== 'postgres')
      throw new Error(
        'The database is not on this machine. It must be, because the CPU time of its processes is measured.',
      );
    // It keeps running, and the database keeps what was written, for the person who made it.
    return { url, pid: parentOf(backend), stop: async () => undefined };
  } finally {
    await client.end();
  }
}

/** Version and what is safe, for the line above the results. */
export async function describeDatabase(url: string, isEmbedded: boolean): Promise<string> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<{ version: string; settings: string }>(
      `select current_setting('server_version') as version,
         (select string_agg(name || ' ' || setting, ', ' order by name) from pg_settings
          where name in ('fsync', 'synchronous_commit', 'full_page_writes')) as settings`,
    );
    const [row] = rows;
    return `${isEmbedded ? 'embedded ' : ''}${row?.version}, ${row?.settings}`;
  } finally {
    await client.end();
  }
}

function nameOf(pid: number): string | null {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
  } catch {
    return null;
  }
}
