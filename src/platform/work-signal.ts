// Work that one process leaves to others: they are told by NOTIFY and need not wait until they look the next time. It is sent
// after the commit, in a transaction of its own: inside the transaction that makes the work it would take a lock that all
// commits of the database share. Nothing depends on it; what was not heard is found by the next pass.

import { setImmediate } from 'node:timers/promises';
import type { Config } from './config.ts';
import type { Context } from './context.ts';
import { connectClient } from './database-servers.ts';
import { isPooled } from './database-url.ts';

const CHANNEL = 'simbi_work';
/** Who was told a moment ago is at work, and finds more. Without it each request of a quiet process would be followed by a message. */
export const REST_MS = 20;
const CONNECT_AGAIN_MS = 1_000;
const CONNECT_TIMEOUT_MS = 5_000;

const TELL = `select pg_notify('${CHANNEL}', job) from unnest($1::text[]) as job`;

/** Tells other processes that there is work for this job. Calls within REST_MS of the last one are sent together. */
export type TellOthers = (job: string) => void;

export type WorkSignal = {
  tell: TellOthers;
  /** Resolves when everything was sent. A command ends only then. */
  idle(): Promise<void>;
};

export function createWorkSignal({ db, log }: Pick<Context, 'db' | 'log'>): WorkSignal {
  const waiting = new Set<string>();
  let sending: Promise<void> | null = null;
  let rest: NodeJS.Timeout | null = null;

  async function send(): Promise<void> {
    // The answer to the request that made the work goes out first.
    await setImmediate();
    const jobs = [...waiting];
    waiting.clear();
    try {
      // Nothing is stored, so nothing has to be on the disk.
      await db.unflushed({ name: 'tell_others', text: TELL }, [jobs]);
    } catch (error) {
      log.warn({ err: error }, 'other processes were not told of work; they find it by themselves');
    }
    sending = null;
    rest = setTimeout(start, REST_MS).unref();
  }

  function start(): void {
    rest = null;
    if (waiting.size > 0) sending ??= send();
  }

  return {
    tell(job) {
      waiting.add(job);
      if (rest === null) start();
    },
    async idle() {
      while (waiting.size > 0 || sending) {
        if (rest) clearTimeout(rest);
        start();
        await sending;
      }
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
