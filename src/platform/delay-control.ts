// How many requests a process works on at the same time, found from how long they take. As in CoDel, the shortest time of a
// window counts: a slow request among fast ones says nothing, but when even the fastest took too long, all of them waited in
// a queue. If that goes on for a second, fewer are let in, and the others are refused at once instead of after a long wait.
// Without delay the limit grows again, and after a second in which nobody was refused everybody is let in.

const WINDOW_MS = 100;
/** The queue of a burst goes away by itself: as long as everybody is let in, only one that stays for so long counts. */
const STANDING_MS = 1_000;
/** A window with fewer requests proves nothing. */
const LEAST_SAMPLES = 10;
/** Two full batches of accepts: fewer would not use the database well. */
const LEAST = 256;
const SHRINK = 0.8;
const GROW = 1.02;

export interface DelayControl {
  limit(): number;
  /** A request ended that took this long; `inFlight` with it. */
  ended(milliseconds: number, inFlight: number): void;
  /** A request is refused because of the limit. */
  refused(): void;
}

/** When even the fastest request of a window took longer than `targetMs`, there is a standing queue. 0: nobody looks. */
export function createDelayControl(
  most: number,
  targetMs: number,
  now: () => number = () => performance.now(),
): DelayControl {
  if (targetMs === 0) return { limit: () => most, ended: () => undefined, refused: () => undefined };
  const least = Math.min(LEAST, most);
  let limit = most;
  let windowEnds = 0;
  let samples = 0;
  let shortest = Number.POSITIVE_INFINITY;
  let busiest = 0;
  /** Since when every window has shown a queue. */
  let queueSince: number | null = null;
  /** When the limit was last made smaller, or refused a request. */
  let neededAt = 0;

  function endWindow(at: number): void {
    if (samples >= LEAST_SAMPLES) {
      if (shortest <= targetMs) queueSince = null;
      else queueSince ??= at;
      const stands = queueSince !== null && (limit < most || at - queueSince >= STANDING_MS);
      // With fewer it is no queue, but a slow disk.
      if (stands && busiest > least) {
        limit = Math.max(least, Math.floor(Math.min(limit, busiest) * SHRINK));
        neededAt = at;
      }
      if (queueSince === null && busiest >= limit) limit = Math.min(most, Math.ceil(limit * GROW));
    }
    samples = 0;
    shortest = Number.POSITIVE_INFINITY;
    busiest = 0;
  }

  return {
    limit() {
      if (limit < most && now() - neededAt >= STANDING_MS) limit = most;
      return limit;
    },
    ended(milliseconds, inFlight) {
      const at = now();
      if (at >= windowEnds) {
        if (at - windowEnds > STANDING_MS) queueSince = null;
        endWindow(at);
        windowEnds = at + WINDOW_MS;
      }
      samples++;
      if (milliseconds < shortest) shortest = milliseconds;
      if (inFlight > busiest) busiest = inFlight;
    },
    refused() {
      if (limit < most) neededAt = now();
    },
  };
}
