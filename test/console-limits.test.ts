// Limits, blocked numbers, the rolling reserve and disputes in the console: who may change them, and what nobody else reaches.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { COMMAND_LINE } from '../src/holders/audit.ts';
import { blockNumber, listBlockedNumbers, listLimits } from '../src/payments/payment-limits.ts';
import { topUpSandbox } from '../src/payments/sandbox-top-up.ts';
import { refreshCaches } from '../src/platform/cache.ts';
import { type Client, createClient, PATHS, textOf, ugandanCollection } from './client.ts';
import { addPerson, type Person } from './console-harness.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';

let gateway: TestGateway;
let client: Client;
let holderId: bigint;
let owner: Person;
let finance: Person;
let admin: Person;
let stranger: Person;

before(async () => {
  gateway = await createTestGateway();
  client = await createClient(gateway, 'Limited shop');
  holderId = client.shop.holderId;
  owner = await addPerson(gateway, holderId, 'owner');
  finance = await addPerson(gateway, holderId, 'finance');
  admin = await addPerson(gateway, holderId, 'viewer', 'admin@example.org', { admin: true });
  const other = await createClient(gateway, 'Other shop');
  stranger = await addPerson(gateway, other.shop.holderId, 'owner', 'stranger@example.org');
});
after(() => gateway.close());

const LIMIT = { direction: 'collection', subject: 'holder', currency: 'UGX', amount: '', count: '' };

async function collect() {
  await refreshCaches(gateway.ctx);
  return client.signed(PATHS.collect, ugandanCollection('000'));
}

describe('the console', () => {
  test('lets an admin set a limit, and an owner only a stricter one; the API names it', async () => {
    const path = `/console/admin/holders/${holderId}/limits`;
    assert.equal((await admin.post(path, { ...LIMIT, count: '3' })).status, 303);
    assert.equal((await owner.post(path, { ...LIMIT, count: '9' })).status, 403);
    assert.equal((await finance.post('/console/settings/limits', { ...LIMIT, count: '1' })).status, 403);
    const looser = await owner.post('/console/settings/limits', { ...LIMIT, count: '9' }, { 'accept-language': 'fr' });
    assert.equal(looser.status, 400);
    assert.match(looser.text, /La passerelle permet moins/);
    const members = { ...LIMIT, subject: 'member', count: '1' };
    const noMember = await owner.post('/console/settings/limits', members, { 'accept-language': 'pt' });
    assert.match(noMember.text, /não pertencem a nenhum membro/);
    assert.equal((await owner.post('/console/settings/limits', { ...LIMIT, count: '1' })).status, 303);
    assert.match((await finance.get('/console/settings')).text, /Daily limits/);
    assert.equal((await collect()).status, 200);
    const refused = await collect();
    assert.deepEqual(
      [refused.status, refused.body.code, refused.body.message],
      [400, 'limit_reached', 'Transaction was not created!'],
    );
    await owner.post('/console/settings/limits', LIMIT);
    await admin.post(path, LIMIT);
    assert.deepEqual(await listLimits(gateway.ctx.db, holderId), []);
  });

  test('blocks a number and takes it off the list', async () => {
    const { mobile } = ugandanCollection('000') as { mobile: string };
    const fields = { mobile, reason: 'stolen SIM' };
    assert.equal((await finance.post('/console/settings/blocked', fields)).status, 403);
    assert.equal((await owner.post('/console/settings/blocked', fields)).status, 303);
    const refused = await collect();
    assert.deepEqual([refused.status, refused.body.code], [400, 'number_blocked']);
    assert.match((await owner.get('/console/settings')).text, /stolen SIM/);
    await owner.post('/console/settings/blocked', { mobile, remove: 'yes' });
    assert.equal((await collect()).status, 200);
  });

  test('blocks nobody by half a number: it is written with its country, or refused in the language of the page', async () => {
    const block = (mobile: string) => owner.post('/console/settings/blocked?lang=fr', { mobile, reason: 'stolen SIM' });
    for (const mobile of ['0772 309 000', '772309000', '256772', '256772309000123', 'x']) {
      const { status, text } = await block(mobile);
      assert.equal(status, 400, mobile);
      assert.match(text, /numéro mobile avec l’indicatif/);
    }
    assert.deepEqual(await listBlockedNumbers(gateway.ctx.db, holderId), []);
    for (const mobile of ['+256 772 309-000', '00256772309000', '+256 (0) 772 309 000', '256772309000']) {
      assert.equal((await block(mobile)).status, 303, mobile);
      const listed = await listBlockedNumbers(gateway.ctx.db, holderId);
      assert.deepEqual(
        listed.map(({ msisdn }) => msisdn),
        ['256772309000'],
      );
      await owner.post('/console/settings/blocked', { mobile: '256772309000', remove: 'yes' });
    }
  });

  test('says of a number on the list that it blocks nobody: earlier versions took it without its country', async () => {
    const old = (msisdn: string) => blockNumber(gateway.ctx, COMMAND_LINE, holderId, { msisdn, reason: 'stolen SIM' });
    for (const msisdn of ['0772123000', '22997123456', '256772309001']) await old(msisdn);
    assert.equal((await collect()).status, 200, 'it may be the number of somebody in another country');
    const { text } = await owner.get('/console/settings?lang=fr');
    const cells = [...text.matchAll(/<td[^>]*>((?:(?!<\/td>).)*?(?:0772123000|22997123456|256772309001).*?)<\/td>/gs)];
    assert.deepEqual(
      new Map(cells.map(([, cell = '']) => [/\d{8,}/.exec(cell)?.[0], cell.includes('Ne bloque personne')])),
      new Map([
        ['0772123000', true],
        ['22997123456', true],
        ['256772309001', false],
      ]),
    );
    for (const { msisdn } of await listBlockedNumbers(gateway.ctx.db, holderId))
      await admin.post(`/console/admin/holders/${holderId}/blocked`, { mobile: msisdn, remove: 'yes' });
    assert.deepEqual(await listBlockedNumbers(gateway.ctx.db, holderId), []);
  });

  test('takes no number that it would have to cut', async () => {
    const reserve = `/console/admin/holders/${holderId}/reserve`;
    assert.equal((await admin.post(reserve, { percent: '10', days: '1000' })).status, 400);
    const limits = await owner.post('/console/settings/limits', { ...LIMIT, count: '100000000' });
    assert.equal(limits.status, 400);
    assert.deepEqual(await listLimits(gateway.ctx.db, holderId), []);
  });

  test('says in the language of the page that a limit or a block stops a payout, and keeps what was typed', async () => {
    const { ctx } = gateway;
    await topUpSandbox(ctx, COMMAND_LINE, holderId, 'UGX', 100_000_000n);
    const french = { 'accept-language': 'fr' };
    const typed = { amount: '5000', currency: 'UGX', mobile: '0772 309 555', payee: 'Amina' };
    const payOut = async () => {
      await refreshCaches(ctx);
      const shown = (await owner.post('/console/payouts', typed, french)).text;
      const hidden = [...shown.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)];
      const fields = Object.fromEntries(
        hidden.map(([, name = '', value = '']) => [name, value.replaceAll('&#61;', '=')]),
      );
      return owner.post('/console/payouts', fields, french);
    };
    const limit = { direction: 'payout', subject: 'holder', currency: 'UGX', count: '' };
    await owner.post('/console/settings/limits', { ...limit, amount: '1000' });
    const limited = await payOut();
    assert.equal(limited.status, 400);
    assert.match(limited.text, /id="e-amount">C’est plus qu’une limite quotidienne du compte/);
    assert.match(limited.text, /name="payee" type="text" value="Amina"/);
    assert.doesNotMatch(limited.text, /Transaction was not created/);
    await owner.post('/console/settings/limits', { ...limit, amount: '' });
    await owner.post('/console/settings/blocked', { mobile: '+256772309555', reason: 'stolen SIM' });
    const blocked = await payOut();
    assert.match(blocked.text, /id="e-mobile">Le numéro \+256772309555 est bloqué/);
    const csv = 'amount,currency,mobile\n5000,UGX,0772309111\n5000,UGX,0772309555';
    const checked = (await owner.post('/console/payouts/check', { csv }, french)).text;
    const order = (name: string) =>
      new RegExp(`name="${name}" value="([^"]*)"`).exec(checked)?.[1]?.replaceAll('&#61;', '=') ?? '';
    const fields = { csv, shown: order('shown'), repeats: order('repeats'), once: order('once') };
    const file = await owner.post('/console/payouts/import', fields, french);
    assert.equal(file.status, 409);
    assert.match(file.text, /Le numéro \+256772309555 est bloqué/, 'which of the rows');
    await owner.post('/console/settings/blocked', { mobile: '256772309555', remove: 'yes' });
    assert.equal((await payOut()).status, 303);
  });

  test('shows held money, and takes evidence of a dispute from its own merchant only', async () => {
    assert.equal(
      (await admin.post(`/console/admin/holders/${holderId}/reserve`, { percent: '10', days: '7' })).status,
      303,
    );
    const ref = textOf((await collect()).data.ref);
    await gateway.settle();
    assert.match((await owner.get('/console/balances')).text, /Held/);
    const opened = await admin.post('/console/admin/disputes', { ref, reason: 'never delivered', notice: 'CB-1' });
    assert.equal(opened.status, 303, opened.text);
    const id = /case_\w+/.exec(opened.location ?? '')?.[0] ?? '';
    const page = await owner.get(`/console/cases/${id}`);
    assert.match(page.text, /The payer disputes the payment/);
    assert.match(page.text, /CB-1/);
    const evidence = { note: 'delivered on Monday' };
    assert.equal((await stranger.post(`/console/cases/${id}/evidence`, evidence)).status, 404);
    assert.equal((await finance.post(`/console/cases/${id}/evidence`, evidence)).status, 303);
    assert.match((await admin.get(`/console/admin/cases/${id}`)).text, /delivered on Monday/);
    assert.equal((await stranger.get(`/console/cases/${id}/evidence/x`)).status, 404);
    assert.equal((await owner.get(`/console/cases/${id}/evidence/x`)).status, 404);
  });
});
