// What a crash test works with: a database, two gateways on it, and holders with people. Time passes by moving what is due,
// and in the end the books of the gateway and of the operator are compared.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { COMMAND_LINE } from '../../src/holders/audit.ts';
import { createHolder } from '../../src/holders/holders.ts';
import { type CreatedIntegration, createIntegration } from '../../src/holders/integrations.ts';
import { insertMember } from '../../src/holders/members.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { readConfig } from '../../src/platform/config.ts';
import type { Context } from '../../src/platform/context.ts';
import { createDatabaseTime } from '../../src/platform/database-time.ts';
import { connectDatabase } from '../../src/platform/db.ts';
import { createUuid, publicId } from '../../src/platform/ids.ts';
import { createLogger } from '../../src/platform/log.ts';
import { createMemory } from '../../src/platform/memory.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import { createVault } from '../../src/platform/secrets.ts';
import type { JsonObject } from '../../src/platform/strict-json.ts';
import { readBook } from '../../src/sandbox/book.ts';
import { createTestDatabase } from '../database.ts';
import { reservePort } from '../ports.ts';
import { simbi } from '../processes.ts';
import type { Action, ActionAnswer } from './actions.ts';
import { type Pair, startPair } from './processes.ts';

const SETTLE_MS = 180_000;
const PAUSE_MS = 50;
const CURRENCY = 'UGX';

/** The launcher's: the first processes would otherwise compile everything, all at once. */
const COMPILED = resolve(import.meta.dirname, '../../node_modules/.cache/simbi');

export type Setup = {
  readonly ctx: Context;
  readonly pair: Pair;
  readonly settings: Record<string, string>;
  close(): Promise<void>;
};

/** A holder where two people decide, and the two of them. */
export type Company = { shop: CreatedIntegration; holder: string; first: string; second: string };

export async function createSetup(): Promise<Setup> {
  const database = await createTestDatabase();
  // Of its own: the newest heads of the ledger are noted down there.
  const folder = mkdtempSync(join(tmpdir(), 'simbi-crash-'));
  const settings = {
    DATA_DIR: folder,
    DATABASE_URL: database.url,
    MASTER_KEY: randomBytes(32).toString('hex'),
    LOG_LEVEL: 'silent',
    // Killed processes write no cache of compiled modules; each flushes it once it has loaded.
    NODE_COMPILE_CACHE: COMPILED,
    RATE_LIMIT_PER_SECOND: '0',
    RATE_LIMIT_PER_ADDRESS_PER_SECOND: '0',
  };
  const config = readConfig(settings);
  // Its own database, which waits longer for a connection than a request may.
  const db = connectDatabase({ url: database.url, acquireTimeoutMs: 30_000, poolSize: 2 });
  const ctx: Context = {
    config,
    db,
    clock: systemClock,
    databaseTime: createDatabaseTime(db, systemClock),
    log: createLogger('silent'),
    vault: createVault(Buffer.from(settings.MASTER_KEY, 'hex')),
    metrics: createMetrics(),
    memory: createMemory(),
  };
  const pair = await startPair(settings, [await reservePort(), await reservePort()]);
  return {
    ctx,
    pair,
    settings,
    async close() {
      await pair.stop();
      await ctx.db.close();
      await database.drop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export async function createCompany({ ctx }: Setup): Promise<Company> {
  const name = `Company ${randomBytes(6).toString('hex')}`;
  const holder = await createHolder(ctx, COMMAND_LINE, name);
  await ctx.db.query('update holders set payouts_need_approval = true where id = $1', [holder.id]);
  const shop = await createIntegration(ctx, COMMAND_LINE, holder.id, name);
  const person = async (email: string): Promise<string> => {
    const member = await ctx.db.transaction((tx) => insertMember(tx, { email, name: email }, ctx.clock.now()));
    return String(member?.id ?? assert.fail('no member'));
  };
  const [first, second] = [await person(`first@${shop.clientId}`), await person(`second@${shop.clientId}`)];
  return { shop, holder: String(holder.id), first, second };
}

/** Both processes, or the first one, die when they reach the place. */
export async function arm({ pair }: Setup, place: string, both: boolean): Promise<void> {
  for (const gateway of both ? pair.all : [pair.all[0]])
    await gateway.ask({ name: 'arm', place, holder: '0', by: '0' });
}

/** As if the time of every lease, delay and pause had passed. */
async function passTime({ ctx }: Setup): Promise<void> {
  for (const table of ['payment_jobs', 'operator_inbox', 'sandbox_announcements'])
    await ctx.db.query(`update ${table} set due_at = now() where due_at > now()`);
}

/** Lets time pass until the condition holds. A process that has died comes back. */
export async function until(setup: Setup, what: string, condition: () => Promise<boolean>): Promise<void> {
  const ends = performance.now() + SETTLE_MS;
  for (let pauses = 0; !(await condition()); pauses++) {
    assert.ok(performance.now() < ends, `still not: ${what}`);
    await setup.pair.revive();
    // Not at every turn: a call that is being made is not a call that was lost.
    if (pauses % 8 === 7) await passTime(setup);
    await wait(PAUSE_MS);
  }
}

export async function countOf({ ctx }: Setup, sql: string, values: unknown[] = []): Promise<number> {
  const [row] = await ctx.db.query<{ count: bigint }>(sql, values);
  return Number(row?.count ?? 0n);
}

/** A collection of this holder that has succeeded; `digits` choose what the operator does. */
export async function collect(setup: Setup, company: Company, amount: number, digits: string): Promise<string> {
  const key = createUuid(Date.now());
  const mobile = `25677${String(1_000 + (Number.parseInt(key.slice(-4), 16) % 9_000))}${digits}`;
  const params: JsonObject = { amount, mobile, country_id: 11, currency: CURRENCY, payment_method_type: 'MTN' };
  const path = '/api/v3/service-unified-collections';
  const { ref } = await setup.pair.request(company.shop, path, params, key);
  return String(ref as string);
}

/** No work is left of this holder, or of anybody. Payouts that the operator never received are sent again by people. */
export async function settle(setup: Setup, company: Company): Promise<void> {
  await until(setup, 'settled', async () => {
    await sendLostPayoutsAgain(setup, company);
    const open = `select (select count(*) from payment_jobs where holder_id = $1) + (select count(*) from operator_inbox)
      + (select count(*) from sandbox_announcements) as count`;
    return (await countOf(setup, open, [company.holder])) === 0;
  });
}

async function sendLostPayoutsAgain(setup: Setup, company: Company): Promise<void> {
  const lost = await setup.ctx.db.query<{ id: string }>(
    `select id from cases where holder_id = $1 and kind in ('payout_not_found', 'refund_not_found') and status = 'open'`,
    [company.holder],
  );
  for (const { id } of lost) {
    const decision = await propose(setup, company, id, 'send_again');
    // Not awaited for long: the operator may have answered meanwhile, and then nothing is sent.
    if (decision) await act(setup, company.second, { name: 'approve decision', holder: company.holder, ref: decision });
  }
}

type Wanted = Action extends infer Each ? (Each extends Action ? Omit<Each, 'by'> : never) : never;

/** A person does something, and again while nobody answers. */
export function act({ pair }: Setup, by: string, wanted: Wanted): Promise<ActionAnswer & { tries: number }> {
  return pair.insist({ ...wanted, by } as Action);
}

/** The reference of the open proposal about a case; null: it can no longer be proposed. */
export async function propose(
  setup: Setup,
  company: Company,
  caseId: string,
  decision: string,
): Promise<string | null> {
  const { holder, first } = company;
  const answer = await act(setup, first, { name: 'propose', holder, ref: caseId, decision });
  if (answer.ok) return answer.value;
  // It was proposed before: by the process that died, or by an earlier turn.
  const [row] = await setup.ctx.db.query<{ id: string }>(
    `select id from decisions where holder_id = $1 and case_id = $2 and status = 'proposed'`,
    [holder, caseId],
  );
  return row ? publicId('dec', row.id) : null;
}

/** The gateway's clearing accounts and the operator's own book are the same money. */
export async function compareWithOperator({ ctx }: Setup): Promise<void> {
  const book = await readBook(ctx.db);
  const [clearing] = await ctx.db.query<{ balance: bigint | null }>(
    `select sum(balance)::bigint as balance from ledger_accounts where kind = 'operator_clearing' and currency = $1`,
    [CURRENCY],
  );
  assert.equal(-(clearing?.balance ?? 0n), book.find(({ currency }) => currency === CURRENCY)?.balance ?? 0n);
}

/** `simbi ledger verify`, as a person runs it. */
export async function verifyByCommand({ settings }: Setup): Promise<void> {
  const { code, out, stderr } = await simbi(['ledger', 'verify', '--json'], settings).ended;
  assert.equal(code, 0, `${out}\n${stderr}`);
}
