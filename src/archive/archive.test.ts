// Archives: what is written is what the database has, a changed file is named, and only what an archive has is removed, of payments
// that have ended for good. The books agree afterwards.

import assert from 'node:assert/strict';
import { appendFile, mkdir, mkdtemp, readdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { parse } from 'csv-parse/sync';
import { type Books, differencesOf, openBooks, type Past, paid, writePast } from '../../test/books.ts';
import { replaceBody } from '../../test/events.ts';
import { createTestContext } from '../../test/harness.ts';
import { listEvents } from '../callbacks/feed.ts';
import { packBody } from '../callbacks/packed-body.ts';
import { verifyAudit } from '../holders/audit-chain.ts';
import { extendChain, formatHead, lastHeadAt } from '../ledger/chain.ts';
import { findArchivedMonth, isEvidenceArchived } from '../payments/archived-rows.ts';
import { keepEvidenceMonths, listEvidence } from '../payments/evidence.ts';
import type { Transaction } from '../payments/transactions.ts';
import { publicId } from '../platform/ids.ts';
import { readManifest } from './month-folder.ts';
import { removeArchived } from './remove.ts';
import { verifyArchive } from './verify.ts';
import { writeArchive } from './write.ts';

const MARCH = new Date('2021-03-10T09:00:00Z');
const APRIL = new Date('2021-04-01T00:00:00Z');
const MAY = new Date('2021-05-01T00:00:00Z');
const TABLES = [
  'callback_attempts',
  'events',
  'evidence',
  'ledger_blocks',
  'ledger_heads',
  'ledger_partition_blocks',
  'ledger_transfers',
  'request_log',
  'transactions',
];

describe('an archive', () => {
  let ctx: Awaited<ReturnType<typeof createTestContext>>;
  let folder: string;
  let books: Books;
  let past: Past;
  let april: Transaction;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'simbi-archive-'));
    ctx = await createTestContext({ ROLE: 'api' });
    ctx.clock.set(MARCH);
    books = await openBooks(ctx);
    past = await writePast(ctx, books);
    await keepEvidenceMonths(ctx);
    const { events } = await listEvents(ctx.db, past.success.holder_id, { limit: 2 });
    for (const [index, event] of events.entries())
      await replaceBody(ctx.ownerDb, event.publicId, index === 0 ? event.body : packBody(event.body));
    ctx.clock.set(new Date('2021-04-12T09:00:00Z'));
    april = await books.collect();
    await books.see(april, paid(april));
    while ((await extendChain(ctx, { partial: true })) > 0);
    ctx.clock.set(new Date('2021-04-20T09:00:00Z'));
  });
  after(async () => {
    await ctx.close();
    await rm(folder, { recursive: true, force: true });
  });

  const common = () => ({ databaseUrl: ctx.databaseUrl, owner: ctx.ownerDb, folder, at: ctx.clock.now() });
  const write = (before: Date) => writeArchive({ ...common(), before, version: '1.2.3', mode: 'sandbox' });
  const remove = (before: Date) => removeArchived({ ...common(), before });
  const countEvidence = async () => {
    const [row] = await ctx.db.query<{ rows: number }>('select count(*)::int as rows from evidence');
    return row?.rows ?? 0;
  };
  const reportsOf = async ({ holder_id, id }: Transaction) =>
    (await listEvidence(ctx.db, holder_id, id)).entries.length;

  test('has every row of a month, and broken-off work is done again', async () => {
    await mkdir(join(folder, '2021-03.unfinished'));
    await writeFile(join(folder, '2021-03.unfinished', 'transactions.csv.gz'), 'half');
    const [march, ...others] = await write(APRIL);
    assert.deepEqual(others, []);
    assert.equal(march?.month, '2021-03');
    const [counted] = await ctx.ownerDb.query<Record<string, number>>(
      `select (select count(*) from transactions where created_at < $1)::int as transactions,
         (select count(*) from evidence where at < $1)::int as evidence,
         (select count(*) from ledger_transfers where posted_at < $1)::int as ledger_transfers,
         (select count(*) from events where created_at < $1)::int as events`,
      [APRIL],
    );
    assert.deepEqual({ ...march?.rows, ...counted }, march?.rows);
    assert.ok((counted?.evidence ?? 0) > 20);
    assert.deepEqual(
      (await readdir(join(folder, '2021-03'))).sort(),
      [...TABLES.map((table) => `${table}.csv.gz`), 'manifest.json'].sort(),
    );
    const csv = gunzipSync(await readFile(join(folder, '2021-03', 'ledger_transfers.csv.gz'))).toString();
    assert.match(csv, /^id,holder_id,posted_at,transaction_id,kind,currency,amount,debit_account,debit_key/);
    assert.match(csv, new RegExp(`${past.success.id},collection,`));
  });

  test('is in the audit log before it has its name: no crash leaves a month that nobody is known to have written', async () => {
    const other = await mkdtemp(join(tmpdir(), 'simbi-archive-'));
    const written = async () =>
      (
        await ctx.db.query<{ n: number }>(`select count(*)::int as n from audit_log where action = 'archive.written'`)
      )[0]?.n;
    const before = (await written()) ?? 0;
    // Nothing can be renamed to a name that is a file.
    await writeFile(join(other, '2021-03'), '');
    await assert.rejects(
      writeArchive({ ...common(), folder: other, before: APRIL, version: '1.2.3', mode: 'sandbox' }),
    );
    assert.equal(await written(), before + 1);
    await rm(other, { recursive: true });
  });

  test('has the bodies of events as text, however they are stored', async () => {
    const csv = gunzipSync(await readFile(join(folder, '2021-03', 'events.csv.gz'))).toString();
    const [heading = [], ...rows] = parse(csv) as string[][];
    const [id, body] = [heading.indexOf('id'), heading.indexOf('body')];
    assert.ok(rows.length > 2);
    for (const row of rows) assert.equal(JSON.parse(row[body] ?? '').id, publicId('evt', row[id] ?? ''));
  });

  test('is only added to: the next run writes the next month', async () => {
    assert.deepEqual(await write(MAY), [], 'April goes on');
    ctx.clock.set(MAY);
    assert.deepEqual(
      (await write(MAY)).map(({ month, rows }) => [month, rows.transactions]),
      [['2021-04', 1]],
    );
    assert.deepEqual(await write(MAY), []);
    const { months, problems } = await verifyArchive(folder);
    assert.deepEqual(problems, []);
    assert.deepEqual(
      months.map(({ month }) => month),
      ['2021-03', '2021-04'],
    );
    const { manifest, sha256 } = await readManifest(folder, monthOfTest('2021-04'));
    const head = await lastHeadAt(ctx.db, ctx.clock.now());
    assert.ok(head);
    assert.equal(manifest.ledger_block, formatHead(head));
    const audit = await ctx.db.query(
      `select subject, actor, details ->> 'manifest_sha256' as hash from audit_log where action = 'archive.written' order by id`,
    );
    assert.deepEqual(audit.at(-1), { subject: '2021-04', actor: 'command line', hash: sha256 });
  });

  test('a file that was changed, cut short or taken away is named', async () => {
    const file = join(folder, '2021-03', 'evidence.csv.gz');
    const bytes = await readFile(file);
    const problems = async () => (await verifyArchive(folder)).problems;
    // Wherever the byte is: some make zlib look for more than there is.
    for (let fromEnd = 60; fromEnd >= 20; fromEnd--) {
      const changed = Buffer.from(bytes);
      changed[bytes.length - fromEnd] = (changed[bytes.length - fromEnd] ?? 0) ^ 1;
      await writeFile(file, changed);
      assert.deepEqual(await problems(), ['2021-03/evidence.csv.gz was changed.']);
    }
    await assert.rejects(remove(APRIL), /2021-03\/evidence\.csv\.gz was changed/);
    await writeFile(file, bytes);
    await truncate(file, bytes.length - 100);
    assert.deepEqual(await problems(), ['2021-03/evidence.csv.gz was cut short.']);
    await rm(file);
    assert.deepEqual(await problems(), ['2021-03/evidence.csv.gz is missing.']);
    await writeFile(file, bytes);
    await appendFile(join(folder, '2021-04', 'notes.txt'), 'x');
    assert.deepEqual(await problems(), ['2021-04/notes.txt does not belong to the archive.']);
    await rm(join(folder, '2021-04', 'notes.txt'));
    const manifest = join(folder, '2021-03', 'manifest.json');
    const text = await readFile(manifest, 'utf8');
    await writeFile(manifest, text.slice(0, -10));
    assert.deepEqual(await problems(), ['2021-03/manifest.json was changed: it is not a manifest of this month.']);
    await writeFile(manifest, text);
    assert.deepEqual(await problems(), []);
  });

  test('the archive of another database removes nothing', async () => {
    const before = await countEvidence();
    await rename(join(folder, '2021-04'), join(folder, 'april'));
    await ctx.ownerDb.query('alter table evidence disable trigger user');
    const change = (raw: string) =>
      ctx.ownerDb.query('update evidence set raw = $2 where transaction_id = $1', [past.success.id, raw]);
    await change('other');
    await assert.rejects(remove(MAY), /2021-03\/evidence\.csv\.gz differs from the database .* Nothing was removed/);
    await change('');
    await ctx.ownerDb.query('alter table evidence enable trigger user');
    await rename(join(folder, 'april'), join(folder, '2021-04'));
    assert.equal(await countEvidence(), before);
  });

  test('the service may not remove, and nobody removes young evidence', async () => {
    const call = `select remove_archived_evidence($1, 0, 0, now(), repeat('0', 64))`;
    await assert.rejects(ctx.db.query(call, [APRIL]), /permission denied/);
    const lastMonth = new Date(Date.UTC(new Date().getUTCFullYear(), new Date().getUTCMonth() - 1));
    await assert.rejects(ctx.ownerDb.query(call, [lastMonth]), /kept for 180 days/);
  });

  test('removing keeps what is open or was a case, and late reports; the books agree', async () => {
    const before = await countEvidence();
    // After the archive was written: it stays.
    await books.see(past.success, { state: 'pending' });
    const [march, ...others] = await remove(APRIL);
    assert.deepEqual(others, []);
    assert.ok(march && march.removed > 0n && march.kept > 0n);
    assert.equal(await countEvidence(), before + 1 - Number(march.removed));
    assert.equal(await reportsOf(past.success), 1);
    assert.equal(await reportsOf(past.whole), 0);
    for (const kept of [past.open, past.late, april]) assert.ok((await reportsOf(kept)) > 0, kept.id);
    assert.deepEqual(await differencesOf(ctx), []);
    assert.equal((await verifyAudit(ctx.db, null)).broken, null);
    const [audit] = await ctx.db.query(
      `select subject, actor, (details ->> 'removed')::bigint as removed from audit_log where action = 'archive.evidence_removed'`,
    );
    assert.deepEqual(audit, { subject: '2021-03', actor: 'command line', removed: march.removed });
    assert.deepEqual(await remove(APRIL), [], 'a month is removed once');
    assert.equal((await findArchivedMonth(ctx.db.forHolder(past.success.holder_id), MARCH))?.rows_kept, march.kept);
  });

  test('it is known which payments have reports in the archive only', async () => {
    const isArchived = async ({ holder_id, id }: Transaction) =>
      isEvidenceArchived(ctx.db, id, (await listEvidence(ctx.db, holder_id, id)).entries, new Date());
    assert.equal(await isArchived(past.success), true, 'a late report does not hide that others were archived');
    assert.equal(await isArchived(past.whole), true);
    assert.equal(await isArchived(past.late), false);
    assert.equal(await isArchived(april), false);
  });

  test('a month that shares a partition with others is removed in the same way', async () => {
    ctx.clock.set(new Date('2021-07-12T09:00:00Z'));
    const july = await books.collect();
    await books.see(july, paid(july));
    const AUGUST = new Date('2021-08-01T00:00:00Z');
    ctx.clock.set(AUGUST);
    assert.equal((await write(AUGUST)).at(-1)?.rows.evidence, 1);
    assert.deepEqual(
      (await remove(AUGUST)).map(({ month, removed }) => [month, removed]),
      [
        ['2021-04', 1n],
        ['2021-05', 0n],
        ['2021-06', 0n],
        ['2021-07', 1n],
      ],
    );
    assert.deepEqual([await reportsOf(april), await reportsOf(july), await reportsOf(past.success)], [0, 0, 1]);
    assert.deepEqual(await differencesOf(ctx), []);
  });
});

function monthOfTest(name: string) {
  return { name, from: new Date(`${name}-01T00:00:00Z`), to: new Date(`${name}-30T00:00:00Z`) };
}
