// Payment links: what creation accepts and returns, the exact text of every error, and that each is created and paid once.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import sharp from 'sharp';
import { createLinksHarness, type LinksHarness } from '../../test/links-harness.ts';
import { COMMAND_LINE } from '../holders/audit.ts';
import { signatureOf } from '../holders/envelope.ts';
import { updateIntegration } from '../holders/integrations.ts';
import { listOpenCases } from '../payments/case-list.ts';
import { setHolderStatus } from '../payments/holder-status.ts';
import type { Transaction } from '../payments/transactions.ts';
import { Problem } from '../platform/errors.ts';
import { createHolderUuid } from '../platform/ids.ts';
import type { JsonObject } from '../platform/strict-json.ts';
import { LinkParams } from './draft.ts';
import {
  createLink,
  describeLink,
  disableLink,
  findHolderLink,
  findLink,
  type LinkDescription,
  type PaymentLink,
  reverseLinks,
  settleLinks,
} from './links.ts';
import { MAX_LOGO_BYTES } from './logo.ts';
import { linkQrSvg } from './qr.ts';
import { StoredLink } from './schemas.ts';

const UGANDA = { country_id: 11, currency: 'UGX' };
const NOT_CREATED = 'Payment link was not created.';

let harness: LinksHarness;
let pixel: Buffer;
before(async () => {
  harness = await createLinksHarness();
  pixel = await sharp({ create: { width: 40, height: 40, channels: 3, background: 'teal' } })
    .png()
    .toBuffer();
});
after(() => harness.close());

async function created(params: JsonObject): Promise<LinkDescription> {
  const response = await harness.create(params);
  assert.equal(response.statusCode, 200, response.body);
  return response.json().data;
}

describe('creation', () => {
  test('all thirteen params are kept and answered as the stored link', async () => {
    const params = {
      business_name: 'Mama Njeri’s <b>Kitchen</b> 🍲',
      item_name: 'Lunch for two',
      callback_url: 'https://shop.example.org/callbacks?x=1',
      redirection_url: 'https://shop.example.org/thanks',
      currency: 'XOF',
      amount: '2500',
      logo: `data:image/png;base64,${pixel.toString('base64')}`,
      country_id: 2,
      currency_country_id: 9,
      first_name: 'Awa',
      last_name: 'Ndiaye',
      email: 'awa@example.org',
      phone: '+221771234567',
    };
    const response = await harness.create({
      ...params,
      expires_at: '2026-12-31T18:00:00+03:00',
      accent_colour: '#1A6B4F',
    });
    const body = response.json();
    assert.deepEqual([body.success, body.message], [true, 'Payment link created.']);
    assert.match(body.data.id, /^pl_[0-9A-HJKMNP-TV-Z]{26}$/);
    assert.match(body.data.logo_url, /^https:\/\/pay\.example\.org\/logos\/[0-9a-f]{64}\.webp$/);
    assert.match(body.data.short_url, /^https:\/\/pay\.example\.org\/p\/[0-9A-Z]{5}-[0-9A-Z]{5}$/);
    const { logo: _, ...kept } = params;
    assert.deepEqual(body.data, {
      ...kept,
      id: body.data.id,
      payment_link: `https://pay.example.org/pay/${body.data.id}`,
      short_url: body.data.short_url,
      qr_url: `https://pay.example.org/pay/${body.data.id}/qr.svg`,
      logo_url: body.data.logo_url,
      phone: '221771234567',
      status: 'active',
      payments_count: 0,
      expires_at: '2026-12-31T15:00:00.000000Z',
      created_at: '2026-03-02T09:00:00.000000Z',
      updated_at: '2026-03-02T09:00:00.000000Z',
    });
  });

  test('the schemas name exactly what is read and answered', async () => {
    const data = await created(UGANDA);
    assert.deepEqual(Object.keys(data), Object.keys(StoredLink.properties));
    assert.equal(Object.keys(LinkParams.properties).length, 13 + 3);
  });

  test('country and currency suffice; nothing, null and the empty text are the same', async () => {
    const bare = await created(UGANDA);
    assert.deepEqual(
      [bare.amount, bare.business_name, bare.logo_url, bare.phone, bare.currency_country_id],
      [null, null, null, null, 11],
    );
    const empty = { ...UGANDA, business_name: '', item_name: null, callback_url: '', logo: '', email: '', phone: null };
    assert.equal((await created(empty)).business_name, null);
  });

  test('the amount is a string or a number and is answered as a string', async () => {
    for (const [amount, shown] of [
      ['2500', '2500'],
      [2500, '2500'],
      ['2500.50', '2500.50'],
      [2500.5, '2500.50'],
    ] as const)
      assert.equal((await created({ ...UGANDA, amount })).amount, shown);
  });

  test("the payer's country: given, else the merchant's, else the only one, else the payer chooses", async () => {
    const payer = async (params: JsonObject) => (await created(params)).currency_country_id;
    assert.equal(await payer({ country_id: 11, currency: 'XOF', currency_country_id: 3 }), 3);
    assert.equal(await payer({ country_id: 9, currency: 'XOF' }), 9);
    assert.equal(await payer({ country_id: 11, currency: 'KES' }), 1);
    assert.equal(await payer({ country_id: 11, currency: 'XOF' }), null);
  });

  test('every payment-link country takes links', async () => {
    for (const row of harness.ctx.catalog.linkCountries.values())
      assert.equal((await created({ country_id: row.countryId, currency: row.currency })).country_id, row.countryId);
  });

  test("without a callback_url the integration's default is used", async () => {
    const { ctx, shop } = harness;
    const owner = { holderId: shop.holderId, integrationId: shop.id, defaultCallbackUrl: 'https://d.example.org/' };
    assert.equal((await createLink(ctx, owner, UGANDA)).callback_url, 'https://d.example.org/');
    const own = await createLink(ctx, owner, { ...UGANDA, callback_url: 'https://own.example.org/' });
    assert.equal(own.callback_url, 'https://own.example.org/');
  });

  test('what is written alongside is written with the link or not at all', async () => {
    const { ctx, shop } = harness;
    const owner = { holderId: shop.holderId, integrationId: null, defaultCallbackUrl: null };
    const links = await harness.countLinks();
    await assert.rejects(
      createLink(ctx, owner, UGANDA, () => Promise.reject(new Error('no'))),
      /no/,
    );
    assert.equal(await harness.countLinks(), links);
  });

  test('a logo of 2 MiB passes through the API, one byte more does not', async () => {
    const grow = (size: number) => Buffer.concat([pixel, Buffer.alloc(size - pixel.length)]).toString('base64');
    assert.ok((await created({ ...UGANDA, logo: `data:image/png;base64,${grow(MAX_LOGO_BYTES)}` })).logo_url);
    const response = await harness.create({ ...UGANDA, logo: grow(MAX_LOGO_BYTES + 1) });
    assert.deepEqual([response.statusCode, response.json().message], [400, NOT_CREATED]);
    assert.match(response.json().errors.logo[0], /at most 2 MiB/);
    const huge = await harness.create({ ...UGANDA, logo: 'A'.repeat(3 * 1024 * 1024) });
    assert.deepEqual([huge.statusCode, huge.json().code], [413, 'body_too_large']);
  });

  test('the same logo is stored once and served for ever, as a picture and nothing else', async () => {
    const first = await created({ ...UGANDA, logo: pixel.toString('base64') });
    const second = await created({ ...UGANDA, logo: pixel.toString('base64') });
    assert.equal(first.logo_url, second.logo_url);
    const response = await harness.app.inject({ url: new URL(first.logo_url ?? '').pathname });
    assert.equal(response.statusCode, 200);
    assert.equal(response.headers['content-type'], 'image/webp');
    assert.equal(response.headers['cache-control'], 'public, max-age=31536000, immutable');
    assert.equal(response.headers['x-content-type-options'], 'nosniff');
    assert.match(String(response.headers['content-security-policy']), /default-src 'none'/);
    assert.equal((await sharp(response.rawPayload).metadata()).format, 'webp');
    for (const path of [`/logos/${'0'.repeat(64)}.webp`, '/logos/x.webp', '/logos/..%2f..%2fetc.webp'])
      assert.equal((await harness.app.inject({ url: path })).statusCode, 404, path);
  });

  test('the QR code of a link is served as SVG; of no link, not found', async () => {
    const { id, payment_link } = await created(UGANDA);
    const response = await harness.app.inject({ url: `/pay/${id}/qr.svg` });
    assert.deepEqual([response.statusCode, response.headers['content-type']], [200, 'image/svg+xml']);
    assert.equal(response.body, linkQrSvg(payment_link));
    const missing = await harness.app.inject({ url: '/pay/pl_00000000000000000000000000/qr.svg' });
    assert.deepEqual([missing.statusCode, missing.json().code], [404, 'payment_link_not_found']);
  });
});

describe('refusals of params', () => {
  const long = 'x'.repeat(121);
  const table: [string, JsonObject, RegExp][] = [
    ['country_id', { currency: 'UGX' }, /country_id is required/],
    ['country_id', { country_id: '11', currency: 'UGX' }, /must be an integer/],
    ['country_id', { country_id: 99, currency: 'UGX' }, /no country 99; use one of 1 \(Kenya\)/],
    ['currency', { country_id: 11 }, /currency is required/],
    ['currency', { country_id: 11, currency: 7 }, /must be a string/],
    ['currency', { country_id: 11, currency: 'EUR' }, /not the currency of a payment-link country/],
    ['currency', { country_id: 11, currency: 'ugx' }, /not the currency/],
    ['currency_country_id', { ...UGANDA, currency_country_id: 1 }, /Kenya uses KES, not UGX/],
    ['currency_country_id', { ...UGANDA, currency_country_id: 5 }, /no country 5/],
    ['currency_country_id', { ...UGANDA, currency_country_id: '11' }, /must be an integer/],
    ['amount', { ...UGANDA, amount: '' }, /must be a number, or a decimal text/],
    ['amount', { ...UGANDA, amount: 'ten' }, /must be a number, or a decimal text/],
    ['amount', { ...UGANDA, amount: '1,000' }, /must be a number, or a decimal text/],
    ['amount', { ...UGANDA, amount: true }, /decimal text/],
    ['amount', { ...UGANDA, amount: '0' }, /more than zero/],
    ['amount', { ...UGANDA, amount: -5 }, /more than zero/],
    ['amount', { ...UGANDA, amount: '10.555' }, /decimals/],
    ['amount', { country_id: 9, currency: 'XOF', amount: '100.5' }, /whole amounts of XOF/],
    ['amount', { ...UGANDA, amount: '99999999999999' }, /largest amount/],
    ['amount', { ...UGANDA, amount: '0.01' }, /smallest amount/],
    ...['business_name', 'item_name', 'first_name', 'last_name'].flatMap((field): [string, JsonObject, RegExp][] => [
      [field, { ...UGANDA, [field]: long }, /at most 120 characters/],
      [field, { ...UGANDA, [field]: 5 }, /must be a string/],
    ]),
    ['callback_url', { ...UGANDA, callback_url: 'ftp://x.example.org' }, /http or https/],
    ['callback_url', { ...UGANDA, callback_url: 'https://refused.example.org' }, /This address is refused/],
    ['redirection_url', { ...UGANDA, redirection_url: 'javascript:alert(1)' }, /http or https/],
    ['redirection_url', { ...UGANDA, redirection_url: 'https://a b' }, /http or https/],
    ['redirection_url', { ...UGANDA, redirection_url: `https://a.example.org/${'x'.repeat(2048)}` }, /at most 2048/],
    ['email', { ...UGANDA, email: 'amina' }, /e-mail address/],
    ['email', { ...UGANDA, email: 'a@b' }, /e-mail address/],
    ['email', { ...UGANDA, email: `a@${'b'.repeat(260)}.org` }, /e-mail address/],
    ['phone', { ...UGANDA, phone: '12' }, /not a valid phone number/],
    ['phone', { ...UGANDA, phone: 256772123456 }, /must be a string/],
    ['logo', { ...UGANDA, logo: 'not a picture' }, /not base64/],
    ['logo', { ...UGANDA, logo: 5 }, /must be a string/],
    ['logo', { ...UGANDA, logo: Buffer.from('<svg/>').toString('base64') }, /must be a PNG/],
    ['expires_at', { ...UGANDA, expires_at: '2026-12-31' }, /ISO 8601/],
    ['expires_at', { ...UGANDA, expires_at: '2026-02-30T00:00:00Z' }, /ISO 8601/],
    ['expires_at', { ...UGANDA, expires_at: '2026-12-31T00:00:00' }, /ISO 8601/],
    ['expires_at', { ...UGANDA, expires_at: '2020-01-01T00:00:00Z' }, /in the future/],
    ['expires_at', { ...UGANDA, expires_at: '3000-01-01T00:00:00Z' }, /of the years 2000 to 2999/],
    ['reusable', { ...UGANDA, reusable: 'yes' }, /true or false/],
    ['accent_colour', { ...UGANDA, accent_colour: 'red' }, /must be a colour/],
  ];
  for (const [field, params, sentence] of table)
    test(`${field}: ${sentence.source}`, async () => {
      const links = await harness.countLinks();
      const response = await harness.create(params);
      const body = response.json();
      assert.deepEqual([response.statusCode, body.success, body.message], [400, false, NOT_CREATED], response.body);
      assert.equal(body.code, 'invalid_params');
      assert.match(body.errors[field].join(' '), sentence);
      assert.deepEqual(Object.keys(body.errors), [field]);
      assert.equal(await harness.countLinks(), links);
    });

  test('all errors are in one answer', async () => {
    const response = await harness.create({ currency: 'EUR', country_id: 99, email: 'x', reusable: 1, logo: '!' });
    assert.deepEqual(Object.keys(response.json().errors).sort(), ['country_id', 'email', 'logo', 'reusable']);
  });

  test('120 characters pass, however many bytes they have', async () => {
    assert.equal((await created({ ...UGANDA, business_name: '🍲'.repeat(120) })).business_name, '🍲'.repeat(120));
  });

  test('a refused request spends no signature', async () => {
    const body = harness.envelope({ country_id: 11 });
    assert.equal((await harness.post(body)).json().code, 'invalid_params');
    assert.equal((await harness.post(body)).json().code, 'invalid_params');
  });
});

describe('errors of the envelope, exact texts', () => {
  const resign = (change: JsonObject) => {
    const { signature: _, ...body } = { ...harness.envelope(UGANDA), ...change };
    return { ...body, signature: signatureOf(harness.shop.secretKey, body) };
  };
  const table: [string, () => JsonObject, number, string, string][] = [
    ['no params', () => ({ ...harness.envelope(UGANDA), params: 'none' }), 400, NOT_CREATED, 'invalid_envelope'],
    [
      'unknown client',
      () => resign({ client_id: 'client_nobody' }),
      403,
      'Entity integration record not found.',
      'integration_not_found',
    ],
    ['wrong sender', () => resign({ sender: 'shop' }), 403, 'Client id not matched', 'client_mismatch'],
    ['old timestamp', () => resign({ timestamp: 1 }), 403, 'Request was not verified.', 'timestamp_out_of_range'],
    [
      'changed params',
      () => ({ ...harness.envelope(UGANDA), params: { ...UGANDA, amount: '1' } }),
      403,
      'Request was not verified.',
      'signature_mismatch',
    ],
  ];
  for (const [what, body, status, message, code] of table)
    test(what, async () => {
      const response = await harness.post(body());
      const answer = response.json();
      assert.deepEqual([response.statusCode, answer.message, answer.code], [status, message, code]);
    });

  test('an account that is suspended or closed, an integration that is revoked', async () => {
    const other = await harness.newShop('Other');
    const refusedAs = async () => {
      harness.ctx.clock.advance(1_000);
      const response = await harness.post(harness.envelope(UGANDA, other));
      return [response.statusCode, response.json().message, response.json().code];
    };
    await setHolderStatus(harness.ctx, COMMAND_LINE, other.holderId, 'suspended');
    assert.deepEqual(await refusedAs(), [400, NOT_CREATED, 'account_suspended']);
    await setHolderStatus(harness.ctx, COMMAND_LINE, other.holderId, 'closed');
    assert.deepEqual(await refusedAs(), [400, NOT_CREATED, 'account_not_found']);
    await updateIntegration(harness.ctx, COMMAND_LINE, other.holderId, other.id, { status: 'revoked' });
    assert.deepEqual(await refusedAs(), [403, 'Entity integration record not found.', 'integration_not_found']);
  });
});

describe('once only', () => {
  test('one signature creates one link, however many send it at once', async () => {
    const body = harness.envelope({ ...UGANDA, item_name: 'raced' });
    const links = await harness.countLinks();
    const answers = await Promise.all(Array.from({ length: 8 }, () => harness.post(body)));
    assert.equal(answers.filter((answer) => answer.statusCode === 200).length, 1);
    for (const answer of answers.filter((each) => each.statusCode !== 200))
      assert.deepEqual([answer.json().code, answer.json().message], ['signature_reused', 'Request was not verified.']);
    assert.equal(await harness.countLinks(), links + 1);
  });

  test('one idempotency key creates one link, and every request gets the same answer', async () => {
    const params = { ...UGANDA, item_name: 'keyed' };
    const links = await harness.countLinks();
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => harness.create(params, { 'idempotency-key': 'order-1' })),
    );
    assert.deepEqual(new Set(answers.map((answer) => answer.statusCode)), new Set([200]));
    assert.equal(new Set(answers.map((answer) => answer.json().data.id)).size, 1);
    assert.equal(answers.filter((answer) => answer.headers['idempotent-replayed'] === 'true').length, 7);
    assert.equal(await harness.countLinks(), links + 1);
  });

  test('a key with other params is a conflict; a replay spends its signature; after 24 hours the key is free', async () => {
    const key = { 'idempotency-key': 'order-2' };
    const first = await harness.create(UGANDA, key);
    const conflict = await harness.create({ ...UGANDA, amount: '500' }, key);
    assert.deepEqual([conflict.statusCode, conflict.json().code], [409, 'idempotency_conflict']);
    const retry = harness.envelope(UGANDA);
    assert.deepEqual((await harness.post(retry, key)).json(), first.json());
    assert.equal((await harness.post(retry, key)).json().code, 'signature_reused');
    harness.ctx.clock.advance(24 * 3_600_000 + 1);
    assert.notEqual((await harness.create(UGANDA, key)).json().data.id, first.json().data.id);
  });

  test('a bad key is refused with the message of the operation', async () => {
    const response = await harness.create(UGANDA, { 'idempotency-key': 'x'.repeat(129) });
    assert.deepEqual([response.statusCode, response.json().message], [400, NOT_CREATED]);
  });

  test('a key may have spaces', async () => {
    const params = { ...UGANDA, item_name: 'Key with spaces' };
    const first = await harness.create(params, { 'idempotency-key': 'order 1042, second try' });
    assert.equal(first.statusCode, 200, first.body);
    const again = await harness.create(params, { 'idempotency-key': 'order 1042, second try' });
    assert.deepEqual([again.headers['idempotent-replayed'], again.json().data], ['true', first.json().data]);
  });
});

describe('the life of a link', () => {
  const newLink = (params: JsonObject = {}) => {
    const owner = { holderId: harness.shop.holderId, integrationId: harness.shop.id, defaultCallbackUrl: null };
    return createLink(harness.ctx, owner, { ...UGANDA, ...params });
  };
  const statusOf = async (link: PaymentLink) => {
    const found = await findLink(harness.ctx.db, link.id);
    assert.ok(found);
    const shown = describeLink(harness.ctx, found);
    return [shown.status, shown.payments_count];
  };
  const payment = (link: PaymentLink | null, status = 'success') =>
    ({
      direction: 'collection',
      holder_id: harness.shop.holderId,
      id: createHolderUuid(harness.ctx.clock.millis(), harness.shop.holderId),
      link_id: link?.id ?? null,
      amount: 250_000n,
      status,
    }) as Transaction;
  const book = (...settled: Transaction[]) =>
    harness.ctx.db.transaction((tx) => settleLinks(harness.ctx)(tx, settled, harness.ctx.clock.now(), []));
  const settle = (...links: (PaymentLink | null)[]) => book(...links.map((link) => payment(link)));

  test('adds up what was paid, without what was given back', async () => {
    const link = await newLink({ reusable: true });
    const paid = async () => (await findLink(harness.ctx.db, link.id))?.paid_amount;
    assert.equal(await paid(), 0n);
    const first = payment(link);
    await book(first, payment(link));
    assert.equal(await paid(), 500_000n);
    await harness.ctx.db.transaction((tx) => reverseLinks(tx, [first], harness.ctx.clock.now(), []));
    assert.equal(await paid(), 250_000n);
  });

  test('found by its public id and by its UUID, by its holder only when asked for the holder', async () => {
    const link = await newLink();
    const other = await harness.newShop('Stranger');
    const id = describeLink(harness.ctx, link).id;
    for (const form of [id, id.toLowerCase(), link.id])
      assert.equal((await findLink(harness.ctx.db, form))?.id, link.id, form);
    for (const wrong of ['', 'pl_', `TX${id.slice(2)}`, "'; drop table payment_links"])
      assert.equal(await findLink(harness.ctx.db, wrong), null, wrong);
    assert.equal((await findHolderLink(harness.ctx.db, harness.shop.holderId, id))?.id, link.id);
    assert.equal(await findHolderLink(harness.ctx.db, other.holderId, id), null);
  });

  test('expires by itself', async () => {
    const link = await newLink({ expires_at: new Date(harness.ctx.clock.millis() + 60_000).toISOString() });
    assert.deepEqual(await statusOf(link), ['active', 0]);
    harness.ctx.clock.advance(60_000);
    assert.deepEqual(await statusOf(link), ['expired', 0]);
    await settle(link);
    assert.deepEqual(await statusOf(link), ['paid', 1]);
  });

  test('one success closes it; a reusable one stays open and counts', async () => {
    const single = await newLink();
    const reusable = await newLink({ reusable: true });
    await settle(single, null, reusable, reusable);
    assert.deepEqual(await statusOf(single), ['paid', 1]);
    assert.deepEqual(await statusOf(reusable), ['active', 2]);
    await Promise.all(
      Array.from({ length: 6 }, (_, index) => (index % 2 ? settle(single, reusable) : settle(reusable, single))),
    );
    assert.deepEqual(
      [await statusOf(single), await statusOf(reusable)],
      [
        ['paid', 7],
        ['active', 8],
      ],
    );
  });

  const giveBack = (...reversed: Transaction[]) =>
    harness.ctx.db.transaction((tx) => reverseLinks(tx, reversed, harness.ctx.clock.now(), []));
  const paidTwice = async () => {
    const cases = await listOpenCases(harness.ctx.db, { holderId: harness.shop.holderId }, { limit: 100 });
    return cases.flatMap((each) => (each.kind === 'link_paid_twice' ? [each.transaction_id] : []));
  };

  test('money 28: a payment that is given back is not counted; a single-use link without one is disabled', async () => {
    const single = await newLink();
    const reusable = await newLink({ reusable: true });
    const [one, two, three] = [payment(single), payment(single), payment(reusable)];
    await book(one, two, three);
    assert.deepEqual(
      [await statusOf(single), await statusOf(reusable)],
      [
        ['paid', 2],
        ['active', 1],
      ],
    );
    await giveBack(one, three);
    assert.deepEqual(
      [await statusOf(single), await statusOf(reusable)],
      [
        ['paid', 1],
        ['active', 0],
      ],
    );
    await giveBack(two);
    assert.deepEqual(await statusOf(single), ['disabled', 0]);
    // A late success: the link is paid again, once.
    await book(payment(single));
    assert.deepEqual(await statusOf(single), ['paid', 1]);
  });

  test('money 28: a single-use link that is paid twice opens one case, for the second payment', async () => {
    const known = (await paidTwice()).length;
    const single = await newLink();
    const [first, second] = [payment(single), payment(single)];
    await book(first);
    assert.equal((await paidTwice()).length, known);
    await book(second);
    assert.deepEqual(
      (await paidTwice()).filter((id) => id === first.id || id === second.id),
      [second.id],
    );
    const atOnce = await newLink();
    const [third, fourth] = [payment(atOnce), payment(atOnce)];
    await book(third, fourth);
    assert.deepEqual(
      (await paidTwice()).filter((id) => id === third.id || id === fourth.id),
      [fourth.id],
    );
    const reusable = await newLink({ reusable: true });
    await book(payment(reusable), payment(reusable));
    // Given back in the same moment: only one payment stands.
    const reversed = await newLink();
    await book(payment(reversed, 'reversed'), payment(reversed));
    assert.equal((await paidTwice()).length, known + 2);
  });

  test('counts roll back with the transaction that booked the success', async () => {
    const link = await newLink();
    const settled = [{ direction: 'collection', link_id: link.id } as Transaction];
    await assert.rejects(
      harness.ctx.db.transaction(async (tx) => {
        await settleLinks(harness.ctx)(tx, settled, harness.ctx.clock.now(), []);
        throw new Error('the ledger refused');
      }),
    );
    assert.deepEqual(await statusOf(link), ['active', 0]);
  });

  test('disabled by its holder, with an entry in the audit log; never by another, never when it is paid', async () => {
    const link = await newLink();
    const other = await harness.newShop('Meddler');
    await assert.rejects(
      disableLink(harness.ctx, COMMAND_LINE, other.holderId, link.id),
      (error) => error instanceof Problem && error.code === 'payment_link_not_found',
    );
    assert.equal((await disableLink(harness.ctx, COMMAND_LINE, harness.shop.holderId, link.id)).status, 'disabled');
    assert.equal((await disableLink(harness.ctx, COMMAND_LINE, harness.shop.holderId, link.id)).status, 'disabled');
    const entries = await harness.ctx.db.query("select 1 from audit_log where action = 'payment_link.disabled'");
    assert.equal(entries.length, 1);
    const paid = await newLink();
    await settle(paid);
    assert.equal((await disableLink(harness.ctx, COMMAND_LINE, harness.shop.holderId, paid.id)).status, 'paid');
  });
});
