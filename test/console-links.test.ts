// Payment links in the console: nothing is created by accident, one sentence for each error, days of the holder's own zone,
// sharing, changes, copies and totals.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { COMMAND_LINE } from '../src/holders/audit.ts';
import { createIntegration } from '../src/holders/integrations.ts';
import { changeLink } from '../src/links/changes.ts';
import { createLink, findLink, linkId, linkUuid, type PaymentLink } from '../src/links/links.ts';
import { countLinks } from '../src/links/listing.ts';
import { createHolderUuid, publicId } from '../src/platform/ids.ts';
import { addPerson, type Person } from './console-harness.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';
import { createShop, type Shop } from './shop.ts';

let gateway: TestGateway;
let shop: Shop;
let owner: Person;

before(async () => {
  gateway = await createTestGateway();
  shop = await createShop(gateway.ctx, 'Duka la Amani');
  await gateway.ctx.db.query("update holders set time_zone = 'Africa/Nairobi' where id = $1", [shop.holderId]);
  owner = await addPerson(gateway, shop.holderId, 'owner');
});
after(() => gateway.close());

const BASKET = { item_name: 'Basket', country_id: '1', amount_kind: 'fixed', amount: '2500', reusable: 'no' };

/** Creates a link with the form of the console. */
async function make(fields: Record<string, string> = {}): Promise<PaymentLink> {
  const { status, location } = await owner.post('/console/links', { ...BASKET, ...fields });
  assert.equal(status, 303);
  const id = /pl_\w+/.exec(location ?? '')?.[0] ?? '';
  const link = await findLink(gateway.ctx.db, id);
  assert.ok(link);
  return link;
}

const errorsOf = (page: string) => [...page.matchAll(/class="field-error"[^>]*>([^<]+)/g)].map(([, text]) => text);

test('a link with any amount is made only when it was chosen', async () => {
  const { all } = await countLinks(gateway.ctx.db, shop.holderId, gateway.ctx.clock.now());
  const empty = await owner.post('/console/links', { ...BASKET, amount: '' });
  assert.equal(empty.status, 400);
  assert.deepEqual(errorsOf(empty.text), ['Enter an amount, or choose “Any amount”.']);
  assert.equal((await countLinks(gateway.ctx.db, shop.holderId, gateway.ctx.clock.now())).all, all);
  const open = await make({ amount: '', amount_kind: 'any', reusable: 'yes' });
  assert.equal(open.amount, null);
  assert.ok(open.reusable);
});

test('a form that is sent twice makes one link, also after an error was corrected', async () => {
  const count = async () => (await countLinks(gateway.ctx.db, shop.holderId, gateway.ctx.clock.now())).all;
  const onceOf = ({ text }: { text: string }) => /name="once" value="([^"]+)"/.exec(text)?.[1] ?? '';
  const once = onceOf(await owner.get('/console/links/new'));
  const wrong = await owner.post('/console/links', { ...BASKET, amount: '', once });
  assert.equal(onceOf(wrong), once);
  assert.notEqual(once, '');
  const before = await count();
  const answers = await Promise.all([1, 2].map(() => owner.post('/console/links', { ...BASKET, once })));
  assert.deepEqual(answers.map(({ location }) => (location ?? '').replace(/pl_\w+/, 'pl_')).sort(), [
    '/console/links/pl_?done=linkCreated',
    '/console/links?done=formAlreadySent',
  ]);
  assert.equal(await count(), before + 1);
  const next = onceOf(await owner.get('/console/links/new'));
  assert.equal((await owner.post('/console/links', { ...BASKET, once: next })).status, 303);
  assert.equal(await count(), before + 2);
});

test('an amount that nobody takes has one sentence, once', async () => {
  const whole = await owner.post('/console/links', { ...BASKET, amount: '12.50' });
  assert.deepEqual(errorsOf(whole.text), []);
  const tanzania = [...gateway.ctx.catalog.linkCountries.values()].find(({ methods }) =>
    methods.every((method) => method.collection.decimals === 0),
  );
  const fraction = await owner.post('/console/links', {
    ...BASKET,
    country_id: String(tanzania?.countryId),
    amount: '1200.50',
  });
  assert.deepEqual(errorsOf(fraction.text), ['Only whole amounts are possible here: try 1200 or 1201.']);
  const large = await owner.post('/console/links', { ...BASKET, amount: '99 000 000' });
  assert.equal(errorsOf(large.text).length, 1);
  assert.match(String(errorsOf(large.text)[0]), /^Enter an amount from KES\s1 to KES\s/);
});

test('a form with an error keeps the logo, and opens the options where the error is', async () => {
  const logo = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg';
  const wrong = await owner.post('/console/links', { ...BASKET, amount: '', logo });
  assert.equal(wrong.status, 400);
  assert.ok(wrong.text.includes(`name="logo" id="f-logo-data" value="${logo}"`));
  const past = await owner.post('/console/links', { ...BASKET, expires_on: '2020-01-01' });
  assert.equal(past.status, 400);
  assert.match(past.text, /<details open>\s*<summary>More options/);
});

test('a link is valid to the end of the day in the zone of the holder', async () => {
  const link = await make({ expires_on: '2030-03-02' });
  assert.equal(link.expires_at?.toISOString(), '2030-03-02T20:59:59.000Z');
  const page = (await owner.get(`/console/links/${linkId(link)}/edit`)).text;
  assert.match(page, /name="expires_on" type="date" value="2030-03-02"/);
  const past = await owner.post('/console/links', { ...BASKET, expires_on: '2020-01-01' });
  assert.equal(past.status, 400);
  assert.match(past.text, /href="#f-expires_on"/);
});

test('a change of another field keeps an end within a day, and the form says its time', async () => {
  const { ctx } = gateway;
  const integration = { holderId: shop.holderId, integrationId: shop.id, defaultCallbackUrl: null };
  const at = '2030-03-02T12:00:00.000Z';
  const link = await createLink(ctx, integration, { country_id: 1, currency: 'KES', amount: '10', expires_at: at });
  const path = `/console/links/${linkId(link)}/edit`;
  assert.match(
    (await owner.get(path)).text,
    /At 15:00 on this day \(Africa\/Nairobi\)\. Another day counts to its end\./,
  );
  const endAfter = async (day: string) => {
    assert.equal((await owner.post(path, { item_name: 'Bread', expires_on: day })).status, 303);
    return (await findLink(ctx.db, link.id))?.expires_at?.toISOString() ?? null;
  };
  assert.equal(await endAfter('2030-03-02'), at);
  assert.equal(await endAfter('2030-03-03'), '2030-03-03T20:59:59.000Z');
  assert.equal(await endAfter('2030-03-02'), '2030-03-02T20:59:59.000Z');
  assert.match((await owner.get(path)).text, /The end of this day/);
  assert.equal(await endAfter(''), null);
});

test('a change asks the integration that made the link which hosts it allows', async () => {
  const { ctx } = gateway;
  const other = await createIntegration(ctx, COMMAND_LINE, shop.holderId, 'Second', {});
  await ctx.db.query('update integrations set redirect_hosts = $2 where id = $1', [shop.id, ['first.example']]);
  try {
    const owned = { holderId: shop.holderId, integrationId: other.id, defaultCallbackUrl: null };
    const redirect = 'https://second.example/thanks';
    const params = { country_id: 1, currency: 'KES', amount: '10', redirection_url: redirect };
    const link = await createLink(ctx, owned, params);
    const fields = { item_name: 'Bread', redirection_url: redirect };
    const { status, text } = await owner.post(`/console/links/${linkId(link)}/edit`, fields);
    assert.equal(status, 303, text);
    const refused = await owner.post('/console/links', { ...BASKET, redirection_url: redirect });
    assert.deepEqual(errorsOf(refused.text), ['The settings of the integration do not allow this host.']);
  } finally {
    await ctx.db.query(`update integrations set redirect_hosts = '{}' where id = $1`, [shop.id]);
  }
});

test('a number may be typed as pages print it', async () => {
  for (const phone of ['0712 345 678', '+254 712-345-678', '00254712345678'])
    assert.equal((await make({ phone })).phone, '254712345678', phone);
});

test('what is wrong in a field is said in the language of the page, and no address is cut', async () => {
  const wrong = {
    item_name: 'x'.repeat(121),
    phone: `${'1 '.repeat(40)}`,
    email: 'amina@',
    expires_on: '3000-01-01',
    redirection_url: `https://shop.example/${'a'.repeat(2_048)}`,
    callback_url: 'shop.example',
    logo: 'abc',
  };
  for (const language of ['fr', 'pt', 'sw', 'en']) {
    const { status, text } = await owner.post(
      '/console/links',
      { ...BASKET, ...wrong },
      { 'accept-language': language },
    );
    assert.equal(status, 400);
    assert.equal(errorsOf(text).length, 7, text);
    for (const error of errorsOf(text)) assert.doesNotMatch(String(error), /must|_|ISO 8601|base64/, language);
    assert.ok(text.includes(`value="${wrong.email}"`), 'what was typed is kept');
  }
});

test('the page of a link shares the short address by WhatsApp, SMS, QR and a card', async () => {
  const link = await make();
  const page = (await owner.get(`/console/links/${linkId(link)}`)).text;
  const address = `/p/${link.code.slice(0, 5)}-${link.code.slice(5)}`;
  assert.match(page, new RegExp(`id="link-url">http://[^<]+${address}<`));
  const shared = encodeURIComponent(address);
  assert.match(page, new RegExp(`href="https://wa.me/\\?text&?[^"]*${shared}"`));
  assert.match(page, new RegExp(`href="sms:[^"]*${shared}"`));
  assert.match(page, /\/pay\/pl_\w+\/card"/);
  assert.match(page, /\/pay\/pl_\w+\/qr\.svg"/);
});

test('the page of a link shows fifty payments, and leads to the older ones', async () => {
  const link = await make({ reusable: 'yes' });
  const { holderId, id: integrationId } = shop;
  const start = gateway.ctx.clock.millis();
  const ids = Array.from({ length: 73 }, (_, index) => createHolderUuid(start + index, holderId));
  await gateway.ctx.db.query(
    `insert into transactions (holder_id, id, integration_id, link_id, direction, status, amount, fee, currency, country_id, method, rail,
       msisdn, detail, verification, created_at, updated_at)
     select $1, id, $2, $3, 'collection', 'pending', 250000, 0, 'KES', 1, 'MPESA_KEN', 'sandbox',
       '254712345678', 'By a link', 'prompt', $5, $5
     from unnest($4::uuid[]) as id`,
    [holderId, integrationId, link.id, ids, gateway.ctx.clock.now()],
  );
  const shown = (page: string) => [...new Set(page.match(/TX_[0-9A-Z]{26}/g))];
  const first = (await owner.get(`/console/links/${linkId(link)}`)).text;
  const next = /rel="next" href="([^"]+)#payments"/.exec(first.replaceAll('&#61;', '='))?.[1] ?? '';
  const second = (await owner.get(next)).text;
  const newestFirst = ids.toReversed().map((id) => publicId('TX', id));
  assert.deepEqual([...shown(first), ...shown(second)], newestFirst);
  assert.equal(shown(first).length, 50);
  assert.doesNotMatch(second, /rel="next"/);
});

test('what may change is changed and in the audit log; the amount is not', async () => {
  const link = await make();
  const sent = {
    item_name: 'Large basket',
    expires_on: '2031-01-31',
    amount: '1',
    amount_kind: 'any',
    country_id: '2',
  };
  const { status } = await owner.post(`/console/links/${linkId(link)}/edit`, sent);
  assert.equal(status, 303);
  const changed = await findLink(gateway.ctx.db, link.id);
  assert.equal(changed?.item_name, 'Large basket');
  assert.equal(changed?.expires_at?.toISOString(), '2031-01-31T20:59:59.000Z');
  assert.deepEqual([changed?.amount, changed?.currency, changed?.code], [250_000n, 'KES', link.code]);
  const [entry] = await gateway.ctx.db.query<{ details: unknown }>(
    "select details from audit_log where action = 'payment_link.changed' and subject = $1",
    [linkId(link)],
  );
  assert.deepEqual(entry?.details, { changed: ['item_name', 'expires_at'] });
});

test('a link of another holder, and one that is closed, is not changed', async () => {
  const link = await make();
  const other = await createShop(gateway.ctx, 'Another shop');
  const stranger = await addPerson(gateway, other.holderId, 'owner', 'stranger@example.org');
  const path = `/console/links/${linkId(link)}/edit`;
  assert.equal((await stranger.get(path)).status, 404);
  assert.equal((await stranger.post(path, { item_name: 'Mine' })).status, 404);
  const viewer = await addPerson(gateway, shop.holderId, 'viewer', 'viewer@example.org');
  assert.equal((await viewer.post(path, { item_name: 'Seen' })).status, 403);
  await owner.post(`/console/links/${linkId(link)}/disable`);
  assert.equal((await owner.get(path)).status, 303);
  await owner.post(path, { item_name: 'Late' });
  assert.equal((await findLink(gateway.ctx.db, link.id))?.item_name, 'Basket');
});

test('a copy begins with everything of the link', async () => {
  const link = await make({ business_name: 'Duka', reusable: 'yes', amount: '1250' });
  const page = (await owner.get(`/console/links/new?from=${linkId(link)}`)).text;
  assert.match(page, /name="item_name" type="text" value="Basket"/);
  assert.match(page, /name="amount" type="text" value="1250"/);
  assert.match(page, /name="reusable" value="yes" checked/);
  assert.match(page, /<option value="1" selected>/);
});

test('tabs count links by status, and rows have an address to copy', async () => {
  const before = await countLinks(gateway.ctx.db, shop.holderId, gateway.ctx.clock.now());
  const link = await make();
  await owner.post(`/console/links/${linkId(link)}/disable`);
  const { all, byStatus } = await countLinks(gateway.ctx.db, shop.holderId, gateway.ctx.clock.now());
  assert.equal(all, before.all + 1);
  assert.equal(byStatus.get('disabled'), (before.byStatus.get('disabled') ?? 0) + 1);
  const page = (await owner.get('/console/links?status=disabled')).text;
  assert.match(page, /status&?[^"]*disabled" aria-current="true">Disabled<span>\d+<\/span>/);
  assert.match(page, new RegExp(`data-copy="#url-${link.code}"`));
});

test('an expired link can be given more time', async () => {
  const { ctx } = gateway;
  const integration = { holderId: shop.holderId, integrationId: shop.id, defaultCallbackUrl: null };
  const soon = new Date(ctx.clock.millis() + 1_000).toISOString();
  const link = await createLink(ctx, integration, { country_id: 1, currency: 'KES', amount: '10', expires_at: soon });
  await gateway.advance(2_000);
  const later = new Date(ctx.clock.millis() + 86_400_000).toISOString();
  const changed = await changeLink(ctx, COMMAND_LINE, integration, linkId(link), { expires_at: later });
  assert.equal(changed.expires_at?.toISOString(), later);
  assert.equal(linkUuid(linkId(changed)), link.id);
});
