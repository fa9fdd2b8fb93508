// A signed-in developer of a sandbox sees their own keys in the examples and sends requests from the reference. Nobody else does.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { addPerson, type Person, signIn, visitor } from '../../test/console-harness.ts';
import { createTestGateway, type TestGateway } from '../../test/gateway.ts';
import { createShop, type Shop } from '../../test/shop.ts';
import { COMMAND_LINE } from '../holders/audit.ts';
import { addMember } from '../holders/members.ts';
import { setPassword } from '../holders/passwords.ts';
import { html, printHtml } from '../platform/html.ts';
import { listContents, listPages } from './contents.ts';
import { fillIn } from './developer.ts';
import { readLibrary } from './library.ts';

const COLLECT = 'post-api-v3-service-unified-collections';
const LIVE = { MODE: 'live', MASTER_KEY: '11'.repeat(32), PUBLIC_URL: 'https://pay.example.org' };
const PAGE = '/docs/reference/collections';
const PAYMENT = { amount: 500, currency: 'UGX', country_id: 11, mobile: '256772123000' };

describe('keys in the examples', () => {
  let gateway: TestGateway;
  let shop: Shop;
  let owner: Person;
  before(async () => {
    gateway = await createTestGateway();
    shop = await createShop(gateway.ctx, 'Duka la Amani');
    owner = await addPerson(gateway, shop.holderId, 'owner');
  });
  after(() => gateway.close());

  test('a developer sees their own, on a page that nobody keeps', async () => {
    for (const path of [PAGE, '/docs/signing', '/docs/quickstart']) {
      const page = await owner.get(path);
      assert.ok(page.text.includes(shop.clientId) && page.text.includes(shop.secretKey), path);
      assert.ok(!/YOUR_(?:CLIENT|SECRET)/.test(page.text), path);
      assert.equal(page.headers.get('cache-control'), 'private, no-store', path);
    }
    assert.ok((await owner.get('/docs/callbacks')).text.includes(shop.callbackSecret.slice(0, 12)));
  });

  test('visitors and other roles see placeholders and no form', async () => {
    const viewer = await addPerson(gateway, shop.holderId, 'viewer');
    for (const reader of [visitor(gateway, ''), visitor(gateway, 'simbi_session=wrong'), viewer]) {
      const page = await reader.get(PAGE);
      assert.ok(!page.text.includes(shop.clientId) && !page.text.includes(shop.secretKey));
      assert.match(page.text, /YOUR_CLIENT_ID/);
      assert.ok(!page.text.includes('Try it'));
    }
    const sent = await viewer.post(PAGE, { operation: COLLECT, body: JSON.stringify(PAYMENT) });
    assert.equal(sent.status, 403);
  });

  test('secrets are shown to a session that confirmed who it is', async () => {
    const { member } = await addPerson(gateway, shop.holderId, 'developer');
    await setPassword(gateway.ctx, COMMAND_LINE, member.id, 'a sentence that is long', {
      sessionId: null,
      holderId: null,
    });
    const developer = await signIn(gateway, member, { holderId: shop.holderId, confirmed: false });
    const page = await developer.get('/docs/signing');
    assert.ok(page.text.includes(shop.clientId) && !page.text.includes(shop.secretKey));
    assert.match(page.text, /YOUR_SECRET_KEY/);
    assert.match(page.text, /\/console\/confirm/);
  });

  test('a request is signed, sent and shown with its answer', async () => {
    const sent = await owner.post(PAGE, { operation: COLLECT, body: JSON.stringify(PAYMENT) });
    assert.equal(sent.status, 200);
    assert.match(sent.text, /<span class="tag success">200<\/span>/);
    assert.match(sent.text, /TX_[0-9A-Z]{26}/);
    const [row] = await gateway.ctx.db.query<{ count: number }>(
      'select count(*)::int as count from transactions where holder_id = $1',
      [shop.holderId],
    );
    assert.equal(row?.count, 1);
    const events = await owner.post('/docs/reference/callbacks', {
      operation: 'get-api-v3-events',
      parameter_limit: '1',
    });
    assert.match(events.text, /<span class="tag success">200<\/span>/);
    const refused = await owner.post(PAGE, { operation: COLLECT, body: '{"amount": 1}' });
    assert.match(refused.text, /<span class="tag error">400<\/span>.*invalid_params/s);
  });

  test('what is no JSON, another site’s form and too many requests are refused', async () => {
    const form = { operation: COLLECT, body: '{' };
    assert.match((await owner.post(PAGE, form)).text, /role="alert">This is not JSON/);
    assert.match((await owner.post(PAGE, { ...form, csrf: 'x' })).text, /role="alert">This form has expired/);
    const foreign = await owner.post(PAGE, form, { 'sec-fetch-site': 'cross-site' });
    assert.match(foreign.text, /role="alert">This form was sent from another site/);
    assert.equal(
      (await owner.post('/docs/reference/credentials', { operation: 'post-api-integration-get-token' })).status,
      404,
    );
    for (let sent = 0; sent < 10; sent++) await owner.post(PAGE, form);
    assert.match((await owner.post(PAGE, form)).text, /role="alert">Too many requests/);
  });

  test('a form that was shown for another account is not sent', async () => {
    const other = await createShop(gateway.ctx, 'Boutique Teranga');
    const person = await addPerson(gateway, shop.holderId, 'developer', 'two@example.org');
    const { email, name } = person.member;
    await addMember(gateway.ctx, COMMAND_LINE, { email, name, holderId: other.holderId, role: 'developer' });
    const form = (await person.get(PAGE)).text.split('<form').find((each) => each.includes(`value="${COLLECT}"`)) ?? '';
    const hidden = [...form.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g)];
    const fields = Object.fromEntries(hidden.map(([, field = '', value = '']) => [field, value]));
    assert.equal((await person.post('/console/switch', { holder: String(other.holderId) })).status, 303);
    const sent = await person.post(PAGE, { ...fields, body: JSON.stringify(PAYMENT) });
    assert.equal(sent.status, 400);
    assert.match(sent.text, /role="alert">[^<]*Boutique Teranga/);
    const made = await gateway.ctx.db.query('select from transactions where holder_id = $1', [other.holderId]);
    assert.equal(made.length, 0);
  });

  test('pictures are served and kept for a day; one that is not there is not found', async () => {
    const [picture = ''] = readLibrary('').pictures.keys();
    const answer = await visitor(gateway, '').get(`/docs/images/${picture}`);
    assert.deepEqual([answer.status, answer.headers.get('content-type')], [200, 'image/png']);
    assert.equal(answer.headers.get('cache-control'), 'public, max-age=86400');
    assert.equal((await visitor(gateway, '').get('/docs/images/..%2Fopenapi.json')).status, 404);
  });

  test('a name that could end a quotation is not filled in', () => {
    const keys = { clientId: 'client_1', sender: "Amina's", secretKey: null, callbackSecret: null };
    const filled = printHtml(fillIn(html`<code>YOUR_CLIENT_ID 'YOUR_SENDER' YOUR_SECRET_KEY</code>`, keys));
    assert.equal(filled, "<code>client_1 'YOUR_SENDER' YOUR_SECRET_KEY</code>");
  });
});

test('in live mode nobody sees keys or a form', async () => {
  const gateway = await createTestGateway(LIVE);
  try {
    const shop = await createShop(gateway.ctx);
    const { member } = await addPerson(gateway, shop.holderId, 'owner');
    await setPassword(gateway.ctx, COMMAND_LINE, member.id, 'a sentence that is long', {
      sessionId: null,
      holderId: null,
    });
    const owner = visitor(gateway, `__Host-${(await signIn(gateway, member, { holderId: shop.holderId })).cookie}`);
    assert.equal((await owner.get('/console/account')).status, 200);
    const page = await owner.get(PAGE);
    assert.equal(page.status, 200);
    assert.ok(
      !page.text.includes(shop.clientId) && !page.text.includes(shop.secretKey) && !page.text.includes('Try it'),
    );
    assert.equal((await owner.post(PAGE, { operation: COLLECT, body: '{}' })).status, 403);
  } finally {
    await gateway.close();
  }
});

test('every guide has its place and its sentence in the contents, and every entry a page', () => {
  const { guides } = readLibrary('http://localhost:8080');
  const listed = listPages(listContents([])).map(({ path }) => path);
  const others = [...guides.keys()].filter((path) => !listed.includes(path) && !path.startsWith('/docs/decisions/'));
  assert.deepEqual(others, [], 'add the page to src/docs/contents.ts');
  assert.deepEqual(
    listed.filter((path) => !guides.has(path)),
    ['/docs/reference'],
  );
});
