// A gateway that crash tests kill: every route and every background job, and the actions of people as lines on stdin. It
// loads everything and then waits for its start, so that the next one is loaded while the former still runs.

import { flushCompileCache } from 'node:module';
import { createInterface } from 'node:readline';
import { createApp } from '../../src/app.ts';
import { confirmSettlement } from '../../src/books/settlement-decisions.ts';
import { settlementRef } from '../../src/books/settlement-rows.ts';
import { takeSettlement } from '../../src/books/settlements.ts';
import { FormUsedError, useForm } from '../../src/console/form-idempotency.ts';
import type { Actor } from '../../src/holders/audit.ts';
import { maintainSignatures } from '../../src/holders/signatures.ts';
import { createContext } from '../../src/open-context.ts';
import type { DecisionAction } from '../../src/payments/decision-rows.ts';
import { approveDecision, type Decider, proposeDecision } from '../../src/payments/decisions.ts';
import { openDispute } from '../../src/payments/disputes.ts';
import { approveRefund, cancelRefund } from '../../src/payments/order-decisions.ts';
import { approvePayoutFile } from '../../src/payments/payout-file-decisions.ts';
import { orderPayoutFile } from '../../src/payments/payout-files.ts';
import { readPayout } from '../../src/payments/payout-requests.ts';
import { createRefund } from '../../src/payments/refunds.ts';
import { releaseHeldParts, setReserveRule } from '../../src/payments/rolling-reserve.ts';
import { refOf } from '../../src/payments/transactions.ts';
import { type Config, readConfig } from '../../src/platform/config.ts';
import type { Context } from '../../src/platform/context.ts';
import { Problem } from '../../src/platform/errors.ts';
import { armFailpoint } from '../../src/platform/failpoint.ts';
import { publicId } from '../../src/platform/ids.ts';
import { createLogger } from '../../src/platform/log.ts';
import { createServices, type Services } from '../../src/services.ts';
import { startWorkers } from '../../src/worker.ts';
import type { Action, ActionAnswer } from './actions.ts';

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** A machine that is busy with other things may take longer than a request may wait for a connection. */
async function openContext(config: Config, triesLeft = 20): Promise<Context> {
  try {
    return await createContext(config, config.databaseUrl, createLogger(config.logLevel));
  } catch (error) {
    if (triesLeft === 0) throw error;
    return openContext(config, triesLeft - 1);
  }
}

async function start(port: string): Promise<Services> {
  const config = readConfig({ ...process.env, PORT: port });
  const ctx = await openContext(config);
  await maintainSignatures(ctx);
  const services = await createServices(ctx);
  await createApp(services).listen({ port: config.port, host: config.host });
  startWorkers(services, config.databaseUrl);
  return services;
}

function actorOf({ by }: Action): Actor & { memberId: bigint } {
  return { memberId: BigInt(by), name: `person ${by}` };
}

function deciderOf(action: Action): Decider {
  return { actor: actorOf(action), isAdmin: true, holderId: null };
}

/** Does what a person wants, as the console does it. Returns the reference of what was made, if anything was. */
async function perform({ ctx, payments, operator }: Services, action: Action): Promise<string> {
  const { engine } = payments;
  const actor = actorOf(action);
  const holderId = BigInt(action.holder);
  switch (action.name) {
    case 'arm':
      armFailpoint(action.place);
      return '';
    case 'refund': {
      const request = { collection: action.ref, amount: BigInt(action.amount) };
      const within = (tx: Parameters<typeof useForm>[0]) => useForm(tx, ctx, holderId, action.form);
      return refOf(await createRefund(ctx, engine, actor, holderId, request, { within }));
    }
    case 'approve refund':
      await approveRefund(ctx, engine, actor, holderId, action.ref);
      return '';
    case 'cancel refund':
      await cancelRefund(ctx, actor, holderId, action.ref);
      return '';
    case 'order file':
      return orderFile({ ctx, payments }, action);
    case 'approve file':
      await approvePayoutFile(ctx, engine, actor, holderId, action.ref);
      return '';
    case 'propose': {
      const evidence = { reason: 'The statement shows it.', reference: 'line 4' };
      const what = { action: action.decision as DecisionAction, ...evidence };
      return publicId('dec', (await proposeDecision(ctx, deciderOf(action), action.ref, what)).id);
    }
    case 'approve decision':
      await approveDecision(ctx, engine, deciderOf(action), action.ref);
      return '';
    case 'hold back':
      await setReserveRule(ctx, actor, holderId, { basisPoints: BigInt(action.basisPoints), days: 7 });
      return '';
    case 'release reserve':
      await releaseHeldParts(ctx);
      return '';
    case 'open dispute': {
      const request = {
        collection: action.ref,
        amount: null,
        reason: 'never delivered',
        reference: null,
        answerBy: null,
      };
      return (await openDispute(ctx, actor, request)).case_id;
    }
    case 'settle': {
      const request = { holderId, currency: 'UGX', period: action.period };
      const result = await takeSettlement(ctx, engine, actor, request);
      return result.outcome === 'too_little' ? '' : settlementRef(result.settlement);
    }
    case 'confirm settlement':
      await confirmSettlement(ctx, actor, action.ref, { bank: action.bank, reference: 'FT1' });
      return '';
    case 'reverse':
      await operator?.reverse(action.ref);
      return '';
  }
}

async function orderFile(
  { ctx, payments }: Pick<Services, 'ctx' | 'payments'>,
  action: Action & { name: 'order file' },
) {
  const holderId = BigInt(action.holder);
  const rows = await Promise.all(
    action.rows.map(async ({ amount, mobile }, index) => {
      const reading = await readPayout(ctx, holderId, { amount, mobile, currency: 'UGX' });
      if (!reading.ok) throw new Error(`a row cannot be read: ${JSON.stringify(reading.errors)}`);
      return { line: index + 1, order: reading.order };
    }),
  );
  const file = { name: action.file, rows };
  return (await orderPayoutFile(ctx, payments.engine, actorOf(action), holderId, file)).ref;
}

async function answer(services: Services, id: number, action: Action): Promise<void> {
  const answered = (result: ActionAnswer) => say(JSON.stringify({ id, ...result }));
  try {
    answered({ ok: true, value: await perform(services, action) });
  } catch (error) {
    if (error instanceof Problem) answered({ ok: false, code: error.code });
    else if (error instanceof FormUsedError) answered({ ok: false, code: 'form_used' });
    else answered({ ok: false, code: `failed: ${String(error)}` });
  }
}

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
flushCompileCache();
say('loaded');
const services = await start(String((await lines.next()).value));
say('ready');
for (let line = await lines.next(); line.done !== true; line = await lines.next()) {
  const { id, action } = JSON.parse(line.value) as { id: number; action: Action };
  void answer(services, id, action);
}
