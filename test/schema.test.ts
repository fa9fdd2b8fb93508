import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { dumpSchema } from '../scripts/schema.ts';
import { connectDatabase, type Database } from '../src/platform/db.ts';
import { createEmptyDatabase, type TestDatabase } from './database.ts';

describe('the schema dump', () => {
  let database: TestDatabase;
  let db: Database;

  before(async () => {
    database = await createEmptyDatabase();
    db = connectDatabase({ url: database.url, as: 'owner' });
    await db.query(`
      create table pears (
        id bigint generated always as identity primary key,
        weight integer default 3 constraint pear_has_weight check (weight > 0)
      ) with (fillfactor = 80);
      create index pears_by_weight on pears (weight desc) where weight > 5;
      create table days (at timestamptz not null, name text not null) partition by range (at)`);
  });

  after(async () => {
    await db.close();
    await database.drop();
  });

  test('shows columns, defaults, named constraints, options, partitioning and indexes', async () => {
    const text = await dumpSchema(db);
    assert.match(
      text,
      /create table days \(\n {2}at timestamp with time zone not null,\n {2}name text not null\n\) partition by RANGE \(at\);/,
    );
    assert.match(text, / {2}id bigint not null generated always as identity,\n {2}weight integer default 3,\n/);
    assert.match(text, /constraint pears_pkey PRIMARY KEY \(id\),\n {2}constraint pear_has_weight CHECK/);
    assert.match(text, /\) with \(fillfactor=80\);\nCREATE INDEX pears_by_weight ON .*WHERE \(weight > 5\);/);
    assert.ok(text.indexOf('create table days') < text.indexOf('create table pears'));
  });

  test('does not change when the service makes a partition', async () => {
    const text = await dumpSchema(db);
    await db.query(`create table days_default partition of days default; create index on days_default (name)`);
    await db.query('create index days_by_name on days (name)');
    const changed = (await dumpSchema(db)).split('\n').filter((line) => !text.split('\n').includes(line));
    assert.deepEqual(changed, ['CREATE INDEX days_by_name ON ONLY public.days USING btree (name);']);
  });
});
