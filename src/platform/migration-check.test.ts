// Each migration that the version before could not live beside is refused, for its own reason; what only adds passes.

import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { createEmptyDatabase } from '../../test/database.ts';
import { checkMigrations, type MigrationFinding } from './migration-check.ts';
import { readMigrations } from './migration-files.ts';

const FRUITS = `
  create type ripeness as enum ('green', 'ripe');
  create domain weight as integer;
  create function ripen() returns trigger language plpgsql as $$ begin return new; end $$;
  create table baskets (id bigint constraint basket_id primary key, label text);
  create table fruits (
    id bigint generated always as identity constraint fruit_id primary key,
    name text not null default 'apple',
    colour varchar(10),
    weight weight,
    state ripeness not null default 'green',
    basket_id bigint constraint fruit_basket references baskets (id),
    constraint fruit_named check (name <> '')
  );
  create index fruits_by_name on fruits (name);
  create trigger fruits_ripen before update on fruits for each row execute function ripen();
  create table sales (at timestamptz not null, fruit_id bigint not null) partition by range (at);
  create view green_fruits as select id, name from fruits where state = 'green';`;

describe('a migration beside the version before', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'simbi-check-'));
    await writeFile(join(folder, '0001_fruits.sql'), FRUITS);
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  /** Checks the files after the first one. */
  async function check(
    files: string[],
    given: { running?: number; empty?: string[] } = {},
  ): Promise<MigrationFinding[]> {
    for (const [index, sql] of files.entries()) await writeFile(join(folder, `000${index + 2}_step.sql`), sql);
    const migrations = await readMigrations(folder);
    const database = await createEmptyDatabase();
    try {
      return await checkMigrations(database.url, {
        migrations,
        pending: migrations.slice(1),
        privileges: null,
        running: given.running ?? 1,
        hasRows: (table) => !given.empty?.includes(table),
        rights: null,
      });
    } finally {
      await database.drop();
    }
  }

  const REFUSED: [string, string | string[], RegExp, { lock?: string; table?: string | null }?][] = [
    ['a table is dropped', 'drop view green_fruits; drop table fruits', /The view green_fruits is dropped/],
    ['a partitioned table is dropped', 'drop table sales', /The table sales is dropped/],
    ['a column is dropped', 'alter table fruits drop column colour', /The column colour of fruits is dropped/],
    ['a column gets another name', 'alter table fruits rename column name to title', /is now called title/],
    ['a table gets another name', 'alter table baskets rename to boxes', /The table baskets is now called boxes/],
    ['a constraint gets another name', 'alter table fruits rename constraint fruit_named to named', /now called named/],
    ['a constraint is dropped', 'alter table fruits drop constraint fruit_named', /fruit_named of fruits is dropped/],
    ['a trigger is dropped', 'drop trigger fruits_ripen on fruits', /The trigger fruits_ripen of fruits is dropped/],
    ['a trigger is disabled', 'alter table fruits disable trigger fruits_ripen', /fires at other times/],
    ['a function is dropped', 'drop function ripen() cascade', /The function ripen\(\) is dropped/],
    ['a function gets another name', 'alter function ripen() rename to redden', /now called redden\(\)/],
    ['a type gets another name', 'alter type ripeness rename to age', /The type ripeness is now called age/],
    [
      'a label gets another name',
      `alter type ripeness rename value 'ripe' to 'red'`,
      /The label ripe is now called red/,
    ],
    [
      'a type changes without a copy',
      'alter table fruits alter colour type text',
      /was character varying\(10\) and becomes text/,
    ],
    [
      'a table is written anew',
      'alter table fruits alter colour type jsonb using to_jsonb(colour)',
      /fruits is written anew/,
      { lock: 'AccessExclusiveLock' },
    ],
    [
      'a default is computed for each row',
      'alter table fruits add column at timestamptz default clock_timestamp()',
      /written anew/,
    ],
    [
      'a partitioned table is written anew',
      'alter table sales add column n uuid default gen_random_uuid()',
      /sales is written anew/,
    ],
    ['a table is emptied', 'truncate sales', /sales is written anew, or emptied/],
    [
      'a column must have a value that nobody writes',
      'alter table fruits add column size text not null',
      /The column size of fruits must have/,
    ],
    [
      'a column must have a value from now on',
      'alter table fruits alter colour set not null',
      /colour of fruits must have a value from now on/,
    ],
    ['a default is dropped', 'alter table fruits alter name drop default', /name of fruits loses its default/],
    [
      'an index is built in a transaction',
      'create index on fruits (colour)',
      /index fruits_colour_idx is built/,
      { lock: 'ShareLock' },
    ],
    [
      'a unique constraint is added',
      'alter table fruits add unique (name)',
      /is built while nobody can write to fruits/,
    ],
    ['an index is built anew', 'reindex index fruits_by_name', /The index fruits_by_name is built anew/],
    [
      'a check reads every row',
      `alter table fruits add constraint c check (colour <> '')`,
      /Every row of fruits is compared with c/,
    ],
    [
      'a foreign key reads every row',
      'alter table sales add constraint of_fruit foreign key (fruit_id) references fruits',
      /Every row of sales/,
    ],
    [
      'a domain reads every row',
      'alter domain weight add constraint w check (value > 0)',
      /the tables of the type is compared with w/,
    ],
    [
      'a constraint is validated while its table is locked',
      `alter table fruits add constraint c check (colour <> '') not valid; alter table fruits validate constraint c`,
      /Every row of fruits is compared with c/,
    ],
    [
      'rows are changed',
      `update fruits set colour = 'red'`,
      /Rows of fruits are changed/,
      { lock: 'RowExclusiveLock' },
    ],
    ['rows are changed by a block', `do $$ begin delete from fruits; end $$`, /Rows of fruits are changed/],
    [
      'rows are read while a table is locked',
      'alter table fruits add column size text; insert into baskets select id from fruits',
      /Rows of fruits are read while fruits stays locked/,
    ],
    [
      'a table is locked by name',
      'lock table fruits in exclusive mode',
      /fruits is locked until the end/,
      { lock: 'ExclusiveLock' },
    ],
  ];

  for (const [name, sql, why, expected] of REFUSED)
    test(`is refused: ${name}`, async () => {
      const findings = await check([sql].flat());
      const finding = findings.find((each) => why.test(each.why));
      assert.ok(finding, JSON.stringify(findings));
      assert.deepEqual([finding.file, finding.line], ['0002_step.sql', 1]);
      assert.ok(finding.instead.length > 0);
      if (expected?.lock) assert.equal(finding.lock, expected.lock);
    });

  const PASSES: [string, string[]][] = [
    [
      'a table',
      [
        `create table nuts (id bigint primary key, fruit_id bigint references fruits (id), name text not null);
         create index on nuts (name)`,
      ],
    ],
    ['a column that may be null', ['alter table fruits add column size text']],
    ['a column with a constant default', [`alter table fruits add column size text not null default 'small'`]],
    ['an index that is built concurrently', ['create index concurrently fruits_by_colour on fruits (colour)']],
    [
      'a unique constraint on an index that is there',
      [
        'create unique index concurrently fruit_name_once on fruits (name)',
        'alter table fruits add constraint fruit_name_once unique using index fruit_name_once',
      ],
    ],
    [
      'a constraint for new rows, validated afterwards',
      [
        `alter table fruits add constraint c check (colour <> '') not valid`,
        'alter table fruits validate constraint c',
      ],
    ],
    [
      'a wider constraint in the place of a constraint',
      [
        `alter table fruits drop constraint fruit_named, add constraint fruit_named check (name <> '' or colour is null) not valid`,
        'alter table fruits validate constraint fruit_named',
      ],
    ],
    ['a new label', [`alter type ripeness add value 'old'`]],
    [
      'another body of a function',
      ['create or replace function ripen() returns trigger language plpgsql as $$ begin return old; end $$'],
    ],
    ['an index less', ['drop index fruits_by_name']],
    ['a new row', [`insert into baskets (id) values (1)`]],
    ['what a pending migration added', ['create table nuts (id bigint)', 'drop table nuts']],
    ['a trigger', ['create trigger again before insert on fruits for each row execute function ripen()']],
    ['a comment', [`comment on table fruits is 'sold by weight'`]],
  ];
  for (const [name, files] of PASSES)
    test(`passes: ${name}`, async () => {
      assert.deepEqual(await check(files), []);
    });

  test('a table without rows is built anew in no time, and so is one that is declared so', async () => {
    const index = 'create index fruits_by_colour on fruits (colour)';
    assert.deepEqual(await check([index], { empty: ['fruits'] }), []);
    assert.deepEqual(await check([`-- quick: fruits: never more than ten\n${index}`]), []);
    assert.equal((await check([`-- quick: baskets: never more than ten\n${index}`])).length, 1);
  });

  test('a contract step passes when every process that runs knows what it builds on', async () => {
    const drop =
      '-- contract: after 0001: colours, which nothing has read since\nalter table fruits drop column colour';
    assert.deepEqual(await check([drop]), []);
    const early = drop.replace('0001', '0002');
    const [finding] = await check([early]);
    assert.match(finding?.why ?? '', /Processes that do not know migration 0002 may be running/);
    const [locked] = await check([`${drop};\ncreate index on fruits (name)`]);
    assert.match(locked?.why ?? '', /is built while nobody can write/, 'how long requests wait is never excused');
    assert.equal(locked?.line, 3);
  });

  test('a column that a valid constraint has proven is tightened without reading it', async () => {
    const files = [
      'alter table fruits add constraint has_colour check (colour is not null) not valid',
      'alter table fruits validate constraint has_colour',
      '-- contract: after 0001: colours are always written\nalter table fruits alter colour set not null',
    ];
    assert.deepEqual(await check(files), []);
  });

  test('a migration that fails is an error with its line', async () => {
    await assert.rejects(
      check(['select 1;\n\nalter table fruits drop column shape']),
      /0002_step\.sql failed at line 3/,
    );
  });
});
