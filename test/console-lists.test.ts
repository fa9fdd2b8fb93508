// What the console counts and lists: money by the day it was posted, every open case, and all evidence, page by page.

import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { countOpenCases } from '../src/payments/case-list.ts';
import { openCases } from '../src/payments/cases.ts';
import type { CaseKind } from '../src/payments/states.ts';
import { idFromRef } from '../src/payments/transactions.ts';
import { DAY_MS } from '../src/platform/clock.ts';
import { createHolderUuid, NO_HOLDER, publicId } from '../src/platform/ids.ts';
import type { Observation } from '../src/rails/rail.ts';
import { collectInKenya } from './client.ts';
import { addPerson, type Person } from './console-harness.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';
import { createShop, type Shop } from './shop.ts';

let gateway: TestGateway;
let shop: Shop;
let owner: Person;

before(async () => {
  gateway = await createTestGateway();
  shop = await createShop(gateway.ctx, 'Duka la Amani');
});
// Sessions end while the clock moves, so each test has its own.
let people = 0;
beforeEach(async () => {
  owner = await addPerson(gateway, shop.holderId, 'owner', `owner${people++}@example.org`, { admin: true });
});
after(() => gateway.close());

async function collect(of: Shop = shop, mobile = '254712345000'): Promise<string> {
  const row = [...gateway.ctx.catalog.collectionCountries.values()].find((each) => each.currency === 'KES');
  return collectInKenya(gateway, of, {
    amount: 2500,
    country_id: row?.countryId ?? 1,
    currency: 'KES',
    mobile,
    payment_method_type: row?.methods[0]?.code ?? '',
  });
}

function report(ref: string, observation: Observation) {
  return gateway.services.payments.engine.apply({
    transactionId: idFromRef(ref) ?? '',
    source: 'callback',
    observation,
    raw: `said at ${gateway.ctx.clock.now().toISOString()}`,
    rail: 'sandbox',
  });
}

/** What was collected and refunded on a day, by the table behind the chart. */
function moneyOf(page: string, day: Date): string[] {
  const table = page.slice(page.indexOf('Collected by day'));
  const label = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' }).format(day);
  const row = new RegExp(`<tr[^>]*><td[^>]*><div>\\w{3},? ${label}<.*?</tr>`, 's').exec(table)?.[0] ?? '';
  const cells = [...row.matchAll(/<td[^>]*>(.*?)<\/td>/gs)].map(([, cell = '']) => cell.replace(/<[^>]+>/g, ''));
  return [cells[1], cells[5]].map((cell) => (cell ?? '').replace(/[^\d.]/g, ''));
}

/** A page waits only a moment for a count, so a busy machine shows the home page before it is counted. */
async function home(person: Person, isCounted: (page: string) => boolean): Promise<string> {
  let page = '';
  for (let tries = 0; tries < 100; tries++) {
    page = (await person.get('/console')).text;
    if (isCounted(page)) break;
  }
  return page;
}

test('money 25: a reversal on day five is given back on day five; day one does not change', async () => {
  const first = gateway.ctx.clock.now();
  const ref = await collect();
  const dayOne = await home(owner, (page) => moneyOf(page, first)[0] === '2500');
  assert.deepEqual(moneyOf(dayOne, first), ['2500', '0']);
  gateway.ctx.clock.advance(4 * DAY_MS);
  const person = await addPerson(gateway, shop.holderId, 'viewer', 'viewer@example.org');
  await person.get('/console');
  await report(ref, { state: 'reversed', receipt: null, rawCode: '', message: '' });
  gateway.ctx.clock.advance(60_000);
  const page = await home(person, (text) => moneyOf(text, gateway.ctx.clock.now())[1] === '2500');
  assert.deepEqual(moneyOf(page, first), ['2500', '0']);
  assert.deepEqual(moneyOf(page, gateway.ctx.clock.now()), ['0', '2500']);
});

test('money 25: money counts on the day it was posted, not on the day its payment was made', async () => {
  const other = await createShop(gateway.ctx, 'Night shop');
  const midnight = Math.ceil(gateway.ctx.clock.millis() / DAY_MS) * DAY_MS;
  gateway.ctx.clock.set(new Date(midnight - 60_000));
  const evening = gateway.ctx.clock.now();
  // It rings, and is paid after midnight.
  const ref = await collect(other, '254712345555');
  gateway.ctx.clock.set(new Date(midnight + 1_000));
  await report(ref, { state: 'succeeded', receipt: 'NIGHT' });
  const person = await addPerson(gateway, other.holderId, 'viewer', 'night@example.org');
  const page = await home(person, (text) => moneyOf(text, gateway.ctx.clock.now())[0] === '2500');
  assert.deepEqual(moneyOf(page, gateway.ctx.clock.now()), ['2500', '0']);
  assert.deepEqual(moneyOf(page, evening), ['0', '0']);
});

/** Follows a list to its end and returns the ids of its cases in order. */
async function walk(person: Person, start: string): Promise<string[]> {
  const ids: string[] = [];
  for (let path: string | null = start; path !== null; ) {
    const { text } = await person.get(path);
    ids.push(...[...text.matchAll(/href="\/console(?:\/admin)?\/cases\/(case_\w+)"/g)].map(([, id = '']) => id));
    path =
      /rel="next" href="([^"]+)"/
        .exec(text)?.[1]
        ?.replaceAll('&#61;', '=')
        .replaceAll('&amp;', '&')
        .replaceAll('&#38;', '&') ?? null;
  }
  return ids;
}

test('money 26: every open case is reachable, by kind, in both orders, with a count', async () => {
  const kinds: CaseKind[] = ['no_answer', 'contradiction', 'unknown_reference'];
  const opened: string[] = [];
  for (let number = 100; number < 370; number++) {
    gateway.ctx.clock.advance(number % 3 === 0 ? 1_000 : 0);
    const kind = kinds[number % 3] ?? 'no_answer';
    const holderId = kind === 'unknown_reference' ? NO_HOLDER : shop.holderId;
    const id = createHolderUuid(gateway.ctx.clock.millis(), holderId);
    await gateway.ctx.db.transaction((tx) =>
      openCases(tx, gateway.ctx, [
        {
          id,
          holderId,
          transactionId: null,
          kind,
          detail: {},
          ...(holderId === NO_HOLDER ? { money: { amount: 5_000n, currency: 'KES', rail: 'sandbox' } } : {}),
        },
      ]),
    );
    opened.push(publicId('case', id));
  }
  const everything = await walk(owner, '/console/admin/cases');
  assert.deepEqual(new Set(everything), new Set(opened));
  assert.equal(everything.length, opened.length);
  const oldest = await walk(owner, '/console/admin/cases?order=oldest');
  assert.deepEqual(oldest, everything.toReversed());
  const suspense = await walk(owner, '/console/admin/cases?kind=unknown_reference&order=oldest');
  assert.equal(suspense.length, 90);
  const first = (await owner.get('/console/admin/cases?kind=unknown_reference')).text;
  assert.match(first.replace(/<[^>]+>/g, ''), /Unmatched payment90.*KES.50/s);
  assert.doesNotMatch(first, /\/resolve/, 'a case that holds money is not closed by a note');
  const own = await owner.get('/console/cases?kind=contradiction');
  assert.match(own.text, /All<span>180</);
  assert.equal((await countOpenCases(gateway.ctx.db, shop.holderId)).get('contradiction'), 90);
  assert.match((await owner.get('/console')).text, /180 payments to review/);
});

test('money 26: the newest evidence is shown, and the rest is a page away', async () => {
  const ref = await collect();
  for (let count = 0; count < 210; count++) await report(ref, { state: 'succeeded', receipt: null });
  await report(ref, { state: 'reversed', receipt: null, rawCode: 'GIVEN-BACK', message: '' });
  const page = (await owner.get(`/console/transactions/${ref}`)).text;
  assert.match(page, /<li class="warning">/, 'the reversal is shown');
  const older = /href="([^"]+reports_before[^"]+)"/.exec(page)?.[1]?.replaceAll('&#61;', '=') ?? '';
  const first = (await owner.get(older)).text;
  assert.match(first, /submit|sent/i);
  assert.doesNotMatch(first, /Older reports/);
});

test('an empty list says why: nothing fits the filter, or there is nothing yet', async () => {
  const other = await createShop(gateway.ctx, 'Empty lists');
  const person = await addPerson(gateway, other.holderId, 'owner', 'empty@example.org');
  const viewer = await addPerson(gateway, other.holderId, 'viewer', 'reader@example.org');
  const main = async (path: string, by: Person = person) => (await by.get(path)).text.split('<main')[1] ?? '';
  assert.match(await main('/console/callbacks'), /No callbacks yet/);
  assert.match(await main('/console/transactions'), /Try a test payment on the home page/);
  // The form of a test payment is not shown to viewers.
  assert.doesNotMatch(await main('/console/transactions', viewer), /test payment/i);
  await collect(other);
  await gateway.settle();
  for (const path of ['/console/callbacks?status=given_up', '/console/requests?status=5']) {
    assert.match(await main(path), /No matches/, path);
    assert.doesNotMatch(await main(path), /No (?:callbacks|requests) yet/, path);
  }
});
