// Scripts: faults that a test or a developer sets on the simulated operator, for one number or for all, a number of
// times or until they are cleared. They are kept in the memory of one process.

import { COLLECTION_SCENARIOS, PAYOUT_SCENARIOS, REFUND_SCENARIOS } from './scenarios.ts';

const MAX_SCRIPTS = 100;
const MAX_TIMES = 1_000_000;
const MAX_DELAY_MS = 24 * 60 * 60_000;

/** The calls that a wire fault can affect. */
export const CALLS = ['submit', 'query', 'refund', 'message', 'name'] as const;
export type CallName = (typeof CALLS)[number];

/**
 * Faults of the wire. `*_after`: the operator does the work and only its response is spoilt. The others come before
 * any work.
 */
export const WIRE_FAULTS = [
  'error',
  'error_after',
  'timeout',
  'timeout_after',
  'reset',
  'reset_after',
  'garbage_after',
  'html_after',
  'huge_after',
  'drip_after',
  'redirect_after',
  'down',
] as const;
export type WireFault = (typeof WIRE_FAULTS)[number];

/**
 * Faults of operator callbacks. lose: never sent. delay: sent `delay_ms` later. double: sent twice. stale: followed by an
 * older "pending" (reordered in transit). contradict: reports the opposite outcome. wrong_amount, unknown_reference: reports
 * another amount, or a reference that the gateway never submitted.
 */
export const CALLBACK_FAULTS = [
  'lose',
  'delay',
  'double',
  'stale',
  'contradict',
  'wrong_amount',
  'unknown_reference',
] as const;
export type CallbackFault = (typeof CALLBACK_FAULTS)[number];

export type Script = {
  /** Absent: every number. */
  msisdn?: string;
  /** How many times it applies; absent: until it is cleared. */
  times?: number;
} & (
  | { call: CallName | 'any'; fault: WireFault }
  | { callback: CallbackFault; delay_ms?: number }
  /** Submits follow this scenario instead of their number's. */
  | { scenario: string }
  /** Refunds follow this scenario instead of their number's. */
  | { refund: string }
  /** The status query reports the opposite outcome for payments submitted from now on. */
  | { query: 'contradict' }
);

export interface Scripts {
  add(script: Script): void;
  /** Removes all scripts, or those of one number. */
  clear(msisdn?: string): void;
  list(): Script[];
  wireFault(call: CallName, msisdn: string | null): WireFault | null;
  callbackFault(msisdn: string): { fault: CallbackFault; delayMs: number } | null;
  scenarioFor(msisdn: string): string | null;
  refundFor(msisdn: string): string | null;
  queryContradicts(msisdn: string): boolean;
}

export function createScripts(): Scripts {
  let scripts: Script[] = [];

  /** Uses the first script that matches once. Without scripts this costs one comparison on the hot path. */
  function take<S extends Script>(msisdn: string | null, fits: (script: Script) => script is S): S | null {
    if (scripts.length === 0) return null;
    const found = scripts.find(
      (script): script is S => (script.msisdn === undefined || script.msisdn === msisdn) && fits(script),
    );
    if (found === undefined) return null;
    if (found.times !== undefined && --found.times <= 0) scripts = scripts.filter((script) => script !== found);
    return found;
  }

  return {
    add(script) {
      if (scripts.length >= MAX_SCRIPTS) throw new ScriptError(`there are ${MAX_SCRIPTS} scripts already; clear some`);
      scripts.push({ ...script });
    },
    clear(msisdn) {
      scripts = msisdn === undefined ? [] : scripts.filter((script) => script.msisdn !== msisdn);
    },
    list: () => scripts.map((script) => ({ ...script })),
    wireFault: (call, msisdn) =>
      take(
        msisdn,
        (script): script is Script & { fault: WireFault } =>
          'fault' in script && (script.call === 'any' || script.call === call),
      )?.fault ?? null,
    callbackFault(msisdn) {
      const script = take(msisdn, (candidate): candidate is Script & { callback: CallbackFault } => {
        return 'callback' in candidate;
      });
      return script ? { fault: script.callback, delayMs: ('delay_ms' in script && script.delay_ms) || 0 } : null;
    },
    scenarioFor: (msisdn) =>
      take(msisdn, (script): script is Script & { scenario: string } => 'scenario' in script)?.scenario ?? null,
    refundFor: (msisdn) =>
      take(msisdn, (script): script is Script & { refund: string } => 'refund' in script)?.refund ?? null,
    queryContradicts: (msisdn) =>
      take(msisdn, (script): script is Script & { query: 'contradict' } => 'query' in script) !== null,
  };
}

/** An invalid script; the message is sent to its author. */
export class ScriptError extends Error {}

export function readScript(value: unknown): Script {
  if (typeof value !== 'object' || value === null) throw new ScriptError('a script is an object');
  const given = new Map<string, unknown>(Object.entries(value));
  const common = {
    ...(given.has('msisdn') ? { msisdn: readMsisdn(given.get('msisdn')) } : {}),
    ...(given.has('times') ? { times: readNumber('times', given.get('times'), 1, MAX_TIMES) } : {}),
  };
  if (given.has('fault'))
    return {
      ...common,
      call: readChoice('call', given.get('call') ?? 'any', [...CALLS, 'any']),
      fault: readChoice('fault', given.get('fault'), WIRE_FAULTS),
    };
  if (given.has('callback'))
    return {
      ...common,
      callback: readChoice('callback', given.get('callback'), CALLBACK_FAULTS),
      delay_ms: readNumber('delay_ms', given.get('delay_ms') ?? 0, 0, MAX_DELAY_MS),
    };
  if (given.has('query')) return { ...common, query: readChoice('query', given.get('query'), ['contradict']) };
  const known = [...new Set([...Object.keys(COLLECTION_SCENARIOS), ...Object.keys(PAYOUT_SCENARIOS)])];
  if (given.has('scenario'))
    return { ...common, scenario: readChoice('scenario', given.get('scenario'), known.sort()) };
  if (given.has('refund'))
    return { ...common, refund: readChoice('refund', given.get('refund'), Object.keys(REFUND_SCENARIOS)) };
  throw new ScriptError('a script has one of fault, callback, scenario, refund, query');
}

function readChoice<const T extends string>(name: string, value: unknown, choices: readonly T[]): T {
  const found = choices.find((choice) => choice === value);
  if (found === undefined) throw new ScriptError(`${name} must be one of ${choices.join(', ')}`);
  return found;
}

function readNumber(name: string, value: unknown, min: number, max: number): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value;
  throw new ScriptError(`${name} must be a whole number from ${min} to ${max}`);
}

function readMsisdn(value: unknown): string {
  if (typeof value === 'string' && /^\d{6,15}$/.test(value)) return value;
  throw new ScriptError('msisdn must be digits with the dial code, such as 254712345678');
}
