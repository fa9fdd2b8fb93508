// Finding in the console: what people hold in their hand finds the payment, and the list counts what its filters match.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { parse } from 'csv-parse/sync';
import { receiptCode } from '../src/checkout/receipt-codes.ts';
import { COMMAND_LINE } from '../src/holders/audit.ts';
import { createLink, linkId } from '../src/links/links.ts';
import { topUpSandbox } from '../src/payments/sandbox-top-up.ts';
import { findTransaction, idFromRef, type Transaction } from '../src/payments/transactions.ts';
import { DAY_MS } from '../src/platform/clock.ts';
import { shortId } from '../src/platform/ids.ts';
import { collectInKenya } from './client.ts';
import { addPerson, importPayouts, type Person, payOut } from './console-harness.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';
import { createShop, type Shop } from './shop.ts';

let gateway: TestGateway;
let shop: Shop;
let person: Person;
let paid: string;
let row: Transaction;

before(async () => {
  gateway = await createTestGateway();
  shop = await createShop(gateway.ctx, 'Duka la Amani');
  paid = await collectInKenya(gateway, shop, {
    mobile: '254712309000',
    amount: 2500,
    third_party_reference_1: 'Order-1042',
  });
  await collectInKenya(gateway, shop, { mobile: '254722111001', amount: 700, third_party_reference_1: 'Order-1043' });
  await gateway.settle();
  const found = await findTransaction(gateway.ctx.db, shop.holderId, idFromRef(paid) ?? '');
  assert.ok(found?.status === 'success' && found.receipt);
  row = found;
  await topUpSandbox(gateway.ctx, COMMAND_LINE, shop.holderId, 'KES', 5_000_000n);
  person = await addPerson(gateway, shop.holderId, 'owner', 'amina@example.org');
});
after(() => gateway.close());

async function searched(q: string, who: Person = person): Promise<string> {
  const answer = await who.get(`/console/search?q=${encodeURIComponent(q)}`);
  if (answer.location) return answer.location;
  assert.equal(answer.status, 200);
  return answer.text.slice(answer.text.indexOf('<main'));
}

async function suggested(q: string): Promise<string> {
  const answer = await person.get(`/console/search/suggestions?q=${encodeURIComponent(q)}`);
  assert.equal(answer.status, 200);
  return answer.text;
}

describe('every row of the table of searches finds', () => {
  for (const q of [
    '0712309000',
    '0712 309 000',
    '0712 309',
    '+254712309000',
    '254712309',
    '712309',
    '00254 712 309 000',
    '309000',
  ])
    test(`the number ${q}`, async () => {
      assert.ok((await searched(q)).includes(paid));
      assert.ok((await suggested(q)).includes(paid));
      if (q !== '309000') assert.ok(!(await searched(q)).includes('Order-1043'), 'and no other number');
    });

  test('the short reference that tables show, the whole one in any case, its beginning and its end', async () => {
    for (const q of [shortId(paid), shortId(paid).toLowerCase(), paid, paid.toLowerCase(), `…${shortId(paid)}…`])
      assert.ok((await searched(q)).includes(paid), q);
    for (const q of [paid.slice(3), paid.slice(0, 15), paid.slice(-16)])
      assert.ok((await searched(q)).includes(paid), q);
  });

  test('the receipt code of the payer, with and without dashes', async () => {
    const code = await receiptCode(gateway.ctx, row);
    for (const q of [code, code.replaceAll('-', ''), code.toLowerCase()])
      assert.ok((await searched(q)).includes(paid), q);
    assert.ok(!(await searched(`${code.slice(0, -1)}${code.endsWith('0') ? '1' : '0'}`)).includes(paid));
  });

  test('the receipt of the operator, and an own reference by its beginning', async () => {
    for (const q of [row.receipt ?? '', (row.receipt ?? '').toLowerCase(), 'Order-1042', 'Order-10'])
      assert.ok((await searched(q)).includes(paid), q);
  });

  test('the whole SMS of the operator, pasted', async () => {
    const sms = `${row.receipt} Confirmed. Ksh2,500.00 paid to DUKA LA AMANI. on 2/3/26 at 12:05 PM.New M-PESA balance is Ksh1,234.00.`;
    assert.ok((await searched(sms)).includes(paid));
    assert.ok((await suggested(sms)).includes(paid));
  });

  test('an amount, as it is written anywhere', async () => {
    for (const q of ['2500', '2 500', '2,500', 'KES 2 500', 'KES 2500', 'Ksh 2,500', '2500 KES'])
      assert.ok((await searched(q)).includes(paid), q);
    assert.ok(!(await searched('UGX 2500')).includes(paid), 'another currency is another amount');
  });

  test('a request id, a client id, an e-mail of the team, a page and an action', async () => {
    const request = 'req_01JD8ZK7Q3V9M2X4T6B8N0P1R5';
    assert.equal(await searched(request), `/console/requests?id=${request}`);
    assert.ok((await searched(shop.clientId)).includes(`/console/integrations/${shop.clientId}`));
    assert.match(await searched('amina@example.org'), /Team member · amina@example\.org · Owner/);
    assert.ok((await searched('payouts')).includes('href="/console/payouts"'));
    assert.ok((await searched('new link')).includes('href="/console/links/new"'));
    assert.ok((await suggested('webhooks')).includes('href="/console/callbacks"'));
  });

  test('a payee, an invoice, the item of a link, a payout file', async () => {
    const payout = await payOut(person, {
      amount: '150',
      currency: 'KES',
      mobile: '0712346000',
      method: 'MPESA_KEN',
      payee: 'Wanjiku Otieno',
      invoice_no: 'INV-77',
    });
    const ref = /TX_\w{26}/.exec(payout.location ?? '')?.[0] ?? 'none';
    for (const q of ['wanjiku', 'INV-77']) assert.ok((await searched(q)).includes(ref), q);
    const owner = { holderId: shop.holderId, integrationId: shop.id, defaultCallbackUrl: null };
    const link = await createLink(gateway.ctx, owner, { country_id: 1, currency: 'KES', item_name: 'Fruit basket' });
    assert.ok((await searched('fruit')).includes(`/console/links/${linkId(link)}`));
    await importPayouts(person, {
      name: 'Wages March',
      csv: 'amount,currency,mobile,method,payee\n100,KES,0712345000,MPESA_KEN,Juma',
    });
    const file = /href="(\/console\/payouts\/files\/bat_\w+)"/.exec(await searched('wages'))?.[1] ?? '';
    assert.equal((await person.get(file)).status, 200);
    const list = (await person.get('/console/transactions')).text;
    assert.match(list, /Payout · Wages March/);
  });
});

test('a search finds nothing of another holder', async () => {
  const other = await createShop(gateway.ctx, 'Other shop');
  const stranger = await addPerson(gateway, other.holderId, 'owner', 'stranger@example.org');
  const code = await receiptCode(gateway.ctx, row);
  for (const q of [
    paid,
    shortId(paid),
    code,
    row.receipt ?? '',
    '0712309000',
    'Order-1042',
    '2500',
    shop.clientId,
    'amina@example.org',
  ])
    assert.ok(!(await searched(q, stranger)).includes(`transactions/${paid}`), q);
  assert.doesNotMatch(await searched('amina', stranger), /Team member/);
});

test('the list says who, why and how much, and counts what its filters match', async () => {
  const { text } = await person.get('/console/transactions?type=collection');
  const plain = text.replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ');
  assert.match(plain, /0712 309 000/);
  assert.match(plain, /Failed\s+Not enough money/);
  assert.match(plain, /All 2 Succeeded 1 Failed 1 Waiting 0 Refunded 0/);
  assert.match(plain, /2 transactions · KES.2.500 in · 50 % succeeded/);
  assert.match(text, /aria-label="Remove filter: Collection"/);
  const failed = (await person.get('/console/transactions?type=collection&status=failed')).text;
  assert.ok(failed.includes('Order-1043') && !failed.includes('Order-1042'));
});

test('dates are those of the holder’s zone, by name and by day', async () => {
  const { ctx } = gateway;
  const night = await createShop(ctx, 'Night shop');
  await ctx.ownerDb.query(`update holders set time_zone = 'Africa/Nairobi' where id = $1`, [night.holderId]);
  // 22:30 UTC is half past one of the next day in Nairobi.
  const day = Math.ceil(ctx.clock.millis() / DAY_MS) * DAY_MS;
  ctx.clock.set(new Date(day + 22.5 * 3_600_000));
  await collectInKenya(gateway, night, { mobile: '254712345000', third_party_reference_1: 'after-midnight' });
  let owner = await addPerson(gateway, night.holderId, 'owner', 'night@example.org');
  const lists = async (query: string) =>
    (await owner.get(`/console/transactions?${query}`)).text.includes('after-midnight');
  const utcDay = new Date(day).toISOString().slice(0, 10);
  const nextDay = new Date(day + DAY_MS).toISOString().slice(0, 10);
  assert.ok(await lists('range=today'));
  assert.ok(await lists(`from=${nextDay}&to=${nextDay}`));
  assert.ok(!(await lists(`from=${utcDay}&to=${utcDay}`)));
  ctx.clock.set(new Date(day + 45 * 3_600_000 + 60_000));
  owner = await addPerson(gateway, night.holderId, 'owner', 'morning@example.org');
  assert.ok(!(await lists('range=today')));
  assert.ok(await lists('range=week'));
});

test('pages go both ways and each order shows every row once', async () => {
  const { ctx } = gateway;
  const big = await createShop(ctx, 'Big shop');
  await ctx.ownerDb.query(
    `insert into transactions (holder_id, id, direction, status, amount, fee, currency, country_id, method, rail, msisdn,
                               reference_1, verification, created_at, updated_at)
     select $1, ('01900000-' || lpad(to_hex(n), 4, '0') || '-7000-8000-' || lpad(to_hex($1::bigint), 12, '0'))::uuid, 'collection',
            'failed', 100 * ((n * 37) % 121), 0, 'KES', 1, 'MPESA_KEN', 'sandbox', '254712345000', 'n' || n, 'prompt', $2, $2
     from generate_series(1, 120) n where (n * 37) % 121 > 0`,
    [big.holderId, ctx.clock.now()],
  );
  const owner = await addPerson(gateway, big.holderId, 'owner', 'big@example.org');
  const follow = async (start: string, rel: 'next' | 'prev') => {
    const seen: string[] = [];
    let path: string | null = start;
    let last = start;
    while (path !== null) {
      const { text } = await owner.get(path);
      last = path;
      seen.push(...[...text.matchAll(/<bdi>n(\d+)<\/bdi>/g)].map(([, n = '']) => n));
      const href = new RegExp(`rel="${rel}" href="([^"]+)"`).exec(text)?.[1] ?? null;
      path =
        href?.replace(/&#(\d+);/g, (_, code: string) => String.fromCodePoint(Number(code))).replaceAll('&amp;', '&') ??
        null;
    }
    return { seen, last };
  };
  const down = await follow('/console/transactions', 'next');
  assert.deepEqual(
    down.seen,
    Array.from({ length: 120 }, (_, index) => String(120 - index)),
  );
  const up = await follow(down.last, 'prev');
  assert.equal(new Set(up.seen).size, 120);
  assert.deepEqual((await follow('/console/transactions?sort=oldest', 'next')).seen, down.seen.toReversed());
  const largest = (await follow('/console/transactions?sort=largest', 'next')).seen;
  assert.deepEqual(
    largest.map((n) => (Number(n) * 37) % 121),
    Array.from({ length: 120 }, (_, index) => 120 - index),
  );
});

test('a filter is kept under a name, for its member only', async () => {
  const viewer = await addPerson(gateway, shop.holderId, 'viewer', 'viewer@example.org');
  const save = (name: string, query = 'status=failed') => viewer.post(`/console/transactions/saved?${query}`, { name });
  const saved = await save('Failed this month', 'status=failed&range=month&evil=1');
  assert.match(saved.location ?? '', /^\/console\/transactions\?status=failed&range=month&done=saved$/);
  assert.match((await viewer.get('/console/transactions')).text, /Failed this month/);
  assert.doesNotMatch((await person.get('/console/transactions')).text, /Failed this month/);
  for (let number = 0; number < 19; number++) await save(`filter ${number}`);
  const many = await save('one more');
  assert.equal(many.status, 400);
  assert.match(many.text, /name="name" type="text" value="one more"/);
  await viewer.post('/console/transactions/saved/remove', { name: 'Failed this month' });
  assert.doesNotMatch((await viewer.get('/console/transactions')).text, /Failed this month/);
});

test('every list is exported with the rows that it shows', async () => {
  // The clock has moved on by a day, and the session of before is over.
  const finance = await addPerson(gateway, shop.holderId, 'owner', 'exports@example.org');
  const csv = async (path: string) => {
    const answer = await finance.get(path);
    assert.equal(answer.status, 200, path);
    assert.match(
      answer.headers.get('content-disposition') ?? '',
      /attachment; filename="[A-Za-z-]+-\d{4}-\d{2}-\d{2}\.csv"/,
    );
    return answer.text;
  };
  assert.match(await csv('/console/payouts.csv'), /Wanjiku Otieno.*amina@example\.org/);
  assert.match(await csv('/console/payouts.csv'), /Wages March/);
  for (const group of ['waiting', 'open', 'paid', 'failed']) {
    const list = (await finance.get(`/console/payouts?show=${group}`)).text;
    assert.ok(list.replaceAll('&#61;', '=').includes(`/console/payouts.csv?show=${group}`), group);
    const rows = (await csv(`/console/payouts.csv?show=${group}`)).trim().split('\r\n').slice(1);
    const refs = new Set([...list.matchAll(/\/console\/transactions\/(TX_\w+)/g)].map(([, ref]) => ref));
    assert.deepEqual(new Set(rows.map((row) => /TX_\w+/.exec(row)?.[0])), refs, group);
  }
  assert.match(await csv('/console/links.csv'), /Fruit basket/);
  assert.doesNotMatch(await csv('/console/links.csv?status=disabled'), /Fruit basket/);
  assert.match(await csv('/console/callbacks.csv'), new RegExp(`collection\\.success.*${paid}`));
  assert.match(await csv('/console/audit.csv'), /amina@example\.org/);
  const failed = (await csv('/console/transactions.csv?status=failed')).split('\r\n');
  assert.match(failed[1] ?? '', /^"TX_\w{26}","collection","failed","?700(?:\.00)?"?,"?0(?:\.00)?"?,/);
  for (const path of ['payouts', 'links', 'callbacks', 'audit', 'transactions', 'balances/KES/statement']) {
    const rows = parse(await csv(`/console/${path}.csv`), { columns: true }) as Record<string, string>[];
    const times = rows.flatMap((row) =>
      Object.entries(row).filter(([name, cell]) => /(^|_)at$/.test(name) && cell !== ''),
    );
    assert.ok(times.length > 0, path);
    // A time that does not say its zone is taken for that of the reader.
    for (const [name, cell] of times) assert.match(cell, /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/, `${path}: ${name}`);
  }
  for (const page of ['payouts', 'links', 'callbacks', 'audit', 'transactions'])
    assert.match((await finance.get(`/console/${page}`)).text, new RegExp(`href="/console/${page}\\.csv\\?`), page);
});
