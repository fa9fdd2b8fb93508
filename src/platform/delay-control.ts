// How many requests a process works on at the same time, found from how long they take. As in CoDel, the shortest time of a
// window counts: a slow request among fast ones says nothing, but when even the fastest took too long, all of them waited in
// a queue. Then fewer are let in, and the others are refused at once instead of after a long wait. Without delay the limit
// grows again.

const WINDOW_MS = 100;
/** A window with fewer requests proves nothing. */
const LEAST_SAMPLES = 10;
/** Two full batches of accepts: fewer would not use the database well. */
const LEAST = 256;
const SHRINK = 0.8;
const GROW = 1.1;

export interface DelayControl {
  limit(): number;
  /** A request ended that took this long; `inFlight` with it. */
  ended(milliseconds: number, inFlight: number): void;
}

/** When even the fastest request of a window took longer than `targetMs`, there is a standing queue. 0: nobody looks. */
export function createDelayControl(
  most: number,
  targetMs: number,
  now: () => number = () => performance.now(),
): DelayControl {
  if (targetMs === 0) return { limit: () => most, ended: () => undefined };
  const least = Math.min(LEAST, most);
  let limit = most;
  let windowEnds = 0;
  let samples = 0;
  let shortest = Number.POSITIVE_INFINITY;
  let busiest = 0;

  function endWindow(): void {
    if (samples >= LEAST_SAMPLES) {
      if (shortest > targetMs) limit = Math.max(least, Math.floor(Math.min(limit, busiest) * SHRINK));
      else if (busiest >= limit) limit = Math.min(most, Math.ceil(limit * GROW));
    }
    samples = 0;
    shortest = Number.POSITIVE_INFINITY;
    busiest = 0;
  }

  return {
    limit: () => limit,
    ended(milliseconds, inFlight) {
      const at = now();
      if (at >= windowEnds) {
        endWindow();
        windowEnds = at + WINDOW_MS;
      }
      samples++;
      if (milliseconds < shortest) shortest = milliseconds;
      if (inFlight > busiest) busiest = inFlight;
    },
  };
}
