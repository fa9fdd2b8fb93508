// Whether commits end. A primary whose synchronous standby is away takes every statement and then waits, for minutes if need be,
// and PostgreSQL's own time-outs do not reach into that wait. What is sent meanwhile would only wait as well, each on a connection
// of its own. So as soon as commits are slow the server is asked; while it does not answer, changes are refused at once.
//
// A commit that waits is never cancelled: PostgreSQL would then show it to others although no standby has it, and a failover
// would take back what they were told.
//
// Where the URL names several servers, the others are asked as well. A primary that nobody could tell of its successor goes on to
// take changes, but its standbys have left it: of two servers that say they are the primary, the one that commits is.

import type pg from 'pg';
import type { DatabaseServers } from './database-servers.ts';
import { Problem } from './errors.ts';
import { UnderWay } from './under-way.ts';

/** A commit that takes longer is a reason to ask. */
const SLOW_MS = 3_000;
/** The same where another server may have taken over. */
const SLOW_WITH_OTHERS_MS = 1_000;
/** How often we look while a commit is under way, until it is slow. */
const LOOKS = 5;
/** A server that has not answered by then may have a successor. */
const LOOK_ELSEWHERE_MS = 300;
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

/** `connect`: a connection of its own to a server, or to the one that the pool uses. */
export type Connect = (url?: string) => Promise<pg.Client>;

export function createCommitWatch(connect: Connect, servers: DatabaseServers): CommitWatch {
  /** When each commit under way was sent. */
  const underWay = new UnderWay<number>();
  const asker = createAsker(connect, servers);
  const slowMs = servers.count > 1 ? SLOW_WITH_OTHERS_MS : SLOW_MS;
  let timer: NodeJS.Timeout | null = null;
  let askedAt = Number.NEGATIVE_INFINITY;

  /** Not again and again: on a machine that is only slow, connections to the other servers would make it slower. */
  function askIfSlow(sentAt: number | null): void {
    const now = performance.now();
    if (sentAt === null || now - sentAt <= slowMs || now - askedAt <= slowMs) return;
    askedAt = now;
    void asker.ask();
  }
  /** Also where no other change comes that would look. */
  function look(): void {
    timer = null;
    askIfSlow(underWay.oldest);
    if (underWay.oldest !== null) timer = setTimeout(look, slowMs / LOOKS).unref();
  }

  return {
    require() {
      if (asker.isStalled()) throw new Problem('database_unavailable', { retryAfterSeconds: 1 });
      askIfSlow(underWay.oldest);
    },
    async watch(commit) {
      const sentAt = performance.now();
      const entry = underWay.add(sentAt);
      timer ??= setTimeout(look, slowMs / LOOKS).unref();
      try {
        return await commit;
      } finally {
        underWay.end(entry);
        askIfSlow(sentAt);
      }
    },
    check: () => asker.ask(),
    async close() {
      if (timer) clearTimeout(timer);
      await asker.close();
    },
  };
}

interface Asker {
  ask(): Promise<CommitState>;
  isStalled(): boolean;
  close(): Promise<void>;
}

/** Asks on a connection of its own, one question at a time. */
function createAsker(connect: Connect, servers: DatabaseServers): Asker {
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
    const asked = commitSomething(client);
    const state = await Promise.race([asked, movedUnless(asked), after(ANSWER_MS, 'stalled' as const)]);
    if (state === 'away') await drop();
    if (state === 'moved') {
      await drop();
      return 'commits';
    }
    if (state === 'stalled' && !closed) {
      stalled = true;
      void waitForEnd(asked, await serverOf(connect));
    }
    return state;
  }

  /** Resolves when another server has taken over; never if this one answers soon, or there is no other. */
  async function movedUnless(asked: Promise<CommitState>): Promise<'moved'> {
    const quick = await Promise.race([asked, after(LOOK_ELSEWHERE_MS, null)]);
    if (quick === null && (await moveElsewhere())) return 'moved';
    return new Promise<never>(() => undefined);
  }

  /** Goes to the server among the others that commits, if there is one. */
  async function moveElsewhere(): Promise<boolean> {
    const found = closed ? null : await findCommitting(servers.others, connect);
    if (found !== null) servers.moveTo(found);
    return found !== null;
  }

  /** The question stays open until it is answered, or another server is there to ask. */
  async function waitForEnd(asked: Promise<CommitState>, server: string | null): Promise<void> {
    let open = true;
    void asked.then(() => {
      open = false;
    });
    while (open && !closed) {
      await Promise.race([asked, after(LOOK_AGAIN_MS, null)]);
      if (open && ((await moveElsewhere()) || (await serverOf(connect)) !== server)) break;
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

function commitSomething(client: pg.Client): Promise<CommitState> {
  return client.query<{ state: CommitState }>(COMMIT_SOMETHING).then(
    ({ rows }) => rows[0]?.state ?? 'away',
    () => 'away' as const,
  );
}

/** The first of these servers that commits; null: none does. */
function findCommitting(urls: readonly string[], connect: Connect): Promise<string | null> {
  const answers = urls.map(async (url) => {
    const client = await connect(url);
    const state = await Promise.race([commitSomething(client), after(ANSWER_MS, 'stalled' as const)]);
    void client.end().catch(() => undefined);
    if (state !== 'commits') throw new Error(state);
    return url;
  });
  return Promise.any(answers).catch(() => null);
}

/** Which server answers now; null: none does. */
async function serverOf(connect: Connect): Promise<string | null> {
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
