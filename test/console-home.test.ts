// The home page: figures of the shop's own days that agree with its list, and what needs a person. The settings: the name and
// the time zone of the account.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { COMMAND_LINE, listAudit } from '../src/holders/audit.ts';
import { changeHolder, findHolder } from '../src/holders/holders.ts';
import { DAY_MS } from '../src/platform/clock.ts';
import { clientOf, collectInKenya, PATHS } from './client.ts';
import { addPerson, csrfOf, type Person, signIn, visitor } from './console-harness.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';
import { createShop, type Shop } from './shop.ts';

/** A busy machine may need longer for the first count than a page waits. */
const MAX_TRIES = 20;

let gateway: TestGateway;
let shop: Shop;
let owner: Person;
let shops = 0;

before(async () => {
  gateway = await createTestGateway({ ALLOW_SIGN_UP: 'true' });
});
after(() => gateway.close());

beforeEach(async () => {
  shop = await createShop(gateway.ctx, `Home ${++shops}`);
  owner = await addPerson(gateway, shop.holderId, 'owner', `home${shops}@example.org`);
});

const textOf = (page: string) =>
  page
    .slice(page.indexOf('<main'), page.indexOf('<footer'))
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll(/[\s\u202f]+/g, ' ');

/** The page in a session of its own: the clock moves further than a session lasts. */
/** A page that waits a second for figures, and then shows those of before, is asked again until it has the expected one. */
async function homePage(query = '', expected = /(?:)/): Promise<string> {
  const person = await signIn(gateway, owner.member);
  let last = '';
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const { text } = await person.get(`/console${query}`);
    last = text;
    if (!text.includes('Still counting') && expected.test(collectedOf(textOf(text)))) break;
  }
  return last;
}

async function home(query = '', expected?: RegExp): Promise<string> {
  return textOf(await homePage(query, expected));
}

/** Of the figure of what was collected. */
async function assertCollected(query: string, expected: RegExp): Promise<void> {
  assert.match(collectedOf(await home(query, expected)), expected);
}

/** The figure of a card, and the notes below it up to the next card. */
function cardOf(page: string, label: string, next: string): string {
  return new RegExp(` ${label} (.*?) ${next} `).exec(page)?.[1] ?? `no ${label} in: ${page.slice(0, 900)}`;
}
const collectedOf = (page: string) => cardOf(page, 'Collected', 'Available balance');

function setClock(time: string): void {
  const day = new Date(gateway.ctx.clock.millis() + 2 * DAY_MS).toISOString().slice(0, 10);
  gateway.ctx.clock.set(new Date(`${day}T${time}Z`));
}

async function chooseZone(timeZone: string): Promise<void> {
  await changeHolder(gateway.ctx, COMMAND_LINE, shop.holderId, { name: 'Zoned', timeZone });
}

describe('the figures of the home page', () => {
  test('experience 5: the day of a shop in Nairobi begins at its own midnight', async () => {
    await chooseZone('Africa/Nairobi');
    setClock('20:30:00');
    await collectInKenya(gateway, shop, { amount: 1000 });
    gateway.ctx.clock.advance(DAY_MS / 24);
    await collectInKenya(gateway, shop, { amount: 300 });
    await assertCollected('?range=today', /^KES 300 KES 1 000 yesterday, the whole day 1 payment/);
    await assertCollected('?range=7d', /^KES 1 300 None in the 7 days before 2 payments/);
    assert.match(await home(), /Nairobi time/);
  });

  test('are counted again after the time zone has changed', async () => {
    setClock('20:30:00');
    await collectInKenya(gateway, shop, { amount: 1000 });
    gateway.ctx.clock.advance(DAY_MS / 24);
    await collectInKenya(gateway, shop, { amount: 300 });
    await assertCollected('?range=today', /^KES 1 300 /);
    await chooseZone('Africa/Nairobi');
    await assertCollected('?range=today', /^KES 300 /);
    await chooseZone('UTC');
    await assertCollected('?range=today', /^KES 1 300 /);
  });

  test('experience 8: never contradict the list below: a payment counts at once', async () => {
    await assertCollected('?range=today', /^0 /);
    for (const total of ['2 500', '5 000', '7 500']) {
      await collectInKenya(gateway, shop);
      const expected = new RegExp(`^KES ${total} `);
      const page = await home('?range=today', expected);
      assert.match(collectedOf(page), expected);
      assert.match(page, /Latest payments .* Succeeded/);
    }
  });

  test('are compared with the period before', async () => {
    await collectInKenya(gateway, shop, { amount: 1000 });
    gateway.ctx.clock.advance(8 * DAY_MS);
    await collectInKenya(gateway, shop, { amount: 1500 });
    await assertCollected('?range=7d', /^KES 1 500 ▲ up 50 % on the 7 days before 1 payment/);
    gateway.ctx.clock.advance(8 * DAY_MS);
    await collectInKenya(gateway, shop, { amount: 300 });
    await assertCollected('?range=7d', /▼ down 80 %/);
  });

  test('never add currencies: one is shown, and the others are a press away', async () => {
    await collectInKenya(gateway, shop, { amount: 1000 });
    await collectInKenya(gateway, shop, { amount: 1000 });
    const uganda = { amount: 5000, country_id: 11, currency: 'UGX', mobile: '256772123000' };
    const reply = await clientOf(gateway, shop).signed(PATHS.collect, uganda);
    assert.equal(reply.status, 200, JSON.stringify(reply.body));
    await gateway.settle();
    const page = await homePage('?range=7d');
    assert.match(collectedOf(textOf(page)), /^KES 2 000 /);
    assert.match(page, /range\W+61;7d\W+38;currency\W+61;UGX/);
    assert.match(collectedOf(await home('?range=7d&currency=UGX')), /^UGX 5 000 /);
  });

  test('say which operator fails, why, and what to do', async () => {
    for (const ending of ['000', '001', '001', '002', '000'])
      await collectInKenya(gateway, shop, { mobile: `254712345${ending}` });
    const page = await home();
    assert.match(cardOf(page, 'Success rate', 'Fees'), /^40 % M-PESA Kenya 40 %/);
    assert.match(page, /By operator M M-PESA Kenya 40 %/);
    assert.match(page, /3 payments failed Show 2 × Not enough money Ask again later, or send a payment link\./);
  });

  test('have a table behind the chart, with days as people read them', async () => {
    setClock('10:00:00');
    await collectInKenya(gateway, shop, { amount: 1000 });
    const day = new Intl.DateTimeFormat('en-GB', { weekday: 'short', day: 'numeric', month: 'short', timeZone: 'UTC' });
    const page = await homePage();
    assert.match(textOf(page), /View as table/);
    assert.ok(textOf(page).includes(` ${day.format(gateway.ctx.clock.now())} KES 1 000 `), textOf(page));
    assert.ok(page.includes(`data-title="${day.format(gateway.ctx.clock.now())}"`));
  });
});

describe('what needs a person', () => {
  test('is empty for a shop that has an integration and no trouble', async () => {
    assert.match(await home(), /Needs you All clear\./);
  });

  test('has a button for each', async () => {
    await gateway.ctx.db.query(
      `insert into cases (id, holder_id, transaction_id, kind, opened_at) values (gen_random_uuid(), $1, null, 'unknown_reference', $2)`,
      [shop.holderId, gateway.ctx.clock.now()],
    );
    const page = await owner.get('/console');
    assert.match(textOf(page.text), /1 payment to review Unmatched payment/);
    assert.match(page.text, /<a class="button button-secondary" href="\/console\/cases">Open<\/a>/);
  });
});

describe('the test payment', () => {
  test('is filled in, and follows the country that is chosen', async () => {
    const page = (await owner.get('/console')).text;
    assert.match(page, /name="mobile" type="text" value="\+2547\d+"/);
    const answer = await owner.post('/console/test-payment', {
      country_id: '11',
      mobile: /name="mobile" type="text" value="([^"]+)"/.exec(page)?.[1] ?? '',
      amount: '5000',
    });
    assert.match(answer.location ?? '', /done=testPaymentCreated/);
    assert.match((await owner.get((answer.location ?? '').split('?')[0] ?? '')).text, /\+?256/);
  });
});

describe('the settings of an account', () => {
  test('an owner changes name and time zone, and the audit log has both', async () => {
    const saved = await owner.post('/console/settings', { name: 'Duka jipya', time_zone: 'Africa/Kampala' });
    assert.equal(saved.location, '/console/settings?done=saved');
    const holder = await findHolder(gateway.ctx.db, shop.holderId);
    assert.deepEqual([holder?.name, holder?.time_zone], ['Duka jipya', 'Africa/Kampala']);
    const entries = (await listAudit(gateway.ctx.db, shop.holderId, 5)).slice(0, 2);
    assert.deepEqual(
      entries.map((entry) => [entry.action, entry.details.to]),
      [
        ['holder.time_zone', 'Africa/Kampala'],
        ['holder.renamed', 'Duka jipya'],
      ],
    );
    assert.match((await owner.get('/console/settings')).text, /<option value="Africa\/Kampala" selected>/);
  });

  test('a time zone that does not exist and an empty name are refused', async () => {
    const refused = await owner.post('/console/settings', { name: ' ', time_zone: 'Africa/Atlantis' });
    assert.equal(refused.status, 400);
    assert.match(refused.text, /Choose a time zone from the list/);
    assert.equal((await findHolder(gateway.ctx.db, shop.holderId))?.time_zone, 'UTC');
  });

  test('everybody reads them, and only an owner changes them', async () => {
    const viewer = await addPerson(gateway, shop.holderId, 'viewer', `viewer${shops}@example.org`);
    const page = await viewer.get('/console/settings');
    assert.match(page.text, /Only an owner can change this/);
    assert.doesNotMatch(page.text, /action="\/console\/settings/);
    assert.equal((await viewer.post('/console/settings', { name: 'Mine', time_zone: 'UTC' })).status, 403);
    assert.equal((await viewer.get('/console/payouts/approval')).location, '/console/settings#approval');
  });

  test('a new account begins with the time zone of the browser', async () => {
    const person = visitor(gateway, '');
    const form = await person.get('/console/sign-up');
    const cookie = (form.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
    const fields = {
      business: 'Kigali kiosk',
      name: 'Aline',
      email: 'aline@example.org',
      password: 'a long sentence for aline',
      time_zone: 'Africa/Kigali',
    };
    const answer = await visitor(gateway, cookie, csrfOf(form.text)).post('/console/sign-up', fields);
    assert.equal(answer.status, 303, textOf(answer.text));
    const [row] = await gateway.ctx.db.query<{ time_zone: string }>(
      `select time_zone from holders where name = 'Kigali kiosk'`,
    );
    assert.equal(row?.time_zone, 'Africa/Kigali');
  });
});
