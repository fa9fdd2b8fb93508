// Partitions by hour, day and month, of tables with and without a default partition, changed by several processes at once.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createTestContext } from '../../test/harness.ts';
import { DAY_MS, HOUR_MS } from './clock.ts';
import { createUuid } from './ids.ts';
import { maintainPartitions, type PartitionPlan, withPartitions } from './partitions.ts';

const HOURS: PartitionPlan = { table: 'hours', span: 'hour', ahead: 2, keepMs: 3 * HOUR_MS };
const DAYS: PartitionPlan = { table: 'days', span: 'day', ahead: 1, keepMs: 7 * DAY_MS };
const MONTHS: PartitionPlan = {
  table: 'months',
  span: 'month',
  ahead: 2,
  keepMs: 90 * DAY_MS,
  hasDefault: true,
};

describe('partitions', () => {
  let ctx: Awaited<ReturnType<typeof createTestContext>>;
  before(async () => {
    ctx = await createTestContext();
    // The virtual clock is ahead of the database's, so the rules keep nothing.
    await ctx.ownerDb.query(`
      create table hours (at timestamptz not null) partition by range (at);
      create table days (at timestamptz not null) partition by range (at);
      create table months (id uuid primary key, changed_at timestamptz not null) partition by range (id);
      create table months_default partition of months default;
      grant select, insert, update on hours, days, months to simbi_service;
      insert into partition_rules values
        ('hours', 'hour', '-9 years', null, null), ('days', 'day', '-9 years', null, null),
        ('months', 'month', '-9 years', 'id', 'changed_at')`);
  });
  after(() => ctx.close());

  const names = async (table: string) => {
    const rows = await ctx.db.query<{ name: string }>(
      'select inhrelid::regclass::text as name from pg_inherits where inhparent = $1::regclass order by 1',
      [table],
    );
    return rows.map(({ name }) => name.replace(`${table}_`, ''));
  };

  test('one before, the present one and those ahead are created; several processes create each once', async () => {
    ctx.clock.set(new Date('2026-12-31T23:10:00Z'));
    const changes = await Promise.all([1, 2, 3].map(() => maintainPartitions(ctx, HOURS)));
    assert.equal(
      changes.reduce((sum, count) => sum + count, 0),
      4,
    );
    assert.deepEqual(await names('hours'), ['2026123122', '2026123123', '2027010100', '2027010101']);
    assert.equal(await maintainPartitions(ctx, HOURS), 0);
    await maintainPartitions(ctx, DAYS);
    assert.deepEqual(await names('days'), ['2026123000', '2026123100', '2027010100']);
    await maintainPartitions(ctx, MONTHS);
    assert.deepEqual(await names('months'), ['2026_11', '2026_12', '2027_01', '2027_02', 'default']);
  });

  test('an insert that finds no partition is repeated after the partition was created', async () => {
    const at = new Date('2027-01-05T12:00:00Z');
    const insert = () => withPartitions(ctx, HOURS, at, () => ctx.db.query('insert into hours values ($1)', [at]));
    await Promise.all([insert(), insert()]);
    assert.deepEqual(await ctx.db.query('select count(*)::int as rows from hours'), [{ rows: 2 }]);
  });

  test('a partition is dropped when its end is older than the time to keep', async () => {
    ctx.clock.set(new Date('2027-01-01T03:59:59Z'));
    await maintainPartitions(ctx, HOURS);
    assert.ok((await names('hours')).includes('2027010100'));
    ctx.clock.set(new Date('2027-01-01T04:00:00Z'));
    await maintainPartitions(ctx, HOURS);
    assert.ok(!(await names('hours')).includes('2027010100'));
  });

  test('rows in the default partition are moved; a young row keeps its old partition', async () => {
    const insert = (moment: string) =>
      ctx.db.query('insert into months values ($1, $2)', [createUuid(Date.parse(moment)), new Date(moment)]);
    const where = async () =>
      (await ctx.db.query<{ name: string }>('select tableoid::regclass::text as name from months order by id')).map(
        ({ name }) => name,
      );
    for (const moment of ['2027-02-10T00:00:00Z', '2027-03-01T00:00:00Z', '2027-04-30T23:59:59Z']) await insert(moment);
    assert.deepEqual(await where(), ['months_2027_02', 'months_default', 'months_default']);
    ctx.clock.set(new Date('2027-02-15T00:00:00Z'));
    await maintainPartitions(ctx, MONTHS);
    assert.deepEqual(await where(), ['months_2027_02', 'months_2027_03', 'months_2027_04']);

    await ctx.db.query(`update months set changed_at = '2027-06-15' where changed_at < '2027-03-01'`);
    ctx.clock.set(new Date('2027-08-15T00:00:00Z'));
    await maintainPartitions(ctx, MONTHS);
    assert.deepEqual(await where(), ['months_2027_02'], 'March and April ended more than ninety days ago');
    ctx.clock.set(new Date('2027-09-30T00:00:00Z'));
    await maintainPartitions(ctx, MONTHS);
    assert.deepEqual(await where(), []);
    assert.ok((await names('months')).includes('default'));
  });
});
