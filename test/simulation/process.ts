// One simulated process of the gateway: its own engine, writer, intake, caches and breakers on the shared database. A
// fuse ends it between any two steps; from then on nothing it does reaches the database or the operator.

import { AsyncLocalStorage } from 'node:async_hooks';
import { type CollectionWriter, createCollectionWriter } from '../../src/payments/accept.ts';
import type { PaymentsContext } from '../../src/payments/context.ts';
import { createPaymentEngine, type PaymentEngine } from '../../src/payments/engine.ts';
import { createOperatorInbox, type OperatorInbox } from '../../src/payments/operator-callbacks.ts';
import type { Clock } from '../../src/platform/clock.ts';
import type { Context } from '../../src/platform/context.ts';
import type { DatabaseTime } from '../../src/platform/database-time.ts';
import type { Database } from '../../src/platform/db.ts';
import { createWaker } from '../../src/platform/jobs.ts';
import { createMemory } from '../../src/platform/memory.ts';
import type { Rail } from '../../src/rails/rail.ts';
import { withPayments } from '../payments.ts';
import { type SimulatedOperator, TILL_DIGITS, TOKEN_DIGITS } from './operator.ts';
import { readMessage } from './wire.ts';

/** The process ended here. What it was doing has no further effect. */
export class Crash extends Error {}

export type Process = {
  readonly name: string;
  readonly ctx: PaymentsContext;
  readonly engine: PaymentEngine;
  readonly writer: CollectionWriter;
  readonly intake: OperatorInbox;
  /** Runs the background work once, as its loop does: not at all while the clock is wrong. */
  pass(): Promise<void>;
  /** Its clock is right. With a wrong one it refuses every signed request, as their timestamps are wrong for it. */
  readonly hasRightClock: boolean;
  readonly isDead: () => boolean;
  /** Ends it here and now. */
  kill(): void;
};

export type ProcessOptions = {
  name: string;
  railName: string;
  operator: SimulatedOperator;
  /** Steps until it dies. */
  fuse: number;
  /** How far its clock is ahead of the database's. */
  skewMs: number;
  /** One after the other, so that a seed always runs the same way. */
  exclusive<T>(work: () => Promise<T>): Promise<T>;
  note(line: string): void;
  violation(line: string): void;
  /** A receiver is told of an event, by its transaction and type. */
  onEvent(key: string, id: string): void;
  /** Whether money may leave now: not while the holder is suspended. */
  mayPayOut(): boolean;
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
    unflushed: (statement, values) => durable(() => base.db.unflushed(statement, values)),
    transaction: (work) =>
      durable(() =>
        base.db.transaction(async (tx) => {
          const result = await work(tx);
          step('before a commit');
          return result;
        }),
      ),
    snapshot: (work) => durable(() => base.db.snapshot(work)),
  };

  async function call<T>(work: () => T): Promise<T> {
    if (inTransaction.getStore()) options.violation('I18: an operator was called inside a transaction');
    step('before a call');
    const result = work();
    step('after a call');
    return result;
  }

  function callToPay<T>(what: string, work: () => T): Promise<T> {
    return call(() => {
      if (!options.mayPayOut()) options.violation(`I32: a ${what} was sent while the holder was suspended`);
      return work();
    });
  }

  const { operator } = options;
  const rail: Rail = {
    name: options.railName,
    capabilitiesOf: () => operator.capabilities,
    verificationFor: (method, msisdn) =>
      msisdn.endsWith(TOKEN_DIGITS) ? 'otp' : msisdn.endsWith(TILL_DIGITS) ? 'instructions' : method.verification,
    collect: (request) => call(() => operator.collect(request)),
    payout: (request) => callToPay('payout', () => operator.payout(request)),
    refund: (request) => callToPay('refund', () => operator.refund(request)),
    query: (request) => call(() => operator.query(request)),
    sendToken: (request) => call(() => operator.sendToken(request)),
    readCallback: readMessage,
    check: async () => [],
    close: async () => undefined,
  };

  const { clock, databaseTime } = skewed(base.clock, options.skewMs);
  const ctx: PaymentsContext = {
    ...withPayments(
      { ...base, db, clock, databaseTime, memory: createMemory(), log: noteWarnings(base, options) },
      rail,
    ),
    sendCallbacksNow(events) {
      for (const { transactionId, type, id } of events) options.onEvent(`${transactionId} ${type}`, id);
    },
  };
  const engine = createPaymentEngine(ctx);
  const intake = createOperatorInbox(ctx);
  const waker = createWaker(ctx, {
    name: 'simulation',
    async pass() {
      try {
        const handled = await engine.pass();
        await engine.idle();
        const read = await intake.pass();
        await intake.idle();
        return handled + read;
      } catch (error) {
        if (!(error instanceof Crash)) options.violation(`a pass: ${error instanceof Error ? error.stack : ''}`);
        throw error;
      }
    },
  });
  return {
    name: options.name,
    ctx,
    engine,
    writer: createCollectionWriter(ctx, engine),
    intake,
    async pass() {
      waker.wake();
      await waker.idle();
    },
    hasRightClock: options.skewMs === 0,
    isDead: () => dead,
    kill() {
      dead = true;
    },
  };
}

/** A process whose clock is off, and the database that knows better. */
function skewed(right: Clock, skewMs: number): { clock: Clock; databaseTime: DatabaseTime } {
  const millis = () => right.millis() + skewMs;
  return {
    clock: { ...right, millis, now: () => new Date(millis()) },
    databaseTime: { now: async () => right.now(), skewMs: async () => skewMs },
  };
}

/** What the process logs about errors is part of the history; a crash is not an error of ours. */
function noteWarnings({ log }: Context, options: ProcessOptions): Context['log'] {
  const warn = (about: { err?: unknown }, message: string) => {
    const { err } = about;
    if (!(err instanceof Crash))
      options.note(`${options.name} warns: ${message} ${err instanceof Error ? err.message : ''}`);
  };
  return Object.assign(Object.create(log) as Context['log'], { warn, error: warn });
}
