// One seed: a holder, an operator of some temper, processes that die, clients that try again, people who decide. First
// things go wrong for a while; then everything works, time passes, and what must hold is checked.

import { randomBytes } from 'node:crypto';
import { COMMAND_LINE } from '../../src/holders/audit.ts';
import type { SignedRequest } from '../../src/holders/envelope.ts';
import { type LiveIntegration, loadLiveIntegration } from '../../src/holders/integrations.ts';
import { collectionMessages, createCollection } from '../../src/payments/collections.ts';
import { listDecisions } from '../../src/payments/decision-rows.ts';
import { approveDecision, proposeDecision } from '../../src/payments/decisions.ts';
import { cancelPayout } from '../../src/payments/payout-decisions.ts';
import { readPayout } from '../../src/payments/payout-requests.ts';
import { orderPayouts } from '../../src/payments/payouts.ts';
import { topUpSandbox } from '../../src/payments/sandbox-top-up.ts';
import { findFresh } from '../../src/payments/status.ts';
import { idFromRef, refOf } from '../../src/payments/transactions.ts';
import { resendToken, verifyToken } from '../../src/payments/verification.ts';
import { Problem } from '../../src/platform/errors.ts';
import { publicId } from '../../src/platform/ids.ts';
import type { JsonObject } from '../../src/platform/strict-json.ts';
import { addTwoPeople, type TwoPeople } from '../decisions.ts';
import { START_TIME, type TestContext } from '../harness.ts';
import { COUNTRY_ID, CURRENCY } from '../payments.ts';
import { createShop } from '../shop.ts';
import { checkInvariants } from './invariants.ts';
import {
  createSimulatedOperator,
  drawTemper,
  type SimulatedOperator,
  TILL_DIGITS,
  TOKEN_DIGITS,
  writeMessage,
} from './operator.ts';
import { Crash, type Process, startProcess } from './process.ts';
import { createRandom, type Random } from './random.ts';

const TOP_UP = 2_000_000n;
const MAX_QUIET_ROUNDS = 120;
const MESSAGES = collectionMessages('Service');
/** Not checked below the HTTP layer; one moment keeps it to one partition. */
const SIGNED_AT = new Date(START_TIME);

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
  signature: Buffer;
  /** Told that these bytes were used before: it was taken, under a reference that the client never heard. */
  taken: boolean;
};

export type Model = {
  seed: number;
  holderId: bigint;
  railName: string;
  operator: SimulatedOperator;
  collections: WantedCollection[];
  topUp: bigint;
  /** Decisions of a person to send a payout again, by reference. */
  sentAgain: Map<string, number>;
  /** Wrong the moment it happens, not only at the end. */
  violations: string[];
};

export type SimulationResult = { seed: number; violations: string[]; history: string[] };

type Simulation = {
  base: TestContext;
  model: Model;
  random: Random;
  processes: Process[];
  people: TwoPeople;
  integration: LiveIntegration;
  payouts: string[];
  healed: boolean;
  /** Processes started so far. */
  starts: number;
  note(line: string): void;
  exclusive<T>(work: () => Promise<T>): Promise<T>;
};

export async function simulate(base: TestContext, seed: number): Promise<SimulationResult> {
  const history: string[] = [];
  try {
    const simulation = await startSimulation(base, seed, history);
    const steps = simulation.random.int(25, 60);
    for (let step = 0; step < steps; step++) await act(simulation, step);
    await quieten(simulation);
    const violations = [...simulation.model.violations, ...(await checkInvariants(base, simulation.model))];
    // The next seed shares the database, and should find no work of this one.
    await base.db.query('delete from payment_jobs');
    return { seed, violations, history };
  } catch (error) {
    return {
      seed,
      violations: [`the simulation itself failed: ${error instanceof Error ? error.stack : ''}`],
      history,
    };
  }
}

async function startSimulation(base: TestContext, seed: number, history: string[]): Promise<Simulation> {
  const random = createRandom(`seed ${seed}`);
  const temper = drawTemper(random.fork('temper'));
  const started = base.clock.millis();
  const note = (line: string) =>
    history.push(`${((base.clock.millis() - started) / 1000).toFixed(1).padStart(9)} s  ${line}`);
  const struck = Object.entries(temper).map(
    ([name, value]) => `${name} ${typeof value === 'number' && value < 1 ? value.toFixed(2) : String(value)}`,
  );
  note(`temper: ${struck.join(', ')}`);
  const shop = await createShop(base, `Seed ${seed}`);
  const integration = await loadLiveIntegration(base, { id: shop.id });
  if (!integration) throw new Error('the integration is not there');
  let tail: Promise<unknown> = Promise.resolve();
  const simulation: Simulation = {
    base,
    random: random.fork('steps'),
    people: await addTwoPeople(base),
    integration,
    processes: [],
    payouts: [],
    healed: false,
    starts: 0,
    note,
    exclusive(work) {
      const result = tail.then(work, work);
      tail = result.catch(() => undefined);
      return result;
    },
    model: {
      seed,
      holderId: shop.holderId,
      railName: `sim${seed}`,
      operator: createSimulatedOperator(base.clock, random.fork('operator'), temper, note),
      collections: [],
      topUp: TOP_UP,
      sentAgain: new Map(),
      violations: [],
    },
  };
  const processes = simulation.random.int(1, 2);
  for (let index = 0; index < processes; index++) simulation.processes.push(start(simulation, index));
  const funding = await startHealthy(simulation, 'the top-up');
  await topUpSandbox(funding.ctx, COMMAND_LINE, shop.holderId, CURRENCY, TOP_UP);
  return simulation;
}

function start(simulation: Simulation, index: number, healthy = false): Process {
  const dice = simulation.random.fork('fuse', ++simulation.starts, index);
  return startProcess(simulation.base, {
    name: `process ${index + 1}`,
    railName: simulation.model.railName,
    operator: simulation.model.operator,
    fuse: healthy || dice.chance(0.3) ? Number.POSITIVE_INFINITY : dice.int(3, 90),
    exclusive: (work) => simulation.exclusive(work),
    note: (line) => simulation.note(line),
    violation: (line) => simulation.model.violations.push(line),
  });
}

async function startHealthy(simulation: Simulation, name: string): Promise<Process> {
  return { ...start(simulation, 0, true), name };
}

/** A living process; a dead one has been started anew. */
function anyProcess(simulation: Simulation): Process {
  const index = simulation.random.int(0, simulation.processes.length - 1);
  const process = simulation.processes[index];
  if (process && !process.isDead()) return process;
  simulation.note(`process ${index + 1} starts anew`);
  const fresh = start(simulation, index, simulation.healed);
  simulation.processes[index] = fresh;
  return fresh;
}

/** Runs what somebody asks of a process. A crash, or a problem that the gateway tells, is what clients live with. */
async function attempt<T>(simulation: Simulation, what: string, work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Crash) simulation.note(`${what}: no answer`);
    else if (error instanceof Problem) simulation.note(`${what}: ${error.code}`);
    else simulation.model.violations.push(`${what}: ${error instanceof Error ? error.stack : String(error)}`);
    return null;
  }
}

type Action = (simulation: Simulation, step: number) => Promise<void>;

const ACTIONS: [weight: number, action: Action][] = [
  [8, wantCollection],
  [3, tryAgain],
  [2, replay],
  [4, giveToken],
  [1, askForToken],
  [4, orderPayout],
  [2, takePayoutBack],
  [3, readStatus],
  [8, runPasses],
  [8, deliverMessages],
  [8, passTime],
  [2, decideLost],
];
const ALL_WEIGHTS = ACTIONS.reduce((sum, [weight]) => sum + weight, 0);

async function act(simulation: Simulation, step: number): Promise<void> {
  let left = simulation.random.next() * ALL_WEIGHTS;
  for (const [weight, action] of ACTIONS) {
    left -= weight;
    if (left < 0) return action(simulation, step);
  }
}

/** Numbers are counted, so that everything about a payment follows from the seed and its number. */
function nextNumber(simulation: Simulation, ending: string): string {
  const count = simulation.model.collections.length + simulation.payouts.length;
  return `25677${String(count).padStart(4, '0')}${ending}`;
}

async function wantCollection(simulation: Simulation): Promise<void> {
  const count = simulation.random.int(1, 4);
  const wanted = Array.from({ length: count }, () => {
    const msisdn = nextNumber(simulation, simulation.random.pick(['100', '100', '100', TOKEN_DIGITS, TILL_DIGITS]));
    const collection: WantedCollection = {
      msisdn,
      hasKey: simulation.random.chance(0.7),
      params: {
        amount: simulation.random.int(500, 9_000),
        mobile: msisdn,
        country_id: COUNTRY_ID,
        currency: CURRENCY,
        payment_method_type: 'MTN_MOMO_UGA',
        third_party_reference_1: msisdn,
      },
      ref: null,
      signature: randomBytes(32),
      taken: false,
    };
    simulation.model.collections.push(collection);
    return collection;
  });
  // An impatient client sends it twice at once, to two processes.
  const times = simulation.random.chance(0.3) ? 2 : 1;
  for (let time = 0; time < times; time++) wanted.push(...wanted.slice(0, count * time));
  await Promise.all(wanted.map((collection) => create(simulation, anyProcess(simulation), collection)));
}

async function create(simulation: Simulation, process: Process, collection: WantedCollection): Promise<void> {
  if (collection.hasKey) collection.signature = randomBytes(32);
  const { params, signature, hasKey } = collection;
  const request: SignedRequest = {
    integration: simulation.integration,
    params,
    address: '127.0.0.1',
    signature,
    signedAt: SIGNED_AT,
  };
  const answer = await attempt(simulation, `create ${collection.msisdn}`, () =>
    createCollection(
      process.ctx,
      process.writer,
      MESSAGES,
      request,
      hasKey ? `key-${collection.msisdn}` : undefined,
    ).catch((error: unknown) => {
      if (error instanceof Problem && error.code === 'signature_reused') collection.taken = true;
      throw error;
    }),
  );
  if (!answer) return;
  const ref = answer.data.ref as string;
  simulation.note(`create ${collection.msisdn}: acknowledged${answer.replayed ? ' as before' : ''}`);
  if (collection.ref !== null && collection.ref !== ref)
    simulation.model.violations.push(`I6: ${collection.msisdn} has two references`);
  collection.ref = ref;
}

async function tryAgain(simulation: Simulation): Promise<void> {
  const open = simulation.model.collections.filter((collection) => collection.ref === null && !collection.taken);
  const again = open.length > 0 ? open : simulation.model.collections.slice(-1);
  const process = anyProcess(simulation);
  await Promise.all(again.map((collection) => create(simulation, process, collection)));
}

/** The very same signed request once more: refused, whatever happened in between. */
async function replay(simulation: Simulation): Promise<void> {
  const acknowledged = simulation.model.collections.filter(
    (collection) => collection.ref !== null && !collection.hasKey,
  );
  if (acknowledged.length === 0) return;
  const collection = simulation.random.pick(acknowledged);
  const process = anyProcess(simulation);
  const request = {
    integration: simulation.integration,
    params: collection.params,
    address: '',
    signature: collection.signature,
  };
  try {
    await createCollection(process.ctx, process.writer, MESSAGES, { ...request, signedAt: SIGNED_AT }, undefined);
    simulation.model.violations.push(`I12: a spent signature was accepted for ${collection.msisdn}`);
  } catch (error) {
    if (error instanceof Problem && error.code === 'signature_reused') return;
    if (!(error instanceof Crash) && !(error instanceof Problem)) throw error;
  }
}

async function giveToken(simulation: Simulation): Promise<void> {
  const asked = simulation.model.collections.filter(
    (collection) => collection.ref !== null && collection.msisdn.endsWith(TOKEN_DIGITS),
  );
  if (asked.length === 0) return;
  const collection = simulation.random.pick(asked);
  const token = simulation.random.chance(0.7) ? simulation.model.operator.tokenFor(collection.msisdn) : '999999';
  const process = anyProcess(simulation);
  const id = idFromRef(collection.ref ?? '');
  if (token === null || id === null) return;
  await attempt(simulation, `token for ${collection.msisdn}`, async () => {
    const result = await verifyToken(process.ctx, simulation.model.holderId, id, token, async () => undefined);
    simulation.note(`token for ${collection.msisdn}: ${result instanceof Problem ? 'wrong' : 'right'}`);
    await process.engine.pass();
    await process.engine.idle();
  });
}

async function askForToken(simulation: Simulation): Promise<void> {
  const collection = simulation.model.collections.find(
    (candidate) => candidate.ref && candidate.msisdn.endsWith(TOKEN_DIGITS),
  );
  const id = idFromRef(collection?.ref ?? '');
  if (!collection || id === null) return;
  const process = anyProcess(simulation);
  await attempt(simulation, `resend to ${collection.msisdn}`, () =>
    resendToken(process.ctx, simulation.model.holderId, id, async () => undefined),
  );
}

async function orderPayout(simulation: Simulation): Promise<void> {
  const mobile = nextNumber(simulation, '200');
  const amount = String(simulation.random.int(500, 9_000));
  const process = anyProcess(simulation);
  simulation.payouts.push('');
  const slot = simulation.payouts.length - 1;
  await attempt(simulation, `payout to ${mobile}`, async () => {
    const { ctx, engine } = process;
    const reading = await readPayout(ctx, simulation.model.holderId, { amount, currency: CURRENCY, mobile });
    if (!reading.ok) throw new Error(JSON.stringify(reading.errors));
    const [result] = await orderPayouts(ctx, engine, COMMAND_LINE, simulation.model.holderId, [reading.order]);
    simulation.note(`payout to ${mobile}: ${result?.ok ? 'ordered' : 'not enough money'}`);
    if (result?.ok) simulation.payouts[slot] = refOf(result.transaction);
    if (simulation.random.chance(0.7)) await engine.idle();
  });
}

async function takePayoutBack(simulation: Simulation): Promise<void> {
  const known = simulation.payouts.filter((ref) => ref !== '');
  if (known.length === 0) return;
  const ref = simulation.random.pick(known);
  const process = anyProcess(simulation);
  await attempt(simulation, 'taking a payout back', async () => {
    await cancelPayout(process.ctx, COMMAND_LINE, simulation.model.holderId, ref);
    simulation.note('a payout is taken back');
    if ((simulation.model.operator.submits.get(ref) ?? 0) > 0)
      simulation.model.violations.push(`a payout that was sent was taken back: ${ref}`);
  });
}

async function readStatus(simulation: Simulation): Promise<void> {
  const known = [
    ...simulation.model.collections.flatMap((collection) => collection.ref ?? []),
    ...simulation.payouts.filter((ref) => ref !== ''),
  ];
  if (known.length === 0) return;
  const ref = simulation.random.pick(known);
  const process = anyProcess(simulation);
  await attempt(simulation, 'status', async () => {
    const found = await findFresh(process.ctx, process.engine, simulation.model.holderId, ref);
    if (!found) simulation.model.violations.push(`I5: ${ref} was acknowledged and cannot be read`);
  });
}

async function runPasses(simulation: Simulation): Promise<void> {
  const process = anyProcess(simulation);
  await attempt(simulation, 'a pass', async () => {
    await process.engine.pass();
    await process.engine.idle();
    await process.intake.pass();
    await process.intake.idle();
  });
}

async function deliverMessages(simulation: Simulation): Promise<void> {
  simulation.model.operator.tick();
  for (const message of simulation.model.operator.takeDue()) {
    const process = anyProcess(simulation);
    const heard = await attempt(simulation, 'an operator callback', () =>
      process.intake.receive({
        rail: simulation.model.railName,
        path: `/operators/${simulation.model.railName}`,
        headers: {},
        body: writeMessage(message.readings),
      }),
    );
    if (heard === null) simulation.model.operator.sendAgain(message, simulation.random);
    if (simulation.random.chance(0.5)) await process.intake.idle();
  }
}

async function passTime(simulation: Simulation): Promise<void> {
  simulation.base.clock.advance(simulation.random.pick([200, 2_000, 6_000, 31_000, 60_000, 700_000]));
  simulation.model.operator.tick();
}

/** Two people look at payouts of which the operator knows nothing. */
async function decideLost(simulation: Simulation): Promise<void> {
  const { base, model, people } = simulation;
  const rows = await base.db.query<{ id: string; transaction_id: string }>(
    `select c.id, c.transaction_id from cases c join transactions t on t.id = c.transaction_id
     where c.holder_id = $1 and c.kind = 'payout_not_found' and c.status = 'open' order by t.msisdn`,
    [model.holderId],
  );
  for (const { id, transaction_id: transactionId } of rows) {
    const ref = refOf({ id: transactionId });
    const wanted = simulation.random.chance(0.5) ? 'send_again' : 'settle_failed';
    const process = anyProcess(simulation);
    // A process may have died after the first of them had spoken.
    const proposed = (await listDecisions(base.db, id)).find(({ status }) => status === 'proposed');
    const action = proposed?.action ?? wanted;
    // Counted before: a crash may hide that the decision was written.
    if (action === 'send_again') model.sentAgain.set(ref, (model.sentAgain.get(ref) ?? 0) + 1);
    await attempt(simulation, 'a decision', async () => {
      const evidence = { reason: 'The statement shows it.', reference: 'statement' };
      const decision = proposed ?? (await proposeDecision(process.ctx, people.first, id, { action, ...evidence }));
      await approveDecision(process.ctx, process.engine, people.second, publicId('dec', decision.id));
      simulation.note(`two people decide: ${action}`);
      await process.engine.idle();
    });
  }
}

/** Everything works again; time passes until nothing moves any more. */
async function quieten(simulation: Simulation): Promise<void> {
  simulation.note('everything works from now on');
  simulation.healed = true;
  simulation.model.operator.heal();
  // What still sits in the memory of processes that never died is finished or lost with them.
  for (const process of simulation.processes) await attempt(simulation, 'stopping', () => process.engine.stop());
  simulation.processes = [start(simulation, 0, true)];
  for (let round = 0; round < MAX_QUIET_ROUNDS; round++) {
    simulation.base.clock.advance(round < 6 ? 31_000 : round < 40 ? 1_800_000 : 6 * 3_600_000);
    await tryUnanswered(simulation);
    await deliverMessages(simulation);
    await runPasses(simulation);
    await decideLost(simulation);
    if ((await isQuiet(simulation)) && simulation.model.operator.waiting() === 0) return;
  }
  simulation.note('it never became quiet');
}

async function tryUnanswered(simulation: Simulation): Promise<void> {
  for (const collection of simulation.model.collections.filter(
    (candidate) => candidate.ref === null && !candidate.taken,
  ))
    await create(simulation, anyProcess(simulation), collection);
}

/** Nothing is open but what a person was told of. */
async function isQuiet(simulation: Simulation): Promise<boolean> {
  const [row] = await simulation.base.db.query<{ open: bigint }>(
    `select (select count(*) from operator_inbox where rail = $2) + (
       select count(*) from payment_jobs j join transactions t on t.id = j.transaction_id
       where t.holder_id = $1 and not exists (
         select from cases c where c.transaction_id = t.id and c.status = 'open' and c.kind = 'no_answer')) as open`,
    [simulation.model.holderId, simulation.model.railName],
  );
  return row?.open === 0n;
}
