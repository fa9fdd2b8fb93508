// Keys with names: what each may do and from where, on every route of the API. The cases come from the table of routes: a new
// route without a scope fails this test.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { COMMAND_LINE, listAudit } from '../src/holders/audit.ts';
import { MAX_LIVE_SECRETS, openAllAlike } from '../src/holders/integration-secrets.ts';
import { loadLiveIntegration, rotateSecret } from '../src/holders/integrations.ts';
import { addKey, listKeys, revokeKey } from '../src/holders/keys.ts';
import { exchangeCredentials } from '../src/holders/tokens.ts';
import { createVirtualClock } from '../src/platform/clock.ts';
import { createMemory } from '../src/platform/memory.ts';
import { type KeyScope, ROUTE_SCOPES, SCOPES } from '../src/platform/scopes.ts';
import type { JsonObject } from '../src/platform/strict-json.ts';
import { type Client, clientOf, createClient, PATHS, ugandanCollection } from './client.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';
import { listRoutes } from './route-list.ts';

let gateway: TestGateway;
let owner: Client;

before(async () => {
  gateway = await createTestGateway();
  owner = await createClient(gateway, 'Keys');
});
after(() => gateway.close());

/** A client that signs with a new key of the owner's integration. */
async function clientWith(name: string, scopes: readonly KeyScope[], allowedAddresses: string[] = []): Promise<Client> {
  const { shop } = owner;
  const access = { name, scopes, allowedAddresses };
  const { secret } = await addKey(gateway.ctx, COMMAND_LINE, shop.holderId, shop.id, access);
  gateway.ctx.clock.advance(1_000);
  return clientOf(gateway, { ...shop, secretKey: secret });
}

const end = (name: string) => revokeKey(gateway.ctx, COMMAND_LINE, owner.shop.holderId, owner.shop.id, name);

const apiRoutes = (await listRoutes()).filter((route) => / \/api\//.test(route));

/** How the guide calls each route. */
const NAMES: Readonly<Record<string, RegExp>> = {
  'POST /api/integration/get-token': /get .*tokens/,
  'POST /api/service-signature': /sign a request/,
  'GET /api/v3/tokens': /list tokens/,
  'DELETE /api/v3/tokens/:id': /revoke a token/,
  'GET /api/v3/countries': /countries/,
  'POST /api/v3/preflight': /preflight/,
  'POST /api/v3/service-unified-collections': /create.* collections/,
  'POST /api/v3/service-unified-collections/verify': /verify.* collections/,
  'POST /api/v3/service-unified-collections/resend': /resend collections/,
  'POST /api/v3/service-unified-refunds': /create refunds/,
  'POST /api/v3/payment-link-api/create': /create payment links/,
  'GET /api/payment-link-api/list': /list of payment links/,
  'POST /api/v2/get-unified-transaction-status': /status v2/,
  'POST /api/v3/get-unified-transaction-status': /status v2 and v3/,
  'POST /api/v3/get-unified-refund-status': /refund status/,
  'POST /api/v3/find-payment': /find a payment/,
  'POST /api/v3/get-unified-balance': /balance/,
  'GET /api/v3/statements': /statements/,
  'GET /api/v3/statements/file': /statements/,
  'GET /api/v3/events': /events: list/,
  'POST /api/v3/events/:id/resend': /events: .*resend/,
  'POST /api/v3/events/replay': /events: .*replay/,
};

describe('the scope of each route', () => {
  test('every route of the API is in the table, and the table names no other', () => {
    assert.ok(apiRoutes.length > 10);
    assert.deepEqual([...apiRoutes].sort(), Object.keys(ROUTE_SCOPES).sort());
  });

  test('docs/keys.md names every route beside its scope', () => {
    const guide = readFileSync('docs/keys.md', 'utf8');
    const rows = new Map(
      [...guide.matchAll(/^\| `?(\w+)`? \| (.+) \|$/gm)].map(([, scope = '', text = '']) => [scope, text]),
    );
    assert.deepEqual(Object.keys(NAMES).sort(), Object.keys(ROUTE_SCOPES).sort());
    for (const [route, scope] of Object.entries(ROUTE_SCOPES))
      assert.match(rows.get(scope) ?? '', NAMES[route] ?? /^$/, `${route} in the row of ${scope}`);
  });

  for (const [route, needed] of Object.entries(ROUTE_SCOPES)) {
    if (needed === 'any') continue;
    const [method = '', path = ''] = route.split(' ');

    test(`${route} needs ${needed}: a key with all other scopes is refused, signed or by token`, async () => {
      const others = SCOPES.filter((scope) => scope !== needed);
      const [without, only] = [await clientWith('without', others), await clientWith('only', [needed])];
      const url = path.replace(':id', 'evt_x');
      const calls = (client: Client) =>
        method === 'GET' ? client.get(url) : isSigned(path) ? client.signed(url) : client.postWithToken(url, {});
      const refused = await calls(without);
      assert.deepEqual([refused.status, refused.body.code], [403, 'scope_missing'], JSON.stringify(refused.body));
      assert.equal(refused.body.message, `This key does not have the scope "${needed}".`);
      assert.notEqual((await calls(only)).body.code, 'scope_missing');
      await end('without');
      await end('only');
    });
  }
});

/** Routes that take an envelope; the others take a token. */
function isSigned(path: string): boolean {
  return !/\/(events|find-payment|preflight|statements|tokens|list)\b/.test(path);
}

describe('keys', () => {
  test('a token has the scopes of its key, and what it signs has them too', async () => {
    const reader = await clientWith('reader', ['read']);
    assert.equal((await reader.get(PATHS.events)).status, 200);
    const { shop } = reader;
    const unsigned = { client_id: shop.clientId, sender: shop.title, params: ugandanCollection() };
    const { data } = await reader.postWithToken(PATHS.sign, unsigned);
    const sent = await reader.post(PATHS.collect, data.envelope as JsonObject);
    assert.deepEqual([sent.status, sent.body.code], [403, 'scope_missing']);
    const { data: read } = await reader.postWithToken(PATHS.sign, { ...unsigned, params: {} });
    assert.equal((await reader.post(PATHS.balance, read.envelope as JsonObject)).status, 200);
    await end('reader');
  });

  test('a key works only from its addresses, signed, by token and for a token', async () => {
    const far = await clientWith('far', SCOPES, ['203.0.113.0/24']);
    const signed = await far.signed(PATHS.statusV3, { id: 'TX_1' });
    assert.deepEqual(
      [signed.status, signed.body.code, signed.body.message],
      [403, 'address_not_allowed', 'Request was not verified.'],
    );
    const bought = await far.post(PATHS.token, { client_id: far.shop.clientId, secret_key: far.shop.secretKey });
    assert.deepEqual([bought.status, bought.body.code], [403, 'address_not_allowed']);
    const { token } = await exchangeCredentials(gateway.ctx, far.shop.clientId, far.shop.secretKey, '203.0.113.9');
    const reply = await gateway.app.inject({ url: PATHS.countries, headers: { authorization: `Bearer ${token}` } });
    assert.equal(reply.statusCode, 403);
    assert.equal((await owner.get(PATHS.countries)).status, 200, 'the other keys of the integration are not limited');
    await end('far');
  });

  test('revoking one key ends its tokens and leaves the others', async () => {
    const [lost, kept] = [await clientWith('lost', SCOPES), await clientWith('kept', SCOPES)];
    const token = await lost.token();
    assert.equal((await lost.get(PATHS.events)).status, 200);
    await end('lost');
    assert.equal((await lost.get(PATHS.events)).status, 401, 'at once');
    gateway.ctx.clock.advance(1_000);
    assert.equal((await lost.signed(PATHS.balance)).body.code, 'signature_mismatch');
    assert.equal(
      (await lost.post(PATHS.token, { client_id: lost.shop.clientId, secret_key: lost.shop.secretKey })).status,
      401,
    );
    assert.equal((await kept.signed(PATHS.balance)).status, 200);
    const tokens = (await kept.get(PATHS.tokens)).body.data as JsonObject[];
    assert.deepEqual(
      tokens.map(({ key, current }) => [key, current]),
      [['kept', true]],
      'a key sees its own tokens only',
    );
    assert.equal((await kept.deleteWithToken(`${PATHS.tokens}/${token.split('|')[0]}`)).status, 404);
    await end('kept');
  });

  test('the last page of tokens says that it is the last, also when it is full', async () => {
    const paged = await clientWith('paged', SCOPES);
    const ask = () => paged.post(PATHS.token, { client_id: paged.shop.clientId, secret_key: paged.shop.secretKey });
    for (let made = 0; made < 3; made++) assert.equal((await ask()).status, 200);
    await paged.token();
    const pages: [ids: unknown[], next: unknown][] = [];
    for (let query: string | null = '?limit=2'; query !== null; ) {
      const { body } = await paged.get(`${PATHS.tokens}${query}`);
      const next = (body.meta as JsonObject).next_cursor;
      pages.push([(body.data as JsonObject[]).map(({ id }) => id), next]);
      query = typeof next === 'number' ? `?limit=2&cursor=${next}` : null;
    }
    assert.deepEqual(
      pages.map(([ids]) => ids.length),
      [2, 2],
    );
    assert.equal(new Set(pages.flatMap(([ids]) => ids)).size, 4);
    await end('paged');
  });

  test('a revoked key is dead at once also for a process whose clock is slow', async () => {
    const { ctx } = gateway;
    const gone = await clientWith('gone', SCOPES);
    const slow = {
      ...ctx,
      clock: createVirtualClock(new Date(ctx.clock.millis() - 25_000).toISOString()),
      memory: createMemory(),
    };
    const lives = async () => {
      const integration = await loadLiveIntegration(slow, { id: gone.shop.id });
      return integration?.keys.some(({ name }) => name === 'gone');
    };
    assert.equal(await lives(), true);
    await end('gone');
    assert.equal(await lives(), false);
  });

  test('a rotation keeps name, scopes and addresses; the list and the audit log show it', async () => {
    const { ctx } = gateway;
    const { holderId, id } = owner.shop;
    const shop = await clientWith('shop', ['collect', 'read'], ['127.0.0.1']);
    const rotated = await rotateSecret(ctx, COMMAND_LINE, holderId, id, 'api', 60, 'shop');
    const next = clientOf(gateway, { ...shop.shop, secretKey: rotated.secret });
    for (const client of [shop, next]) assert.equal((await client.signed(PATHS.balance)).status, 200);
    assert.equal((await next.signed(PATHS.refund)).body.code, 'scope_missing');
    const listed = (await listKeys(ctx.db, holderId, id, ctx.clock.now())).filter((key) => key.name === 'shop');
    assert.deepEqual(
      listed.map(({ scopes, allowedAddresses, status }) => [scopes, allowedAddresses, status]),
      [
        [['collect', 'read'], ['127.0.0.1'], 'active'],
        [['collect', 'read'], ['127.0.0.1'], 'ending'],
      ],
    );
    await end('shop');
    const actions = (await listAudit(ctx.db, holderId, 3)).map((entry) => [entry.action, entry.details.key]);
    assert.deepEqual(actions, [
      ['integration.key_revoked', 'shop'],
      ['integration.api_secret_rotated', 'shop'],
      ['integration.key_added', 'shop'],
    ]);
    await assert.rejects(rotateSecret(ctx, COMMAND_LINE, holderId, id, 'api', 60, 'shop'), { code: 'not_found' });
  });

  test('there are at most ten live secrets, whatever is done at the same time', async () => {
    const { ctx } = gateway;
    const full = await createClient(gateway, 'Full');
    const { holderId, id } = full.shop;
    const add = (n: number) =>
      addKey(ctx, COMMAND_LINE, holderId, id, { name: `key-${n}`, scopes: SCOPES, allowedAddresses: [] });
    const added = await Promise.allSettled(Array.from({ length: 15 }, (_, n) => add(n)));
    assert.equal(added.filter(({ status }) => status === 'fulfilled').length, MAX_LIVE_SECRETS - 1);
    const rotate = (overlap: number) => rotateSecret(ctx, COMMAND_LINE, holderId, id, 'api', overlap);
    await assert.rejects(rotate(60), { code: 'invalid_params' });
    assert.ok((await rotate(0)).secret);
  });

  test('names, scopes and addresses are checked', async () => {
    const { holderId, id } = owner.shop;
    const add = async (name: string, scopes: readonly KeyScope[] = SCOPES, allowedAddresses: string[] = []) =>
      addKey(gateway.ctx, COMMAND_LINE, holderId, id, { name, scopes, allowedAddresses });
    for (const wrong of [
      add(''),
      add('Shop'),
      add('a b'),
      add('x'.repeat(41)),
      add('new', []),
      add('new', SCOPES, ['shop.example']),
    ])
      await assert.rejects(wrong, { code: 'invalid_params' });
    await assert.rejects(add('default'), { code: 'invalid_params' });
    await assert.rejects(
      addKey(gateway.ctx, COMMAND_LINE, holderId + 1n, id, { name: 'theirs', scopes: SCOPES, allowedAddresses: [] }),
      { code: 'not_found' },
    );
  });

  test('an unknown client, a wrong secret and many keys open the same number of secrets', async () => {
    const { ctx } = gateway;
    let opened = 0;
    const vault = {
      ...ctx.vault,
      open(...args: Parameters<typeof ctx.vault.open>) {
        opened++;
        return ctx.vault.open(...args);
      },
    };
    const counted = { ...ctx, vault };
    const many = await createClient(gateway, 'Many');
    for (const name of ['a', 'b', 'c'])
      await addKey(ctx, COMMAND_LINE, many.shop.holderId, many.shop.id, { name, scopes: SCOPES, allowedAddresses: [] });
    for (const clientId of ['client_nobody', owner.shop.clientId, many.shop.clientId]) {
      opened = 0;
      await assert.rejects(exchangeCredentials(counted, clientId, 'sk_wrong', '203.0.113.50'), {
        code: 'credentials_not_verified',
      });
      assert.equal(opened, MAX_LIVE_SECRETS, clientId);
    }
    assert.deepEqual(await openAllAlike(ctx, []), []);
  });
});
