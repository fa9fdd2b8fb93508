// Creates the services of a gateway: catalogue, rails, the simulated operator, the payment engine and the callback deliverer.
// The server creates them once per process; a test creates its own and runs their passes by hand.

import { BOOKS_CHECKS } from './books/books-checks.ts';
import { settleDue } from './books/settlement-schedule.ts';
import { checkReceived } from './callbacks/check-received.ts';
import { createDeliverer, type Deliverer } from './callbacks/deliver.ts';
import { createCallbackHousekeeping } from './callbacks/housekeeping.ts';
import { sendReceiptTexts } from './checkout/receipt-texts.ts';
import { type Actor, recordAudit } from './holders/audit.ts';
import { callbackSecrets } from './holders/integrations.ts';
import { mailIsConfigured, queueMail } from './holders/mail-queue.ts';
import { SEALED_INTEGRATION_SECRETS, SEALED_MAILS, SEALED_SECOND_FACTORS } from './holders/reseal.ts';
import { extendChain, lastSeenHead } from './ledger/chain.ts';
import { createHeadKeeper, type HeadKeeper } from './ledger/head-keeper.ts';
import { compareOutside } from './ledger/outside-heads.ts';
import { openPayments } from './open-payments.ts';
import { createCollectionWriter } from './payments/accept.ts';
import { PAYMENTS_JOB, type PaymentsContext } from './payments/context.ts';
import { createPaymentEngine } from './payments/engine.ts';
import { keepEvidenceMonths } from './payments/evidence.ts';
import { watchFloat } from './payments/float-watch.ts';
import { measureMoney } from './payments/money-metrics.ts';
import { purgeNumberLimits } from './payments/number-limits.ts';
import { readOperatorBalances } from './payments/operator-balances.ts';
import { createOperatorInbox } from './payments/operator-callbacks.ts';
import { purgeLimitUses } from './payments/payment-limits.ts';
import { SEALED_PREPARED_CALLS } from './payments/prepared-calls.ts';
import { purgeRejectedCallbacks } from './payments/rejected-callbacks.ts';
import { releaseHeldParts } from './payments/rolling-reserve.ts';
import type { PaymentServices } from './payments/routes.ts';
import { verifyInBackground } from './payments/verify-books.ts';
import { localUrl } from './platform/config.ts';
import type { Context } from './platform/context.ts';
import { databasePort } from './platform/database-port.ts';
import type { Job } from './platform/jobs.ts';
import type { Outbound, OutboundOptions } from './platform/outbound.ts';
import { resealPass, type SealedColumns } from './platform/reseal.ts';
import type { RailDefinition } from './rails/connection.ts';
import { SEALED_CONNECTION_TOKENS, SEALED_CONNECTIONS } from './rails/reseal.ts';
import { registerCallbackAddresses } from './rails/simulators.ts';
import { createReceivedCallbacks, type ReceivedCallbacks } from './sandbox/received-callbacks.ts';
import {
  createSimulatedOperator,
  type RunningOperator,
  type SimulatedOperator,
  type SimulatedOperatorOptions,
} from './sandbox/simulated-operator.ts';
import type { SandboxProcess } from './sandbox-process.ts';

const FLOAT_IDLE_MS = { shortest: 5_000, longest: 10_000 };
const MONTHS_IDLE_MS = { shortest: 3_600_000, longest: 3_600_000 };
const PURGE_IDLE_MS = { shortest: 600_000, longest: 600_000 };
const MEASURE_IDLE_MS = { shortest: 60_000, longest: 60_000 };
const BALANCES_IDLE_MS = { shortest: 30_000, longest: 60_000 };
const VERIFY_IDLE_MS = { shortest: 1_000, longest: 5_000 };
const CHAIN_IDLE_MS = { shortest: 1_000, longest: 10_000 };
const RESERVE_IDLE_MS = { shortest: 1_000, longest: 30_000 };
const CALLS_IDLE_MS = { shortest: 1_000, longest: 1_000 };
const SIMULATORS_IDLE_MS = { shortest: 5_000, longest: 5_000 };
const TEXTS_IDLE_MS = { shortest: 1_000, longest: 5_000 };
const RESEAL_IDLE_MS = { shortest: 1_000, longest: 60_000 };

/** Every column with sealed values. A column that is missing here keeps an old key in use for ever. */
export const SEALED_COLUMNS: readonly SealedColumns[] = [
  SEALED_INTEGRATION_SECRETS,
  SEALED_SECOND_FACTORS,
  SEALED_MAILS,
  SEALED_CONNECTIONS,
  SEALED_CONNECTION_TOKENS,
  SEALED_PREPARED_CALLS,
];

export type ServicesOptions = {
  /** Where the embedded database listens; left out with DATABASE_URL. */
  databaseUrl?: string;
  operator?: SimulatedOperatorOptions;
  /** The process of the simulated operator and the built-in receiver; left out, they run in this process. */
  sandbox?: SandboxProcess | null;
  outbound?: Partial<OutboundOptions>;
  /** Timeout of a call to an operator; tests shorten it. */
  railTimeoutMs?: number;
  callbackTimeoutMs?: number;
  /** Other rails than those of the registry; for tests. */
  railDefinitions?: readonly RailDefinition[];
};

export type Services = {
  readonly ctx: PaymentsContext;
  readonly payments: PaymentServices;
  readonly deliverer: Deliverer;
  /** Null in live mode, and where it runs in a process of its own. */
  readonly operator: SimulatedOperator | null;
  /** The same, wherever it runs; null in live mode. */
  readonly sandbox: RunningOperator | null;
  /** What the built-in receiver took. */
  readonly received: ReceivedCallbacks;
  /** Sees changes of connections until the returned function is called. */
  watchConnections(): () => void;
  /** Background work; worker.ts runs it. */
  readonly jobs: Job[];
  /** Finishes what is running. What was not started is done after the next start. */
  stop(): Promise<void>;
};

export async function createServices(base: Context, options: ServicesOptions = {}): Promise<Services> {
  const { config } = base;
  const operator =
    config.mode === 'sandbox' && !options.sandbox
      ? createSimulatedOperator(base, { gatewayUrl: localUrl(config), ...options.operator })
      : null;
  await operator?.listen();
  const sandbox = options.sandbox ?? operator;
  const operatorUrl = sandbox?.url();
  const payments = await openPayments(base, {
    sandboxOperatorUrl: () => sandbox?.url() ?? null,
    sendCallbacksNow: (events) => deliverer.deliverFresh(events),
    ownPorts: [
      databasePort(options.databaseUrl ?? config.databaseUrl),
      ...(operatorUrl ? [Number(new URL(operatorUrl).port)] : []),
    ],
    receiverPort: options.sandbox?.port,
    outbound: options.outbound,
    railTimeoutMs: options.railTimeoutMs,
    railDefinitions: options.railDefinitions,
  });
  const { ctx } = payments;
  const deliverer = createDeliverer(base, {
    outbound: payments.outbound,
    secretsOf: (integrationId) => callbackSecrets(base, integrationId),
    ledgerHead: () => headOfCallbacks(base),
    ...(options.callbackTimeoutMs === undefined ? {} : { timeoutMs: options.callbackTimeoutMs }),
  });
  const heads = await openHeadKeeper(base, payments.outbound);
  const engine = createPaymentEngine(ctx);
  const inbox = createOperatorInbox(ctx);
  const jobs: Job[] = [
    { name: PAYMENTS_JOB, pass: () => engine.pass(), onCapacity: (wake) => engine.onCapacity(wake) },
    { name: 'operator_callbacks', pass: () => inbox.pass() },
    { name: 'rejected_callbacks', pass: () => purgeRejectedCallbacks(base), idleMs: PURGE_IDLE_MS },
    deliverer,
    createCallbackHousekeeping(base),
    { name: 'evidence_months', pass: () => keepEvidenceMonths(base), idleMs: MONTHS_IDLE_MS },
    { name: 'number_limits', pass: () => purgeNumberLimits(base), idleMs: PURGE_IDLE_MS },
    { name: 'payment_limits', pass: () => purgeLimitUses(base), idleMs: PURGE_IDLE_MS },
    { name: 'settlements', pass: () => settleDue(ctx, engine), idleMs: MEASURE_IDLE_MS },
    { name: 'rolling_reserve', pass: () => releaseHeldParts(base), idleMs: RESERVE_IDLE_MS },
    ...ledgerJobs(base, payments.outbound),
    heads,
    { name: 'reseal', pass: () => resealPass(base, SEALED_COLUMNS), idleMs: RESEAL_IDLE_MS },
    { name: 'operator_calls', pass: () => payments.rails.storeCalls(), idleMs: CALLS_IDLE_MS },
    { name: 'operator_balances', pass: () => readOperatorBalances(ctx), idleMs: BALANCES_IDLE_MS },
    { name: 'float', pass: () => watchFloat(ctx), idleMs: FLOAT_IDLE_MS },
    { name: 'simulator_addresses', pass: () => registerCallbackAddresses(base), idleMs: SIMULATORS_IDLE_MS },
    { name: 'money_metrics', pass: () => measureMoney(ctx), idleMs: MEASURE_IDLE_MS },
    { name: 'receipt_texts', pass: () => sendReceiptTexts(ctx), idleMs: TEXTS_IDLE_MS },
  ];
  return {
    ctx,
    payments: { engine, collections: createCollectionWriter(ctx, engine), inbox },
    deliverer,
    operator,
    sandbox,
    received: options.sandbox?.received ?? receivedHere(base),
    watchConnections: () => payments.rails.watch(),
    jobs,
    async stop() {
      await engine.stop();
      await inbox.idle();
      await deliverer.stop();
      await sandbox?.close();
      await payments.close();
    },
  };
}

function ledgerJobs(ctx: Context, outbound: Outbound): Job[] {
  const checks = { more: BOOKS_CHECKS, outside: () => compareOutside(ctx, outbound) };
  return [
    { name: 'ledger_chain', pass: () => extendChain(ctx), idleMs: CHAIN_IDLE_MS },
    { name: 'verify_ledger', pass: () => verifyInBackground(ctx, undefined, checks), idleMs: VERIFY_IDLE_MS },
  ];
}

const GATEWAY: Actor = { memberId: null, name: 'gateway' };

/** What people get who have asked for mails with the newest head. */
const HEAD_MAIL =
  'This is the newest head of the ledger. Keep it outside the machine. To compare it later: npx simbi ledger verify --known-block ' +
  '<number>:<hash>';

/** Compares at once, before anything can be paid out. Where the database does not answer yet, the first pass of the job does. */
async function openHeadKeeper(ctx: Context, outbound: Outbound): Promise<HeadKeeper> {
  const to = ctx.config.ledgerHeadMail;
  const keeper = createHeadKeeper(ctx, {
    outbound,
    queueMail: mailIsConfigured(ctx)
      ? (tx, line) => queueMail(tx, { to, subject: 'Ledger head', text: `${HEAD_MAIL}\n\n${line}\n` }, ctx.clock.now())
      : null,
    recordLost: (tx, { number, source, sealed_at }) =>
      recordAudit(
        tx,
        {
          holderId: null,
          actor: GATEWAY,
          action: 'ledger.history_lost',
          subject: String(number),
          details: { source, sealed_at: sealed_at.toISOString() },
        },
        ctx.clock.now(),
      ),
  });
  await keeper.compare().catch((error: unknown) => ctx.log.warn({ err: error }, 'the ledger was not compared yet'));
  return keeper;
}

function headOfCallbacks(ctx: Context): string | null {
  const head = lastSeenHead(ctx);
  return head && `${head.number}.${head.hash.toString('hex')}`;
}

function receivedHere(ctx: Context): ReceivedCallbacks {
  return createReceivedCallbacks(ctx.clock, (request) => checkReceived(ctx, (id) => callbackSecrets(ctx, id), request));
}
