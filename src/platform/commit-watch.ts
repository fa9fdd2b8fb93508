// Whether commits end. A primary whose synchronous standby is away takes every statement and then waits, for minutes if need be,
// and PostgreSQL's own time-outs do not reach into that wait. What is sent meanwhile would only wait as well, each on a connection
// of its own. So as soon as commits are slow the server is asked; while it does not answer, changes are refused at once.
//
// A commit that waits is never cancelled: PostgreSQL would then show it to others although no standby has it, and a failover
// would take back what they were told.

import type pg from 'pg';
import { Problem } from './errors.ts';

/** A commit that takes longer is a reason to ask. */
const SLOW_MS = 3_000;
/** How long the server may take to commit next to nothing. */
const ANSWER_MS = 2_000;
/** While it does not answer: how often we look whether it is still the same server. */
const LOOK_AGAIN_MS = 1_000;

/** Writes a few bytes to the log of changes and commits them, as every payment does; nothing is stored in a table. */
const COMMIT_SOMETHING = `
  select case when pg_is_in_recovery() or current_setting('transaction_read_only') = 'on' then 'standby'
    when pg_logical_emit_message(true, 'simbi', '') is not null then 'commits' end as state`;
const WHICH_SERVER = `select concat_ws(' ', inet_server_addr(), inet_server_port(), pg_postmaster_start_time()) as server`;

/** `standby`: the server takes no changes. `stalled`: commits do not end. `away`: there is no connection. */
export type CommitState = 'commits' | 'standby' | 'stalled' | 'away';

export interface CommitWatch {
  /** Refuses (503) while commits do not end. To be called before each statement that changes something. */
  require(): void;
  /** Watches a commit, or a statement that commits by itself. */
  watch<T>(commit: Promise<T>): Promise<T>;
  /** Asks the server, and answers within some seconds. */
  check(): Promise<CommitState>;
  close(): Promise<void>;
}

export function createCommitWatch(connect: () => Promise<pg.Client>): CommitWatch {
  /** When each commit under way was sent, oldest first. */
  const underWay = new Set<{ readonly sentAt: number }>();
  const asker = createAsker(connect);

  return {
    require() {
      if (asker.isStalled()) throw new Problem('database_unavailable', { retryAfterSeconds: 1 });
      const [oldest] = underWay;
      if (oldest && performance.now() - oldest.sentAt > SLOW_MS) void asker.ask();
    },
    async watch(commit) {
      const entry = { sentAt: performance.now() };
      underWay.add(entry);
      try {
        return await commit;
      } finally {
        underWay.delete(entry);
        if (performance.now() - entry.sentAt > SLOW_MS) void asker.ask();
      }
    },
    check: () => asker.ask(),
    close: () => asker.close(),
  };
}

interface Asker {
  ask(): Promise<CommitState>;
  isStalled(): boolean;
  close(): Promise<void>;
}

/** Asks on a connection of its own, one question at a time. */
function createAsker(connect: () => Promise<pg.Client>): Asker {
  let client: pg.Client | null = null;
  let asking: Promise<CommitState> | null = null;
  let stalled = false;
  let closed = false;

  async function drop(): Promise<void> {
    const old = client;
    client = null;
    await old?.end().catch(() => undefined);
  }

  async function ask(): Promise<CommitState> {
    client ??= await connect().catch(() => null);
    if (!client) return 'away';
    const asked = client.query<{ state: CommitState }>(COMMIT_SOMETHING).then(
      ({ rows }) => rows[0]?.state ?? 'away',
      () => 'away' as const,
    );
    const state = await Promise.race([asked, after(ANSWER_MS, 'stalled' as const)]);
    if (state === 'away') await drop();
    if (state === 'stalled' && !closed) {
      stalled = true;
      void waitForEnd(asked, await serverOf(connect));
    }
    return state;
  }

  /** The question stays open until it is answered, or another server is there to ask. */
  async function waitForEnd(asked: Promise<CommitState>, server: string | null): Promise<void> {
    let open = true;
    void asked.then(() => {
      open = false;
    });
    while (open && !closed) {
      await Promise.race([asked, after(LOOK_AGAIN_MS, null)]);
      if (open && (await serverOf(connect)) !== server) break;
    }
    // A connection that may have waited for a server that is gone is not used again.
    await drop();
    stalled = false;
    if (!closed) void askOnce();
  }

  function askOnce(): Promise<CommitState> {
    asking ??= ask().finally(() => {
      asking = null;
    });
    return asking;
  }

  return {
    isStalled: () => stalled,
    ask: () => (stalled ? Promise.resolve('stalled') : askOnce()),
    async close() {
      closed = true;
      await drop();
    },
  };
}

/** Which server answers now; null: none does. */
async function serverOf(connect: () => Promise<pg.Client>): Promise<string | null> {
  const client = await connect().catch(() => null);
  if (!client) return null;
  try {
    const { rows } = await client.query<{ server: string }>(WHICH_SERVER);
    return rows[0]?.server ?? null;
  } catch {
    return null;
  } finally {
    void client.end().catch(() => undefined);
  }
}

function after<T>(milliseconds: number, value: T): Promise<T> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds, value).unref();
  });
}
