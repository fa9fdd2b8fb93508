// The parts of a benchmark: PostgreSQL, gateway, receiver and merchants, each in a process of its own on one machine.

import { type ChildProcess, fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startEmbeddedPostgres } from '../src/embedded-postgres/server.ts';
import { COMMAND_LINE } from '../src/holders/audit.ts';
import { createHolder } from '../src/holders/holders.ts';
import { createIntegration } from '../src/holders/integrations.ts';
import { createContext } from '../src/open-context.ts';
import { readConfig } from '../src/platform/config.ts';
import type { Context } from '../src/platform/context.ts';
import { connectDatabase, type Database } from '../src/platform/db.ts';
import { createLogger } from '../src/platform/log.ts';
import { migrate } from '../src/platform/migrate.ts';
import { type GatewayProcess, startGatewayProcess, stopProcess } from './gateway-process.ts';
import type { Client } from './load.ts';
import { type Measures, say } from './measures.ts';

export const root = fileURLToPath(new URL('..', import.meta.url));
export const PORT = 18_400 + (process.pid % 1_000);
export const CONNECTIONS = 64;
/** Of the number that the requests name. */
export const METHOD = 'MTN_MOMO_UGA';
export const COLLECTIONS = '/api/v3/service-unified-collections';

export type Merchant = Client & { callbackSecret: string; index: number; holderId: bigint; integrationId: bigint };
export type Tally = { received: number; distinct: number; forged: number; arrivals?: [string, number][] };
export type Receiver = {
  readonly port: number;
  reset(): void;
  tally(withArrivals?: boolean): Promise<Tally>;
};

export type Bench = {
  readonly folder: string;
  readonly ctx: Context;
  readonly owner: Database;
  readonly receiver: Receiver;
  readonly merchants: Merchant[];
  readonly postgresPid: number;
  readonly databaseUrl: string;
  readonly payments: number;
  readonly measures: Measures;
  gateway: GatewayProcess;
  /** Stops the gateway and starts it in another role. */
  restart(role: 'api' | 'all'): Promise<void>;
};

export type BenchPlan = {
  readonly payments: number;
  readonly wallets: number;
  readonly measures: Measures;
  /** Runs in the fresh PostgreSQL, before the tables of the gateway exist. */
  readonly before: (url: string, postgresPid: number) => Promise<void>;
};

export async function withBench(plan: BenchPlan, work: (bench: Bench) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'simbi-bench-'));
  const postgres = await startEmbeddedPostgres({ dataDir: join(folder, 'postgres'), onProgress: say });
  const child = fork(join(root, 'bench/receiver.ts'), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  let bench: Bench | null = null;
  let started: GatewayProcess | null = null;
  try {
    const { port } = await firstMessage<{ port: number }>(child);
    await plan.before(postgres.url, postgres.pid);
    await migrate(postgres.url);
    const settings = settingsOf(folder, postgres.url);
    const ctx = await createContext(readConfig(settings), postgres.url, createLogger('error'));
    // The first start makes the demo shop, and only in a database without merchants.
    const gateway = await startGatewayProcess(root, { ...settings, ROLE: 'api' });
    started = gateway;
    const owner = connectDatabase({ url: postgres.url, as: 'owner', poolSize: 2 });
    say(`making ${plan.wallets} merchants`);
    const merchants = await createMerchants(ctx, plan.wallets);
    child.send({ secrets: merchants.map((merchant) => merchant.callbackSecret) });
    bench = {
      folder,
      ctx,
      owner,
      receiver: receiverOf(child, port),
      merchants,
      postgresPid: postgres.pid,
      databaseUrl: postgres.url,
      payments: plan.payments,
      measures: plan.measures,
      gateway,
      async restart(role) {
        await this.gateway.stop();
        const started = performance.now();
        this.gateway = await startGatewayProcess(root, { ...settings, ROLE: role });
        if (role === 'all')
          this.measures.add({
            name: 'start to first answer (tables exist)',
            value: (performance.now() - started) / 1000,
            unit: 's',
            floor: '5',
            goal: '2',
          });
      },
    };
    await work(bench);
  } finally {
    await (bench?.gateway ?? started)?.stop();
    await stopProcess(child);
    await bench?.owner.close();
    await bench?.ctx.db.close();
    await postgres.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** As users run it: log and request log on. Only the limits for one address are off, because everybody comes from one. */
function settingsOf(folder: string, url: string): Record<string, string> {
  return {
    DATABASE_URL: url,
    DATA_DIR: join(folder, 'data'),
    PORT: String(PORT),
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
