// Receipt codes: found however they are typed, and never invented.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createTestContext } from '../../test/harness.ts';
import { createHolderUuid } from '../platform/ids.ts';
import { findReceipt, normaliseReceiptCode, receiptCode } from './receipt-codes.ts';

describe('receipt codes', () => {
  let ctx: Awaited<ReturnType<typeof createTestContext>>;
  before(async () => {
    ctx = await createTestContext();
  });
  after(() => ctx.close());

  test('a receipt is found by its code however it is typed, and no other code is one', async () => {
    const transaction = { holder_id: 7n, id: createHolderUuid(ctx.clock.millis(), 7n) } as never;
    const code = await receiptCode(ctx as never, transaction);
    assert.match(code, /^[0-9A-Z]{5}-[0-9A-Z]{5}-[0-9A-Z]{4}$/);
    assert.equal(await receiptCode(ctx as never, transaction), code, 'one transaction, one code');
    const typed = code.toLowerCase().replaceAll('-', ' ').replaceAll('0', 'o').replaceAll('1', 'l');
    assert.equal(await findReceipt(ctx, ctx.db, typed), (transaction as { id: string }).id);
    assert.equal(normaliseReceiptCode(typed), code);
    const before = ctx.db.counters.statements;
    const wrong = code.slice(0, -1) + (code.endsWith('7') ? '8' : '7');
    assert.equal(await findReceipt(ctx, ctx.db, wrong), null);
    assert.equal(ctx.db.counters.statements, before, 'a code that was not signed is not even looked up');
    for (const nonsense of ['', 'x', 'A'.repeat(60), "'; drop table receipts; --"])
      assert.equal(await findReceipt(ctx, ctx.db, nonsense), null);
  });
});
