// "Find your payment": the payer who has the SMS and the number finds it; a stranger learns nothing, not even from the work done.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { collectInKenya } from '../../test/client.ts';
import { createTestGateway, type TestGateway } from '../../test/gateway.ts';
import { createShop, type Shop } from '../../test/shop.ts';
import { idFromRef } from '../payments/transactions.ts';
import { NO_HOLDER } from '../platform/ids.ts';

let gateway: TestGateway;
let shop: Shop;
before(async () => {
  gateway = await createTestGateway();
  shop = await createShop(gateway.ctx, 'Duka la Amani');
});
after(() => gateway.close());

type Fields = Record<string, string>;

async function send(path: string, fields: Fields): Promise<{ status: number; body: string }> {
  // Searches of one test do not count against the next.
  await gateway.ctx.db.query('delete from guesses');
  return post(path, fields);
}

async function post(path: string, fields: Fields): Promise<{ status: number; body: string }> {
  const reply = await gateway.app.inject({
    method: 'POST',
    url: path,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams(fields).toString(),
  });
  return { status: reply.statusCode, body: reply.body };
}

async function paid(mobile: string): Promise<{ id: string; receipt: string; sms: string }> {
  const id = idFromRef(await collectInKenya(gateway, shop, { mobile })) ?? '';
  const [row] = await gateway.ctx.db.query<{ receipt: string | null }>(
    'select receipt from transactions where id = $1',
    [id],
  );
  const receipt = row?.receipt ?? '';
  return {
    id,
    receipt,
    sms: `${receipt} Confirmed. Ksh2,500.00 paid to DUKA on 2/3/26 at 12:05 PM. New balance is Ksh10.00.`,
  };
}

const caseOf = async (kind = 'payer_report') =>
  gateway.ctx.db.query<{ holder_id: bigint; transaction_id: string | null; detail: Record<string, unknown> }>(
    'select holder_id, transaction_id, detail from cases where kind = $1 order by opened_at, id',
    [kind],
  );

describe('a payer', () => {
  test('finds the payment with the pasted SMS and the number, and may open the receipt', async () => {
    const { sms } = await paid('254712345000');
    const answer = await send('/find', { text: sms, number: '0712 345 000' });
    assert.equal(answer.status, 200);
    assert.match(answer.body, /We found your payment/);
    assert.match(answer.body, /Duka la Amani on \d+ \w+ \d{4}, \d\d:\d\d \(EAT\)/, 'the time of the payer’s country');
    assert.match(answer.body, /href="\/r\/[0-9A-Z]{5}-/);
    assert.ok(!answer.body.includes('/find/report'), 'nothing is left to report');
  });

  test('finds it by number, exact amount and day, without the receipt', async () => {
    await paid('254712346000');
    const answer = await send('/find', { number: '+254712346000', amount: '2,500', day: '2/3/2026' });
    assert.match(answer.body, /We found your payment/);
    assert.ok(!/href="\/r\//.test(answer.body), 'no receipt without its number');
    for (const wrong of [{ amount: '2,501' }, { day: '3/3/2026' }, { number: '+254712346001' }]) {
      const other = await send('/find', { number: '+254712346000', amount: '2,500', day: '2/3/2026', ...wrong });
      assert.match(other.body, /We cannot find it with these details/, JSON.stringify(wrong));
    }
  });

  test('hears what waits, what failed and what was given back', async () => {
    const details = { amount: '2500', day: '2026-03-02' };
    await collectInKenya(gateway, shop, { mobile: '254712347005' });
    assert.match((await send('/find', { number: '254712347005', ...details })).body, /on its way/);
    await collectInKenya(gateway, shop, { mobile: '254712347001' });
    const failed = await send('/find', { number: '254712347001', ...details });
    assert.match(failed.body, /did not succeed/);
    assert.match(failed.body, /action="\/find\/report"/);
    await collectInKenya(gateway, shop, { mobile: '254712347008' });
    await gateway.advance(61_000);
    assert.match((await send('/find', { number: '254712347008', ...details })).body, /The money was returned/);
  });

  test('hears that money arrived whose order is not known, also where the operator hides digits', async () => {
    const { ctx } = gateway;
    await ctx.db.query(
      `insert into incoming_payments (rail, receipt, account_reference, amount, currency, payer, holder_id, outcome, received_at)
       values ('sandbox', 'HELD5Y6Z7X', 'X', 123400, 'KES', '2547****456', 0, 'suspense', $1)`,
      [ctx.clock.now()],
    );
    const held = await send('/find', { receipt: 'held5y6z7x', number: '0712 345 456' });
    assert.match(held.body, /Your money has arrived/);
    assert.match(held.body, /KES\s1\s234/);
    const other = await send('/find', { receipt: 'HELD5Y6Z7X', number: '0712 345 457' });
    assert.match(other.body, /We cannot find it/);
  });

  test('reads the page in four languages', async () => {
    for (const [language, title] of [
      ['en', 'Find your payment'],
      ['fr', 'Retrouver votre paiement'],
      ['pt', 'Encontrar o seu pagamento'],
      ['sw', 'Tafuta malipo yako'],
    ])
      assert.match((await gateway.app.inject({ url: `/find?lang=${language}` })).body, new RegExp(`<h1>${title}</h1>`));
  });
});

describe('a stranger', () => {
  test('needs both: the receipt alone, the number alone, or another number, answer nothing', async () => {
    const { receipt } = await paid('254712348000');
    assert.equal((await send('/find', { receipt })).status, 400);
    assert.equal((await send('/find', { number: '254712348000' })).status, 400);
    const other = await send('/find', { receipt, number: '254712348999' });
    const nowhere = await send('/find', { receipt: 'ZZZZZZZZ99', number: '254712348999' });
    assert.equal(other.status, 200);
    assert.equal(other.body.replaceAll(receipt, ''), nowhere.body.replaceAll('ZZZZZZZZ99', ''), 'the same answer');
    assert.ok(!other.body.includes('Duka'));
  });

  test('causes the same statements, whatever is right about the details', async () => {
    const { receipt } = await paid('254712349000');
    const once = async (fields: Fields) => {
      await gateway.ctx.db.query('delete from guesses');
      const before = gateway.ctx.db.counters.statements;
      await post('/find', fields);
      return gateway.ctx.db.counters.statements - before;
    };
    // The callback of the payment is still on its way: other work can only add statements, so the fewest are the search's own.
    const work = async (fields: Fields) =>
      Math.min(await once(fields), await once(fields), await once(fields), await once(fields));
    const nowhere = await work({ receipt: 'ZZZZZZZZ99', number: '254712349999' });
    assert.equal(await work({ receipt, number: '254712349999' }), nowhere);
    assert.equal(await work({ receipt: 'ZZZZZZZZ99', number: '254712349000' }), nowhere);
    assert.equal(await work({ number: '254712349000', amount: '1', day: '2/3/26' }), nowhere);
  });

  test('is held back after a few searches for one number', async () => {
    await gateway.ctx.db.query('delete from guesses');
    const tries = [];
    for (let each = 0; each < 7; each++)
      tries.push((await post('/find', { number: '254712340999', amount: String(each + 1), day: '2/3/26' })).status);
    assert.deepEqual(tries, [200, 200, 200, 200, 200, 429, 429]);
    const [counted] = await gateway.ctx.db.query<{ key: Buffer }>('select key from guesses limit 1');
    assert.ok(counted && !counted.key.toString('latin1').includes('254712340999'), 'no number is stored');
  });

  test('has no more searches for a number that is written in another way', async () => {
    await gateway.ctx.db.query('delete from guesses');
    const search = async (number: string, amount: number) =>
      (await post('/find', { number, amount: String(amount), day: '2/3/26' })).status;
    // In national form it is a number of several countries.
    for (let each = 1; each <= 5; each++) assert.equal(await search('0772 341 999', each), 200);
    assert.equal(await search('+256 772 341 999', 6), 429);
    assert.equal(await search('256772341999', 7), 429);
    assert.equal(await search('+256 772 342 999', 8), 200, 'another number');
  });
});

describe('a report', () => {
  test('goes to the merchant where the payer proved the payment, else to admins, once', async () => {
    await collectInKenya(gateway, shop, { mobile: '254712350001' });
    const known = { number: '254712350001', amount: '2500', day: '2026-03-02', text: 'the SMS' };
    const unknown = { number: '254712351001', receipt: 'QQ11WW22EE' };
    for (const fields of [known, known, unknown, unknown]) {
      const answer = await send('/find/report', fields);
      assert.match(answer.body, /Thank you, we look for it[\s\S]*case_[0-9A-Z]{26}/);
    }
    const cases = await caseOf();
    assert.equal(cases.length, 2);
    const own = cases.find((each) => each.holder_id === shop.holderId);
    assert.deepEqual([own?.transaction_id === null, own?.detail.state], [false, 'failed']);
    assert.equal(cases.find((each) => each.holder_id === NO_HOLDER)?.detail.receipt, 'QQ11WW22EE');
  });

  test('is taken from one address a few times in an hour', async () => {
    await gateway.ctx.db.query('delete from guesses');
    const before = (await caseOf()).length;
    const statuses = [];
    for (let each = 0; each < 25; each++)
      statuses.push((await post('/find/report', { number: `2547123600${10 + each}`, receipt: 'QQ11WW22EE' })).status);
    assert.deepEqual([...new Set(statuses.slice(0, 20))], [200]);
    assert.deepEqual([...new Set(statuses.slice(20))], [429]);
    assert.equal((await caseOf()).length - before, 20, 'a stranger must not bury the cases of others');
  });

  test('is refused from another site', async () => {
    const reply = await gateway.app.inject({
      method: 'POST',
      url: '/find/report',
      headers: { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'cross-site' },
      payload: 'number=254712351001&receipt=QQ11WW22EE',
    });
    assert.equal(reply.statusCode, 403);
  });
});
