// Two processes that post to the wallet of one holder take turns at its row, and a batch has many holders: soon every process would
// wait for every other, each with a connection. So a batch leaves out the holders of a batch that another transaction is writing;
// what it left out is in a later one, together with what came meanwhile.

import { setTimeout } from 'node:timers/promises';
import { type BatchOptions, createBatch } from '../platform/batch.ts';
import type { Statement, Tx } from '../platform/db.ts';

/** "outc" in ASCII, beside the number of a holder: one batch at a time has it. It holds nothing back but other batches. */
const HOLDER_LOCK = 0x6f757463;
const TAKE_HOLDERS: Statement = {
  name: 'take_holders',
  text: `select holder_id from unnest($1::bigint[]) as holder_id
         where pg_try_advisory_xact_lock(${HOLDER_LOCK}, (holder_id & 2147483647)::int)`,
};

/**
 * How often an item may be left out, and for how long: each time twice as long as the one before, up to the longest. That makes
 * about four seconds. A turn takes a few milliseconds, so hardly anything ever waits inside the database, where it would hold a
 * connection and, with it, the rows it already has.
 */
const MAX_DEFERRALS = 64;
const FIRST_PAUSE_MS = 4;
const LONGEST_PAUSE_MS = 64;

export const DEFERRED = Symbol('deferred');

export type InTurn<Item> = {
  item: Item;
  /** False: it was left out often enough, and now waits for its turn. */
  mayBeDeferred: boolean;
};

/** Splits items into those that are applied in this transaction, which then has their holders, and those left for later. */
export async function takeTurns<Item>(
  tx: Tx,
  items: readonly InTurn<Item>[],
  holdersOf: (item: Item) => readonly bigint[],
): Promise<{ taken: Item[]; isTaken: (entry: InTurn<Item>) => boolean }> {
  const holders = new Set(items.flatMap(({ item }) => holdersOf(item)));
  const rows = holders.size === 0 ? [] : await tx.query<{ holder_id: bigint }>(TAKE_HOLDERS, [[...holders]]);
  const free = new Set(rows.map(({ holder_id }) => holder_id));
  const isTaken = ({ item, mayBeDeferred }: InTurn<Item>) =>
    !mayBeDeferred || holdersOf(item).every((holder) => free.has(holder));
  return { taken: items.filter(isTaken).map(({ item }) => item), isTaken };
}

export type TurnBatch<Item, Result> = { add(item: Item): Promise<Result>; idle(): Promise<void> };

/** A batch that may answer DEFERRED for an item: then the item is in a later one. */
export function createTurnBatch<Item, Result>(
  options: BatchOptions<InTurn<Item>, Result | typeof DEFERRED>,
): TurnBatch<Item, Result> {
  const batch = createBatch(options);
  // Counted, not collected: V8 would keep what went through a Set for long (platform/under-way.ts).
  let underWay = 0;
  let idleWaiters: (() => void)[] = [];

  async function addInTurn(item: Item): Promise<Result> {
    for (let deferrals = 0; ; deferrals++) {
      const result = await batch.add({ item, mayBeDeferred: deferrals < MAX_DEFERRALS });
      if (result !== DEFERRED) return result;
      await setTimeout(Math.min(FIRST_PAUSE_MS * 2 ** deferrals, LONGEST_PAUSE_MS));
    }
  }

  function end(): void {
    underWay--;
    if (underWay > 0) return;
    for (const resolve of idleWaiters) resolve();
    idleWaiters = [];
  }

  return {
    add(item) {
      underWay++;
      return addInTurn(item).finally(end);
    },
    idle: () => (underWay === 0 ? Promise.resolve() : new Promise((resolve) => idleWaiters.push(resolve))),
  };
}
