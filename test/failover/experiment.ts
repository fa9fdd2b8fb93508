// One gateway on the cluster with everything around it, and one scenario after the other: load, strike, repair, and what was
// measured.

import { setTimeout as wait } from 'node:timers/promises';
import { createContext } from '../../src/open-context.ts';
import { readConfig } from '../../src/platform/config.ts';
import { createLogger } from '../../src/platform/log.ts';
import { checkOutcome } from './checks.ts';
import { type GatewaySettings, type Roles, type RunningGateway, startGateway, startOperator } from './gateway.ts';
import { KINDS, type Kind, type Load, type Operation, type Rates, startLoad } from './load.ts';
import { createMerchants } from './merchant.ts';
import { type Monitor, startMonitor } from './monitor.ts';
import { until } from './processes.ts';
import { startReceiver } from './receiver.ts';
import type { Result } from './report.ts';
import { createRequests } from './requests.ts';
import type { Lab, Scenario } from './scenarios.ts';

/** The wallet holds something before payouts begin. */
const FIRST_COLLECTIONS = 100;
const FIRST_RATES: Rates = { collection: 50, payout: 0, refund: 0 };
const STEADY_MS = 15_000;
/** What of it is measured: a load begins slowly. */
const MEASURED_MS = 8_000;
const PROMOTION_MS = 90_000;
const AFTERWARDS_MS = 10_000;
const PAID_MS = 120_000;
const LOOK_AGAIN_MS = 500;

export type ExperimentOptions = {
  lab: Lab;
  folder: string;
  databaseUrl: string;
  settings: GatewaySettings;
  roles: Roles;
  rates: Rates;
  say: (sentence: string) => void;
  /** Called with what ends each part, the last one first at the end. */
  onClose: (close: () => Promise<void> | void) => void;
};

export async function openExperiment(options: ExperimentOptions): Promise<(scenario: Scenario) => Promise<Result>> {
  const { lab, folder, databaseUrl, settings, onClose, say } = options;
  const monitor = startMonitor(
    lab.cluster.addresses().map(({ node }) => ({ node, url: lab.cluster.serverUrl(node, 'postgres') })),
  );
  onClose(() => monitor.stop());
  const operator = await startOperator();
  onClose(() => operator.stop());
  const receiver = await startReceiver();
  onClose(() => receiver.close());
  say('starting the gateway');
  const gateway = await startGateway(folder, settings, options.roles);
  onClose(() => gateway.stop());
  const ctx = await createContext(readConfig(settings), databaseUrl, createLogger('silent'));
  const merchants = await createMerchants(ctx, gateway.url, operator, receiver);
  await ctx.db.close();
  const requests = createRequests(gateway.url);
  onClose(() => requests.close());
  let payouts = 0;
  const parts = { merchants, requests, receiver, nextPayout: () => payouts++ };
  const operations: Operation[] = [];
  const first = startLoad(parts, FIRST_RATES);
  onClose(() => first.abort());
  await until('the first collections are paid', PAID_MS, () => {
    const paid = ({ ref }: Operation) => ref !== null && receiver.has('collection.success', ref);
    return first.operations.filter(paid).length >= FIRST_COLLECTIONS;
  });
  await first.stop();
  operations.push(...first.operations);
  return async (scenario) => {
    await lab.cluster.healthy();
    requests.takeFigures();
    const load = startLoad(parts, options.rates);
    onClose(() => load.abort());
    const times = await Promise.race([strike({ lab, scenario, load, monitor, say }), whenEnded(gateway, folder)]);
    await load.stop();
    operations.push(...load.operations);
    say('waiting until every payment has ended, and checking');
    const outcome = await checkOutcome({ databaseUrl, settings, merchants, operator, receiver }, operations);
    return {
      title: scenario.title,
      promotes: scenario.promotes,
      operations: load.operations,
      ...measure(load.operations, times),
      requests: requests.takeFigures(),
      outcome,
    };
  };
}

/** Nothing ends a gateway but its own fault. */
async function whenEnded(gateway: RunningGateway, folder: string): Promise<never> {
  while (!gateway.hasEnded()) await wait(LOOK_AGAIN_MS, undefined, { ref: false });
  throw new Error(`the gateway has ended; its log is in ${folder}/log (--keep keeps it)`);
}

type Times = { struckAt: number; promotedAt: number | null };
type StrikeParts = {
  lab: Lab;
  scenario: Scenario;
  load: Load;
  monitor: Monitor;
  say: (sentence: string) => void;
};

async function strike({ lab, scenario, load, monitor, say }: StrikeParts): Promise<Times> {
  const { cluster } = lab;
  say(`${scenario.title}`);
  await wait(STEADY_MS);
  const primary = await cluster.primary();
  const struckAt = performance.now();
  const repair = await scenario.strike(lab, primary);
  const promotion = () => monitor.promotedAfter(struckAt, primary);
  if (scenario.promotes) {
    await until('another server is the primary', PROMOTION_MS, () => promotion() !== null).catch(() => undefined);
    const promoted = promotion();
    say(promoted ? `node ${promoted.node} is the primary` : 'no other server became the primary');
    if (promoted) await until('writing again', PROMOTION_MS, () => isWriting(load, promoted.at)).catch(() => undefined);
  }
  await repair();
  await cluster.healthy();
  await until('writing again', PROMOTION_MS, () => isWriting(load, performance.now() - 500)).catch(() => undefined);
  await wait(AFTERWARDS_MS);
  return { struckAt, promotedAt: promotion()?.at ?? null };
}

const isWriting = (load: Load, since: number) =>
  load.operations.some(({ acknowledgedAt }) => acknowledgedAt !== null && acknowledgedAt > since);

type Measured = Pick<Result, 'reached' | 'promotedAfterMs' | 'writingAfterMs' | 'longestGapMs'>;

function measure(operations: readonly Operation[], { struckAt, promotedAt }: Times): Measured {
  const acknowledged = operations
    .flatMap(({ kind, acknowledgedAt }) => (acknowledgedAt === null ? [] : [{ kind, at: acknowledgedAt }]))
    .sort((left, right) => left.at - right.at);
  const before = (kind: Kind) =>
    acknowledged.filter((each) => each.kind === kind && each.at < struckAt && each.at > struckAt - MEASURED_MS).length;
  const rate = (kind: Kind) => [kind, before(kind) / (MEASURED_MS / 1000)] as const;
  const after = acknowledged.filter(({ at }) => at > struckAt);
  const gaps = after.map(({ at }, index) => at - (after[index - 1]?.at ?? struckAt));
  const firstWrite = promotedAt === null ? undefined : after.find(({ at }) => at > promotedAt);
  return {
    reached: Object.fromEntries(KINDS.map(rate)) as Record<Kind, number>,
    promotedAfterMs: promotedAt === null ? null : promotedAt - struckAt,
    writingAfterMs: promotedAt === null || !firstWrite ? null : firstWrite.at - promotedAt,
    longestGapMs: Math.max(0, ...gaps),
  };
}
