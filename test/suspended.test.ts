// A suspended or closed holder moves no money and gets nothing new, whichever way somebody tries. Reading its own pages,
// stopping and taking back stay possible.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { setPayoutApproval } from '../src/holders/approval-rules.ts';
import { COMMAND_LINE } from '../src/holders/audit.ts';
import type { HolderStatus } from '../src/holders/holders.ts';
import { setHolderStatus } from '../src/payments/holder-status.ts';
import { topUpSandbox } from '../src/payments/sandbox-top-up.ts';
import { type Client, collectInKenya, createClient, PATHS, send, textOf } from './client.ts';
import { addPerson, type Person, payOut } from './console-harness.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';

const PAYOUT = { country_id: '1', currency: 'KES', mobile: '254712345000', amount: '1500', method: '' };
/** A process may know a holder's status from before for this long. */
const CACHED_MS = 1_000;

let gateway: TestGateway;
let client: Client;
let owner: Person;
let finance: Person;
let names = 0;

before(async () => {
  gateway = await createTestGateway();
});
after(() => gateway.close());

beforeEach(async () => {
  names++;
  client = await createClient(gateway, `Shop ${names}`);
  const { holderId } = client.shop;
  owner = await addPerson(gateway, holderId, 'owner', `owner${names}@example.org`);
  finance = await addPerson(gateway, holderId, 'finance', `finance${names}@example.org`);
  await topUpSandbox(gateway.ctx, COMMAND_LINE, holderId, 'KES', 5_000_000n);
});

async function suspend(status: HolderStatus = 'suspended'): Promise<void> {
  await setHolderStatus(gateway.ctx, COMMAND_LINE, client.shop.holderId, status);
  gateway.ctx.clock.advance(CACHED_MS);
}

async function countOf(table: 'transactions' | 'payment_links' | 'integrations'): Promise<bigint> {
  const [row] = await gateway.ctx.db.query<{ count: bigint }>(`select count(*) from ${table} where holder_id = $1`, [
    client.shop.holderId,
  ]);
  return row?.count ?? 0n;
}

async function orderedPayout(amount: string): Promise<string> {
  const ordered = await payOut(owner, { ...PAYOUT, amount });
  const ref = /TX_\w{26}/.exec(`${ordered.location} ${ordered.text}`)?.[0];
  assert.ok(ref, `${ordered.status} ${ordered.text}`);
  return ref;
}

async function statusOf(ref: string): Promise<string> {
  return textOf((await client.signed(PATHS.statusV3, { id: ref })).data.status);
}

describe('suspended', () => {
  test('security S2: a payout that waits is not approved and not sent, and can be cancelled', async () => {
    await setPayoutApproval(gateway.ctx, COMMAND_LINE, client.shop.holderId, true);
    const approved = await orderedPayout('1500');
    const cancelled = await orderedPayout('1600');
    await suspend();
    const answer = await finance.post(`/console/transactions/${approved}/approve`);
    assert.equal(answer.status, 400, answer.text);
    await gateway.advance(10_000);
    assert.equal((await owner.post(`/console/transactions/${cancelled}/cancel`)).status, 303);
    await suspend('active');
    assert.deepEqual([await statusOf(approved), await statusOf(cancelled)], ['pending', 'failed']);
  });

  test('security S2: every form of the console that orders or creates is refused', async () => {
    const ref = await collectInKenya(gateway, client.shop);
    await suspend();
    const counts = async () => Promise.all((['transactions', 'payment_links', 'integrations'] as const).map(countOf));
    const before = await counts();
    const forms: [string, Record<string, string>][] = [
      ['/console/payouts', PAYOUT],
      ['/console/payouts/check', { csv: 'mobile,amount\n254712345000,10' }],
      ['/console/payouts/import', { csv: 'mobile,amount\n254712345000,10' }],
      [`/console/transactions/${ref}/refund`, { amount: '10' }],
      [`/console/transactions/${ref}/resend`, {}],
      ['/console/links', { country_id: '1', currency: 'KES', amount: '10' }],
      ['/console/integrations', { title: 'New program' }],
      [`/console/integrations/${client.shop.id}/rotate`, { kind: 'api' }],
      ['/console/test-payment', {}],
      ['/console/balances/top-up', { currency: 'KES', amount: '10' }],
      ['/console/callbacks/replay', { since: '2026-03-01' }],
      ['/console/team/invite', { email: 'new@example.org', role: 'owner' }],
    ];
    for (const [path, fields] of forms) {
      const answer = await owner.post(path, fields);
      assert.equal(answer.status, 400, `${path}: ${answer.status} ${answer.text}`);
      assert.match(answer.text, /suspended or closed/, path);
    }
    assert.deepEqual(await counts(), before);
    assert.equal((await owner.get('/console')).status, 200, 'reading stays possible');
    assert.equal(
      (await owner.post(`/console/integrations/${client.shop.clientId}/revoke`, { confirm_title: client.shop.title }))
        .status,
      303,
      'revoking too',
    );
  });

  test('security S2: owners can remove a member and withdraw a loosening of the rules, and nothing else there', async () => {
    await setPayoutApproval(gateway.ctx, COMMAND_LINE, client.shop.holderId, true);
    await owner.post('/console/settings/approval', { needed: 'no' });
    const change = /\/settings\/approval\/changes\/([^"]+)"/.exec((await owner.get('/console/settings')).text)?.[1];
    assert.ok(change);
    await suspend();
    const rule = `/console/settings/approval/changes/${change}`;
    const member = `/console/team/${finance.member.id}`;
    assert.equal((await owner.post(rule, { decision: 'confirm' })).status, 400);
    assert.equal((await owner.post(rule, { decision: 'withdraw' })).status, 303);
    assert.equal((await owner.post(member, { role: 'developer' })).status, 400);
    assert.equal((await owner.post(member, { role: '' })).status, 303);
    assert.ok(!(await owner.get('/console/team')).text.includes(finance.member.email));
  });

  test('security S2: tokens are refused as signatures are, and none is issued', async () => {
    await client.token();
    await suspend();
    const credentials = { client_id: client.shop.clientId, secret_key: client.shop.secretKey };
    const replies = {
      token: await send(gateway.app, 'POST', PATHS.token, credentials),
      events: await client.get(PATHS.events),
      countries: await client.get(PATHS.countries),
      preflight: await client.postWithToken(PATHS.preflight, {}),
      replay: await client.postWithToken(`${PATHS.events}/replay`, { since: '2026-03-01' }),
      sign: await client.postWithToken(PATHS.sign, client.envelope()),
      status: await client.signed(PATHS.statusV3, { id: 'TX_00000000000000000000000000' }),
    };
    for (const [name, reply] of Object.entries(replies))
      assert.deepEqual(
        [reply.status, reply.body.code, reply.body.data],
        [400, 'account_suspended', undefined],
        `${name}: ${JSON.stringify(reply.body)}`,
      );
    const links = await client.get(PATHS.listLinks);
    assert.deepEqual([links.status, links.body.message], [404, 'User not found']);
    const wrong = await send(gateway.app, 'POST', PATHS.token, { ...credentials, secret_key: 'wrong' });
    assert.equal(wrong.status, 401, 'who does not know the secret learns nothing');
    await suspend('active');
    assert.equal((await client.get(PATHS.events)).status, 200);
  });
});

test('security S2: a closed holder gets no token, and its people can order nothing', async () => {
  // A holder is closed only when nothing is left in it.
  client = await createClient(gateway, 'Empty shop');
  owner = await addPerson(gateway, client.shop.holderId, 'owner', 'owner-of-empty@example.org');
  await suspend('closed');
  const credentials = { client_id: client.shop.clientId, secret_key: client.shop.secretKey };
  const reply = await send(gateway.app, 'POST', PATHS.token, credentials);
  assert.deepEqual([reply.status, reply.body.code], [400, 'account_not_found']);
  assert.equal((await owner.post('/console/payouts', PAYOUT)).status, 400);
  assert.equal((await owner.post('/console/integrations', { title: 'New program' })).status, 400);
});
