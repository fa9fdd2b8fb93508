// A connection of its own for COPY: copying takes longer than the time-outs for requests.

import type pg from 'pg';
import { connectClient } from './database-servers.ts';
import type { Reader, Statement } from './db.ts';

const CONNECT_TIMEOUT_MS = 10_000;

export async function connectForCopy(databaseUrl: string, applicationName: string): Promise<pg.Client> {
  const client = await connectClient({
    connectionString: databaseUrl,
    application_name: applicationName,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: 0,
    idle_in_transaction_session_timeout: 0,
    keepAlive: true,
  });
  // The text of a row must not depend on the server's settings.
  await client.query(
    `set datestyle = 'ISO, YMD'; set intervalstyle = postgres; set timezone = 'UTC'; set bytea_output = hex; set extra_float_digits = 3`,
  );
  return client;
}

/** A connection for functions that take a reader. */
export function readerOf(client: pg.Client): Reader {
  return {
    async query<R extends object>(statement: Statement, values?: unknown[]) {
      const text = typeof statement === 'string' ? statement : statement.text;
      return (await client.query<R>(text, values)).rows;
    },
  };
}
