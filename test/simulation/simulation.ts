// One seed: a holder, an operator of some temper, processes that die, clients that try again, people who decide. First
// things go wrong for a while; then everything works, time passes, and what must hold is checked.

import { COMMAND_LINE } from '../../src/holders/audit.ts';
import { loadLiveIntegration } from '../../src/holders/integrations.ts';
import { insertMember } from '../../src/holders/members.ts';
import type { Decider } from '../../src/payments/decisions.ts';
import { releaseHeldParts, setReserveRule } from '../../src/payments/rolling-reserve.ts';
import { topUpSandbox } from '../../src/payments/sandbox-top-up.ts';
import type { TestContext } from '../harness.ts';
import { CURRENCY, operatorMessage } from '../payments.ts';
import { createShop } from '../shop.ts';
import {
  approveWaiting,
  askForRefund,
  askForToken,
  giveToken,
  orderFile,
  orderPayout,
  readStatus,
  replay,
  takePayoutBack,
  takeRefundBack,
  tryAgain,
  tryUnanswered,
  wantCollection,
} from './clients.ts';
import { checkInvariants } from './invariants.ts';
import { createSimulatedOperator } from './operator.ts';
import { decideCases, rejectProposed, resumeHolder, suspendOrResume } from './people.ts';
import { createRandom } from './random.ts';
import { restoreBackup, takeBackup } from './restore.ts';
import { anyProcess, attempt, finishCalls, type Simulation, start } from './shared.ts';
import { drawTemper, type Temper } from './temper.ts';
import { writeMessage } from './wire.ts';

const TOP_UPS = [10_000n, 300_000n, 2_000_000n];
const MAX_QUIET_ROUNDS = 120;
/** Backups of the whole database are slow, so few seeds restore. */
const RESTORING = 0.25;

export type SimulationResult = { seed: number; violations: string[]; history: string[] };

export async function simulate(base: TestContext, seed: number): Promise<SimulationResult> {
  const history: string[] = [];
  try {
    const simulation = await startSimulation(base, seed, history);
    const steps = simulation.random.int(25, 60);
    for (let step = 0; step < steps; step++) await act(simulation);
    await quieten(simulation);
    const violations = await checkInvariants(base, simulation.model);
    // The next seed shares the database, and should find no work of this one.
    await base.db.query(`update payment_jobs set due_at = 'infinity'`);
    await base.db.query('delete from operator_hints');
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
  note(`temper: ${describeTemper(temper)}`);
  const shop = await createShop(base, `Seed ${seed}`);
  const integration = await loadLiveIntegration(base, { id: shop.id });
  if (!integration) throw new Error('the integration is not there');
  let tail: Promise<unknown> = Promise.resolve();
  const steps = random.fork('steps');
  const simulation: Simulation = {
    base,
    random: steps,
    integration,
    people: await addPeople(base, seed, shop.holderId),
    processes: [],
    payouts: [],
    refunds: [],
    healed: false,
    starts: 0,
    backupAt: null,
    restores: random.fork('restores').chance(RESTORING),
    numbers: 0,
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
      files: [],
      topUp: steps.pick(TOP_UPS),
      sentAgain: new Map(),
      lost: new Set(),
      restores: 0,
      decided: new Set(),
      events: new Map(),
      suspended: false,
      startedAt: base.clock.now(),
      violations: [],
    },
  };
  if (steps.chance(0.3))
    await base.db.query('update holders set payouts_need_approval = true where id = $1', [shop.holderId]);
  const reserve = random.fork('reserve');
  if (reserve.chance(0.4))
    await setReserveRule(base, COMMAND_LINE, shop.holderId, { basisPoints: reserve.pick([500n, 3_000n]), days: 1 });
  const funding = start(simulation, 0, true);
  await topUpSandbox(funding.ctx, COMMAND_LINE, shop.holderId, CURRENCY, simulation.model.topUp);
  const processes = simulation.random.int(1, 2);
  for (let index = 0; index < processes; index++) simulation.processes.push(start(simulation, index));
  return simulation;
}

function describeTemper(temper: Temper): string {
  return Object.entries(temper)
    .map(([name, value]) => `${name} ${typeof value === 'number' && value < 1 ? value.toFixed(2) : String(value)}`)
    .join(', ');
}

async function addPeople(base: TestContext, seed: number, holderId: bigint): Promise<Simulation['people']> {
  async function person(name: string): Promise<Decider['actor']> {
    const email = `${name}.${seed}@example.com`;
    const member = await base.db.transaction((tx) => insertMember(tx, { email, name }, base.clock.now()));
    if (!member) throw new Error('the seed ran before');
    return { memberId: member.id, name: email };
  }
  return {
    first: { actor: await person('first'), isAdmin: true, holderId: null },
    second: { actor: await person('second'), isAdmin: true, holderId: null },
    finance: { actor: await person('finance'), isAdmin: false, holderId },
  };
}

/** When the holder pays everything out that has come in, while reversals are still to come. */
const SPENDING_ROUNDS = [1, 5, 8];

type Action = (simulation: Simulation) => Promise<void>;

const ACTIONS: [weight: number, action: Action][] = [
  [8, wantCollection],
  [3, tryAgain],
  [2, replay],
  [4, giveToken],
  [1, askForToken],
  [4, (simulation) => orderPayout(simulation)],
  [2, takePayoutBack],
  [2, orderFile],
  [7, askForRefund],
  [1, takeRefundBack],
  [2, approveWaiting],
  [3, readStatus],
  [8, runPasses],
  [2, releaseReserve],
  [8, deliverMessages],
  [8, passTime],
  [1, hearOfOthers],
  [4, decideCases],
  [1, suspendOrResume],
  [3, takeBackup],
  [3, restoreBackup],
];
const ALL_WEIGHTS = ACTIONS.reduce((sum, [weight]) => sum + weight, 0);

async function act(simulation: Simulation): Promise<void> {
  let left = simulation.random.next() * ALL_WEIGHTS;
  for (const [weight, action] of ACTIONS) {
    left -= weight;
    if (left < 0) return action(simulation);
  }
}

async function runPasses(simulation: Simulation): Promise<void> {
  await anyProcess(simulation).pass();
}

async function releaseReserve(simulation: Simulation): Promise<void> {
  await attempt(simulation, 'releasing the reserve', () => releaseHeldParts(anyProcess(simulation).ctx));
}

async function deliverMessages(simulation: Simulation): Promise<void> {
  simulation.model.operator.tick();
  for (const message of simulation.model.operator.takeDue()) {
    const process = anyProcess(simulation);
    const heard = await attempt(simulation, 'an operator callback', () =>
      process.intake.receive(operatorMessage(simulation.model.railName, writeMessage(message.readings))),
    );
    if (heard === null) simulation.model.operator.sendAgain(message, simulation.random);
    else simulation.model.operator.countBad(message);
    if (simulation.random.chance(0.5)) await process.intake.idle();
  }
}

async function passTime(simulation: Simulation): Promise<void> {
  const { random, base, model } = simulation;
  await finishCalls(simulation);
  base.clock.advance(random.chance(0.08) ? 26 * 3_600_000 : random.pick([200, 2_000, 6_000, 31_000, 60_000, 700_000]));
  model.operator.tick();
}

/** Messages about payments of another installation. */
async function hearOfOthers({ model, random }: Simulation): Promise<void> {
  if (!model.operator.temper.hints)
    model.operator.payElsewhere(random, random.pick(['collection', 'collection', 'payout', 'refund']));
}

/** Everything works again; time passes until nothing moves any more. */
async function quieten(simulation: Simulation): Promise<void> {
  simulation.note('everything works from now on');
  simulation.healed = true;
  simulation.model.operator.heal();
  // What still sits in the memory of processes that never died is finished or lost with them.
  for (const process of simulation.processes) await attempt(simulation, 'stopping', () => process.engine.stop());
  await resumeHolder(simulation);
  const process = start(simulation, 0, true);
  simulation.processes = [process];
  await rejectProposed(simulation, process);
  const spends = simulation.random.chance(0.7);
  for (let round = 0; round < MAX_QUIET_ROUNDS; round++) {
    simulation.base.clock.advance(round < 6 ? 31_000 : round < 40 ? 1_800_000 : 6 * 3_600_000);
    await tryUnanswered(simulation);
    if (SPENDING_ROUNDS.includes(round) && spends) await orderPayout(simulation, 'all');
    await approveWaiting(simulation);
    await deliverMessages(simulation);
    await runPasses(simulation);
    await decideCases(simulation);
    if ((await isQuiet(simulation)) && simulation.model.operator.waiting() === 0) return;
  }
  simulation.note('it never became quiet');
}

/** Nothing is open but what a person was told of. */
async function isQuiet(simulation: Simulation): Promise<boolean> {
  const [row] = await simulation.base.db.query<{ open: bigint }>(
    `select (select count(*) from operator_inbox where rail = $2)
       + (select count(*) from operator_hints where holder_id = $1) + (
       select count(*) from payment_jobs j join transactions t on t.id = j.transaction_id
       where t.holder_id = $1 and not exists (
         select from cases c where c.transaction_id = t.id and c.status = 'open' and c.kind = 'no_answer'))
       + (select count(*) from payout_orders where holder_id = $1 and approval = 'waiting' and cancelled_at is null)
       + (select count(*) from refund_orders where holder_id = $1 and approval = 'waiting' and cancelled_at is null) as open`,
    [simulation.model.holderId, simulation.model.railName],
  );
  return row?.open === 0n;
}
