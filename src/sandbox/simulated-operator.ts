// The simulated operator: a separate HTTP service on loopback with its own protocol, as a real operator has. Its
// payments are in the database, so they survive a restart and several processes share them. What happens later
// (delays, expiries, callbacks) is done by `runDueOutcomes`, by the injected clock.

import type { Context } from '../platform/context.ts';
import type { Tx } from '../platform/db.ts';
import { type RunningJob, runLoop } from '../platform/jobs.ts';
import { type BookEntry, readBook } from './book.ts';
import { createCalls } from './calls.ts';
import { type OperatorServer, serveOperator } from './http.ts';
import { createOperatorCallbackSender, type OperatorCallbackSender } from './operator-callbacks.ts';
import { decidePayment, recordDecisions, reversePayment, type SandboxDecision } from './outcomes.ts';
import { lockDuePayments, type SandboxPayment, updatePayments } from './payments-table.ts';
import { createPhoneChanges } from './phone-changes.ts';
import type { ReceivedCallbacks } from './received-callbacks.ts';
import { decideDueRefunds, endRefundsOfReversed } from './refunds.ts';
import { createScripts, type Scripts } from './scripts.ts';
import type { PaymentLifetimes } from './submissions.ts';
import { createTestPhone, type TestPhone } from './test-phone.ts';

const DUE_LIMIT = 200;
const PROMPT_LIFE_MS = 120_000;
const DIAL_LIFE_MS = 300_000;
const INSTRUCTIONS_LIFE_MS = 30 * 60_000;
/** How long an unanswered call keeps its connection: longer than the gateway's own time-out. */
const SILENCE_MS = 20_000;
const RETENTION_MS = 30 * 24 * 60 * 60_000;
const PURGE_INTERVAL_MS = 60 * 60_000;
const PURGE_LIMIT = 5_000;

export type SimulatedOperatorOptions = {
  /** Origin of the gateway that receives the operator callbacks; null until it is known. */
  gatewayUrl?: string | null;
  /** 0: any free port. */
  port?: number;
  promptLifeMs?: number;
  dialLifeMs?: number;
  instructionsLifeMs?: number;
  silenceMs?: number;
  /** The built-in receiver, where the process of the operator has it too. */
  received?: ReceivedCallbacks;
};

/** What a gateway needs of its operator, wherever that runs. */
export interface RunningOperator {
  /** The address it listens on; null before `listen` and after `close`. */
  url: () => string | null;
  readonly phone: TestPhone;
  /** Decides and reports in the background from now on. */
  start(): unknown;
  close(): Promise<void>;
}

export interface SimulatedOperator extends RunningOperator {
  /** Opens the listener on 127.0.0.1 and returns its address. */
  listen(): Promise<string>;
  setGatewayUrl(url: string | null): void;
  /** One pass: decides the payments that are due, then sends the callbacks that are due; returns how many there were. */
  runDueOutcomes(): Promise<number>;
  /** Repeats `runDueOutcomes` in the background; a change by this process starts the next pass at once. */
  start(): RunningJob;
  /** Makes the operator reverse a payment in its next pass; what was refunded before stays refunded. */
  reverse(reference: string): Promise<void>;
  /** What the operator holds for the gateway by its own records. */
  book(): Promise<BookEntry[]>;
  readonly scripts: Scripts;
}

export function createSimulatedOperator(ctx: Context, options: SimulatedOperatorOptions = {}): SimulatedOperator {
  const scripts = createScripts();
  const changes = createPhoneChanges();
  const callbackSender = createOperatorCallbackSender(ctx, options.gatewayUrl ?? null);
  const lifetimes: PaymentLifetimes = {
    promptMs: options.promptLifeMs ?? PROMPT_LIFE_MS,
    dialMs: options.dialLifeMs ?? DIAL_LIFE_MS,
    instructionsMs: options.instructionsLifeMs ?? INSTRUCTIONS_LIFE_MS,
  };
  let running: RunningJob | null = null;
  const wake = () => running?.wake();
  const phone = wakeAfter(createTestPhone(ctx, scripts, changes), wake);
  const calls = createCalls(ctx, scripts, lifetimes, (msisdns) => {
    changes.notify(msisdns);
    wake();
  });
  let server: OperatorServer | null = null;
  const runDueOutcomes = createDuePass(ctx, scripts, callbackSender, (msisdns) => changes.notify(msisdns));

  return {
    phone,
    scripts,
    url: () => server?.url ?? null,
    async listen() {
      server ??= await serveOperator({
        calls,
        phone,
        scripts,
        book: () => readBook(ctx.db),
        log: ctx.log,
        port: options.port ?? 0,
        silenceMs: options.silenceMs ?? SILENCE_MS,
        received: options.received ?? null,
      });
      return server.url;
    },
    async close() {
      changes.close();
      await running?.stop();
      await server?.close();
      server = null;
      await callbackSender.close();
    },
    setGatewayUrl: (url) => callbackSender.setGatewayUrl(url),
    runDueOutcomes,
    async reverse(reference) {
      await ctx.db.query(
        `update sandbox_payments set next_step = 'reverse', due_at = $2 where reference = $1 and status = 'succeeded'`,
        [reference, ctx.clock.now()],
      );
      wake();
    },
    book: () => readBook(ctx.db),
    start() {
      running ??= runLoop(ctx, { name: 'sandbox', pass: runDueOutcomes });
      return running;
    },
  };
}

function createDuePass(
  ctx: Context,
  scripts: Scripts,
  callbackSender: OperatorCallbackSender,
  notifyPhones: (msisdns: string[]) => void,
): () => Promise<number> {
  let purgedAt = ctx.clock.millis();

  async function decideDue(): Promise<number> {
    const payments = await ctx.db.transaction(async (tx) => {
      const now = ctx.clock.now();
      const due = await lockDuePayments(tx, now, DUE_LIMIT);
      await recordDecisions(tx, scripts, now, await decidePayments(tx, scripts, now, due));
      return due.map(({ msisdn }) => msisdn);
    });
    const refunds = await ctx.db.transaction((tx) => decideDueRefunds(tx, scripts, ctx.clock.now(), DUE_LIMIT));
    notifyPhones([...payments, ...refunds]);
    return payments.length + refunds.length;
  }

  /** Deletes sandbox rows that are older than the retention time. */
  async function purgeOldRows(): Promise<void> {
    const now = ctx.clock.millis();
    if (now - purgedAt < PURGE_INTERVAL_MS) return;
    purgedAt = now;
    const before = new Date((await ctx.databaseTime.now()).getTime() - RETENTION_MS);
    await ctx.db.query(
      `delete from sandbox_payments where reference in
         (select reference from sandbox_payments where created_at < $1 and due_at is null limit $2)`,
      [before, PURGE_LIMIT],
    );
    // Refunds and unmatched money leave the book with the payments of their time.
    await ctx.db.query('delete from sandbox_refunds where created_at < $1 and due_at is null', [before]);
    await ctx.db.query('delete from sandbox_unmatched_money where created_at < $1', [before]);
    await ctx.db.query(
      'delete from sandbox_messages where id in (select id from sandbox_messages where created_at < $1 order by id limit $2)',
      [before, PURGE_LIMIT],
    );
  }

  return async () => {
    const decided = await decideDue();
    const sent = await callbackSender.sendDue();
    await purgeOldRows();
    return decided + sent;
  };
}

/** The decisions about locked payments. A reversal takes back what refunds have left, and nothing if that is nothing. */
async function decidePayments(tx: Tx, scripts: Scripts, now: Date, due: SandboxPayment[]): Promise<SandboxDecision[]> {
  const isReversal = ({ nextStep, direction }: SandboxPayment) => nextStep === 'reverse' && direction === 'collection';
  const left = await endRefundsOfReversed(tx, scripts, now, due.filter(isReversal));
  const refunded = due.filter(({ reference }) => left.get(reference) === 0n);
  await updatePayments(
    tx,
    refunded.map((payment) => ({ ...payment, nextStep: null, dueAt: null })),
  );
  return due.flatMap((payment) => {
    if (payment.nextStep === null || left.get(payment.reference) === 0n) return [];
    if (!isReversal(payment)) return [decidePayment(payment, payment.nextStep, now)];
    return [reversePayment(payment, left.get(payment.reference) ?? payment.amount)];
  });
}

/** The phone; actions that can make a callback due also start the background pass. */
function wakeAfter(phone: TestPhone, wake: () => void): TestPhone {
  const then = async <T>(result: Promise<T>): Promise<T> => {
    const value = await result;
    wake();
    return value;
  };
  return {
    ...phone,
    answer: (msisdn, id, pin) => then(phone.answer(msisdn, id, pin)),
    cancel: (msisdn, id) => then(phone.cancel(msisdn, id)),
    pay: (msisdn, payment) => then(phone.pay(msisdn, payment)),
  };
}
