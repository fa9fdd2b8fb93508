// What clients, payers and members of the holder ask of the gateway: collections, tokens, payouts, files, refunds, status.

import { randomBytes } from 'node:crypto';
import { type Actor, COMMAND_LINE } from '../../src/holders/audit.ts';
import type { SignedRequest } from '../../src/holders/envelope.ts';
import { balancesOf } from '../../src/ledger/ledger.ts';
import { collectionMessages, createCollection } from '../../src/payments/collections.ts';
import { approvePayout, approveRefund, cancelPayout, cancelRefund } from '../../src/payments/order-decisions.ts';
import { approvePayoutFile } from '../../src/payments/payout-file-decisions.ts';
import { orderPayoutFile, payoutFileRef } from '../../src/payments/payout-files.ts';
import { readPayout } from '../../src/payments/payout-requests.ts';
import { orderPayouts, type PayoutFileRow } from '../../src/payments/payouts.ts';
import { createRefund } from '../../src/payments/refunds.ts';
import { ALL_REPEATS } from '../../src/payments/similar-payouts.ts';
import { findFresh } from '../../src/payments/status.ts';
import { idFromRef, refOf } from '../../src/payments/transactions.ts';
import { resendToken, verifyToken } from '../../src/payments/verification.ts';
import { DAY_MS } from '../../src/platform/clock.ts';
import { Problem } from '../../src/platform/errors.ts';
import { START_TIME } from '../harness.ts';
import { COUNTRY_ID, CURRENCY, METHOD } from '../payments.ts';
import { TILL_DIGITS, TOKEN_DIGITS } from './operator.ts';
import { Crash, type Process } from './process.ts';
import {
  anyProcess,
  attempt,
  nextNumber,
  type Simulation,
  start,
  type WantedCollection,
  type WantedFile,
} from './shared.ts';

const MESSAGES = collectionMessages('Service');
const MAX_PAYOUT = 1_000_000;
const KEY_KEPT_MS = 20 * 3_600_000;
/**
 * Not checked below the HTTP layer. One moment keeps it to one partition, and one that never comes keeps that partition:
 * the HTTP layer refuses a signature long before its partition is dropped.
 */
const SIGNED_AT = new Date(Date.parse(START_TIME) + 1_000 * DAY_MS);

export async function wantCollection(simulation: Simulation): Promise<void> {
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
        payment_method_type: METHOD,
        third_party_reference_1: msisdn,
      },
      ref: null,
      signature: randomBytes(32).toString('hex'),
      taken: false,
      lost: false,
      sentAt: simulation.base.clock.millis(),
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
  if (!process.hasRightClock) return;
  if (collection.hasKey) collection.signature = randomBytes(32).toString('hex');
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

/** Collections that their clients may still ask for: what a restore took away is a loss they cannot see. */
function living(simulation: Simulation): WantedCollection[] {
  return simulation.model.collections.filter((collection) => !collection.lost);
}

/** A key is known for a day; a client that still has no answer then asks a person, not the gateway. */
function repeatable(simulation: Simulation): WantedCollection[] {
  const oldest = simulation.base.clock.millis() - KEY_KEPT_MS;
  return living(simulation).filter(({ sentAt }) => sentAt > oldest);
}

export async function tryAgain(simulation: Simulation): Promise<void> {
  const known = repeatable(simulation);
  const open = known.filter((collection) => collection.ref === null && !collection.taken);
  const again = open.length > 0 ? open : known.slice(-1);
  const process = anyProcess(simulation);
  await Promise.all(again.map((collection) => create(simulation, process, collection)));
}

export async function tryUnanswered(simulation: Simulation): Promise<void> {
  for (const collection of repeatable(simulation).filter((candidate) => candidate.ref === null && !candidate.taken))
    await create(simulation, anyProcess(simulation), collection);
}

/** The very same signed request once more: refused, whatever happened in between. */
export async function replay(simulation: Simulation): Promise<void> {
  const acknowledged = living(simulation).filter((collection) => collection.ref !== null && !collection.hasKey);
  if (acknowledged.length === 0) return;
  const collection = simulation.random.pick(acknowledged);
  const process = anyProcess(simulation);
  if (!process.hasRightClock) return;
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

export async function giveToken(simulation: Simulation): Promise<void> {
  const asked = living(simulation).filter(({ ref, msisdn }) => ref !== null && msisdn.endsWith(TOKEN_DIGITS));
  if (asked.length === 0) return;
  const collection = simulation.random.pick(asked);
  const token = simulation.random.chance(0.7) ? simulation.model.operator.tokenFor(collection.msisdn) : '999999';
  const process = anyProcess(simulation);
  const id = idFromRef(collection.ref ?? '');
  if (token === null || id === null) return;
  await attempt(simulation, `token for ${collection.msisdn}`, async () => {
    const result = await verifyToken(process.ctx, simulation.model.holderId, id, token, async () => undefined);
    simulation.note(`token for ${collection.msisdn}: ${result instanceof Problem ? 'wrong' : 'right'}`);
    process.engine.wake();
    await process.engine.idle();
  });
}

export async function askForToken(simulation: Simulation): Promise<void> {
  const collection = living(simulation).find((candidate) => candidate.ref && candidate.msisdn.endsWith(TOKEN_DIGITS));
  const id = idFromRef(collection?.ref ?? '');
  if (!collection || id === null) return;
  const process = anyProcess(simulation);
  await attempt(simulation, `resend to ${collection.msisdn}`, () =>
    resendToken(process.ctx, simulation.model.holderId, id, async () => undefined),
  );
}

/** Some of the wallet, or all of it: what is reversed after that becomes a debt. */
export async function orderPayout(
  simulation: Simulation,
  share = simulation.random.pick<'some' | 'all'>(['some', 'all']),
  given: Process | null = null,
): Promise<void> {
  const mobile = nextNumber(simulation, '200');
  const amount = await drawPayout(simulation, share);
  const process = given ?? anyProcess(simulation);
  await attempt(simulation, `payout to ${mobile}`, async () => {
    const { ctx, engine } = process;
    const reading = await readPayout(ctx, simulation.model.holderId, { amount, currency: CURRENCY, mobile });
    if (!reading.ok) throw new Error(JSON.stringify(reading.errors));
    const [result] = await orderPayouts(ctx, engine, COMMAND_LINE, simulation.model.holderId, [reading.order]);
    simulation.note(`payout to ${mobile}: ${result?.ok ? 'ordered' : 'not enough money'}`);
    if (result?.ok) simulation.payouts.push(refOf(result.transaction));
    if (simulation.random.chance(0.7)) await engine.idle();
  });
}

/** A process that is about to end orders a payout, and leaves it to the others to send. */
export async function orderBeforeEnd(simulation: Simulation): Promise<void> {
  const ending = start(simulation, simulation.processes.length, true);
  await ending.engine.stop();
  await orderPayout(simulation, 'some', ending);
}

async function drawPayout({ base, model, random }: Simulation, share: 'some' | 'all'): Promise<string> {
  const some = random.int(500, 9_000);
  if (share === 'some') return String(some);
  const [wallet] = await balancesOf(base.db, model.holderId, { currency: CURRENCY });
  // The fee is one in a hundred, and is taken from the wallet too.
  const most = Number((wallet?.available ?? 0n) / 10_200n) * 100;
  return String(most >= 500 ? Math.min(most, MAX_PAYOUT) : some);
}

export async function takePayoutBack(simulation: Simulation): Promise<void> {
  if (simulation.payouts.length === 0) return;
  const ref = simulation.random.pick(simulation.payouts);
  const process = anyProcess(simulation);
  await attempt(simulation, 'taking a payout back', async () => {
    await cancelPayout(process.ctx, COMMAND_LINE, simulation.model.holderId, ref);
    simulation.note('a payout is taken back');
    checkNotSent(simulation, ref);
  });
}

/** After a restore only what arrived counts: a call that was lost on the way may be forgotten. */
function checkNotSent({ model }: Simulation, ref: string): void {
  const sent = model.restores === 0 ? (model.operator.submits.get(ref) ?? 0) > 0 : model.operator.book.has(ref);
  if (sent) model.violations.push(`what was sent was taken back: ${ref}`);
}

/** Whole or in part, sometimes by two people at once on two processes, sometimes twice the same. */
export async function askForRefund(simulation: Simulation): Promise<void> {
  const { model, random } = simulation;
  const paid = living(simulation).filter(
    ({ ref }) => ref !== null && model.operator.book.get(ref)?.state === 'succeeded',
  );
  if (paid.length === 0) return;
  const collection = random.pick(paid);
  const whole = BigInt(Number(collection.params.amount)) * 100n;
  const amount = random.pick([null, null, whole, whole / 2n, (whole / 300n) * 100n, 100n, whole + 100n]);
  const times = random.chance(0.4) ? 2 : 1;
  const actors: Actor[] = [COMMAND_LINE, simulation.people.finance.actor];
  const asked = Array.from({ length: times }, () => ({ process: anyProcess(simulation), actor: random.pick(actors) }));
  await Promise.all(
    asked.map(({ process, actor }) =>
      attempt(simulation, `refund of ${collection.msisdn}`, async () => {
        const request = { collection: collection.ref ?? '', amount, asPayout: true, reason: 'simulated' };
        const refund = await createRefund(process.ctx, process.engine, actor, model.holderId, request);
        simulation.note(`refund of ${collection.msisdn}: ${refund.amount} ${refund.approval}`);
        simulation.refunds.push(refOf(refund));
      }),
    ),
  );
  if (random.chance(0.7)) for (const { process } of asked) await process.engine.idle();
}

export async function takeRefundBack(simulation: Simulation): Promise<void> {
  if (simulation.refunds.length === 0) return;
  const ref = simulation.random.pick(simulation.refunds);
  const process = anyProcess(simulation);
  await attempt(simulation, 'taking a refund back', async () => {
    await cancelRefund(process.ctx, COMMAND_LINE, simulation.model.holderId, ref);
    simulation.note('a refund is taken back');
    checkNotSent(simulation, ref);
  });
}

type Waiting = { id: string; creator: bigint | null; kind: 'payout' | 'file' | 'refund' };

/** The second person approves what waits, a file as a whole; the one who asked for it cannot. */
export async function approveWaiting(simulation: Simulation): Promise<void> {
  const { model, people, random, healed } = simulation;
  const rows = await simulation.base.db.query<Waiting>(
    `select transaction_id as id, created_by_member as creator, 'payout' as kind from payout_orders
     where holder_id = $1 and approval = 'waiting' and cancelled_at is null and batch_id is null
     union all select id, created_by_member, 'file' from payout_batches
     where holder_id = $1 and approval = 'waiting' and cancelled_at is null
     union all select transaction_id, created_by_member, 'refund' from refund_orders
     where holder_id = $1 and approval = 'waiting' and cancelled_at is null order by id`,
    [model.holderId],
  );
  for (const { id, creator, kind } of rows) {
    const process = anyProcess(simulation);
    const decider = random.chance(0.2) ? people.finance : people.second;
    const approve = { payout: approvePayout, file: approvePayoutFile, refund: approveRefund }[kind];
    const ref = kind === 'file' ? payoutFileRef(id) : refOf({ id });
    await attempt(simulation, `approving a ${kind}`, async () => {
      try {
        await approve(process.ctx, process.engine, decider.actor, model.holderId, ref);
      } catch (error) {
        if (!(error instanceof Problem) || error.code !== 'refund_not_possible') throw error;
        // The operator has reversed the payment meanwhile: a refund that was never sent is given up.
        await cancelRefund(process.ctx, COMMAND_LINE, model.holderId, ref);
        return simulation.note('a refund is given up');
      }
      simulation.note(`a ${kind} is approved`);
      if (decider.actor.memberId === creator) model.violations.push(`somebody approved their own order ${ref}`);
    });
    if (healed || random.chance(0.7)) await process.engine.idle();
  }
}

export async function readStatus(simulation: Simulation): Promise<void> {
  const { model, random, payouts, refunds } = simulation;
  const known = [...model.collections.flatMap(({ ref }) => ref ?? []), ...payouts, ...refunds].filter(
    (ref) => !model.lost.has(ref),
  );
  if (known.length === 0) return;
  const ref = random.pick(known);
  const process = anyProcess(simulation);
  await attempt(simulation, 'status', async () => {
    const found = await findFresh(process.ctx, process.engine, model.holderId, ref);
    if (!found) model.violations.push(`I5: ${ref} was acknowledged and cannot be read`);
  });
}

/** A file of payouts: new, or an older one once more, under another name, whatever became of it. */
export async function orderFile(simulation: Simulation): Promise<void> {
  const { model, random } = simulation;
  const again = model.files.length > 0 && random.chance(0.5);
  const file = again ? random.pick(model.files) : wantFile(simulation);
  file.times++;
  const name = `pay (${file.times}).csv`;
  const process = anyProcess(simulation);
  await attempt(simulation, `the file ${name} of ${file.mobiles[0]}`, async () => {
    const rows: PayoutFileRow[] = [];
    for (const [index, mobile] of file.mobiles.entries()) {
      const request = { amount: file.amounts[index] ?? '', currency: CURRENCY, mobile };
      const reading = await readPayout(process.ctx, model.holderId, request);
      if (!reading.ok) throw new Error(JSON.stringify(reading.errors));
      rows.push({ line: index + 1, order: reading.order });
    }
    const options = { confirmedRepeats: ALL_REPEATS };
    await orderPayoutFile(process.ctx, process.engine, COMMAND_LINE, model.holderId, { name, rows }, options);
    simulation.note(`the file ${name} of ${file.mobiles[0]} is ordered`);
    if (file.ordered) model.violations.push(`I31: a file was ordered again: ${file.mobiles.join()}`);
    file.ordered = true;
    if (random.chance(0.7)) await process.engine.idle();
  });
}

function wantFile(simulation: Simulation): WantedFile {
  const { random } = simulation;
  const mobiles = Array.from({ length: random.int(2, 4) }, () => nextNumber(simulation, '200'));
  const file: WantedFile = {
    mobiles,
    amounts: mobiles.map(() => String(random.int(500, 2_000))),
    times: 0,
    ordered: false,
  };
  simulation.model.files.push(file);
  return file;
}
