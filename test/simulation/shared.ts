// What all parts of one simulation share: the operator, the processes, the people, and what the checks need to know.

import type { LiveIntegration } from '../../src/holders/integrations.ts';
import type { Decider } from '../../src/payments/decisions.ts';
import { Problem } from '../../src/platform/errors.ts';
import type { JsonObject } from '../../src/platform/strict-json.ts';
import type { TestContext } from '../harness.ts';
import type { SimulatedOperator } from './operator.ts';
import { Crash, type Process, startProcess } from './process.ts';
import type { Random } from './random.ts';

/** How far the clock of a process may be off. */
const SKEWS_MS = [5 * 3_600_000, -5 * 3_600_000, 26 * 3_600_000];
const SKEWED = 0.1;

/**
 * A collection that a client wants. With a key it tries again, signed anew, until it has an answer; without one it can only
 * send the very same bytes again.
 */
export type WantedCollection = {
  msisdn: string;
  hasKey: boolean;
  params: JsonObject;
  ref: string | null;
  /** What it was last signed with. */
  signature: string;
  /** Told that these bytes were used before: it was taken, under a reference that the client never heard. */
  taken: boolean;
  /** A restore took it away after the client had sent it. */
  lost: boolean;
  /** When it was first sent. */
  sentAt: number;
};

/** A file of payouts, by the numbers of its rows. */
export type WantedFile = { mobiles: string[]; amounts: string[]; times: number; ordered: boolean };

export type Model = {
  seed: number;
  holderId: bigint;
  railName: string;
  operator: SimulatedOperator;
  collections: WantedCollection[];
  files: WantedFile[];
  topUp: bigint;
  /** How often a payout may have been sent again: decisions of people, and restores to the moment before it was sent. */
  sentAgain: Map<string, number>;
  /** References that a restore took away. */
  lost: Set<string>;
  restores: number;
  /** People decided about these references. */
  decided: Set<string>;
  /** The id of the event of each transaction and type, as it was first seen. */
  events: Map<string, string>;
  suspended: boolean;
  startedAt: Date;
  /** Wrong the moment it happens, not only at the end. */
  violations: string[];
};

export type Simulation = {
  base: TestContext;
  model: Model;
  random: Random;
  processes: Process[];
  integration: LiveIntegration;
  people: { first: Decider; second: Decider; finance: Decider };
  payouts: string[];
  refunds: string[];
  healed: boolean;
  /** Processes started so far. */
  starts: number;
  /** When the newest backup was taken; null: there is none. */
  backupAt: number | null;
  /** Whether this seed restores backups. */
  restores: boolean;
  /** Numbers given out so far. */
  numbers: number;
  note(line: string): void;
  exclusive<T>(work: () => Promise<T>): Promise<T>;
};

export function start(simulation: Simulation, index: number, healthy = false): Process {
  const { model } = simulation;
  const dice = simulation.random.fork('fuse', ++simulation.starts, index);
  const skewMs = !healthy && dice.chance(SKEWED) ? dice.pick(SKEWS_MS) : 0;
  if (skewMs !== 0) simulation.note(`the clock of process ${index + 1} is off by ${skewMs / 3_600_000} h`);
  return startProcess(simulation.base, {
    name: `process ${index + 1}`,
    railName: model.railName,
    operator: model.operator,
    fuse: healthy || dice.chance(0.3) ? Number.POSITIVE_INFINITY : dice.int(3, 90),
    skewMs,
    exclusive: (work) => simulation.exclusive(work),
    note: (line) => simulation.note(line),
    violation: (line) => model.violations.push(line),
    onEvent: (key, id) => noteEvent(model, key, id),
    mayPayOut: () => !model.suspended,
  });
}

/** The same fact has the same id, in whichever process and however often. */
export function noteEvent({ events, violations }: Model, key: string, id: string): void {
  const known = events.get(key);
  if (known !== undefined && known !== id) violations.push(`I25: the event ${key} has the ids ${known} and ${id}`);
  events.set(key, id);
}

/** A living process; a dead one has been started anew. */
export function anyProcess(simulation: Simulation): Process {
  const index = simulation.random.int(0, simulation.processes.length - 1);
  const process = simulation.processes[index];
  if (process && !process.isDead()) return process;
  simulation.note(`process ${index + 1} starts anew`);
  const fresh = start(simulation, index, simulation.healed);
  simulation.processes[index] = fresh;
  return fresh;
}

/**
 * Calls that are under way end before time passes or the holder is suspended. A process that stalls between its last look
 * and its call, for longer than its lease, is not simulated: nothing but the operator could notice that.
 */
export async function finishCalls(simulation: Simulation): Promise<void> {
  for (const { engine, intake } of simulation.processes) {
    await attempt(simulation, 'a call', () => engine.idle());
    await attempt(simulation, 'a call', () => intake.idle());
  }
}

/** Runs what somebody asks of a process. A crash, or a problem that the gateway tells, is what clients live with. */
export async function attempt<T>(simulation: Simulation, what: string, work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Crash) simulation.note(`${what}: no answer`);
    else if (error instanceof Problem) simulation.note(`${what}: ${error.code}`);
    else simulation.model.violations.push(`${what}: ${error instanceof Error ? error.stack : String(error)}`);
    return null;
  }
}

/** Numbers are counted, so that everything about a payment follows from the seed and its number. */
export function nextNumber(simulation: Simulation, ending: string): string {
  return `25677${String(simulation.numbers++).padStart(4, '0')}${ending}`;
}
