// The time of the database. A machine's own clock may be wrong; the database is one for all processes, so whatever deletes
// rows asks it for the time, and background work pauses while the two clocks are too far apart.

import type { Clock } from './clock.ts';
import type { Reader } from './db.ts';
import { Problem } from './errors.ts';

/** Further apart than this, a process does no background work, and the ledger refuses its postings. */
export const MAX_CLOCK_SKEW_MS = 30_000;
const MEASURED_EVERY_MS = 5_000;

export interface DatabaseTime {
  now(): Promise<Date>;
  /** How far the clock of this process is ahead of the database's; negative: behind. */
  skewMs(): Promise<number>;
}

/**
 * Refuses new work while the clock of this process is wrong. The times of what it wrote would be wrong too: a job that is due
 * hours from now is found by no other process, and one from the past is taken while it is being done.
 */
export async function requireRightClock({ databaseTime }: { databaseTime: DatabaseTime }): Promise<void> {
  if (Math.abs(await databaseTime.skewMs()) > MAX_CLOCK_SKEW_MS)
    throw new Problem('clock_skewed', { retryAfterSeconds: 5 });
}

type Measurement = {
  /** The database's time at that moment of `performance.now()`, which no change of the clock moves. */
  databaseMs: number;
  at: number;
};

export function createDatabaseTime(reader: Reader, clock: Clock): DatabaseTime {
  let last: Measurement | null = null;
  let measuring: Promise<Measurement> | null = null;

  async function now(): Promise<Date> {
    const [row] = await reader.query<{ now: Date }>('select clock_timestamp() as now');
    if (!row) throw new Error('the database did not say what time it is');
    return row.now;
  }

  async function measure(): Promise<Measurement> {
    const before = performance.now();
    const databaseMs = (await now()).getTime();
    // The database read its clock about halfway through the round trip.
    last = { databaseMs, at: (before + performance.now()) / 2 };
    return last;
  }

  return {
    now,
    async skewMs() {
      let measured = last;
      if (!measured || performance.now() - measured.at > MEASURED_EVERY_MS) {
        measuring ??= measure().finally(() => {
          measuring = null;
        });
        measured = await measuring;
      }
      // A clock that is changed between two measurements is noticed at once.
      return Math.round(clock.millis() - (measured.databaseMs + performance.now() - measured.at));
    },
  };
}
