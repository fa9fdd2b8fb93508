// The health of each operator, measured by the calls of this process, and its circuit breaker.
//
//   closed ──(CONSECUTIVE_FAILURES in a row, or half of the last minute's calls)──▶ open
//   open ──(one probe each PROBE_INTERVAL_MS)──▶ half_open ──(any real answer)──▶ closed
//                                                └──(no answer)──▶ open
//
// Only missing answers open it. An operator that declines every payer is available.

import type { Clock } from '../platform/clock.ts';
import type { Observation } from './rail.ts';

const CONSECUTIVE_FAILURES = 5;
const RATIO_WINDOW_MS = 60_000;
const RATIO_MIN_CALLS = 20;
export const PROBE_INTERVAL_MS = 5_000;
/** While there is another choice, one that is down is asked by queries about its open transactions. Without any, after this. */
export const FORGOTTEN_AFTER_MS = 60_000;
/** Calls kept per operator for the success rate and the median time. */
const MAX_CALLS_KEPT = 256;
const CALLS_KEPT_MS = 60 * 60_000;
const MAX_OPERATORS = 1_000;

/** `unavailable`: the operator reported that it is down. `answered`: a real answer that decided nothing. */
export type CallResult = 'answered' | 'succeeded' | 'failed' | 'unknown' | 'unavailable';
export type BreakerState = 'closed' | 'open' | 'half_open';

export type OperatorHealth = {
  rail: string;
  operator: string;
  state: BreakerState;
  /** Calls within the last hour, at most MAX_CALLS_KEPT. */
  calls: number;
  /** Succeeded ÷ (succeeded + failed); null before anything was decided. */
  successRate: number | null;
  /** Share of calls without an answer. */
  silentRate: number;
  medianMs: number | null;
  openedAt: Date | null;
};

export interface Breakers {
  record(rail: string, operator: string, result: CallResult, ms: number): void;
  /** Whether to call now. While open, returns true for one probe each 5 s and counts that probe as made. */
  mayCall(rail: string, operator: string): boolean;
  /** The same without counting a probe; used to refuse new work early. */
  wouldCall(rail: string, operator: string): boolean;
  /** Whether new work should go there while there is another choice: it answers, or nobody has asked it for a minute. */
  isPreferred(rail: string, operator: string): boolean;
  /** Whether this process called it within the last minute, and so knows by itself how it is. */
  hasRecentCall(rail: string, operator: string): boolean;
  snapshot(): OperatorHealth[];
}

type Call = { at: number; result: CallResult; ms: number };
type Entry = {
  rail: string;
  operator: string;
  state: BreakerState;
  calls: Call[];
  next: number;
  consecutive: number;
  openedAt: number;
  probedAt: number;
};

/** The result that an observation counts as. */
export function callResult(observation: Observation): CallResult {
  switch (observation.state) {
    case 'unknown':
      return observation.definitelyNotFound || observation.asked || observation.answered ? 'answered' : 'unknown';
    case 'failed':
      return observation.failureCode === 'OPERATOR_UNAVAILABLE' ? 'unavailable' : 'failed';
    case 'succeeded':
      return 'succeeded';
    default:
      return 'answered';
  }
}

export type BreakerEvents = {
  onCall?(rail: string, operator: string, result: CallResult): void;
  onState?(rail: string, operator: string, state: BreakerState): void;
};

export function createBreakers(clock: Clock, events: BreakerEvents = {}): Breakers {
  const entries = new Map<string, Entry>();

  function setState(entry: Entry, state: BreakerState): void {
    if (entry.state === state) return;
    entry.state = state;
    events.onState?.(entry.rail, entry.operator, state);
  }

  function entryFor(rail: string, operator: string): Entry | null {
    const key = `${rail}\n${operator}`;
    const known = entries.get(key);
    if (known || entries.size >= MAX_OPERATORS) return known ?? null;
    const entry = newEntry(rail, operator);
    entries.set(key, entry);
    return entry;
  }

  function probeIsDue(entry: Entry): boolean {
    return clock.millis() - entry.probedAt >= PROBE_INTERVAL_MS;
  }

  return {
    record(rail, operator, result, ms) {
      const entry = entryFor(rail, operator);
      if (entry === null) return;
      const at = clock.millis();
      events.onCall?.(rail, operator, result);
      keepCall(entry, { at, result, ms });
      if (!isUnanswered(result)) {
        // Any real answer closes the breaker, even a late one.
        entry.consecutive = 0;
        setState(entry, 'closed');
        return;
      }
      entry.consecutive++;
      if (entry.state === 'closed' && !shouldOpen(entry, at)) return;
      if (entry.state === 'closed') {
        entry.openedAt = at;
        entry.probedAt = at;
      }
      setState(entry, 'open');
    },
    mayCall(rail, operator) {
      const entry = entryFor(rail, operator);
      if (entry === null || entry.state === 'closed') return true;
      if (!probeIsDue(entry)) return false;
      setState(entry, 'half_open');
      entry.probedAt = clock.millis();
      return true;
    },
    wouldCall(rail, operator) {
      const entry = entries.get(`${rail}\n${operator}`);
      return entry === undefined || entry.state === 'closed' || probeIsDue(entry);
    },
    isPreferred(rail, operator) {
      const entry = entries.get(`${rail}\n${operator}`);
      if (entry === undefined || entry.state === 'closed') return true;
      return clock.millis() - Math.max(entry.probedAt, lastCallAt(entry)) >= FORGOTTEN_AFTER_MS;
    },
    hasRecentCall(rail, operator) {
      const entry = entries.get(`${rail}\n${operator}`);
      return entry !== undefined && clock.millis() - lastCallAt(entry) <= RATIO_WINDOW_MS;
    },
    snapshot: () => Array.from(entries.values(), (entry) => summarise(entry, clock.millis())),
  };
}

function newEntry(rail: string, operator: string): Entry {
  return { rail, operator, state: 'closed', calls: [], next: 0, consecutive: 0, openedAt: 0, probedAt: 0 };
}

export const isUnanswered = (result: CallResult) => result === 'unknown' || result === 'unavailable';

function keepCall(entry: Entry, call: Call): void {
  entry.calls[entry.next] = call;
  entry.next = (entry.next + 1) % MAX_CALLS_KEPT;
}

/** The newest call is the one before the place of the next. */
function lastCallAt({ calls, next }: Entry): number {
  return calls[(next + MAX_CALLS_KEPT - 1) % MAX_CALLS_KEPT]?.at ?? Number.NEGATIVE_INFINITY;
}

function shouldOpen(entry: Entry, now: number): boolean {
  if (entry.consecutive >= CONSECUTIVE_FAILURES) return true;
  const recent = entry.calls.filter((call) => now - call.at <= RATIO_WINDOW_MS);
  const unanswered = recent.filter((call) => isUnanswered(call.result)).length;
  return recent.length >= RATIO_MIN_CALLS && unanswered * 2 >= recent.length;
}

function summarise(entry: Entry, now: number): OperatorHealth {
  const calls = entry.calls.filter((call) => now - call.at <= CALLS_KEPT_MS);
  const succeeded = calls.filter((call) => call.result === 'succeeded').length;
  const failed = calls.filter((call) => call.result === 'failed').length;
  const unanswered = calls.filter((call) => isUnanswered(call.result)).length;
  const times = calls
    .filter((call) => !isUnanswered(call.result))
    .map((call) => call.ms)
    .sort((left, right) => left - right);
  return {
    rail: entry.rail,
    operator: entry.operator,
    state: entry.state,
    calls: calls.length,
    successRate: succeeded + failed === 0 ? null : succeeded / (succeeded + failed),
    silentRate: calls.length === 0 ? 0 : unanswered / calls.length,
    medianMs: times[Math.floor((times.length - 1) / 2)] ?? null,
    openedAt: entry.state === 'closed' ? null : new Date(entry.openedAt),
  };
}
