// People: two who decide about cases (right or wrong), and an admin who suspends the holder. In the beginning they are
// sometimes careless. When everything works again they look into the operator's book and decide rightly.

import { COMMAND_LINE } from '../../src/holders/audit.ts';

import { type Case, findCase } from '../../src/payments/cases.ts';
import type { DecisionAction } from '../../src/payments/decision-rows.ts';
import { approveDecision, decisionsFor, proposeDecision, rejectDecision } from '../../src/payments/decisions.ts';
import { setHolderStatus } from '../../src/payments/holder-status.ts';
import { findTransaction, refOf, type Transaction } from '../../src/payments/transactions.ts';
import { publicId } from '../../src/platform/ids.ts';
import type { TestContext } from '../harness.ts';
import { orderBeforeEnd } from './clients.ts';
import type { Process } from './process.ts';
import { anyProcess, attempt, finishCalls, type Model, type Simulation } from './shared.ts';

/** Open cases of this seed: its holder's, and those without a holder on its rail. */
async function openCases(simulation: Simulation): Promise<Case[]> {
  const rows = await simulation.base.db.query<{ id: string }>(
    `select c.id from cases c left join transactions t on t.holder_id = c.holder_id and t.id = c.transaction_id
     where (c.holder_id = $1 or c.rail = $2 or c.detail ->> 'rail' = $2) and c.status = 'open'
     order by c.opened_at, c.kind, t.msisdn, c.amount, c.id`,
    [simulation.model.holderId, simulation.model.railName],
  );
  const cases: Case[] = [];
  for (const { id } of rows) {
    const each = await findCase(simulation.base.db, id);
    if (each) cases.push(each);
  }
  return cases;
}

/** Two people look at open cases. A proposal may wait for its approval, or be rejected. */
export async function decideCases(simulation: Simulation): Promise<void> {
  await decideProposed(simulation);
  for (const each of await openCases(simulation)) {
    if (!simulation.healed && simulation.random.chance(0.4)) continue;
    const { holder_id: holderId, transaction_id: id } = each;
    const transaction = id === null ? null : await findTransaction(simulation.base.db, holderId, id);
    const action = chooseAction(simulation, each, transaction);
    if (action === null) continue;
    await propose(simulation, each, transaction, action);
  }
  if (simulation.healed || simulation.random.chance(0.7)) await decideProposed(simulation);
}

function chooseAction(simulation: Simulation, each: Case, transaction: Transaction | null): DecisionAction | null {
  const { random, healed, model } = simulation;
  const possible = decisionsFor(each, transaction);
  if (possible.length === 0) return null;
  // Money of a case can go anywhere: that changes whose it is, not how much there is. What only a note remembers stays.
  if (each.amount !== null) return !healed || random.chance(0.3) ? random.pick(possible) : null;
  if (!transaction) return null;
  // Callbacks of this operator prove nothing, so it could not put a wrong decision right.
  const careless = !healed && !model.operator.temper.hints && random.chance(0.4);
  const right = rightActions(simulation, transaction);
  const chosen = possible.filter((action) => right.includes(action));
  if (!careless) return chosen.length > 0 ? random.pick(chosen) : null;
  // What the operator has never seen it will never speak of, nor of an amount that nobody paid at a till: such a mistake only
  // a statement could show.
  const payment = model.operator.book.get(refOf(transaction));
  const harmless = possible.filter((action) => {
    if (!payment) return action === 'settle_failed' || action === 'send_again';
    return action !== 'keep' && !(payment.till && action === 'settle_amount');
  });
  return harmless.length > 0 ? random.pick(harmless) : null;
}

/** The decisions that make our books say what the operator's say. */
function rightActions({ model }: Simulation, row: Transaction): DecisionAction[] {
  const payment = model.operator.book.get(refOf(row));
  const open = row.status === 'pending' || row.status === 'processing';
  if (!payment)
    return open ? ['settle_failed', 'send_again'] : row.status === 'success' ? ['settle_reversed'] : ['keep'];
  if (payment.till || payment.amount !== row.amount) return [];
  switch (payment.state) {
    case 'pending':
      return [];
    case 'succeeded':
      return row.status === 'success' ? ['keep'] : ['settle_success'];
    case 'reversed':
      return row.status === 'success' ? ['settle_reversed'] : row.status === 'reversed' ? ['keep'] : ['settle_success'];
    default:
      return row.status === 'success' ? ['settle_reversed'] : ['settle_failed', ...(open ? [] : (['keep'] as const))];
  }
}

async function propose(
  simulation: Simulation,
  each: Case,
  transaction: Transaction | null,
  action: DecisionAction,
): Promise<void> {
  const { model, people } = simulation;
  const process = anyProcess(simulation);
  const ref = transaction ? refOf(transaction) : '';
  if (transaction) {
    model.decided.add(ref);
    model.operator.tellAbout(ref);
  }
  // Counted before: a crash may hide that the decision was written.
  if (action === 'send_again') model.sentAgain.set(ref, (model.sentAgain.get(ref) ?? 0) + 1);
  await attempt(simulation, `proposing ${action}`, async () => {
    await proposeDecision(process.ctx, people.first, each.id, {
      action,
      reason: 'simulated',
      reference: 'line 4 of a statement',
      amount: action === 'settle_amount' ? (transaction?.amount ?? 0n) + 1n : null,
      toHolder: action === 'credit_holder' ? model.holderId : null,
    });
    simulation.note(`${transaction?.msisdn ?? 'money'}: ${action} is proposed about ${each.kind}`);
  });
}

/** When everything works again, what was proposed in doubt is rejected, and decided anew. */
export async function rejectProposed({ base, model, people }: Simulation, { ctx }: Process): Promise<void> {
  for (const { id } of await listProposed(base, model)) await rejectDecision(ctx, people.second, publicId('dec', id));
}

function listProposed({ db }: TestContext, { holderId, railName }: Model): Promise<{ id: string; action: string }[]> {
  return db.query<{ id: string; action: string }>(
    `select d.id, d.action from decisions d join cases c on c.holder_id = d.holder_id and c.id = d.case_id
     left join transactions t on t.holder_id = c.holder_id and t.id = c.transaction_id
     where d.status = 'proposed' and (c.holder_id = $1 or c.rail = $2)
     order by d.proposed_at, c.kind, t.msisdn, c.amount, d.id`,
    [holderId, railName],
  );
}

/** Approves or rejects what was proposed. Nobody approves alone. */
async function decideProposed(simulation: Simulation): Promise<void> {
  const { model, random, people, base } = simulation;
  for (const { id, action } of await listProposed(base, model)) {
    const process = anyProcess(simulation);
    const ref = publicId('dec', id);
    if (random.chance(0.1))
      await attempt(simulation, 'approving alone', async () => {
        await approveDecision(process.ctx, process.engine, people.first, ref);
        model.violations.push(`one person alone decided ${action}`);
      });
    else if (!simulation.healed && random.chance(0.2))
      await attempt(simulation, 'rejecting', () => rejectDecision(process.ctx, people.second, ref));
    else
      await attempt(simulation, `approving ${action}`, async () => {
        await approveDecision(process.ctx, process.engine, people.second, ref);
        simulation.note(`${action} is approved`);
      });
    if (simulation.healed || random.chance(0.7)) await process.engine.idle();
  }
}

/** The holder is suspended, or may go on. Only a suspension that is certainly committed counts. */
export async function suspendOrResume(simulation: Simulation): Promise<void> {
  const { model } = simulation;
  const status = model.suspended ? 'active' : 'suspended';
  const process = anyProcess(simulation);
  if (status === 'suspended' && simulation.random.chance(0.5)) await orderBeforeEnd(simulation);
  // What was already on its way when the suspension was asked for may still arrive.
  model.suspended = false;
  await finishCalls(simulation);
  await attempt(simulation, `the holder becomes ${status}`, async () => {
    await setHolderStatus(process.ctx, COMMAND_LINE, model.holderId, status);
    simulation.note(`the holder is ${status}`);
    model.suspended = status === 'suspended';
  });
}

/** At the end nobody is suspended. */
export async function resumeHolder(simulation: Simulation): Promise<void> {
  simulation.model.suspended = false;
  await setHolderStatus(simulation.base, COMMAND_LINE, simulation.model.holderId, 'active');
}
