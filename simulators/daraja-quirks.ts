// What Safaricom does now and then and no other operator does. A quirk happens when it was planned, with the action of its
// name: POST /_simulator/early_1037 {"times": 2} or {"share": 0.05}.

export const QUIRKS = [
  /** Any call: 429 with the body of the API gateway; nothing was done. */
  'spike_arrest',
  /** Any call: done, but the answer is 500.003.02 "System is busy". */
  'system_busy',
  /** Wrong keys are answered with an empty body. */
  'empty_token_error',
  /** A query of an open prompt: HTTP 200 with ResultCode 4999 instead of HTTP 500. */
  'pending_4999',
  /** A query of an open prompt: 1037, although the payer can still pay. */
  'early_1037',
  /** A query of a prompt that was paid: 1032. */
  'query_contradicts',
  /** A query of an unknown prompt: 500.001.1001 instead of 400.002.02. */
  'missing_500',
  /** The list of a prompt's callback: Balance without a value, or with one. */
  'balance_without_value',
  'balance_with_value',
  'masked_phone',
  /** Before the callback of a paid prompt: one with ten times the amount, or with the id of another prompt. */
  'forged_amount',
  'foreign_callback',
  /** A confirmation with "5.00" instead of "5". */
  'decimal_amount',
  /** Results: a first one that is not final; codes as texts (those of prompts too); ReferenceItem as a list. */
  'result_type_1_first',
  'text_codes',
  'reference_list',
  /** The request comes back to QueueTimeOutURL, is never done, and no result follows. */
  'queue_timeout',
  /** The acknowledgement has ResponseCode 1; nothing is done and no result follows. */
  'refused_ack',
  /** A status query that fails by itself: code SFC_IC0003, or `code`. */
  'status_fails',
  /** The acknowledgement of a status query repeats the id that was asked about. */
  'status_echoes_id',
  /** A prompt, payout or refund ends with `code` and moves no money. `operation` narrows it. */
  'end_with',
] as const;

export type Quirk = (typeof QUIRKS)[number];

export type PlannedQuirk = {
  quirk: Quirk;
  times?: number;
  share?: number;
  operation?: string;
  code?: string;
};

export interface Quirks {
  add(planned: PlannedQuirk): void;
  /** Takes this quirk, if it is due now. */
  take(quirk: Quirk, operation?: string): PlannedQuirk | null;
}

export function createQuirks(random: () => number): Quirks {
  const plan: PlannedQuirk[] = [];
  return {
    add: (planned) => void plan.push({ ...planned }),
    take(quirk, operation) {
      const planned = plan.find(
        (entry) => entry.quirk === quirk && (entry.operation === undefined || entry.operation === operation),
      );
      if (!planned) return null;
      if (planned.share !== undefined) return random() < planned.share ? planned : null;
      planned.times = (planned.times ?? 1) - 1;
      if (planned.times <= 0) plan.splice(plan.indexOf(planned), 1);
      return planned;
    },
  };
}
