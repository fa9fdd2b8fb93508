// Looks at each server of the cluster all the time: who takes changes, and since when.

import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';

const PAUSE_MS = 50;
const ANSWER_MS = 1_000;

export interface Monitor {
  /** When this server first took changes after the given time; null: it has not yet. */
  promotedAfter(time: number, except: number): { node: number; at: number } | null;
  stop(): Promise<void>;
}

type Change = { node: number; at: number };

export function startMonitor(servers: readonly { node: number; url: string }[]): Monitor {
  const promotions: Change[] = [];
  let isOver = false;
  const running = servers.map(async ({ node, url }) => {
    let client: pg.Client | null = null;
    // A server that does not answer keeps its role here: a primary that comes back as one was not promoted.
    let wasStandby = true;
    while (!isOver) {
      try {
        client ??= await connect(url);
        const { rows } = await client.query<{ standby: boolean }>('select pg_is_in_recovery() as standby');
        const isStandby = rows[0]?.standby ?? true;
        if (wasStandby && !isStandby) promotions.push({ node, at: performance.now() });
        wasStandby = isStandby;
      } catch {
        await client?.end().catch(() => undefined);
        client = null;
      }
      await wait(PAUSE_MS);
    }
    await client?.end().catch(() => undefined);
  });
  return {
    promotedAfter: (time, except) => promotions.find(({ node, at }) => node !== except && at > time) ?? null,
    async stop() {
      isOver = true;
      await Promise.all(running);
    },
  };
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: ANSWER_MS,
    query_timeout: ANSWER_MS,
    application_name: 'failover monitor',
  });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}
