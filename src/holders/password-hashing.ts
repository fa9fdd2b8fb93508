// Hashing and comparing passwords: argon2id, a few at a time. Each takes tens of milliseconds of a thread that the process
// also needs for files and names of hosts, so the rest waits in a short queue, and beyond it is refused.

import { availableParallelism } from 'node:os';
import { hash, verify } from '@node-rs/argon2';
import type { Context } from '../platform/context.ts';
import { Problem } from '../platform/errors.ts';
import { perProcess } from '../platform/memory.ts';

/** At most one less than the threads that Node.js has for such work, and one processor is left to payments. */
const AT_ONCE = Math.max(1, Math.min(3, availableParallelism() - 1));
const WAITING = 24;
const RETRY_SECONDS = 2;
/** argon2id as OWASP recommends: 19 MiB, two passes, one lane. The defaults of the library, made explicit. */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/** Compared with when there is no password, so that the response takes as long as for a wrong one. */
const nobodysHash = perProcess(() => hash('nobody has this password', COST));

type Turns = { running: number; waiting: (() => void)[] };

const turnsOf = perProcess((): Turns => ({ running: 0, waiting: [] }));

/** The hash to store. Throws `rate_limited` when too many passwords are being hashed. */
export function hashOf(ctx: Context, password: string): Promise<string> {
  return inTurn(ctx, () => hash(password, COST));
}

/** Whether this is the password of the hash. Without a hash false, in the same time. */
export async function isPasswordOf(ctx: Context, stored: string | null, password: string): Promise<boolean> {
  const right = await inTurn(ctx, async () => verify(stored ?? (await nobodysHash(ctx)), password));
  return right && stored !== null;
}

async function inTurn<Result>(ctx: Context, work: () => Promise<Result>): Promise<Result> {
  const turns = turnsOf(ctx);
  if (turns.running >= AT_ONCE) {
    if (turns.waiting.length >= WAITING) throw new Problem('rate_limited', { retryAfterSeconds: RETRY_SECONDS });
    await new Promise<void>((resolve) => {
      turns.waiting.push(resolve);
    });
  } else turns.running++;
  try {
    return await work();
  } finally {
    // The turn is handed on; it is free only when nobody waits for it.
    const next = turns.waiting.shift();
    if (next) next();
    else turns.running--;
  }
}
