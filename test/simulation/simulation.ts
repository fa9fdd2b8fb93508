// One seed: a holder, an operator of some temper, processes that die, clients that try again, people who decide. First
// things go wrong for a while; then everything works, time passes, and what must hold is checked.

import { randomBytes } from 'node:crypto';
import { COMMAND_LINE } from '../../src/holders/audit.ts';
import type { SignedRequest } from '../../src/holders/envelope.ts';
import { type LiveIntegration, loadLiveIntegration } from '../../src/holders/integrations.ts';
import { collectionMessages, createCollection } from '../../src/payments/collections.ts';
import { cancelPayout, decideLostPayout, orderPayouts, readPayout, topUpSandbox } from '../../src/payments/payouts.ts';
import { findFresh } from '../../src/payments/status.ts';
import { idFromRef, refOf } from '../../src/payments/transactions.ts';
import { resendToken, verifyToken } from '../../src/payments/verification.ts';
import { Problem } from '../../src/platform/errors.ts';
import type { JsonObject } from '../../src/platform/strict-json.ts';
import { type TestContext, WORLD_START } from '../harness.ts';
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
const SIGNED_AT = new Date(WORLD_START);

/**
 * A collection that a client wants. With a key it tries again, signed anew, until it has an answer; without one it can only
 * send the very same bytes again.
 */
export type Wish = {
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
  wishes: Wish[];
  topUp: bigint;
  /** Decisions of a person to send a payout again, by reference. */
  sentAgain: Map<string, number>;
  /** Wrong the moment it happens, not only at the end. */
  violations: string[];
};

export type SimulationResult = { seed: number; violations: string[]; history: string[] };

type World = {
  base: TestContext;
  model: Model;
  random: Random;
  processes: Process[];
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
    const world = await createWorld(base, seed, history);
    const steps = world.random.int(25, 60);
    for (let step = 0; step < steps; step++) await act(world, step);
    await quieten(world);
    const violations = [...world.model.violations, ...(await checkInvariants(base, world.model))];
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

async function createWorld(base: TestContext, seed: number, history: string[]): Promise<World> {
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
  const world: World = {
    base,
    random: random.fork('steps'),
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
      wishes: [],
      topUp: TOP_UP,
      sentAgain: new Map(),
      violations: [],
    },
  };
  const processes = world.random.int(1, 2);
  for (let index = 0; index < processes; index++) world.processes.push(start(world, index));
  const purse = await startHealthy(world, 'the purse');
  await topUpSandbox(purse.ctx, COMMAND_LINE, shop.holderId, CURRENCY, TOP_UP);
  return world;
}

function start(world: World, index: number, healthy = false): Process {
  const dice = world.random.fork('fuse', ++world.starts, index);
  return startProcess(world.base, {
    name: `process ${index + 1}`,
    railName: world.model.railName,
    operator: world.model.operator,
    fuse: healthy || dice.chance(0.3) ? Number.POSITIVE_INFINITY : dice.int(3, 90),
    exclusive: (work) => world.exclusive(work),
    note: (line) => world.note(line),
    violation: (line) => world.model.violations.push(line),
  });
}

async function startHealthy(world: World, name: string): Promise<Process> {
  return { ...start(world, 0, true), name };
}

/** A living process; a dead one has been started anew. */
function anyProcess(world: World): Process {
  const index = world.random.int(0, world.processes.length - 1);
  const process = world.processes[index];
  if (process && !process.isDead()) return process;
  world.note(`process ${index + 1} starts anew`);
  const fresh = start(world, index, world.healed);
  world.processes[index] = fresh;
  return fresh;
}

/** Runs what somebody asks of a process. A crash, or a problem that the gateway tells, is what clients live with. */
async function attempt<T>(world: World, what: string, work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Crash) world.note(`${what}: no answer`);
    else if (error instanceof Problem) world.note(`${what}: ${error.code}`);
    else world.model.violations.push(`${what}: ${error instanceof Error ? error.stack : String(error)}`);
    return null;
  }
}

type Action = (world: World, step: number) => Promise<void>;

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

async function act(world: World, step: number): Promise<void> {
  let left = world.random.next() * ALL_WEIGHTS;
  for (const [weight, action] of ACTIONS) {
    left -= weight;
    if (left < 0) return action(world, step);
  }
}

/** Numbers are counted, so that everything about a payment follows from the seed and its number. */
function nextNumber(world: World, ending: string): string {
  const count = world.model.wishes.length + world.payouts.length;
  return `25677${String(count).padStart(4, '0')}${ending}`;
}

async function wantCollection(world: World): Promise<void> {
  const count = world.random.int(1, 4);
  const wishes = Array.from({ length: count }, () => {
    const msisdn = nextNumber(world, world.random.pick(['100', '100', '100', TOKEN_DIGITS, TILL_DIGITS]));
    const wish: Wish = {
      msisdn,
      hasKey: world.random.chance(0.7),
      params: {
        amount: world.random.int(500, 9_000),
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
    world.model.wishes.push(wish);
    return wish;
  });
  // An impatient client sends it twice at once, to two processes.
  const times = world.random.chance(0.3) ? 2 : 1;
  for (let time = 0; time < times; time++) wishes.push(...wishes.slice(0, count * time));
  await Promise.all(wishes.map((wish) => create(world, anyProcess(world), wish)));
}

async function create(world: World, process: Process, wish: Wish): Promise<void> {
  if (wish.hasKey) wish.signature = randomBytes(32);
  const { params, signature, hasKey } = wish;
  const request: SignedRequest = {
    integration: world.integration,
    params,
    address: '127.0.0.1',
    signature,
    signedAt: SIGNED_AT,
  };
  const answer = await attempt(world, `create ${wish.msisdn}`, () =>
    createCollection(process.ctx, process.writer, MESSAGES, request, hasKey ? `key-${wish.msisdn}` : undefined).catch(
      (error: unknown) => {
        if (error instanceof Problem && error.code === 'signature_reused') wish.taken = true;
        throw error;
      },
    ),
  );
  if (!answer) return;
  const ref = answer.data.ref as string;
  world.note(`create ${wish.msisdn}: acknowledged${answer.replayed ? ' as before' : ''}`);
  if (wish.ref !== null && wish.ref !== ref) world.model.violations.push(`I6: ${wish.msisdn} has two references`);
  wish.ref = ref;
}

async function tryAgain(world: World): Promise<void> {
  const open = world.model.wishes.filter((wish) => wish.ref === null && !wish.taken);
  const again = open.length > 0 ? open : world.model.wishes.slice(-1);
  const process = anyProcess(world);
  await Promise.all(again.map((wish) => create(world, process, wish)));
}

/** The very same signed request once more: refused, whatever happened in between. */
async function replay(world: World): Promise<void> {
  const acknowledged = world.model.wishes.filter((wish) => wish.ref !== null && !wish.hasKey);
  if (acknowledged.length === 0) return;
  const wish = world.random.pick(acknowledged);
  const process = anyProcess(world);
  const request = { integration: world.integration, params: wish.params, address: '', signature: wish.signature };
  try {
    await createCollection(process.ctx, process.writer, MESSAGES, { ...request, signedAt: SIGNED_AT }, undefined);
    world.model.violations.push(`I12: a spent signature was accepted for ${wish.msisdn}`);
  } catch (error) {
    if (error instanceof Problem && error.code === 'signature_reused') return;
    if (!(error instanceof Crash) && !(error instanceof Problem)) throw error;
  }
}

async function giveToken(world: World): Promise<void> {
  const asked = world.model.wishes.filter((wish) => wish.ref !== null && wish.msisdn.endsWith(TOKEN_DIGITS));
  if (asked.length === 0) return;
  const wish = world.random.pick(asked);
  const token = world.random.chance(0.7) ? world.model.operator.tokenFor(wish.msisdn) : '999999';
  const process = anyProcess(world);
  const id = idFromRef(wish.ref ?? '');
  if (token === null || id === null) return;
  await attempt(world, `token for ${wish.msisdn}`, async () => {
    const result = await verifyToken(process.ctx, world.model.holderId, id, token, async () => undefined);
    world.note(`token for ${wish.msisdn}: ${result instanceof Problem ? 'wrong' : 'right'}`);
    await process.engine.pass();
    await process.engine.idle();
  });
}

async function askForToken(world: World): Promise<void> {
  const wish = world.model.wishes.find((candidate) => candidate.ref && candidate.msisdn.endsWith(TOKEN_DIGITS));
  const id = idFromRef(wish?.ref ?? '');
  if (!wish || id === null) return;
  const process = anyProcess(world);
  await attempt(world, `resend to ${wish.msisdn}`, () =>
    resendToken(process.ctx, world.model.holderId, id, async () => undefined),
  );
}

async function orderPayout(world: World): Promise<void> {
  const mobile = nextNumber(world, '200');
  const amount = String(world.random.int(500, 9_000));
  const process = anyProcess(world);
  world.payouts.push('');
  const slot = world.payouts.length - 1;
  await attempt(world, `payout to ${mobile}`, async () => {
    const { ctx, engine } = process;
    const reading = await readPayout(ctx, world.model.holderId, { amount, currency: CURRENCY, mobile });
    if (!reading.ok) throw new Error(JSON.stringify(reading.errors));
    const [result] = await orderPayouts(ctx, engine, COMMAND_LINE, world.model.holderId, [reading.order]);
    world.note(`payout to ${mobile}: ${result?.ok ? 'ordered' : 'not enough money'}`);
    if (result?.ok) world.payouts[slot] = refOf(result.transaction);
    if (world.random.chance(0.7)) await engine.idle();
  });
}

async function takePayoutBack(world: World): Promise<void> {
  const known = world.payouts.filter((ref) => ref !== '');
  if (known.length === 0) return;
  const ref = world.random.pick(known);
  const process = anyProcess(world);
  await attempt(world, 'taking a payout back', async () => {
    await cancelPayout(process.ctx, COMMAND_LINE, world.model.holderId, ref);
    world.note('a payout is taken back');
    if ((world.model.operator.submits.get(ref) ?? 0) > 0)
      world.model.violations.push(`a payout that was sent was taken back: ${ref}`);
  });
}

async function readStatus(world: World): Promise<void> {
  const known = [...world.model.wishes.flatMap((wish) => wish.ref ?? []), ...world.payouts.filter((ref) => ref !== '')];
  if (known.length === 0) return;
  const ref = world.random.pick(known);
  const process = anyProcess(world);
  await attempt(world, 'status', async () => {
    const found = await findFresh(process.ctx, process.engine, world.model.holderId, ref);
    if (!found) world.model.violations.push(`I5: ${ref} was acknowledged and cannot be read`);
  });
}

async function runPasses(world: World): Promise<void> {
  const process = anyProcess(world);
  await attempt(world, 'a pass', async () => {
    await process.engine.pass();
    await process.engine.idle();
    await process.intake.pass();
    await process.intake.idle();
  });
}

async function deliverMessages(world: World): Promise<void> {
  world.model.operator.tick();
  for (const message of world.model.operator.takeDue()) {
    const process = anyProcess(world);
    const heard = await attempt(world, 'an operator callback', () =>
      process.intake.receive({
        rail: world.model.railName,
        path: `/operators/${world.model.railName}`,
        headers: {},
        body: writeMessage(message.readings),
      }),
    );
    if (heard === null) world.model.operator.sendAgain(message, world.random);
    if (world.random.chance(0.5)) await process.intake.idle();
  }
}

async function passTime(world: World): Promise<void> {
  world.base.clock.advance(world.random.pick([200, 2_000, 6_000, 31_000, 60_000, 700_000]));
  world.model.operator.tick();
}

/** A person looks at payouts of which the operator knows nothing. */
async function decideLost(world: World): Promise<void> {
  const rows = await world.base.db.query<{ transaction_id: string }>(
    `select c.transaction_id from cases c join transactions t on t.id = c.transaction_id
     where c.holder_id = $1 and c.kind = 'payout_not_found' and c.status = 'open' order by t.msisdn`,
    [world.model.holderId],
  );
  for (const { transaction_id: id } of rows) {
    const ref = refOf({ id });
    const again = world.random.chance(0.5);
    const process = anyProcess(world);
    // Counted before: a crash may hide that the decision was written.
    if (again) world.model.sentAgain.set(ref, (world.model.sentAgain.get(ref) ?? 0) + 1);
    await attempt(world, 'a decision', async () => {
      const decision = again ? 'send_again' : 'release';
      await decideLostPayout(process.ctx, process.engine, COMMAND_LINE, world.model.holderId, ref, decision);
      world.note(`a person decides: ${decision}`);
      await process.engine.idle();
    });
  }
}

/** Everything works again; time passes until nothing moves any more. */
async function quieten(world: World): Promise<void> {
  world.note('everything works from now on');
  world.healed = true;
  world.model.operator.heal();
  // What still sits in the memory of processes that never died is finished or lost with them.
  for (const process of world.processes) await attempt(world, 'stopping', () => process.engine.stop());
  world.processes = [start(world, 0, true)];
  for (let round = 0; round < MAX_QUIET_ROUNDS; round++) {
    world.base.clock.advance(round < 6 ? 31_000 : round < 40 ? 1_800_000 : 6 * 3_600_000);
    await tryUnanswered(world);
    await deliverMessages(world);
    await runPasses(world);
    await decideLost(world);
    if ((await isQuiet(world)) && world.model.operator.waiting() === 0) return;
  }
  world.note('it never became quiet');
}

async function tryUnanswered(world: World): Promise<void> {
  for (const wish of world.model.wishes.filter((candidate) => candidate.ref === null && !candidate.taken))
    await create(world, anyProcess(world), wish);
}

/** Nothing is open but what a person was told of. */
async function isQuiet(world: World): Promise<boolean> {
  const [row] = await world.base.db.query<{ open: bigint }>(
    `select (select count(*) from operator_inbox where rail = $2) + (
       select count(*) from payment_jobs j join transactions t on t.id = j.transaction_id
       where t.holder_id = $1 and not exists (
         select from cases c where c.transaction_id = t.id and c.status = 'open' and c.kind = 'no_answer')) as open`,
    [world.model.holderId, world.model.railName],
  );
  return row?.open === 0n;
}
