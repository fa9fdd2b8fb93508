// Keys and tokens in the console: adding, rotating and revoking a key, ending a token, hosts for redirects, and the requests that
// nobody signed.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { listKeys } from '../src/holders/keys.ts';
import { writeUnverified } from '../src/holders/unverified-requests.ts';
import { createUuid, publicId } from '../src/platform/ids.ts';
import { type Client, clientOf, createClient, PATHS } from './client.ts';
import { addPerson, type Person } from './console-harness.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';

let gateway: TestGateway;
let client: Client;
let developer: Person;
let viewer: Person;
let page = '';

before(async () => {
  gateway = await createTestGateway();
  client = await createClient(gateway, 'Console keys');
  const { holderId, clientId } = client.shop;
  developer = await addPerson(gateway, holderId, 'developer');
  viewer = await addPerson(gateway, holderId, 'viewer');
  page = `/console/integrations/${clientId}`;
});
after(() => gateway.close());

const secretIn = (text: string) => /sk_[\w-]{40,}/.exec(text)?.[0] ?? '';
const scopes = { scope_collect: 'yes', scope_read: 'yes' };

test('a key is added with scopes and addresses, shown once, rotated and revoked', async () => {
  const { ctx } = gateway;
  const wrong = await developer.post(`${page}/keys`, { key_name: 'Web shop', key_addresses: 'here', ...scopes });
  assert.equal(wrong.status, 400);
  assert.match(wrong.text, /<details open>/);
  assert.match(wrong.text, /value="Web shop"/);
  const none = await developer.post(`${page}/keys`, { key_name: 'shop' });
  assert.match(none.text, /Choose at least one scope/);
  const added = await developer.post(`${page}/keys`, { key_name: 'shop', key_addresses: '127.0.0.1', ...scopes });
  const secret = secretIn(added.text);
  assert.equal(added.status, 200);
  const shop = clientOf(gateway, { ...client.shop, secretKey: secret });
  ctx.clock.advance(1_000);
  assert.equal((await shop.signed(PATHS.balance)).status, 200);
  assert.equal((await shop.signed(PATHS.createLink)).body.code, 'scope_missing');
  const shown = (await developer.get(page)).text;
  assert.match(shown, /<code>shop<\/code>/);
  assert.ok(!shown.includes(secret), 'the secret is shown once');
  const [key] = await listKeys(ctx.db, client.shop.holderId, client.shop.id, ctx.clock.now());
  const fields = { kind: 'api', key: 'shop', secret: String(key?.id), [`overlap_${key?.id}`]: '0' };
  const rotated = secretIn((await developer.post(`${page}/rotate`, fields)).text);
  ctx.clock.advance(1_000);
  assert.equal((await shop.signed(PATHS.balance)).status, 403, 'the old one ended at once');
  const next = clientOf(gateway, { ...client.shop, secretKey: rotated });
  assert.equal((await next.signed(PATHS.balance)).status, 200);
  assert.equal((await developer.post(`${page}/keys/revoke`, { key: 'shop' })).status, 303);
  ctx.clock.advance(1_000);
  assert.equal((await next.signed(PATHS.balance)).status, 403);
});

test('live tokens are listed with their key and use, and ended by a button', async () => {
  const token = await client.token();
  const [id = ''] = token.split('|');
  const shown = (await developer.get(page)).text;
  assert.match(shown, new RegExp(`<code>${id}</code>`));
  assert.ok(!shown.includes(token.split('|')[1] ?? ''));
  assert.equal((await developer.post(`${page}/tokens/revoke`, { token: id })).status, 303);
  assert.equal((await client.get(PATHS.countries)).status, 401);
  assert.doesNotMatch((await developer.get(page)).text, new RegExp(`<code>${id}</code>`));
});

test('a viewer sees keys and tokens and changes nothing; another holder finds nothing', async () => {
  const seen = (await viewer.get(page)).text;
  assert.match(seen, /<code>default<\/code>/);
  assert.doesNotMatch(seen, /keys\/revoke|tokens\/revoke/);
  for (const path of ['keys', 'keys/revoke', 'tokens/revoke'])
    assert.equal((await viewer.post(`${page}/${path}`, { key: 'default', token: '1' })).status, 403, path);
  const other = await createClient(gateway, 'Elsewhere');
  const stranger = await addPerson(gateway, other.shop.holderId, 'developer', 'stranger@example.org');
  const [id = ''] = (await tokenOfClient()).split('|');
  for (const [path, fields] of [
    ['keys', { key_name: 'mine', ...scopes }],
    ['keys/revoke', { key: 'default' }],
    ['tokens/revoke', { token: id }],
  ] as const)
    assert.equal((await stranger.post(`${page}/${path}`, fields)).status, 404, path);
  const own = `/console/integrations/${other.shop.id}/tokens/revoke`;
  assert.equal((await stranger.post(own, { token: id })).status, 404);
});

const tokenOfClient = () => clientOf(gateway, client.shop).token();

test('payment links lead only to the hosts of the integration', async () => {
  const save = (redirect_hosts: string) =>
    developer.post(page, { callback_url: '', allowed_addresses: '', redirect_hosts });
  assert.equal((await save('https://shop.example.org')).status, 400);
  assert.equal((await save('Shop.example.org\n*.pay.example.org')).status, 303);
  gateway.ctx.clock.advance(1_000);
  const create = (redirection_url: string) =>
    client.signed(PATHS.createLink, { country_id: 11, currency: 'UGX', redirection_url });
  for (const url of [
    'https://shop.example.org/thanks',
    'https://a.pay.example.org:8443/',
    'https://SHOP.example.org./',
  ])
    assert.equal((await create(url)).status, 200, url);
  for (const url of [
    'https://shop.example.org.evil.example/',
    'https://evilshop.example.org/',
    'https://pay.example.org/',
    'https://shop.example.org@evil.example/',
    'https://evil.example/?shop.example.org',
  ]) {
    const refused = await create(url);
    assert.deepEqual([refused.status, Object.keys(refused.body.errors ?? {})], [400, ['redirection_url']], url);
  }
  assert.equal((await save('')).status, 303);
  gateway.ctx.clock.advance(1_000);
  assert.equal((await create('https://anywhere.example/')).status, 200);
});

test('security S19: the page of requests shows a wrong signature apart from the log, found by its request_id', async () => {
  const { ctx } = gateway;
  const { holderId, id: integrationId } = client.shop;
  const [id, other] = [createUuid(ctx.clock.millis()), createUuid(ctx.clock.millis())];
  const row = {
    holderId,
    integrationId,
    at: ctx.clock.now(),
    status: 403,
    address: '203.0.113.7',
    code: 'signature_mismatch',
  };
  await writeUnverified(ctx, [
    { ...row, id, route: 'POST /api/v3/wanted' },
    { ...row, id: other, route: 'POST /api/v3/other' },
  ]);
  const all = (await developer.get('/console/requests')).text;
  assert.match(all, /Not verified/);
  assert.match(all, /signature_mismatch/);
  const found = (await developer.get(`/console/requests?id=${publicId('req', id)}`)).text;
  assert.match(found, /v3\/wanted/);
  assert.doesNotMatch(found, /v3\/other/);
});

test('an integration has its client_id in the address; the number of before leads there', async () => {
  const old = `/console/integrations/${client.shop.id}`;
  assert.equal((await developer.get(old)).location, page);
  assert.equal((await developer.get('/console/integrations/client_nobody')).status, 404);
  assert.equal((await developer.get('/console/integrations/%00')).status, 404);
});

test('an integration is revoked only by somebody who types its title', async () => {
  const made = await developer.post('/console/integrations', { title: 'Till 9', callback_url: '' });
  assert.match(
    made.text,
    /SIMBI_SENDER&#61;&#34;Till 9&#34;\nSIMBI_SECRET_KEY&#61;sk_[\w-]+\nSIMBI_CALLBACK_SECRET&#61;whsec_/,
  );
  const labels = [...made.text.matchAll(/<label for="sample-tab-\w+">([^<]+)/g)].map(([, label]) => label);
  assert.deepEqual(labels, ['Simbi SDK', 'curl', 'PHP', 'Python', 'TypeScript']);
  const path = /\/console\/integrations\/client_\w+/.exec(made.text)?.[0] ?? '';
  for (const typed of ['', 'till 9', 'Console keys']) {
    const refused = await developer.post(`${path}/revoke`, { confirm_title: typed });
    assert.equal(refused.status, 400);
    assert.match(refused.text, /This is not the title of the integration\. Nothing was revoked\./);
  }
  assert.equal(
    (await developer.post(`${path}/revoke`, { confirm_title: 'Till 9' })).location,
    `${path}?done=integrationRevoked`,
  );
});
