// The simulated operator: a separate HTTP service on loopback that speaks a protocol of its own, as a real operator
// would. Its book is in the database, so it survives a restart and several processes share it; what happens
// later (delays, expiries, callbacks) is done by `runDueOutcomes`, by the injected clock.

import type { Context } from '../platform/context.ts';
import { type RunningJob, runLoop } from '../platform/jobs.ts';
import { createCalls } from './calls.ts';
import { type OperatorServer, serveOperator } from './http.ts';
import { createOperatorCallbackSender, type OperatorCallbackSender } from './operator-callbacks.ts';
import { decidePayments, recordDecisions } from './outcomes.ts';
import { lockDuePayments } from './payments-table.ts';
import { createPhoneChanges } from './phone-changes.ts';
import { createScripts, type Scripts } from './scripts.ts';
import type { Lives } from './submissions.ts';
import { createTestPhone, type TestPhone } from './test-phone.ts';

const DUE_LIMIT = 200;
const PROMPT_LIFE_MS = 120_000;
const DIAL_LIFE_MS = 300_000;
const INSTRUCTIONS_LIFE_MS = 30 * 60_000;
/** How long a call that is never answered keeps its connection: longer than the gateway's own patience. */
const SILENCE_MS = 20_000;
const FORGET_AFTER_MS = 30 * 24 * 60 * 60_000;
const FORGET_EVERY_MS = 60 * 60_000;
const FORGET_LIMIT = 5_000;

export type SimulatedOperatorOptions = {
  /** Origin of the gateway that operator callbacks go to; null until it is known. */
  gatewayUrl?: string | null;
  /** 0: any free port. */
  port?: number;
  promptLifeMs?: number;
  dialLifeMs?: number;
  instructionsLifeMs?: number;
  silenceMs?: number;
};

export interface SimulatedOperator {
  /** Where it listens; null before `listen` and after `close`. */
  url: () => string | null;
  /** Opens the listener on 127.0.0.1 and answers its address. */
  listen(): Promise<string>;
  close(): Promise<void>;
  setGatewayUrl(url: string | null): void;
  /** One pass: decides what is due, then sends the callbacks that are due. Answers how many there were. */
  runDueOutcomes(): Promise<number>;
  /** Repeats `runDueOutcomes` in the background, at once when this process made something due. */
  start(): RunningJob;
  readonly phone: TestPhone;
  readonly scripts: Scripts;
}

export function createSimulatedOperator(ctx: Context, options: SimulatedOperatorOptions = {}): SimulatedOperator {
  const scripts = createScripts();
  const news = createPhoneChanges();
  const announcer = createOperatorCallbackSender(ctx, options.gatewayUrl ?? null);
  const lives: Lives = {
    promptMs: options.promptLifeMs ?? PROMPT_LIFE_MS,
    dialMs: options.dialLifeMs ?? DIAL_LIFE_MS,
    instructionsMs: options.instructionsLifeMs ?? INSTRUCTIONS_LIFE_MS,
  };
  let running: RunningJob | null = null;
  const wake = () => running?.wake();
  const phone = wakeAfter(createTestPhone(ctx, scripts, news), wake);
  const calls = createCalls(ctx, scripts, lives, (msisdns) => {
    news.tell(msisdns);
    wake();
  });
  let server: OperatorServer | null = null;
  const runDueOutcomes = createDuePass(ctx, scripts, announcer, (msisdns) => news.tell(msisdns));

  return {
    phone,
    scripts,
    url: () => server?.url ?? null,
    async listen() {
      server ??= await serveOperator({
        calls,
        phone,
        scripts,
        log: ctx.log,
        port: options.port ?? 0,
        silenceMs: options.silenceMs ?? SILENCE_MS,
      });
      return server.url;
    },
    async close() {
      news.close();
      await running?.stop();
      await server?.close();
      server = null;
      await announcer.close();
    },
    setGatewayUrl: (url) => announcer.setGatewayUrl(url),
    runDueOutcomes,
    start() {
      running ??= runLoop(ctx, { name: 'sandbox', pass: runDueOutcomes });
      return running;
    },
  };
}

function createDuePass(
  ctx: Context,
  scripts: Scripts,
  announcer: OperatorCallbackSender,
  tell: (msisdns: string[]) => void,
): () => Promise<number> {
  let forgottenAt = ctx.clock.millis();

  async function decideDue(): Promise<number> {
    const decided = await ctx.db.transaction(async (tx) => {
      const now = ctx.clock.now();
      const due = await lockDuePayments(tx, now, DUE_LIMIT);
      const decisions = due.flatMap((payment) =>
        payment.nextStep ? [decidePayments(payment, payment.nextStep, now)] : [],
      );
      await recordDecisions(tx, scripts, now, decisions);
      return decisions;
    });
    tell(decided.map(({ payment }) => payment.msisdn));
    return decided.length;
  }

  /** A toy's memory need not grow for ever. */
  async function forgetOld(): Promise<void> {
    const now = ctx.clock.millis();
    if (now - forgottenAt < FORGET_EVERY_MS) return;
    forgottenAt = now;
    const before = new Date(now - FORGET_AFTER_MS);
    await ctx.db.query(
      `delete from sandbox_payments where reference in
         (select reference from sandbox_payments where created_at < $1 and due_at is null limit $2)`,
      [before, FORGET_LIMIT],
    );
    await ctx.db.query(
      'delete from sandbox_messages where id in (select id from sandbox_messages where created_at < $1 order by id limit $2)',
      [before, FORGET_LIMIT],
    );
  }

  return async () => {
    const decided = await decideDue();
    const sent = await announcer.sendDue();
    await forgetOld();
    return decided + sent;
  };
}

/** The phone, with everything that may make something due followed by a wake of the background pass. */
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
