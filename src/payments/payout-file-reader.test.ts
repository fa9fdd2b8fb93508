// Files as people really have them: saved by a spreadsheet, pasted from one, or edited by hand. A cell that has no column
// is never dropped, and the row that a message names is the row that the spreadsheet shows.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { inspect } from 'node:util';
import { createTestContext } from '../../test/harness.ts';
import { silentRail, withPayments } from '../../test/payments.ts';
import { createShop, type Shop } from '../../test/shop.ts';
import { type PayoutFileReading, problemOf, readPayoutFile } from './payout-file-reader.ts';

let base: Awaited<ReturnType<typeof createTestContext>>;
let ctx: ReturnType<typeof withPayments<typeof base>>;
let shop: Shop;

before(async () => {
  base = await createTestContext();
  ctx = withPayments(base, silentRail({}));
  shop = await createShop(ctx);
});
after(() => base.close());

const read = (csv: string): Promise<PayoutFileReading> => readPayoutFile(ctx, shop.holderId, csv);

/** What each row pays, or its problem. */
async function rowsOf(csv: string): Promise<unknown[]> {
  const file = await read(csv);
  assert.ok(file.ok, inspect(file));
  return file.rows.map((row) =>
    row.reading.ok ? [row.line, row.reading.order.amount, row.reading.order.msisdn] : [row.line, problemOf(row)],
  );
}

describe('cells and columns', () => {
  test('review: an amount that its comma split into two cells is refused, not cut', async () => {
    const [thousands, decimals] = await rowsOf(
      'currency,mobile,amount\nUGX,256772123456,1,500\nUGX,256772123456,1500,50',
    );
    for (const row of [thousands, decimals])
      assert.match(String(row), /row: This row has more cells than the first row has columns\./);
  });

  test('review: empty cells and columns at the end, as spreadsheets leave them, are ignored', async () => {
    const csv = 'amount,currency,mobile,,\n1500,UGX,256772123456,,\n1600,UGX,256772123456,,,,\n';
    assert.deepEqual(await rowsOf(csv), [
      [2, 150_000n, '256772123456'],
      [3, 160_000n, '256772123456'],
    ]);
    const [used] = await rowsOf('amount,currency,mobile,\n1500,UGX,256772123456,7\n');
    assert.match(String(used), /more cells/);
  });

  test('review: a column that is named twice is refused', async () => {
    const file = await read('amount,currency,mobile,Amount\n1500,UGX,256772123456,15000\n');
    assert.deepEqual(file, { ok: false, reason: 'columns', missing: [], unknown: [], repeated: ['amount'] });
  });
});

describe('formats', () => {
  test('review: commas, semicolons, tabs, quotes, CRLF and a byte order mark are the same rows', async () => {
    const expected = [
      [2, 150_000n, '256772123456'],
      [3, 160_000n, '256772123457'],
    ];
    const rows = [
      ['amount', 'currency', 'mobile', 'payee', 'detail'],
      ['1500', 'UGX', '256772123456', '', 'x'],
      ['1600', 'UGX', '256772123457', 'Ada', ''],
    ];
    for (const separator of [',', ';', '\t'])
      for (const end of ['\n', '\r\n'])
        for (const quote of ['', '"']) {
          const text = rows.map((row) => row.map((cell) => `${quote}${cell}${quote}`).join(separator)).join(end);
          assert.deepEqual(await rowsOf(`\uFEFF${text}${end}`), expected, JSON.stringify(text));
        }
  });

  test('review: rows are counted as a spreadsheet counts them, empty ones too', async () => {
    const csv = 'amount,currency,mobile,detail\n\n1500,UGX,256772123456,"two\nlines"\n,,,\nx,UGX,256772123456,\n';
    const [first, second] = await rowsOf(csv);
    assert.deepEqual(first, [3, 150_000n, '256772123456']);
    assert.match(String(second), /^5,amount: /);
  });

  test('review: a file in another encoding, and a NUL, are refused before anything is written', async () => {
    for (const payee of ['Ren\uFFFD', 'Ada\0'])
      assert.deepEqual(await read(`amount,currency,mobile,payee\n1500,UGX,256772123456,${payee}\n`), {
        ok: false,
        reason: 'encoding',
      });
  });
});

describe('errors', () => {
  const heads = 'amount,currency,mobile,method,payee,callback_url\n';
  const problem = async (row: string, language?: 'fr') => {
    const file = await readPayoutFile(ctx, shop.holderId, `${heads}${row}\n`, language ? { language } : {});
    assert.ok(file.ok && file.rows[0], inspect(file));
    return problemOf(file.rows[0]);
  };

  test('all of a row are named at once', async () => {
    const long = 'x'.repeat(121);
    assert.equal(
      await problem(`abc,UGX,12,NONE,${long},`),
      'mobile: This is not a mobile number of a country that uses UGX.; ' +
        'method: Name the method; one of MTN_MOMO_UGA, AIRTEL_OAPI_UGA.; ' +
        'amount: Enter the amount in digits, for example 1500 or 1500.50.; payee: At most 120 characters.',
    );
    assert.match(await problem('0,UGX,12,,,'), /^mobile: .*; amount: The amount must be more than zero\.$/);
    assert.match(
      await problem('1.500,XXX,12,,,'),
      /^currency: No method pays out in "XXX"\.; mobile: This is not a mobile number of a country .*; amount: /,
    );
    // The number is one, whatever its currency should be.
    assert.equal(await problem('1500,XXX,256772123456,,,'), 'currency: No method pays out in "XXX".');
    assert.match(await problem('abc,UGX,256772123456,NONE,,'), /^method: .*; amount: Enter the amount/);
  });

  test('limits are named where the method is known, though the number is wrong', async () => {
    assert.match(await problem('99999999999,UGX,12,MTN_MOMO_UGA,,'), /^mobile: .*; amount: The largest amount for MTN/);
    assert.match(
      await problem('abc,XXX,12,,,', 'fr'),
      /^currency: Aucun .*; mobile: Ce n’est pas .*; amount: Saisissez/,
    );
  });
});
