import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { parseUtc } from './database-types.ts';

const parseByDriver = createRequire(import.meta.url)('postgres-date') as (text: string) => Date;

test('a time in UTC is read as the driver reads it', () => {
  for (const fraction of ['', '.1', '.57', '.001', '.289', '.123456', '.999999'])
    for (const date of ['2026-11-19 03:49:30', '0001-01-01 00:00:00', '0099-12-31 23:59:59', '9999-12-31 23:59:59']) {
      const text = `${date}${fraction}+00`;
      assert.equal(parseUtc(text)?.toISOString(), parseByDriver(text).toISOString(), text);
    }
});

test('every other time is left to the driver', () => {
  for (const text of [
    '2026-11-19 03:49:30+03',
    '2026-11-19 03:49:30-00:30',
    '12026-11-19 03:49:30+00',
    'infinity',
    '-infinity',
  ])
    assert.equal(parseUtc(text), null, text);
  assert.equal(parseUtc('0044-03-15 12:00:00+00 BC'), null);
});
