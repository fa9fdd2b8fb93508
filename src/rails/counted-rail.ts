// A rail that knows how many of its calls are under way, so that it is closed only after them.

import { setTimeout as pause } from 'node:timers/promises';
import type { Rail } from './rail.ts';

const CALLS: ReadonlySet<PropertyKey> = new Set([
  'prepare',
  'collect',
  'payout',
  'query',
  'refund',
  'submitCode',
  'cancel',
  'balance',
  'fetchStatement',
  'lookUpName',
  'sendToken',
  'sendPayerText',
  'check',
] satisfies (keyof Rail)[]);
/** Somebody who has just looked the rail up may not have begun the call yet. */
const GRACE_MS = 2_000;
/** Longer than any call takes. */
const LONGEST_CALL_MS = 60_000;
const POLL_MS = 50;

export type CountedRail = {
  readonly rail: Rail;
  /** For a rail that was replaced: closes it when its calls have ended. */
  closeWhenIdle(): Promise<void>;
};

export function countCalls(opened: Rail): CountedRail {
  let underWay = 0;
  let isClosed = false;
  const close = async () => {
    if (isClosed) return;
    isClosed = true;
    await opened.close();
  };

  async function counted(call: () => Promise<unknown>): Promise<unknown> {
    underWay++;
    try {
      return await call();
    } finally {
      underWay--;
    }
  }

  const rail = new Proxy(opened, {
    get(target, key) {
      if (key === 'close') return close;
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== 'function') return value;
      if (!CALLS.has(key)) return value.bind(target) as unknown;
      return (...args: unknown[]) => counted(() => Reflect.apply(value, target, args) as Promise<unknown>);
    },
  });

  return {
    rail,
    async closeWhenIdle() {
      await pause(GRACE_MS, undefined, { ref: false });
      for (let waited = 0; underWay > 0 && waited < LONGEST_CALL_MS; waited += POLL_MS)
        await pause(POLL_MS, undefined, { ref: false });
      await close();
    },
  };
}
