// Group commit. Calls that wait at the same time are written by one transaction over arrays. A single call is written at once,
// and while one batch is being committed the next one collects. A caller's promise settles only after the COMMIT of its item.
//
// A batch may be followed by a rest. A batch of two costs nearly as much as one of fifty, so without a rest small batches take
// all of the machine at any load, and requests wait for it.

import { type Commits, trackedCommits, withoutTracking } from './commit-tracking.ts';
import { isDataError } from './db.ts';
import { Problem } from './errors.ts';

/** Beyond it callers would wait longer than larger batches are worth. */
const MOST_TIMES_LONGER = 4;

export type BatchOptions<Item, Result> = {
  /** Writes all items in one transaction and returns one result per item, in order. */
  readonly run: (items: Item[]) => Promise<Result[]>;
  /** Maximum number of items in one transaction. */
  maxItems?: number;
  /** Items that may wait; beyond that a call is refused at once (503) instead of growing the queue. */
  maxWaiting?: number;
  /** Transactions under way at the same time. */
  concurrency?: number;
  /** As many while a full batch waits: then a further transaction does not make batches smaller. */
  concurrencyWhenFull?: number;
  rest?: RestOptions;
  /** How many processes share the work: with fewer items each, they rest that much longer for batches of the same size. */
  processes?: number;
  observe?(items: number): void;
};

/**
 * After a batch the next one waits: this many times as long as it took, `longestMs` at most, until `enough` items wait (a full
 * batch unless told). After a batch of one nothing waits: a caller who sends one request after another is not slowed down.
 */
type RestOptions = { readonly times: number; readonly longestMs: number; readonly enough?: number };

export interface Batch<Item, Result> {
  add(item: Item): Promise<Result>;
  readonly waiting: () => number;
  /** Resolves when everything that was added has settled. */
  idle(): Promise<void>;
}

/** `commits`: of the request whose item it is. The batch is not committed in its name. */
type PendingItem<Item, Result> = {
  readonly item: Item;
  readonly commits: Commits | undefined;
  resolve(result: Result): void;
  reject(error: unknown): void;
};

export function createBatch<Item, Result>(options: BatchOptions<Item, Result>): Batch<Item, Result> {
  const { maxItems = 128, maxWaiting = 4_096, concurrency = 2 } = options;
  const concurrencyWhenFull = options.concurrencyWhenFull ?? concurrency;
  const enough = options.rest?.enough ?? maxItems;
  const waiting: PendingItem<Item, Result>[] = [];
  let running = 0;
  /** Batches that are committed, and whose callers go on in a moment. */
  let settling = 0;
  let scheduled = false;
  const circle = createCircle(enough, maxItems);
  const rest = createRest(options.rest ?? null, Math.min(options.processes ?? 1, MOST_TIMES_LONGER), pump);
  const quiet = createQuiet(() => running === 0 && settling === 0 && waiting.length === 0);

  const mayStart = () => running < (waiting.length >= maxItems ? concurrencyWhenFull : concurrency);

  async function commit(entries: PendingItem<Item, Result>[]): Promise<void> {
    options.observe?.(entries.length);
    const end = rest.watch(entries.length);
    try {
      settle(entries, await runItems(options, entries));
    } catch (error) {
      // One item that the database refuses must not fail the others: each is then written alone. Any other error
      // (connection, doubt about the commit) applies to all of them.
      if (entries.length > 1 && mayConcernOneItem(error)) for (const entry of entries) await commit([entry]);
      else for (const entry of entries) entry.reject(error);
    } finally {
      end();
      circle.see(entries.length + waiting.length);
    }
  }

  function settle(entries: PendingItem<Item, Result>[], results: Result[]): void {
    settling++;
    const goOn = () => {
      settling--;
      resolveEach(entries, results);
      quiet.look();
    };
    // What waits is sent first: the database works on it while these callers go on, and many of them take as long as a batch.
    if (waiting.length > 0) setImmediate(goOn);
    else goOn();
  }

  function pump(): void {
    scheduled = false;
    while (waiting.length > 0 && mayStart()) {
      if (waiting.length < enough && rest.isOn()) return;
      rest.stop();
      const entries = waiting.splice(0, circle.half());
      running++;
      void commit(entries).finally(() => {
        running--;
        if (waiting.length > 0) pump();
        else quiet.look();
      });
    }
  }

  return {
    waiting: () => waiting.length,
    add(item) {
      if (waiting.length >= maxWaiting) return Promise.reject(new Problem('overloaded', { retryAfterSeconds: 1 }));
      return new Promise<Result>((resolve, reject) => {
        waiting.push({ item, commits: trackedCommits(), resolve, reject });
        if (!mayStart()) return;
        // Never in the name of a request: a batch holds the items of many.
        if (waiting.length >= circle.half()) withoutTracking(pump);
        else if (!scheduled && (waiting.length >= enough || !rest.isWaiting())) {
          scheduled = true;
          // Requests that arrived in the same turn of the event loop belong to the same batch.
          withoutTracking(() => setImmediate(pump));
        }
      });
    },
    idle: quiet.wait,
  };
}

/** Callers who send their next item when they have the answer to the last one. */
interface Circle {
  /** At the end of a batch: its items, and those that wait. In a closed circle that is everybody. */
  see(callers: number): void;
  /** For a batch: the database writes one half while this process reads the other. */
  half(): number;
}

function createCircle(enough: number, maxItems: number): Circle {
  let callers = 0;
  return {
    see(seen) {
      callers = seen;
    },
    half: () => Math.min(maxItems, Math.max(enough, Math.ceil(callers / 2))),
  };
}

/** Those who wait until everything has settled. */
function createQuiet(isQuiet: () => boolean): { wait: () => Promise<void>; look: () => void } {
  let waiters: (() => void)[] = [];
  return {
    wait: () => (isQuiet() ? Promise.resolve() : new Promise((resolve) => waiters.push(resolve))),
    look() {
      if (!isQuiet()) return;
      for (const wake of waiters) wake();
      waiters = [];
    },
  };
}

async function runItems<Item, Result>(
  { run }: BatchOptions<Item, Result>,
  entries: readonly PendingItem<Item, Result>[],
): Promise<Result[]> {
  const results = await run(entries.map((entry) => entry.item));
  if (results.length !== entries.length)
    throw new Error(`batch returned ${results.length} results for ${entries.length} items`);
  return results;
}

function resolveEach<Item, Result>(entries: readonly PendingItem<Item, Result>[], results: readonly Result[]): void {
  for (const [index, entry] of entries.entries()) {
    if (entry.commits) entry.commits.count++;
    entry.resolve(results[index] as Result);
  }
}

/** An error that may concern a single item: a constraint of the database, or a problem the caller can fix. */
function mayConcernOneItem(error: unknown): boolean {
  return isDataError(error) || (error instanceof Problem && error.status < 500);
}

interface Rest {
  /** Call it when a batch starts, and what it returns when the batch ends. */
  watch(items: number): () => void;
  /** Whether the rest is not over. Then `onEnd` is called when it is. */
  isOn(): boolean;
  /** Whether `onEnd` will be called. */
  isWaiting(): boolean;
  stop(): void;
}

function createRest(options: RestOptions | null, processes: number, onEnd: () => void): Rest {
  let until = 0;
  let timer: NodeJS.Timeout | null = null;
  return {
    watch(items) {
      const startedAt = performance.now();
      return () => {
        const now = performance.now();
        if (options && items > 1)
          until = now + processes * Math.min(options.longestMs, options.times * (now - startedAt));
      };
    },
    isOn() {
      const left = until - performance.now();
      if (left <= 0) return false;
      timer ??= setTimeout(() => {
        timer = null;
        onEnd();
      }, left);
      return true;
    },
    isWaiting: () => timer !== null,
    stop() {
      if (timer) clearTimeout(timer);
      timer = null;
    },
  };
}
