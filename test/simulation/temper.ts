// How bad things are in one seed: what kind of operator it is, and how often each thing goes wrong.

import type { Random } from './random.ts';

export type Temper = {
  silentBefore: number;
  silentAfter: number;
  arrivesLate: number;
  decidesAtOnce: number;
  fails: number;
  never: number;
  reverses: number;
  losesCallback: number;
  doublesCallback: number;
  delaysCallback: number;
  stale: number;
  lies: number;
  wrongAmount: number;
  querySilent: number;
  queryLies: number;
  /** A query goes on saying pending although the payment was decided. */
  queryStuck: number;
  /** A success names the receipt of another payment. */
  repeatsReceipt: number;
  /** A value that no database can store, in one message with others. */
  badValues: number;
  /** Callbacks prove nothing: they only make us ask. */
  hints: boolean;
  idempotent: boolean;
  refunds: 'none' | 'whole' | 'partial';
  notFoundIsFinalAfterMs: number;
};

export function drawTemper(random: Random): Temper {
  // Most seeds have a few troubles that strike often; some have none, some have all.
  const troubles = (most: number) => (random.chance(0.5) ? random.next() * most : 0);
  return {
    silentBefore: troubles(0.5),
    silentAfter: troubles(0.5),
    arrivesLate: troubles(0.4),
    decidesAtOnce: random.next(),
    fails: random.next() * 0.5,
    never: troubles(0.3),
    reverses: random.chance(0.6) ? random.next() * 0.8 : 0,
    losesCallback: troubles(0.9),
    doublesCallback: troubles(0.8),
    delaysCallback: troubles(0.8),
    stale: troubles(0.5),
    lies: troubles(0.6),
    wrongAmount: troubles(0.7),
    querySilent: troubles(0.7),
    queryLies: troubles(0.5),
    queryStuck: troubles(0.4),
    repeatsReceipt: random.chance(0.3) ? random.next() * 0.4 : 0,
    badValues: random.chance(0.3) ? random.next() * 0.5 : 0,
    hints: random.chance(0.2),
    idempotent: random.chance(0.8),
    refunds: random.pick(['partial', 'partial', 'partial', 'whole', 'none']),
    notFoundIsFinalAfterMs: random.pick([0, 0, 20_000, 90_000]),
  };
}
