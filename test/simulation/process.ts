// One simulated process of the gateway: its own engine, writer, intake, caches and breakers on the shared database. A
// fuse ends it between any two steps; from then on nothing it does reaches the database or the operator.

import { AsyncLocalStorage } from 'node:async_hooks';
import { type CollectionWriter, createCollectionWriter } from '../../src/payments/accept.ts';
import type { PaymentsContext } from '../../src/payments/context.ts';
import { createPaymentEngine, type PaymentEngine } from '../../src/payments/engine.ts';
import { createOperatorInbox, type OperatorInbox } from '../../src/payments/operator-callbacks.ts';
import type { Context } from '../../src/platform/context.ts';
import type { Database } from '../../src/platform/db.ts';
import { createMemory } from '../../src/platform/memory.ts';
import type { Rail } from '../../src/rails/rail.ts';
import { withPayments } from '../payments.ts';
import { readMessage, type SimulatedOperator, TILL_DIGITS, TOKEN_DIGITS } from './operator.ts';

/** The process ended here. What it was doing has no further effect. */
export class Crash extends Error {}

export type Process = {
  readonly name: string;
  readonly ctx: PaymentsContext;
  readonly engine: PaymentEngine;
  readonly writer: CollectionWriter;
  readonly intake: OperatorInbox;
  readonly isDead: () => boolean;
};

export type ProcessOptions = {
  name: string;
  railName: string;
  operator: SimulatedOperator;
  /** Steps until it dies. */
  fuse: number;
  /** One after the other, so that a seed always runs the same way. */
  exclusive<T>(work: () => Promise<T>): Promise<T>;
  note(line: string): void;
  violation(line: string): void;
};

export function startProcess(base: Context, options: ProcessOptions): Process {
  let { fuse } = options;
  let dead = false;
  const inTransaction = new AsyncLocalStorage<true>();

  function step(where: string): void {
    if (!dead && --fuse <= 0) {
      dead = true;
      options.note(`${options.name} dies ${where}`);
    }
    if (dead) throw new Crash(`${options.name} is dead`);
  }

  function durable<T>(work: () => Promise<T>): Promise<T> {
    if (inTransaction.getStore()) options.violation('a statement outside the transaction that its caller is in');
    return options.exclusive(async () => {
      step('before a transaction');
      const result = await inTransaction.run(true, work);
      step('after a commit');
      return result;
    });
  }

  const db: Database = {
    ...base.db,
    query: (statement, values) => durable(() => base.db.query(statement, values)),
    single: (work) => durable(() => base.db.single(work)),
    transaction: (work) =>
      durable(() =>
        base.db.transaction(async (tx) => {
          const result = await work(tx);
          step('before a commit');
          return result;
        }),
      ),
    withConnection: (work) => durable(() => base.db.withConnection(work)),
  };

  async function call<T>(work: () => T): Promise<T> {
    if (inTransaction.getStore()) options.violation('I18: an operator was called inside a transaction');
    step('before a call');
    const result = work();
    step('after a call');
    return result;
  }

  const { operator } = options;
  const rail: Rail = {
    name: options.railName,
    capabilities: operator.capabilities,
    verificationFor: (method, msisdn) =>
      msisdn.endsWith(TOKEN_DIGITS) ? 'otp' : msisdn.endsWith(TILL_DIGITS) ? 'instructions' : method.verification,
    collect: (request) => call(() => operator.collect(request)),
    payout: (request) => call(() => operator.payout(request)),
    query: (request) => call(() => operator.query(request)),
    sendToken: (request) => call(() => operator.sendToken(request)),
    readCallback: readMessage,
    close: async () => undefined,
  };

  const ctx = withPayments({ ...base, db, memory: createMemory() }, rail);
  const engine = createPaymentEngine(ctx);
  return {
    name: options.name,
    ctx,
    engine,
    writer: createCollectionWriter(ctx, engine),
    intake: createOperatorInbox(ctx),
    isDead: () => dead,
  };
}
