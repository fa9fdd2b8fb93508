// The rights of the service: the list in migrations/privileges.sql is what the code needs and no more, and each statement that
// the service must never send is refused by the database.

import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { MIGRATIONS_FOLDER } from '../src/platform/migration-files.ts';
import { readRoleFacts } from '../src/platform/role-facts.ts';
import { createClient, ugandanCollection } from './client.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';

const SOURCE = resolve(import.meta.dirname, '../src');
const TABLE = /^ {2}\('(\w+)', '([^']+)'/gm;
const WRITES = ['insert', 'update', 'delete'] as const;
/** Written by functions and triggers of the owner, or by a statement whose table is a variable. */
const BY_OTHER_MEANS: Record<string, string[]> = {
  // A trigger of the service's statements counts.
  change_count: ['update'],
  // The version before seals into it until it is replaced; a trigger drops what it adds.
  ledger_blocks: ['insert'],
};
/** Run by the owner of the tables. */
const NOT_THE_SERVICE = /src\/platform\/(?:migrate|apply-migration|migration-check)\.ts$|src\/backup\//;

/** A select up to its lock, and the names that the lock is limited to. */
const LOCKS = /(select(?:(?!select|`)[\s\S])*?)\s+for (?:no key )?(?:update|share)\b(?: of ((?:\w+, )*\w+))?/g;

type Rights = Map<string, Set<string>>;

function listedRights(): Rights {
  const text = readFileSync(join(MIGRATIONS_FOLDER, 'privileges.sql'), 'utf8');
  return new Map(
    [...text.matchAll(TABLE)].map(([, table = '', rights = '']) => [
      table,
      new Set(rights.replaceAll(/\([^)]*\)?/g, '').match(/insert|update|delete/g) ?? []),
    ]),
  );
}

/** What the SQL in the source does to each table. A row that is locked needs the right to update it. */
function usedRights(tables: Iterable<string>): Rights {
  const known = new Set(tables);
  const used: Rights = new Map([...known].map((table) => [table, new Set(BY_OTHER_MEANS[table])]));
  const add = (table: string | undefined, right: string) => void used.get(table ?? '')?.add(right);
  for (const file of globSync('**/*.ts', { cwd: SOURCE })) {
    if (file.endsWith('.test.ts') || NOT_THE_SERVICE.test(join(SOURCE, file))) continue;
    const text = readFileSync(join(SOURCE, file), 'utf8');
    for (const [, table] of text.matchAll(/\binsert into (\w+)/g)) add(table, 'insert');
    for (const [, table] of text.matchAll(/\bdelete from (\w+)/g)) add(table, 'delete');
    for (const [, table] of text.matchAll(/\bupdate (\w+)(?: \w+)? set\b/g)) add(table, 'update');
    for (const [, statement = ''] of text.matchAll(/(insert into (?:(?!insert into|`|';)[\s\S])*? do update)/g))
      add(/insert into (\w+)/.exec(statement)?.[1], 'update');
    // The tables of the statement, or of the sub-select, that ends with the lock.
    for (const [, statement = '', names] of text.matchAll(LOCKS))
      for (const [, table, name] of statement.matchAll(/\b(?:from|join) (\w+)(?: (\w+))?/g))
        if (names === undefined || names.split(', ').includes(name ?? '')) add(table, 'update');
  }
  return used;
}

describe('the list of rights', () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await createTestGateway();
  });
  after(() => gateway.close());

  test('names every table of the schema', async () => {
    const rows = await gateway.ctx.db.query<{ name: string }>(
      `select relname::text as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
         and not relispartition order by 1`,
    );
    const names = rows.map(({ name }) => name);
    assert.deepEqual([...listedRights().keys()].sort(), names);
  });

  test('is what the code uses, and no more', () => {
    const listed = listedRights();
    const used = usedRights(listed.keys());
    const show = (rights: Rights) =>
      Object.fromEntries([...rights].map(([table, of]) => [table, WRITES.filter((right) => of.has(right)).join(', ')]));
    assert.deepEqual(show(listed), show(used));
  });

  test('is what the database holds, and doctor finds nothing', async () => {
    const facts = await readRoleFacts(gateway.ctx.db);
    assert.deepEqual([facts.mayCreate, facts.mayChange, facts.unguarded], [false, [], []]);
  });

  const HISTORY = ['audit_log', 'evidence', 'events', 'callback_attempts', 'ledger_transfers'].concat(
    'ledger_blocks',
    'ledger_partition_blocks',
    'ledger_heads',
  );
  const REFUSED = [
    ...HISTORY.flatMap((table) => [`delete from ${table}`, `truncate ${table}`]),
    'update audit_log set actor = $$x$$',
    'update evidence set raw = $$x$$',
    'update events set body = $$x$$',
    'update ledger_transfers set amount = 1',
    'update ledger_accounts set balance = balance + 1',
    `insert into ledger_transfers (holder_id, debit_account, credit_account, amount, debit_balance, credit_balance, posted_at,
       transaction_id, kind, currency) values (1, 1, 2, 7, 0, 0, now(), gen_random_uuid(), 'collection', 'XOF')`,
    'delete from transactions',
    'truncate transactions',
    'update transactions set holder_id = 2',
    'update transactions set msisdn = $$x$$',
    'create table mine (n int)',
    'create view mine as select 1',
    'create function mine() returns int language sql as $$ select 1 $$',
    'drop table transactions',
    'drop trigger evidence_append_only on evidence',
    'alter table evidence disable trigger user',
    'alter table transactions disable row level security',
    'select * from events_default',
    `select set_config('session_replication_role', 'replica', false)`,
    'create role friend',
    'update partition_rules set keep = $$0$$',
  ];
  for (const sql of REFUSED)
    test(`the service may not: ${sql.split('\n')[0]}`, async () => {
      await assert.rejects(
        gateway.ctx.db.transaction((tx) => tx.query(sql)),
        /permission denied|must be owner/,
      );
    });

  test('the role of the service cannot become the owner of the tables', async () => {
    const [row] = await gateway.ctx.ownerDb.query<{ yes: boolean }>(
      `select pg_has_role('simbi_service', relowner, 'member') as yes from pg_class where relname = 'transactions'`,
    );
    assert.equal(row?.yes, false);
  });

  test('the posting switch does not let the service move a balance', async () => {
    const attempt = gateway.ctx.db.transaction(async (tx) => {
      await tx.query(`select set_config('simbi.posting', 'on', true)`);
      await tx.query('update ledger_accounts set balance = balance + 1');
    });
    await assert.rejects(attempt, /permission denied/);
  });

  test('young history is not dropped, whatever cut-off is given', async () => {
    const { db, ownerDb } = gateway.ctx;
    await ownerDb.query(`update partition_rules set keep = interval '90 days' where parent = 'events'`);
    const month = `date_trunc('month', clock_timestamp())`;
    await db.query(`select create_partition('events', ${month} - interval '1 month')`);
    for (const cutoff of ['clock_timestamp()', `clock_timestamp() + interval '1 year'`]) {
      await assert.rejects(
        db.query(`select drop_partition('events', ${month} - interval '1 month', ${cutoff})`),
        /too young/,
      );
      await assert.rejects(db.query(`select trim_default_partition('events', ${cutoff})`), /too young/);
    }
    await assert.rejects(db.query(`select drop_partition('transactions', ${month}, ${month})`), /no rows/);
    await assert.rejects(db.query(`select create_partition('x; drop table events', ${month})`), /no rows/);
  });
});

describe('final states', () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await createTestGateway();
  });
  after(() => gateway.close());

  const STATUSES = ['pending', 'processing', 'success', 'failed', 'expired', 'reversed'];
  const ALLOWED: Record<string, string[]> = {
    pending: ['processing', 'success', 'failed', 'expired', 'reversed'],
    processing: ['success', 'failed', 'expired', 'reversed'],
    // A success that comes late, and its reversal in the same batch.
    failed: ['success', 'reversed'],
    expired: ['success', 'reversed'],
    success: ['reversed'],
    reversed: [],
  };

  test('the database allows the transitions of states.ts and no others, to the service and to the owner', async () => {
    const { ctx } = gateway;
    const client = await createClient(gateway);
    assert.equal((await client.signed('/api/v3/service-unified-collections', ugandanCollection())).status, 200);
    await gateway.settle();
    const undo = new Error('undo');
    for (const from of STATUSES)
      for (const to of STATUSES.filter((status) => status !== from)) {
        const change = (db: typeof ctx.db) =>
          ctx.ownerDb.transaction(async (tx) => {
            await tx.query('alter table transactions disable trigger user');
            await tx.query('update transactions set status = $1', [from]);
            await tx.query('alter table transactions enable trigger user');
            if (db === ctx.db) await tx.query('set local role simbi_service');
            await tx.query('update transactions set status = $1', [to]);
            throw undo;
          });
        for (const db of [ctx.db, ctx.ownerDb])
          if (ALLOWED[from]?.includes(to)) await assert.rejects(change(db), undo, `${from} to ${to}`);
          else await assert.rejects(change(db), /cannot become/, `${from} to ${to}`);
      }
  });

  test('the amount of a success does not change', async () => {
    const change = gateway.ctx.db.query(`update transactions set amount = amount + 1 where status = 'success'`);
    await assert.rejects(change, /was paid and cannot change/);
  });
});
