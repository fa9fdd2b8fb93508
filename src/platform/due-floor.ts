// Where a pass over a queue begins. Rows of a queue are due at a moment and are deleted when they are done. While somebody holds
// a snapshot open (a report, a backup), deleted rows cannot be cleaned away: a pass that begins at the oldest moment reads all of them
// again, more with every payment. So a pass begins where the last one ended, a little earlier for transactions that were not committed
// then and for clocks that differ, and every half minute one reads everything: whatever became due in the past is only found later.

const MARGIN_MS = 15_000;
const WHOLE_EVERY_MS = 30_000;

export type DueFrom = Date | '-infinity';

export interface DueFloor {
  /** Rows that were due after this moment are looked at. */
  from(now: Date): DueFrom;
  /** A pass from there on found everything that was due. */
  drained(now: Date, from: DueFrom): void;
}

export function createDueFloor(): DueFloor {
  let floor: number | null = null;
  let wholeAt = 0;
  return {
    from(now) {
      const sinceWhole = now.getTime() - wholeAt;
      return floor === null || sinceWhole < 0 || sinceWhole >= WHOLE_EVERY_MS ? '-infinity' : new Date(floor);
    },
    drained(now, from) {
      if (from === '-infinity') wholeAt = now.getTime();
      floor = now.getTime() - MARGIN_MS;
    },
  };
}
