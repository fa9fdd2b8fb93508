// What PostgreSQL alone does with the same rows: pgbench writes the rows of one accept (P1) and of one whole payment (P2)
// into the same tables with the same constraints and triggers, one payment a transaction. Needs Debian's pgbench.

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const WALLETS = 1_000;
const SIGNED_AT = `date_trunc('second', now())`;

const ACCEPT = `
with spent as (
  insert into spent_signatures (signed_at, signature)
  values (${SIGNED_AT}, decode(md5(random()::text) || md5(random()::text), 'hex'))
), accepted as (
  insert into transactions (holder_id, id, integration_id, direction, status, amount, fee, currency, country_id, method, rail,
                            msisdn, detail, reference_1, callback_url, verification, created_at, updated_at)
  values (:wallet, uuidv7(), :wallet, 'collection', 'pending', 100000, 1000, 'UGX', 11, 'MTN_MOMO_UGA', 'sandbox',
          '256772123000', 'Collection from 256772123000 by MTN MoMo', 'order-' || :wallet, 'http://127.0.0.1:8080/cb/1',
          'prompt', now(), now())
  returning holder_id, id
)
insert into payment_jobs (holder_id, transaction_id, kind, due_at, since)
select holder_id, id, 'query', now() + interval '30 s', now() from accepted`;

// pgbench takes a colon before a word for a variable, even inside quotes: hence chr(58).
// The same as three statements, each its own commit: accept, settle, delivered. Locks in the order of account ids.
const account = (name: string, ...parts: string[]) =>
  `select id as p_${name}, balance as p_${name}_balance from ledger_accounts
   where holder_id = :p_holder::bigint and key = concat_ws(chr(58), ${parts.join(', ')}) for no key update \\gset`;
const SETTLE = `
begin;
select holder_id as p_holder, transaction_id as p_tx from payment_jobs order by due_at limit 1 for update skip locked \\gset
${account('available', `'wallet'`, ':p_holder::text', `'UGX'`, `'available'`).replaceAll('\n', ' ')}
${account('fees', `'fees'`, ':p_holder::text', `'UGX'`).replaceAll('\n', ' ')}
${account('clearing', `'clearing'`, ':p_holder::text', `'sandbox'`, `'UGX'`).replaceAll('\n', ' ')}
with settled as (
  update transactions set status = 'success', receipt = 'ABCDEFGHIJ', balance_after = :p_available_balance::bigint + 99000,
                          updated_at = now(), settled_at = now()
  where holder_id = :p_holder::bigint and id = :p_tx::uuid
), witnessed as (
  insert into evidence (holder_id, transaction_id, at, source, state, receipt, effect, raw)
  values (:p_holder::bigint, :p_tx::uuid, now(), 'submit', 'succeeded', 'ABCDEFGHIJ', 'applied', repeat('x', 300))
), ended as (
  delete from payment_jobs where holder_id = :p_holder::bigint and transaction_id = :p_tx::uuid
), feed as (
  insert into event_feeds as f (holder_id, last_position) values (:p_holder::bigint, 1)
  on conflict (holder_id) do update set last_position = f.last_position + 1 returning last_position
)
insert into events (holder_id, transaction_id, type, sequence, id, position, integration_id, url, body, created_at)
select :p_holder::bigint, :p_tx::uuid, 'collection.success', 1, uuidv7(), last_position, :p_holder::bigint, 'http://127.0.0.1:8080/cb/1',
       decode(repeat('78', 300), 'hex'), now() from feed;
select post_transfers(
  array[:p_holder, :p_holder]::bigint[], array[:p_clearing, :p_clearing]::bigint[], array[:p_available, :p_fees]::bigint[],
  array[99000, 1000]::bigint[],
  array[:p_clearing_balance::bigint - 99000, :p_clearing_balance::bigint - 100000],
  array[:p_available_balance::bigint + 99000, :p_fees_balance::bigint + 1000],
  array[:p_tx, :p_tx]::uuid[], array['collection', 'collection_fee']::transfer_kind[], array['UGX', 'UGX'], clock_timestamp());
commit;
insert into callback_attempts (holder_id, event_id, at, number, delivered, signature, status, latency_ms)
values (:p_holder::bigint, uuidv7(), now(), 1, true, repeat('s', 60), 200, 3);`;

export type PgbenchRates = { p1: number; p2: number } | { missing: string };

/** Best of several client counts for each. `url` names a migrated database that may be filled with rubbish. */
export function measurePgbench(url: string, seconds: number, onProgress: (sentence: string) => void): PgbenchRates {
  const program = ['pgbench', '/usr/lib/postgresql/15/bin/pgbench'].find(
    (name) => spawnSync(name, ['--version']).status === 0,
  );
  if (!program)
    return { missing: "pgbench is not installed (Debian's package postgresql-contrib or postgresql-client)" };
  const folder = mkdtempSync(join(tmpdir(), 'simbi-pgbench-'));
  const run = (name: string, script: string, clients: number): number => {
    const file = join(folder, `${name}.sql`);
    writeFileSync(file, `\\set wallet random(1, ${WALLETS})\n${script}\n`);
    const output = execFileSync(
      program,
      [
        '--no-vacuum',
        '--client',
        String(clients),
        '--jobs',
        '2',
        '--time',
        String(seconds),
        '--file',
        file,
        '--protocol',
        'prepared',
        url,
      ],
      { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] },
    );
    const rate = Number(/tps = ([\d.]+)/.exec(output)?.[1] ?? Number.NaN);
    onProgress(`${name} with ${clients} clients: ${rate.toFixed(0)}/s`);
    return rate;
  };
  try {
    const p1 = Math.max(...[8, 16, 32].map((clients) => run('P1', `${ACCEPT};`, clients)));
    // The first accepts give the first settles something to work on.
    const p2 = Math.max(...[8, 16].map((clients) => run('P2', `${ACCEPT};\n${SETTLE}`, clients)));
    return { p1, p2 };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Latency of one accept alone, one client. */
export function singleClientLatencyMs(url: string): number | null {
  const rates = spawnSync('pgbench', ['--version']).status === 0;
  if (!rates) return null;
  const folder = mkdtempSync(join(tmpdir(), 'simbi-pgbench-'));
  try {
    const file = join(folder, 'one.sql');
    writeFileSync(file, `\\set wallet random(1, ${WALLETS})\n${ACCEPT};\n`);
    const output = execFileSync('pgbench', ['-n', '-c', '1', '-T', '3', '-f', file, '--protocol', 'prepared', url], {
      encoding: 'utf8',
    });
    return Number(/latency average = ([\d.]+)/.exec(output)?.[1] ?? Number.NaN);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
