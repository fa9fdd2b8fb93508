// Work that one process leaves to others: they are told by NOTIFY and need not wait until they look the next time. It is sent
// after the commit, in a transaction of its own: inside the transaction that makes the work it would take a lock that all
// commits of the database share. Nothing depends on it; what was not heard is found by the next pass.

import type { Config } from './config.ts';
import type { Context } from './context.ts';
import { connectClient } from './database-servers.ts';
import { isPooled } from './database-url.ts';

const CHANNEL = 'simbi_work';
const CONNECT_AGAIN_MS = 1_000;
const CONNECT_TIMEOUT_MS = 5_000;

/** Tells other processes that there is work for this job. Calls while one is being sent are sent together. */
export type TellOthers = (job: string) => void;

export type WorkSignal = {
  tell: TellOthers;
  /** Resolves when everything was sent. A command ends only then. */
  idle(): Promise<void>;
};

export function createWorkSignal({ db, log }: Pick<Context, 'db' | 'log'>): WorkSignal {
  const waiting = new Set<string>();
  let sending: Promise<void> | null = null;

  async function send(): Promise<void> {
    try {
      while (waiting.size > 0) {
        const jobs = [...waiting];
        waiting.clear();
        await db.query(`select pg_notify('${CHANNEL}', job) from unnest($1::text[]) as job`, [jobs]);
      }
    } catch (error) {
      log.warn({ err: error }, 'other processes were not told of work; they find it by themselves');
    } finally {
      sending = null;
    }
  }

  return {
    tell(job) {
      waiting.add(job);
      sending ??= send();
    },
    idle: async () => {
      await sending;
    },
  };
}

/** Where a worker listens. Null: nowhere, because there is no other process, or no connection that it could keep. */
export function listenUrl({ databaseListenUrl }: Config, sharedUrl: string | null): string | null {
  if (databaseListenUrl !== '') return databaseListenUrl;
  return sharedUrl === null || isPooled(sharedUrl) ? null : sharedUrl;
}

export interface WorkListener {
  stop(): Promise<void>;
}

/** Calls `onWork` with the name of a job that has work, and with null when it may have missed one. */
export function listenForWork(
  databaseUrl: string,
  log: Context['log'],
  onWork: (job: string | null) => void,
): WorkListener {
  const stopping = new AbortController();

  async function listen(): Promise<void> {
    const client = await connectClient({
      connectionString: databaseUrl,
      application_name: 'simbi-listen',
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      keepAlive: true,
    });
    const ended = new Promise<void>((resolve) => client.once('end', () => resolve()));
    const end = () => void client.end().catch(() => undefined);
    stopping.signal.addEventListener('abort', end);
    if (stopping.signal.aborted) end();
    try {
      client.on('notification', ({ payload }) => onWork(payload ?? null));
      await client.query(`listen ${CHANNEL}`);
      onWork(null);
      await ended;
    } finally {
      stopping.signal.removeEventListener('abort', end);
      end();
    }
  }

  async function listenAgain(): Promise<void> {
    while (!stopping.signal.aborted) {
      await listen().catch((error: unknown) => {
        if (!stopping.signal.aborted) log.warn({ err: error }, 'not told of work by other processes');
      });
      if (!stopping.signal.aborted) await pause(CONNECT_AGAIN_MS, stopping.signal);
    }
  }

  const done = listenAgain();
  return {
    stop() {
      stopping.abort();
      return done;
    },
  };
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      resolve();
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', end);
      resolve();
    }, milliseconds);
    signal.addEventListener('abort', end, { once: true });
  });
}
