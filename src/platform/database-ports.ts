// The ports of the database on this machine: no callback may go there.

import type { Context } from './context.ts';

const DEFAULT_PORT = 5432;

/** The port of DATABASE_URL, and the one that the server itself names: a pooler may stand between, and an embedded one has no URL. */
export async function databasePorts({ config, db }: Pick<Context, 'config' | 'db'>): Promise<number[]> {
  const [row] = await db.query<{ port: number | null }>('select inet_server_port() as port');
  const configured = config.databaseUrl === '' ? null : Number(new URL(config.databaseUrl).port || DEFAULT_PORT);
  return [row?.port, configured].filter((port) => typeof port === 'number');
}
