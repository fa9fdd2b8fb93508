// What goes wrong on purpose. A fault is planned for one kind of operation, a number of times or for a share of the requests.

/**
 * Done by the frame, for every simulator:
 *   answer_lost             processed, then the connection is cut without an answer
 *   error_while_processing  processed, but the answer is 500
 *   error_before_processing not processed, and the answer is 500
 *   html_error              processed, but a proxy answers 502 with a page
 *   slow                    processed, and the answer comes after `slowMs`
 *   oversized               processed, and the answer is larger than anybody reads
 *   duplicate_id            the request arrives twice; the answer is that of the second
 *   callback_lost, callback_doubled, callback_before_answer, callback_late
 *   field_renamed           the fields of `rename` have another name in answers and callbacks
 * Done by the simulator, which asks `context.takeFault`:
 *   token_ended             the token ends before its time
 *   unknown_code            the payment ends with a code that no document has
 *   late_success            told as failed or timed out to a query, then it succeeds
 */
export const FAULTS = [
  'answer_lost',
  'error_while_processing',
  'error_before_processing',
  'html_error',
  'slow',
  'oversized',
  'duplicate_id',
  'callback_lost',
  'callback_doubled',
  'callback_before_answer',
  'callback_late',
  'field_renamed',
  'token_ended',
  'unknown_code',
  'late_success',
] as const;

export type Fault = (typeof FAULTS)[number];

/** What a request of the merchant asks for. `other`: everything else, such as registering an address. */
export type Operation = 'token' | 'collect' | 'payout' | 'refund' | 'query' | 'balance' | 'name' | 'other';

export type PlannedFault = {
  fault: Fault;
  /** Only for these operations; all of them when absent. */
  operation?: Operation;
  /** How often it happens; 1 when absent and there is no share. */
  times?: number;
  /** Instead of `times`: the share of requests that it happens to, 0 to 1. */
  share?: number;
  /** Only field_renamed: old names and new ones, at any depth. */
  rename?: Record<string, string>;
};

export interface FaultPlan {
  add(planned: PlannedFault): void;
  clear(): void;
  /** Takes this fault for this operation, if it is due now. */
  take(fault: Fault, operation: Operation): PlannedFault | null;
  list(): PlannedFault[];
}

export function createFaultPlan(random: () => number): FaultPlan {
  const plan: PlannedFault[] = [];
  return {
    add: (planned) => void plan.push(planned.share === undefined ? { times: 1, ...planned } : { ...planned }),
    clear: () => void plan.splice(0),
    take(fault, operation) {
      const planned = plan.find(
        (entry) => entry.fault === fault && (entry.operation === undefined || entry.operation === operation),
      );
      if (!planned) return null;
      if (planned.share !== undefined) return random() < planned.share ? planned : null;
      planned.times = (planned.times ?? 1) - 1;
      if (planned.times <= 0) plan.splice(plan.indexOf(planned), 1);
      return planned;
    },
    list: () => plan.map((entry) => ({ ...entry })),
  };
}

/** A random number generator that gives the same numbers for the same seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
