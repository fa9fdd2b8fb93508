import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readMigrations, statementsOf } from './migration-files.ts';
import { splitStatements } from './sql-statements.ts';

const textsOf = (sql: string) => splitStatements(sql).map((statement) => statement.sql);

describe('statements of a migration', () => {
  test('end with a semicolon, and know their line', () => {
    assert.deepEqual(splitStatements('-- why\n\nselect 1;\n\n  select\n 2 ;;\nselect 3 -- end'), [
      { sql: 'select 1', line: 3 },
      { sql: 'select\n 2', line: 5 },
      { sql: 'select 3 -- end', line: 7 },
    ]);
    assert.deepEqual(splitStatements('-- nothing\n/* at all; */ ;\n'), []);
  });

  test('a semicolon in a string, a name, a comment or a body ends nothing', () => {
    for (const one of [
      `insert into t values ('a;''b;')`,
      `select E'it\\'s; one'`,
      `select "odd;""name;" from t`,
      `select 1 -- not; yet`,
      `select /* a; /* nested; */ still; */ 1`,
      `do $$ begin perform 1; end $$`,
      `create function f() returns text language sql as $body$ select '$$;'; select $1; $body$`,
      `create rule r as on insert to t do (insert into a values (1); insert into b values (2))`,
      `create function g() returns int begin atomic select 1; select case when true then 1 else 2 end; end`,
    ])
      assert.deepEqual(textsOf(`${one}\n;select 2`), [one, 'select 2'], one);
  });

  test('a name may contain a dollar sign, and a number or a transaction may begin', () => {
    assert.deepEqual(textsOf('select a$b; select $1;'), ['select a$b', 'select $1']);
    assert.deepEqual(textsOf('begin; select 1e5; end; select type from t'), [
      'begin',
      'select 1e5',
      'end',
      'select type from t',
    ]);
  });

  test('what has no end is refused with its line', () => {
    for (const broken of [`select 1;\nselect 'a`, 'select 1;\nselect "a', 'select 1;\n/* a', 'select 1;\ndo $$ begin'])
      assert.throws(() => splitStatements(broken), /in line 2 has no end/, broken);
  });

  test('every migration is split at the ends of its lines', async () => {
    for (const migration of await readMigrations())
      for (const statement of statementsOf(migration))
        assert.match(
          statement.sql,
          /^(?:create|alter|insert|update|delete|comment|do|drop|select|with|revoke|grant)\b/i,
          migration.file,
        );
  });
});
