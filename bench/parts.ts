// The parts of a benchmark: PostgreSQL, gateway, receiver and merchants, each in a process of its own on one machine.

import { type ChildProcess, fork } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { COMMAND_LINE } from '../src/holders/audit.ts';
import { createHolder } from '../src/holders/holders.ts';
import { createIntegration } from '../src/holders/integrations.ts';
import { createContext } from '../src/open-context.ts';
import { readConfig } from '../src/platform/config.ts';
import type { Context } from '../src/platform/context.ts';
import { createLogger } from '../src/platform/log.ts';
import { migrate } from '../src/platform/migrate.ts';
import { openDatabase } from './database.ts';
import { type GatewayProcess, startGatewayProcess, stopProcess } from './gateway-process.ts';
import type { Client } from './load.ts';
import { type Measures, say } from './measures.ts';

export const root = fileURLToPath(new URL('..', import.meta.url));
/** Two, because a gateway beside years of payments can run beside another. */
const FIRST_PORT = 18_400 + (process.pid % 500) * 2;
export const CONNECTIONS = 64;
/** Of the number that the requests name. */
export const METHOD = 'MTN_MOMO_UGA';
export const COLLECTIONS = '/api/v3/service-unified-collections';

/** A payment that nobody waits for. */
export function acceptParams(index: number): object {
  return {
    amount: 1000,
    mobile: '256772123000',
    country_id: 11,
    currency: 'UGX',
    third_party_reference_1: `order-${index}`,
  };
}

export type Merchant = Client & { callbackSecret: string; index: number; holderId: bigint; integrationId: bigint };
export type Tally = { received: number; distinct: number; forged: number; arrivals?: [string, number][] };
export type Receiver = {
  readonly port: number;
  reset(): void;
  tally(withArrivals?: boolean): Promise<Tally>;
};

export type Bench = {
  readonly folder: string;
  /** Of its gateway. */
  readonly port: number;
  readonly ctx: Context;
  readonly receiver: Receiver;
  readonly merchants: Merchant[];
  readonly postgresPid: number;
  readonly databaseUrl: string;
  readonly payments: number;
  readonly measures: Measures;
  gateway: GatewayProcess;
  /** Stops the gateway and starts it in another role. Returns the seconds from its start to its first answer. */
  restart(role: 'api' | 'all'): Promise<number>;
};

export type BenchPlan = {
  readonly payments: number;
  readonly wallets: number;
  readonly measures: Measures;
  /** A folder that is kept, with what an earlier run left in it. Without it: a new one, removed at the end. */
  readonly folder?: string;
  /** Another than the usual one: its gateway runs beside that of this benchmark. */
  readonly beside?: Bench;
  /** An empty database of a PostgreSQL on this machine. Without it: the embedded one. */
  readonly databaseUrl?: string;
  /** Runs in the fresh PostgreSQL, before the tables of the gateway exist. */
  readonly before?: (url: string, postgresPid: number) => Promise<void>;
};

export async function withBench(plan: BenchPlan, work: (bench: Bench) => Promise<void>): Promise<void> {
  const folder = plan.folder ?? mkdtempSync(join(tmpdir(), 'simbi-bench-'));
  const postgres = await openDatabase(join(folder, 'postgres'), plan.databaseUrl);
  const child = fork(join(root, 'bench/receiver.ts'), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  let bench: Bench | null = null;
  let started: GatewayProcess | null = null;
  try {
    const receiver = receiverOf(child, (await firstMessage<{ port: number }>(child)).port);
    await plan.before?.(postgres.url, postgres.pid);
    await migrate(postgres.url);
    const port = plan.beside ? plan.beside.port + 1 : FIRST_PORT;
    const settings = { ...settingsOf(folder, postgres.url), PORT: String(port) };
    const ctx = await createContext(readConfig(settings), postgres.url, createLogger('error'));
    // The first start makes the demo shop, and only in a database without merchants.
    const gateway = await startGatewayProcess(root, { ...settings, ROLE: 'api' });
    started = gateway;
    const merchants = await keptMerchants(ctx, folder, plan.wallets);
    child.send({ secrets: merchants.map((merchant) => merchant.callbackSecret) });
    bench = {
      folder,
      port,
      ctx,
      receiver,
      merchants,
      postgresPid: postgres.pid,
      databaseUrl: postgres.url,
      payments: plan.payments,
      measures: plan.measures,
      gateway,
      async restart(role) {
        await this.gateway.stop();
        const start = performance.now();
        this.gateway = await startGatewayProcess(root, { ...settings, ROLE: role });
        return (performance.now() - start) / 1000;
      },
    };
    await work(bench);
  } finally {
    await (bench?.gateway ?? started)?.stop();
    await stopProcess(child);
    await bench?.ctx.db.close();
    await postgres.stop();
    if (plan.folder === undefined) rmSync(folder, { recursive: true, force: true });
  }
}

/** The merchants that an earlier run made in this folder, or new ones. Their secrets are of a sandbox and of no use elsewhere. */
export async function keptMerchants(ctx: Context, folder: string, count: number): Promise<Merchant[]> {
  const file = join(folder, 'merchants.json');
  if (existsSync(file)) {
    const kept = JSON.parse(readFileSync(file, 'utf8')) as (Merchant & { holderId: string; integrationId: string })[];
    return kept.map((merchant) => ({
      ...merchant,
      holderId: BigInt(merchant.holderId),
      integrationId: BigInt(merchant.integrationId),
    }));
  }
  say(`making ${count} merchants`);
  const merchants = await createMerchants(ctx, count);
  const text = JSON.stringify(merchants, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
  writeFileSync(file, text, { mode: 0o600 });
  return merchants;
}

/** As users run it: log and request log on. Only the limits for one address are off, because everybody comes from one. */
export function settingsOf(folder: string, url: string): Record<string, string> {
  return {
    DATABASE_URL: url,
    DATA_DIR: join(folder, 'data'),
    RATE_LIMIT_PER_SECOND: '0',
    RATE_LIMIT_PER_ADDRESS_PER_SECOND: '0',
  };
}

async function createMerchants(ctx: Context, count: number): Promise<Merchant[]> {
  const merchants: Merchant[] = [];
  for (let index = 0; index < count; index++) {
    const holder = await createHolder(ctx, COMMAND_LINE, `Merchant ${index}`);
    const made = await createIntegration(ctx, COMMAND_LINE, holder.id, `Shop ${index}`);
    merchants.push({
      clientId: made.clientId,
      title: made.title,
      secretKey: made.secretKey,
      callbackSecret: made.callbackSecret,
      index,
      holderId: holder.id,
      integrationId: made.id,
    });
  }
  return merchants;
}

function receiverOf(child: ChildProcess, port: number): Receiver {
  return {
    port,
    reset: () => child.send({ reset: true }),
    tally(withArrivals = false) {
      const answer = firstMessage<Tally>(child);
      child.send(withArrivals ? { arrivals: true } : { tally: true });
      return answer;
    },
  };
}

export function firstMessage<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null) => reject(new Error(`${child.spawnfile} ended with ${code}`));
    child.once('exit', onExit);
    child.once('message', (message) => {
      child.off('exit', onExit);
      resolve(message as T);
    });
  });
}

export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
