// What the machine does without the gateway: H is Fastify answering the same body at once, P1 and P2 are pgbench writing the
// same rows, and the naive gateway is what one would write by hand: Fastify and pg, one statement a request.

import { fork } from 'node:child_process';
import { join } from 'node:path';
import pg from 'pg';
import { migrate } from '../src/platform/migrate.ts';
import { cpuMs, stopProcess, treeCpuMs } from './gateway-process.ts';
import { runLoad, signRequests } from './load.ts';
import { type Measures, say } from './measures.ts';
import { acceptParams, CONNECTIONS, firstMessage, root } from './parts.ts';
import { measurePgbench, singleClientLatencyMs } from './pgbench.ts';

export type Baselines = { h: number; p1: number | null; p2: number | null; single: number | null };

type BaselinePlan = {
  readonly url: string;
  readonly postgresPid: number;
  readonly payments: number;
  readonly pgbenchSeconds: number;
  readonly measures: Measures;
};

export async function measureBaselines(plan: BaselinePlan): Promise<Baselines> {
  say('H: Fastify alone');
  const h = await measureServer(plan, 'H: Fastify answering the same body', '');
  const database = await createBaselineDatabase(plan.url);
  try {
    await measureServer(plan, 'Fastify and pg by hand, one statement a request', database.url);
    return { h, ...measureDatabase(plan, database.url) };
  } finally {
    await database.drop();
  }
}

async function measureServer(
  { payments, measures, postgresPid }: BaselinePlan,
  name: string,
  url: string,
): Promise<number> {
  const server = await startBaseline(url);
  try {
    await server.offer(payments);
    const [nodeMs, postgresMs] = [cpuMs(server.pid), treeCpuMs(postgresPid)];
    const rate = await server.offer(payments);
    const spent = (cpuMs(server.pid) - nodeMs) / payments;
    const inDatabase = url === '' ? '' : ` + ${((treeCpuMs(postgresPid) - postgresMs) / payments).toFixed(3)}`;
    measures.add({ name, value: rate, unit: '/s', note: `${spent.toFixed(3)}${inDatabase} core-ms` });
    return rate;
  } finally {
    await server.stop();
  }
}

export type BaselineServer = {
  readonly pid: number;
  /** Requests a second. */
  offer(count: number): Promise<number>;
  stop(): Promise<void>;
};

/** H, or with the address of a database the naive gateway. */
export async function startBaseline(url: string): Promise<BaselineServer> {
  const child = fork(join(root, 'bench/baseline-http.ts'), [url], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const { port } = await firstMessage<{ port: number }>(child);
  const client = { clientId: 'client_bench', title: 'Bench', secretKey: 'bench-secret' };
  return {
    pid: child.pid ?? 0,
    async offer(count) {
      const load = await runLoad({
        host: '127.0.0.1',
        port,
        path: '/accept',
        connections: CONNECTIONS,
        rate: null,
        requests: signRequests([client], count, '/accept', acceptParams),
        maxSeconds: 60,
      });
      if (load.accepted !== count) throw new Error('the baseline server refused requests');
      return load.accepted / load.seconds;
    },
    stop: () => stopProcess(child),
  };
}

/** The tables of the gateway, with rows for pgbench. */
async function createBaselineDatabase(url: string): Promise<{ url: string; drop(): Promise<void> }> {
  const target = new URL(url);
  target.pathname = '/pgbench_baseline';
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  await admin.query('create database pgbench_baseline');
  await migrate(target.href);
  const client = new pg.Client({ connectionString: target.href });
  await client.connect();
  await prepareRows(client);
  await client.end();
  return {
    url: target.href,
    async drop() {
      await admin.query('drop database pgbench_baseline with (force)');
      await admin.query('checkpoint');
      await admin.end();
    },
  };
}

function measureDatabase({ pgbenchSeconds, measures }: BaselinePlan, url: string): Omit<Baselines, 'h'> {
  say('P1 and P2: pgbench writing the same rows');
  const rates = measurePgbench(url, pgbenchSeconds, say);
  if ('missing' in rates) {
    measures.add({ name: 'P1, P2', value: null, unit: '', note: `not measured: ${rates.missing}` });
    return { p1: null, p2: null, single: null };
  }
  measures.add({ name: 'P1: pgbench, rows of one accept', value: rates.p1, unit: '/s' });
  measures.add({ name: 'P2: pgbench, rows of one whole payment', value: rates.p2, unit: '/s' });
  return { ...rates, single: singleClientLatencyMs(url) };
}

async function prepareRows(client: pg.Client): Promise<void> {
  await createMissingUuid(client);
  const hour = new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000);
  const from = new Date(hour.getTime() - 3_600_000).toISOString();
  const to = new Date(hour.getTime() + 3 * 3_600_000).toISOString();
  await client.query(`create table spent_now partition of spent_signatures for values from ('${from}') to ('${to}')`);
  await client.query(
    `insert into holders (name, created_at, updated_at) select 'h' || i, now(), now() from generate_series(1, 1000) i`,
  );
  await client.query(`insert into wallets (holder_id, currency, created_at) select id, 'UGX', now() from holders`);
  await client.query(
    `insert into ledger_accounts (holder_id, key, kind, currency, may_go_negative, wallet_account, rail, updated_at)
     select holder_id, 'wallet:' || holder_id || ':UGX:available', 'wallet_available', 'UGX', false, wallet_account, null, now()
     from wallets
     union all select id, 'fees:' || id || ':UGX', 'fee_income', 'UGX', false, null, null, now() from holders
     union all select id, 'clearing:' || id || ':sandbox:UGX', 'operator_clearing', 'UGX', true, null, 'sandbox', now()
     from holders`,
  );
  // Something for the first settles to find.
  await client.query('vacuum analyze');
}

/** PostgreSQL before 18 cannot make an id that begins with the time. */
async function createMissingUuid(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ missing: boolean }>(`select to_regproc('uuidv7') is null as missing`);
  if (rows[0]?.missing)
    await client.query(
      `create function uuidv7() returns uuid language sql volatile parallel safe as $$
         select (lpad(to_hex((extract(epoch from clock_timestamp()) * 1000)::bigint), 12, '0') || '7' ||
                 substr(md5(random()::text), 1, 3) || 'a' || substr(md5(random()::text), 1, 15))::uuid $$`,
    );
}
