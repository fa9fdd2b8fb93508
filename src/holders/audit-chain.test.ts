// The chain of the audit log: whatever is changed afterwards is named, also when the owner of the database did it.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { addPerson, visitor } from '../../test/console-harness.ts';
import { createEmptyDatabase } from '../../test/database.ts';
import { createTestGateway, type TestGateway } from '../../test/gateway.ts';
import { createTestContext } from '../../test/harness.ts';
import { finishRestore } from '../commands/finish-restore.ts';
import { connectDatabase, type Reader, type Tx } from '../platform/db.ts';
import { migrate } from '../platform/migrate.ts';
import { COMMAND_LINE, recordAudit, recordAudits } from './audit.ts';
import type { AuditAction } from './audit-actions.ts';
import { exportAudit, verifyAudit } from './audit-chain.ts';
import { createHolder, type Holder } from './holders.ts';

type Line = { stream: number; position: number; action: string; previous_hash: string; hash: string };

/** The last migration before the rows were linked. */
const LAST_WITHOUT_CHAIN = 28;

let ctx: Awaited<ReturnType<typeof createTestContext>>;
let holder: Holder;

describe('the chain', () => {
  beforeEach(async () => {
    ctx = await createTestContext();
    holder = await createHolder(ctx, COMMAND_LINE, 'Chained shop');
    for (let row = 0; row < 3; row++) await write(`row.${row}`);
  });
  afterEach(() => ctx.close());

  test('rows of many transactions at once are linked without gaps, each holder for itself', async () => {
    const other = await createHolder(ctx, COMMAND_LINE, 'Other shop');
    await Promise.all(Array.from({ length: 40 }, (_, row) => write(`at.once.${row}`, row % 2 ? holder.id : other.id)));
    const result = await verifyAudit(ctx.db);
    assert.equal(result.broken, null);
    const [counted] = await ctx.db.query<{ count: bigint }>('select count(*) from audit_log');
    assert.equal(BigInt(result.rows), counted?.count);
    assert.ok(result.streams >= 2);
  });

  test('the rows of one transaction are linked together: the head of their stream is not written for each', async () => {
    const other = await createHolder(ctx, COMMAND_LINE, 'Other shop');
    const entries = Array.from({ length: 400 }, (_, row) => ({
      holderId: row % 2 ? holder.id : other.id,
      actor: COMMAND_LINE,
      action: `together.${row}` as AuditAction,
    }));
    const counted = await ctx.db.transaction(async (tx) => {
      await recordAudits(tx, entries.slice(0, 300), ctx.clock.now());
      await tx.query('savepoint midway');
      await recordAudits(tx, entries.slice(300, 302), ctx.clock.now());
      await tx.query('release savepoint midway');
      await recordAudits(tx, entries.slice(302), ctx.clock.now());
      const before = await countHeadsWritten(tx);
      await tx.query('set constraints all immediate');
      return (await countHeadsWritten(tx)) - before;
    });
    // Twice for the rows of each stream, and once for the row that was written within a savepoint.
    assert.equal(counted, 6n);
    const result = await verifyAudit(ctx.db);
    assert.equal(result.broken, null);
    const linked = (await exported()).map((line) => (JSON.parse(line) as Line).action);
    assert.equal(linked.filter((action) => action.startsWith('together.')).length, 400);
  });

  test('a transaction that is undone leaves no link', async () => {
    await assert.rejects(
      ctx.db.transaction(async (tx) => {
        await recordAudit(
          tx,
          { holderId: holder.id, actor: COMMAND_LINE, action: 'undone' as AuditAction },
          ctx.clock.now(),
        );
        throw new Error('undone');
      }),
    );
    await write('after');
    assert.equal((await verifyAudit(ctx.db)).broken, null);
  });

  test('a row that the owner of the database changes, removes or inserts is named', async () => {
    const id = await idOf('row.1');
    const changes: [string, RegExp][] = [
      [
        `update audit_log set details = '{"amount": "1"}' where id = ${id}`,
        /\(row \d+ of audit_log\) is not what was written/,
      ],
      [`update audit_log set at = at - interval '1 second' where id = ${id}`, /is not what was written/],
      [`update audit_log set holder_id = null where id = ${id}`, /is not what was written/],
      [`delete from audit_log where id = ${id}`, /\(row \d+ of audit_log\) was removed/],
      [`delete from audit_chain where audit_id = ${id}; delete from audit_log where id = ${id}`, /is missing/],
      [`delete from audit_chain where audit_id = ${await idOf('row.2')}`, /is missing, or is not the newest/],
      [
        `insert into audit_log (at, holder_id, actor, action) values (now(), ${holder.id}, 'x', 'x')`,
        /was inserted without a link/,
      ],
    ];
    for (const [statement, sentence] of changes) {
      await asOwner(statement, async (reader) => {
        const { broken } = await verifyAudit(reader);
        assert.match(broken?.sentence ?? 'nothing found', sentence, statement);
        if (broken?.audit_id && !statement.startsWith('insert')) assert.equal(broken.audit_id, id);
      });
    }
    assert.equal((await verifyAudit(ctx.db)).broken, null, 'what was tried was undone');
  });

  test('a history that was written anew is found by a link recorded outside', async () => {
    const [head] = await ctx.db.query<{ position: bigint; hash: string }>(
      `select position, encode(hash, 'hex') as hash from audit_streams where stream = $1`,
      [holder.id],
    );
    assert.ok(head);
    const known = { stream: holder.id, position: head.position, hash: head.hash };
    await write('later');
    assert.equal((await verifyAudit(ctx.db, known)).broken, null);
    const again = `
      update audit_log set details = '{"x": 1}' where action = 'row.0';
      delete from audit_chain; delete from audit_streams;
      select link_audit_row(l) from audit_log l order by id`;
    await asOwner(again, async (reader) => {
      assert.equal((await verifyAudit(reader)).broken, null);
      assert.match((await verifyAudit(reader, known)).broken?.sentence ?? '', /is not the one that was recorded/);
    });
  });

  test('exported lines can be checked without the database', async () => {
    const lines = await exported();
    const heads = new Map<number, string>();
    for (const line of lines) {
      const row = JSON.parse(line) as Line;
      const bare = `${line.slice(0, line.lastIndexOf(', "previous_hash"'))}}`;
      assert.equal(row.previous_hash, heads.get(row.stream) ?? '0'.repeat(64));
      assert.equal(row.hash, createHash('sha256').update(`${row.previous_hash}\n${bare}`).digest('hex'));
      heads.set(row.stream, row.hash);
    }
    assert.deepEqual(lines.map((line) => (JSON.parse(line) as Line).action).slice(-3), ['row.0', 'row.1', 'row.2']);
    const later = new Date(ctx.clock.millis() + 1);
    assert.deepEqual(await exported(later), []);
  });

  test('an export that follows also shows a row whose transaction ended late, and each row once', async () => {
    const stop = new AbortController();
    const seen: string[] = [];
    const first = Promise.withResolvers<void>();
    const following = (async () => {
      for await (const lines of exportAudit(ctx.db, { since: null, follow: stop.signal })) {
        seen.push(...lines.map((line) => (JSON.parse(line) as Line).action));
        first.resolve();
        if (seen.includes('late')) stop.abort();
      }
    })();
    await first.promise;
    await ctx.db.transaction(async (tx) => {
      await recordAudit(tx, { holderId: null, actor: COMMAND_LINE, action: 'late' as AuditAction }, ctx.clock.now());
      await write('early');
    });
    await following;
    assert.deepEqual(seen.slice(-2).sort(), ['early', 'late']);
    assert.equal(new Set(seen).size, seen.length);
  });

  test('after a restore the chain goes on, and the verification says where it was', async () => {
    assert.deepEqual((await verifyAudit(ctx.db)).restores, []);
    await ctx.db.transaction((tx) => finishRestore(tx, ctx.clock.now(), null));
    await write('after the restore');
    const { broken, restores } = await verifyAudit(ctx.db);
    assert.equal(broken, null);
    assert.deepEqual(
      restores.map(({ at }) => at),
      [ctx.clock.now()],
    );
  });
});

test('rows from before the chain are linked by the migration', async () => {
  const database = await createEmptyDatabase();
  const db = connectDatabase({ url: database.url });
  try {
    await migrate(database.url, undefined, undefined, LAST_WITHOUT_CHAIN);
    await db.query(
      `insert into audit_log (at, actor, action) select now(), 'before', 'row.' || n from generate_series(1, 5) n`,
    );
    await migrate(database.url);
    const { broken, rows } = await verifyAudit(db);
    assert.deepEqual([broken, rows], [null, 5]);
  } finally {
    await db.close();
    await database.drop();
  }
});

describe('security events', () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await createTestGateway();
  });
  after(() => gateway.close());

  test('sign-ins are recorded, and failed ones in a bounded number without unknown addresses', async () => {
    const shop = await createHolder(gateway.ctx, COMMAND_LINE, 'Shop');
    await addPerson(gateway, shop.id, 'owner', 'known@example.org');
    const stranger = visitor(gateway, '');
    const page = await stranger.get('/console/sign-in');
    const cookie = page.headers.get('set-cookie')?.split(';')[0] ?? '';
    const csrf = /name="csrf" value="([^"]+)"/.exec(page.text)?.[1] ?? '';
    const guesser = visitor(gateway, cookie, csrf);
    for (const email of ['known@example.org', 'secret typed here by mistake'])
      await guesser.post('/console/sign-in', { email, password: 'wrong password' });
    // They are written after the page was sent, in any order.
    const written = () =>
      gateway.ctx.db.query<{ action: string; actor: string; subject: string }>(
        `select action, actor, subject from audit_log where action like 'member.sign%' order by action collate "C" desc, subject desc`,
      );
    let rows = await written();
    while (rows.length < 3) rows = await written();
    assert.deepEqual(rows, [
      { action: 'member.signed_in', actor: 'known@example.org', subject: '' },
      { action: 'member.sign_in_failed', actor: 'stranger', subject: 'known@example.org' },
      { action: 'member.sign_in_failed', actor: 'stranger', subject: '' },
    ]);
  });

  test('an admin downloads the log; nobody else does', async () => {
    const shop = await createHolder(gateway.ctx, COMMAND_LINE, 'Other shop');
    const admin = await addPerson(gateway, shop.id, 'viewer', 'admin@example.org', { admin: true });
    const owner = await addPerson(gateway, shop.id, 'owner', 'owner@example.org');
    assert.equal((await admin.get('/console/admin/audit')).status, 200);
    const answer = await admin.get('/console/admin/audit.jsonl');
    assert.equal(answer.headers.get('content-type'), 'application/x-ndjson; charset=utf-8');
    assert.match(answer.text.split('\n')[0] ?? '', /^\{.*"hash": "[0-9a-f]{64}"\}$/);
    assert.equal((await admin.get('/console/admin/audit.jsonl?since=2027-01-01')).text, '');
    assert.equal((await admin.get('/console/admin/audit.jsonl?since=x')).status, 400);
    assert.equal((await owner.get('/console/admin/audit.jsonl')).status, 403);
  });
});

function write(action: string, holderId: bigint | null = holder.id): Promise<void> {
  return ctx.db.transaction((tx) =>
    recordAudit(tx, { holderId, actor: COMMAND_LINE, action: action as AuditAction }, ctx.clock.now()),
  );
}

async function idOf(action: string): Promise<bigint> {
  const [row] = await ctx.db.query<{ id: bigint }>('select id from audit_log where action = $1', [action]);
  return row?.id ?? 0n;
}

/** On this connection. */
async function countHeadsWritten(tx: Tx): Promise<bigint> {
  const [row] = await tx.query<{ written: bigint }>(
    `select n_tup_upd as written from pg_stat_xact_user_tables where relname = 'audit_streams'`,
  );
  return row?.written ?? 0n;
}

async function exported(since: Date | null = null): Promise<string[]> {
  const lines: string[] = [];
  for await (const page of exportAudit(ctx.db, { since })) lines.push(...page);
  return lines;
}

/** Runs statements as the owner of the tables, whom no trigger stops, looks, and undoes them. */
async function asOwner(statements: string, look: (reader: Reader) => Promise<void>): Promise<void> {
  const undone = new Error('undone');
  const owner = connectDatabase({ url: ctx.databaseUrl, poolSize: 1, as: 'owner' });
  try {
    await assert.rejects(
      owner.transaction(async (tx) => {
        for (const table of ['audit_log', 'audit_chain']) await tx.query(`alter table ${table} disable trigger user`);
        for (const statement of statements.split(';')) await tx.query(statement);
        await look(tx);
        throw undone;
      }),
      undone,
    );
  } finally {
    await owner.close();
  }
}
