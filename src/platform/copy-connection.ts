// A connection of its own for COPY: copying takes longer than the time-outs for requests. What a copy needs is set for its
// transaction: behind a pooler the next transaction may have another connection.

import type pg from 'pg';
import { connectClient } from './database-servers.ts';
import type { Reader, Statement } from './db.ts';

const CONNECT_TIMEOUT_MS = 10_000;

export function connectForCopy(databaseUrl: string, applicationName: string): Promise<pg.Client> {
  return connectClient({
    connectionString: databaseUrl,
    application_name: applicationName,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
  });
}

/** The text of a row must not depend on the server's settings. */
const COPY_SETTINGS = [
  `datestyle = 'ISO, YMD'`,
  'intervalstyle = postgres',
  `timezone = 'UTC'`,
  'bytea_output = hex',
  'extra_float_digits = 3',
  'statement_timeout = 0',
  'idle_in_transaction_session_timeout = 0',
];
const SET_FOR_COPY = COPY_SETTINGS.map((setting) => `set local ${setting}`).join('; ');

/** `read`: everything is read as of one moment. */
export async function beginCopy(client: pg.Client, what: 'read' | 'write'): Promise<void> {
  const begin = what === 'read' ? 'begin isolation level repeatable read read only' : 'begin';
  await client.query(`${begin}; ${SET_FOR_COPY}`);
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
