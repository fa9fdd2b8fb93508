// Statements as they are sent: their columns are asked for once, what comes first belongs to the same transaction, and an error
// leaves a connection that works.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../../test/database.ts';
import { type KnownColumns, type Preamble, sendPrepared } from './prepared-query.ts';

describe('a statement on a connection', () => {
  const known: KnownColumns = new WeakMap();
  let database: TestDatabase;
  let client: pg.Client;
  /** Names of the messages from PostgreSQL since they were last taken. */
  const messages: string[] = [];

  before(async () => {
    database = await createTestDatabase();
    client = new pg.Client({ connectionString: database.url, pipeline: true });
    await client.connect();
    const { connection } = client as unknown as { connection: pg.Connection };
    connection.on('message', ({ name }: { name: string }) => messages.push(name));
    await client.query('create table sent (id int primary key, amount bigint, at timestamptz, note text)');
    await client.query(
      `insert into sent values (1, 9007199254740993, '2026-01-02T03:04:05Z', 'ça'), (2, null, null, null)`,
    );
  });
  after(async () => {
    await client.end();
    await database.drop();
  });

  const send = (name: string, text: string, values: unknown[] = [], preamble: Preamble | null = null) =>
    sendPrepared<Record<string, unknown>>(known, client, { name, text }, values, preamble);
  const takeMessages = () => messages.splice(0);

  const READ = 'select id, amount, at, note from sent where id = any($1) order by id';
  const ROWS = [
    { id: 1, amount: 9_007_199_254_740_993n, at: new Date('2026-01-02T03:04:05Z'), note: 'ça' },
    { id: 2, amount: null, at: null, note: null },
  ];

  test('its text is parsed and its columns are described once', async () => {
    takeMessages();
    assert.deepEqual(await send('read_sent', READ, [[1, 2]]), ROWS);
    const described = [
      'parseComplete',
      'bindComplete',
      'rowDescription',
      'dataRow',
      'dataRow',
      'commandComplete',
      'readyForQuery',
    ];
    assert.deepEqual(takeMessages(), described);
    assert.deepEqual(await send('read_sent', READ, [[2, 1]]), ROWS);
    assert.deepEqual(await send('read_sent', READ, [[]]), []);
    const row = ['bindComplete', 'dataRow', 'dataRow', 'commandComplete', 'readyForQuery'];
    assert.deepEqual(takeMessages(), [...row, 'bindComplete', 'commandComplete', 'readyForQuery']);
  });

  test('one that returns no rows is described once too', async () => {
    const change = () => send('change_nothing', 'update sent set note = note where id = $1', [9]);
    assert.deepEqual([await change(), takeMessages().includes('noData')], [[], true]);
    assert.deepEqual([await change(), takeMessages().includes('noData')], [[], false]);
  });

  test('many are sent without waiting, and each gets its own rows', async () => {
    const ids = Array.from({ length: 50 }, (_, index) => index);
    const text = 'select $1::int as id, $1::int * 2 as twice';
    const rows = await Promise.all(ids.map((id) => send(id % 3 === 0 ? '' : 'twice', text, [id])));
    assert.deepEqual(
      rows,
      ids.map((id) => [{ id, twice: id * 2 }]),
    );
  });

  test('of two columns with one name the last is read, also where it is null', async () => {
    for (let time = 0; time < 2; time++)
      assert.deepEqual(await send('same_name', 'select 1 as n, null::int as n'), [{ n: null }]);
  });

  const QUIET: Preamble = { name: 'quiet', text: `select set_config('simbi.test', $1, true)`, values: ['here'] };
  const SETTING = `select coalesce(current_setting('simbi.test', true), '') as is`;

  test('a preamble holds for its statement and no longer, also when that fails', async () => {
    for (let time = 0; time < 2; time++) {
      assert.deepEqual(await send('setting', SETTING, [], QUIET), [{ is: 'here' }]);
      assert.deepEqual(await send('setting', SETTING), [{ is: '' }]);
      await assert.rejects(send('divide', 'select 1 / $1::int', [0], QUIET), { code: '22012' });
      assert.deepEqual(await send('setting', SETTING), [{ is: '' }]);
    }
    assert.deepEqual(await send('', SETTING, [], { ...QUIET, values: ["o'clock"] }), [{ is: "o'clock" }]);
  });

  test('a preamble and its statement are one transaction', async () => {
    const insert: Preamble = { name: 'insert_sent', text: 'insert into sent (id) values ($1)', values: ['7'] };
    await assert.rejects(send('fails', 'select 1 / $1::int', [0], insert), { code: '22012' });
    assert.deepEqual(await send('read_sent', READ, [[7]]), []);
    await send('succeeds', 'select 1', [], insert);
    assert.equal((await send('read_sent', READ, [[7]])).length, 1);
  });

  test('a statement behind a preamble that fails is parsed the next time', async () => {
    const wrong: Preamble = { name: 'wrong', text: 'select no_such_function($1)', values: ['x'] };
    await assert.rejects(send('later', 'select 5 as five', [], wrong), { code: '42883' });
    assert.deepEqual(await send('later', 'select 5 as five'), [{ five: 5 }]);
    await assert.rejects(send('later', 'select 5 as five', [], wrong), { code: '42883' });
    assert.deepEqual(await send('later', 'select 5 as five', [], QUIET), [{ five: 5 }]);
  });

  test('a text that PostgreSQL does not understand is refused each time, and by where it was sent from', async () => {
    for (let time = 0; time < 2; time++) {
      const error = await send('no_table', 'select * from no_such_table').catch((refusal: Error) => refusal);
      assert.ok(error instanceof pg.DatabaseError && error.code === '42P01');
      assert.match(error.stack ?? '', /prepared-query\.test\.ts/);
    }
  });

  test('a name that stands for another text is refused, and so is a value that cannot be sent', async () => {
    await assert.rejects(send('read_sent', 'select 1'), /"read_sent" was given to another statement/);
    const loop: { self?: object } = {};
    loop.self = loop;
    await assert.rejects(send('value', 'select $1::text as value', [loop]), /circular/);
    assert.deepEqual(await send('value', 'select $1::text as value', [{ a: [1] }]), [{ value: '{"a":[1]}' }]);
  });

  test('rows are never read with columns that have changed', async () => {
    const text = 'select * from sent where id = 2';
    await send('all_sent', text);
    await client.query('alter table sent add column fee bigint');
    await assert.rejects(send('all_sent', text), { code: '0A000' });
  });
});
