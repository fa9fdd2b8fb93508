// How fast requests are refused while too many are in flight. Every refusal says Retry-After: 1. A caller who comes back at once all
// the same is slowed down, so that refusing leaves the processor to the requests that are served: a refusal costs a third of a payment.

/** So many a second are refused without a wait. */
const REFUSALS_PER_SECOND = 1_000;
const FREE_MS = 100;
/** What Retry-After says. */
const LONGEST_MS = 1_000;
/** Waits are multiples of it: timers of equal length share a list. */
const STEP_MS = 50;

/** One more request is refused: how many milliseconds its caller has to wait. */
export type RefusalPace = () => number;

export function createRefusalPace(now: () => number = () => performance.now()): RefusalPace {
  let turn = 0;
  return () => {
    const at = now();
    turn = Math.min(Math.max(turn, at) + 1_000 / REFUSALS_PER_SECOND, at + LONGEST_MS);
    const wait = turn - at;
    return wait <= FREE_MS ? 0 : Math.min(Math.ceil(wait / STEP_MS) * STEP_MS, LONGEST_MS);
  };
}

/** Refuses at once, or when it is the caller's turn. */
export function atPace(pace: RefusalPace, refuse: () => void): void {
  const wait = pace();
  if (wait === 0) refuse();
  else setTimeout(refuse, wait);
}
