// What belongs to one account does not exist for another, on every route. The cases come from the table of routes: a
// new route without a case here fails this test.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { idFromRef } from '../src/payments/transactions.ts';
import type { JsonObject } from '../src/platform/strict-json.ts';
import { type Client, createClient, PATHS, type Reply, readFeed, send, textOf, ugandanCollection } from './client.ts';
import { eventsOfTransaction } from './events.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';
import { listRoutes } from './route-list.ts';
import { tokenOf } from './shop.ts';

/** What one holder has and another may try to reach. */
type HolderRecords = {
  client: Client;
  transaction: string;
  /** Waits for a token. */
  unverified: string;
  link: string;
  event: string;
  wallet: number;
};

let gateway: TestGateway;
let owner: HolderRecords;
let stranger: HolderRecords;

before(async () => {
  gateway = await createTestGateway();
  owner = await createRecords('Owner');
  stranger = await createRecords('Stranger');
});
after(() => gateway.close());

async function createRecords(name: string): Promise<HolderRecords> {
  const client = await createClient(gateway, name);
  const collect = async (digits: string) =>
    textOf(
      (await client.signed(PATHS.collect, ugandanCollection(digits, { callback_url: 'http://127.0.0.1:9/x' }))).data
        .ref,
    );
  const transaction = await collect('000');
  const unverified = await collect('012');
  const link = textOf((await client.signed(PATHS.createLink, { country_id: 11, currency: 'UGX' })).data.id);
  await gateway.settle();
  const [event] = await eventsOfTransaction(gateway.ctx.db, idFromRef(transaction) ?? '');
  const [wallet] = (await client.signed(PATHS.balance)).body.data as JsonObject[];
  return {
    client,
    transaction,
    unverified,
    link,
    event: event?.publicId ?? '',
    wallet: Number(wallet?.wallet_account),
  };
}

/** The stranger asks for the owner's record, then for their own, to show that the request itself was right. */
type Case = () => Promise<void>;

function assertMissing(reply: Reply, status: number, code: string): void {
  assert.deepEqual([reply.status, reply.body.code], [status, code], JSON.stringify(reply.body));
  assert.equal(reply.body.data, undefined);
}

const STATEMENT_QUERY = 'currency=UGX&from=2020-01-01&to=2029-12-31';

const CASES: Record<string, Case> = {
  [`POST ${PATHS.statusV2}`]: async () => {
    const ask = ({ transaction }: HolderRecords) => stranger.client.signed(PATHS.statusV2, { id: transaction });
    assertMissing(await ask(owner), 400, 'transaction_not_found');
    assert.equal((await ask(stranger)).status, 200);
    // Nor does the owner's token serve as the stranger's API key.
    const key = { 'x-api-key': await owner.client.token() };
    assertMissing(
      await stranger.client.signed(PATHS.statusV2, { id: stranger.transaction }, key),
      403,
      'unauthenticated',
    );
  },
  [`POST ${PATHS.statusV3}`]: async () => {
    const ask = ({ transaction }: HolderRecords) => stranger.client.signed(PATHS.statusV3, { id: transaction });
    assertMissing(await ask(owner), 404, 'transaction_not_found');
    assert.equal((await ask(stranger)).status, 200);
  },
  [`POST ${PATHS.verify}`]: async () => {
    const ask = ({ unverified }: HolderRecords) =>
      stranger.client.signed(PATHS.verify, { id: unverified, token: '000000' });
    assertMissing(await ask(owner), 404, 'transaction_not_found');
    assert.notEqual((await ask(stranger)).status, 404);
    // The stranger's guess was not counted against the owner.
    const [row] = await gateway.ctx.db.query<{ wrong_tries: number }>(
      'select wrong_tries from verification_tokens where transaction_id = $1',
      [idFromRef(owner.unverified)],
    );
    assert.equal(row?.wrong_tries, 0);
  },
  [`POST ${PATHS.resend}`]: async () => {
    gateway.ctx.clock.advance(31_000);
    const ask = ({ unverified }: HolderRecords) => stranger.client.signed(PATHS.resend, { id: unverified });
    assertMissing(await ask(owner), 404, 'transaction_not_found');
    assert.equal((await ask(stranger)).status, 200);
  },
  [`POST ${PATHS.refund}`]: async () => {
    const ask = ({ transaction }: HolderRecords) =>
      stranger.client.signed(PATHS.refund, { id: transaction, amount: 100 });
    assertMissing(await ask(owner), 400, 'transaction_not_found');
    assert.equal((await ask(stranger)).status, 200);
  },
  [`POST ${PATHS.refundStatus}`]: async () => {
    const refundOf = async ({ client, transaction }: HolderRecords) =>
      textOf((await client.signed(PATHS.refund, { id: transaction, amount: 200 })).data.ref);
    const ask = async (of: HolderRecords) => stranger.client.signed(PATHS.refundStatus, { id: await refundOf(of) });
    assertMissing(await ask(owner), 404, 'transaction_not_found');
    assert.equal((await ask(stranger)).status, 200);
  },
  [`POST ${PATHS.balance}`]: async () => {
    const ask = async (wallet: number) =>
      (await stranger.client.signed(PATHS.balance, { wallet_account: wallet })).body.data as JsonObject[];
    assert.deepEqual(await ask(owner.wallet), []);
    assert.equal((await ask(stranger.wallet)).length, 1);
    const all = (await stranger.client.signed(PATHS.balance)).body.data as JsonObject[];
    assert.ok(!all.some(({ wallet_account }) => wallet_account === owner.wallet));
  },
  'POST /api/v3/find-payment': async () => {
    const receiptOf = async ({ client, transaction }: HolderRecords) => {
      const [row] = await gateway.ctx.db.query<{ receipt: string }>('select receipt from transactions where id = $1', [
        idFromRef(transaction),
      ]);
      assert.ok(row && client.shop);
      return row.receipt;
    };
    const ask = async (of: HolderRecords) =>
      (await stranger.client.postWithToken('/api/v3/find-payment', { receipt: await receiptOf(of) })).data
        .payments as JsonObject[];
    assert.deepEqual(await ask(owner), []);
    assert.deepEqual(
      (await ask(stranger)).map(({ ref }) => ref),
      [stranger.transaction],
    );
  },
  'GET /api/v3/statements': async () => {
    const { data } = await stranger.client.get(`/api/v3/statements?${STATEMENT_QUERY}`);
    assert.equal(data.wallet_account, stranger.wallet);
    const { data: theirs } = await owner.client.get(`/api/v3/statements?${STATEMENT_QUERY}`);
    assert.equal(theirs.wallet_account, owner.wallet);
  },
  'GET /api/v3/statements/file': async () => {
    const headers = { authorization: `Bearer ${await stranger.client.token()}` };
    const file = await gateway.app.inject({ url: `/api/v3/statements/file?format=csv&${STATEMENT_QUERY}`, headers });
    assert.equal(file.statusCode, 200, file.body);
    assert.ok(file.body.includes(stranger.transaction) && !file.body.includes(owner.transaction));
  },
  [`GET ${PATHS.listLinks}`]: async () => {
    const ids = ((await stranger.client.get(PATHS.listLinks)).body.data as JsonObject[]).map(({ id }) => id);
    assert.ok(ids.includes(stranger.link) && !ids.includes(owner.link));
  },
  [`GET ${PATHS.events}`]: async () => {
    const refs = (await readFeed(stranger.client, 1)).map(({ data }) => (data as JsonObject).ref);
    assert.ok(refs.includes(stranger.transaction) && !refs.includes(owner.transaction));
    assertMissing(await stranger.client.get(`${PATHS.events}?after=${owner.event}`), 404, 'event_not_found');
    assert.equal((await stranger.client.get(`${PATHS.events}?after=${stranger.event}`)).status, 200);
  },
  'POST /api/v3/events/:id/resend': async () => {
    const ask = ({ event }: HolderRecords) => stranger.client.postWithToken(`/api/v3/events/${event}/resend`, {});
    assertMissing(await ask(owner), 404, 'event_not_found');
    assert.equal((await ask(stranger)).status, 200);
  },
  'POST /api/v3/events/replay': async () => {
    const dueOfOwner = () =>
      gateway.ctx.db.query('select due_at, attempts from callback_deliveries where holder_id = $1 order by event_id', [
        owner.client.shop.holderId,
      ]);
    // What other cases have made is sent first.
    await gateway.settle();
    const before = await dueOfOwner();
    const reply = await stranger.client.postWithToken('/api/v3/events/replay', { since: '2026-01-01T00:00:00Z' });
    assert.equal(reply.status, 200);
    assert.deepEqual(await dueOfOwner(), before);
  },
  [`POST ${PATHS.sign}`]: async () => {
    const { shop } = owner.client;
    const body = { client_id: shop.clientId, sender: shop.title, params: {} };
    assertMissing(await stranger.client.postWithToken(PATHS.sign, body), 403, 'integration_not_found');
  },
  [`POST ${PATHS.token}`]: async () => {
    const mixed = { client_id: owner.client.shop.clientId, secret_key: stranger.client.shop.secretKey };
    assertMissing(await stranger.client.post(PATHS.token, mixed), 401, 'credentials_not_verified');
  },
  [`GET ${PATHS.tokens}`]: async () => {
    const mine = Number((await stranger.client.token()).split('|')[0]);
    const theirs = Number((await owner.client.token()).split('|')[0]);
    const ids = ((await stranger.client.get(PATHS.tokens)).body.data as JsonObject[]).map(({ id }) => id);
    assert.ok(ids.includes(mine) && !ids.includes(theirs));
  },
  'DELETE /api/v3/tokens/:id': async () => {
    const ask = async (of: HolderRecords) => {
      const [id] = (await tokenOf(gateway.ctx, of.client.shop)).split('|');
      return stranger.client.deleteWithToken(`${PATHS.tokens}/${id}`);
    };
    assertMissing(await ask(owner), 404, 'not_found');
    assert.equal((await ask(stranger)).status, 200);
  },
  [`POST ${PATHS.collect}`]: async () => {
    // The owner's idempotency key answers the owner only.
    const key = { 'idempotency-key': 'shared' };
    const first = await owner.client.signed(PATHS.collect, ugandanCollection('000'), key);
    const second = await stranger.client.signed(PATHS.collect, ugandanCollection('000'), key);
    assert.deepEqual([first.status, second.status, second.headers['idempotent-replayed']], [200, 200, undefined]);
    assert.notEqual(first.data.ref, second.data.ref);
  },
  [`POST ${PATHS.createLink}`]: async () => {
    const key = { 'idempotency-key': 'shared-link' };
    const params = { country_id: 11, currency: 'UGX' };
    const first = await owner.client.signed(PATHS.createLink, params, key);
    const second = await stranger.client.signed(PATHS.createLink, params, key);
    assert.deepEqual([first.status, second.status], [200, 200]);
    assert.notEqual(first.data.id, second.data.id);
  },
  [`GET ${PATHS.countries}`]: async () => assertSameForAll(PATHS.countries),
  [`POST ${PATHS.preflight}`]: async () => {
    const body = { mobile: '0772123456', amount: 2500, currency: 'UGX' };
    const [one, other] = [
      await owner.client.postWithToken(PATHS.preflight, body),
      await stranger.client.postWithToken(PATHS.preflight, body),
    ];
    assert.deepEqual(one.data, other.data);
  },
};

async function assertSameForAll(path: string): Promise<void> {
  assert.deepEqual((await owner.client.get(path)).data, (await stranger.client.get(path)).data);
}

/** Routes that know no account, or prove who asks in another way. */
const OTHERS: [pattern: RegExp, why: string][] = [
  [/^\/pay\//, 'the page of a link: anyone who has the address may pay; the address cannot be guessed'],
  [/^\/p\//, 'the short address of a link: leads to its page; codes cannot be guessed, and wrong ones are counted'],
  [/^\/find/, 'the payer proves the payment by its receipt and number; src/checkout/find-page.test.ts'],
  [/^\/r\//, 'a receipt: anyone who has the address may read it; the address cannot be guessed'],
  [/^\/logos\//, 'pictures by the hash of their bytes'],
  [/^\/docs|^\/openapi\.json$|^\/llms\.txt$/, 'documentation'],
  [/^\/sandbox\//, 'the test phone and receiver, which exist in sandbox mode only'],
  [/^\/console/, 'sessions of members; its own tests'],
  [/^\/operators\//, 'operators, who prove themselves to their rail'],
  [/^\/(livez|healthz|readyz|metrics)$/, 'the ops team'],
  [/^\/(favicon\.(svg|ico)|robots\.txt|\.well-known\/security\.txt)?$/, 'the front door'],
];

const routes = await listRoutes();
const pathOf = (route: string) => route.slice(route.indexOf(' ') + 1);

test('every route has a case, or a reason why it needs none', () => {
  assert.ok(routes.includes(`POST ${PATHS.collect}`), routes.join('\n'));
  const unknown = routes.filter(
    (route) => !(route in CASES) && !OTHERS.some(([pattern]) => pattern.test(pathOf(route))),
  );
  assert.deepEqual(unknown, [], 'routes without a case in test/isolation.test.ts');
  const api = routes.filter((route) => pathOf(route).startsWith('/api/'));
  assert.deepEqual(
    api.filter((route) => !(route in CASES)),
    [],
  );
  assert.deepEqual(
    Object.keys(CASES).filter((route) => !routes.includes(route)),
    [],
    'cases without a route',
  );
});

describe('another account’s things are not found', () => {
  for (const [route, run] of Object.entries(CASES)) test(route, run);
});

test('a link’s page and pictures do not tell whose other things there are', async () => {
  const page = await gateway.app.inject({ url: `/pay/${owner.link}` });
  for (const secret of [owner.client.shop.clientId, owner.transaction, owner.client.shop.secretKey])
    assert.ok(!page.body.includes(secret));
});

test('a token of one integration never opens the other account', async () => {
  const token = await stranger.client.token();
  const [id = ''] = (await owner.client.token()).split('|');
  const mixed = `${id}|${token.split('|')[1] ?? ''}`;
  const reply = await send(gateway.app, 'GET', PATHS.listLinks, undefined, { authorization: `Bearer ${mixed}` });
  assertMissing(reply, 401, 'unauthenticated');
});
