// Files of payouts and the rules of two people in the console: what a person sees and sends, over HTTP.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { french } from '../src/console/messages/fr.ts';
import { applyRuleChanges } from '../src/holders/approval-rules.ts';
import { COMMAND_LINE } from '../src/holders/audit.ts';
import { findHolder } from '../src/holders/holders.ts';
import { addMember } from '../src/holders/members.ts';
import { setPassword } from '../src/holders/passwords.ts';
import { BEFORE_RESTORE } from '../src/payments/next-job.ts';
import { MAX_PAYOUT_FILE_ROWS } from '../src/payments/payout-file-reader.ts';
import { readPayout } from '../src/payments/payout-requests.ts';
import { orderPayouts } from '../src/payments/payouts.ts';
import { topUpSandbox } from '../src/payments/sandbox-top-up.ts';
import { refOf } from '../src/payments/transactions.ts';
import { DAY_MS } from '../src/platform/clock.ts';
import { createUuid } from '../src/platform/ids.ts';
import { addPerson, hiddenFieldsOf, importPayouts, type Person, payOut, signIn } from './console-harness.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';
import { createShop, type Shop } from './shop.ts';

const METHOD = 'MPESA_KEN';
const CSV = `amount,currency,mobile,method,payee\n100,KES,0712345000,${METHOD},Juma\n200,KES,0712346000,${METHOD},Asha`;

let gateway: TestGateway;

before(async () => {
  gateway = await createTestGateway();
});
after(() => gateway.close());

async function createTeam(name: string): Promise<{ shop: Shop; owner: Person; finance: Person }> {
  const shop = await createShop(gateway.ctx, name);
  const key = name.replaceAll(' ', '-').toLowerCase();
  return {
    shop,
    owner: await addPerson(gateway, shop.holderId, 'owner', `owner@${key}.example.org`),
    finance: await addPerson(gateway, shop.holderId, 'finance', `finance@${key}.example.org`),
  };
}

async function topUp({ holderId }: Shop, amount = 1_000_000n): Promise<void> {
  await topUpSandbox(gateway.ctx, COMMAND_LINE, holderId, 'KES', amount);
}

async function countOrders({ holderId }: Shop): Promise<number> {
  return (await gateway.ctx.db.query('select 1 from payout_orders where holder_id = $1', [holderId])).length;
}

/** Orders one payout that takes all but a little of the wallet. */
async function spendAll({ holderId }: Shop): Promise<void> {
  const { ctx } = gateway;
  const request = { amount: '9900', currency: 'KES', mobile: '0712347000', method: METHOD };
  const reading = await readPayout(ctx, holderId, request);
  assert.ok(reading.ok);
  const [result] = await orderPayouts(ctx, { wake: () => undefined }, COMMAND_LINE, holderId, [reading.order]);
  assert.ok(result?.ok);
}

const onceOf = (page: string) => /name="once" value="([^"]+)"/.exec(page)?.[1] ?? '';
const pathOf = (location: string | null) => (location ?? '').split('?')[0] ?? '';

describe('files', () => {
  test('who is no person of the team is named in the language of the page', async () => {
    const { shop, finance } = await createTeam('No person');
    await topUp(shop);
    const file = pathOf((await importPayouts(finance, { name: 'March', csv: CSV })).location);
    for (const table of ['payout_orders', 'payout_batches'])
      await gateway.ctx.ownerDb.query(
        `update ${table} set approval = 'approved', created_by = 'command line', approved_by = $2, approved_at = now()
         where holder_id = $1`,
        [shop.holderId, BEFORE_RESTORE],
      );
    const [row] = await gateway.ctx.db.query<{ transaction_id: string }>(
      'select transaction_id from payout_orders where holder_id = $1 limit 1',
      [shop.holderId],
    );
    const payment = `/console/transactions/${refOf({ id: row?.transaction_id ?? '' })}`;
    for (const [language, somebody, line] of [
      ['fr', 'quelqu’un avant la restauration', 'la ligne de commande'],
      ['en', 'somebody before the restore', 'the command line'],
    ] as const) {
      for (const path of [file, payment, '/console/payouts']) {
        const { text } = await finance.get(path, { 'accept-language': language });
        assert.ok(text.includes(somebody), `${language} ${path}`);
        if (path !== '/console/payouts') assert.ok(text.includes(line), `${language} ${path}`);
      }
    }
  });

  test('money 4: the same rows pasted twice are ordered once, and the page says when, by whom and as what', async () => {
    const { shop, finance } = await createTeam('Pasted twice');
    await topUp(shop);
    const first = await importPayouts(finance, { name: 'March', csv: CSV });
    assert.match(first.location ?? '', /^\/console\/payouts\/files\/bat_\w+\?done=imported$/);
    const second = await importPayouts(finance, {
      name: 'April',
      csv: `\n${CSV}\n`,
      confirm_repeats: 'yes',
    });
    assert.equal(second.status, 409);
    assert.match(second.text, /were ordered on .* UTC by finance@pasted-twice\.example\.org as “March”/);
    assert.equal(await countOrders(shop), 2);
    const checked = await finance.post('/console/payouts/check', { csv: CSV.replaceAll('Juma', 'Juma K.') });
    assert.match(checked.text, /2 possible duplicates/);
    assert.match(checked.text, /name="confirm_repeats"/);
    const csv = CSV.replaceAll('Juma', 'Juma K.');
    const unconfirmed = await importPayouts(finance, { name: 'April', csv });
    assert.equal(unconfirmed.status, 409);
    assert.match(unconfirmed.text, /Nothing was ordered\. Confirm the possible duplicates/);
    assert.equal(await countOrders(shop), 2);
    const confirmed = await importPayouts(finance, { name: 'April', csv, confirm_repeats: 'yes' });
    assert.equal(confirmed.status, 303);
    assert.equal(await countOrders(shop), 4);
  });

  test('money 24: a refused form can be sent again, and counts once when it succeeds', async () => {
    const { shop, finance } = await createTeam('Refused form');
    const form = hiddenFieldsOf((await finance.post('/console/payouts/check', { name: 'March', csv: CSV })).text);
    assert.match(form.once ?? '', /^[0-9a-f-]{36}$/);
    const send = () => finance.post('/console/payouts/import', form);
    const short = await send();
    assert.equal(short.status, 409);
    assert.match(short.text, /Nothing was ordered\. The wallet does not cover the whole list\. KES.303.* is needed/);
    assert.equal(await countOrders(shop), 0);
    await topUp(shop);
    assert.match((await send()).location ?? '', /done=imported/);
    assert.match((await send()).location ?? '', /done=formAlreadySent/);
    assert.equal(await countOrders(shop), 2);
  });

  test('money 24: a single payout that was refused can be sent again with the same form', async () => {
    const { shop, finance } = await createTeam('Refused single');
    const once = onceOf((await finance.get('/console/payouts/new')).text);
    const order = { once, amount: '100', currency: 'KES', mobile: '0712345000', method: METHOD };
    await topUp(shop);
    const confirmation = (await finance.post('/console/payouts', order)).text;
    const confirmed = { ...order, shown: /name="shown" value="([^"]+)"/.exec(confirmation)?.[1] ?? '' };
    // Between the two pages the money goes to somebody else.
    await spendAll(shop);
    assert.equal((await finance.post('/console/payouts', confirmed)).status, 400);
    await topUp(shop);
    assert.match((await finance.post('/console/payouts', confirmed)).location ?? '', /\/console\/transactions\/TX_/);
    assert.match((await finance.post('/console/payouts', confirmed)).location ?? '', /done=formAlreadySent/);
    assert.equal(await countOrders(shop), 2);
    // Another form with the same payout is a repetition that must be confirmed.
    const again = await finance.post('/console/payouts', {
      ...confirmed,
      once: createUuid(gateway.ctx.clock.millis()),
    });
    assert.equal(again.status, 200);
    assert.match(again.text, /The same number received the same amount:/);
    assert.equal(await countOrders(shop), 2);
    const meant = { ...hiddenFieldsOf(again.text), confirm_repeats: 'yes' };
    assert.match((await finance.post('/console/payouts', meant)).location ?? '', /\/console\/transactions\/TX_/);
    assert.equal(await countOrders(shop), 3);
  });

  test('a list that was looked at for too long is ordered after the proof, without anything typed again', async () => {
    const { shop, finance } = await createTeam('Slow reader');
    await topUp(shop);
    const { id } = finance.member;
    await setPassword(gateway.ctx, COMMAND_LINE, id, 'a long enough secret', { sessionId: null, holderId: null });
    const reader = await signIn(gateway, finance.member, { holderId: shop.holderId });
    const form = hiddenFieldsOf((await reader.post('/console/payouts/check', { name: 'March', csv: CSV })).text);
    gateway.ctx.clock.advance(11 * 60_000);
    const asked = await reader.post('/console/payouts/import', form);
    assert.equal(asked.status, 403);
    assert.match(asked.text, /After this, we carry out your last step\./);
    const wrong = await reader.post('/console/confirm', { ...hiddenFieldsOf(asked.text), password: 'another secret' });
    assert.equal(wrong.status, 401);
    assert.equal(await countOrders(shop), 0);
    const kept = { ...hiddenFieldsOf(wrong.text), password: 'a long enough secret' };
    const proved = await reader.post('/console/confirm', kept);
    assert.deepEqual([proved.status, proved.location], [307, '/console/payouts/import']);
    const ordered = await reader.post('/console/payouts/import', kept);
    assert.match(ordered.location ?? '', /^\/console\/payouts\/files\//);
    assert.equal(await countOrders(shop), 2);
    // The browser that sends it once more orders nothing twice.
    await reader.post('/console/payouts/import', kept);
    assert.equal(await countOrders(shop), 2);
  });

  test('a form that is carried along is carried out for the holder that it was shown for, or not at all', async () => {
    const { shop, owner, finance } = await createTeam('First of two');
    const other = await createShop(gateway.ctx, 'Second of two');
    const { id, email, name } = finance.member;
    await topUp(shop);
    await topUp(other);
    await addMember(gateway.ctx, COMMAND_LINE, { email, name, holderId: other.holderId, role: 'finance' });
    await setPassword(gateway.ctx, COMMAND_LINE, id, 'a long enough secret', { sessionId: null, holderId: null });
    const reader = await signIn(gateway, finance.member, { holderId: shop.holderId });
    const form = hiddenFieldsOf((await reader.post('/console/payouts/check', { name: 'March', csv: CSV })).text);
    gateway.ctx.clock.advance(11 * 60_000);
    const asked = await reader.post('/console/payouts/import', form);
    assert.match(asked.text, /name="shown_for"/);
    assert.equal((await owner.post(`/console/team/${id}`, { role: '' })).status, 303);
    // The member of two now sees the second one.
    const carried = hiddenFieldsOf(asked.text);
    const wrong = await reader.post('/console/confirm', { ...carried, password: 'another secret' });
    assert.equal(wrong.status, 409, 'the form would now be one of the other holder');
    assert.doesNotMatch(wrong.text, /name="send_to"/);
    const proved = await reader.post('/console/confirm', { ...carried, password: 'a long enough secret' });
    assert.equal(proved.status, 307);
    assert.equal((await reader.post('/console/payouts/import', carried)).status, 409);
    assert.deepEqual([await countOrders(shop), await countOrders(other)], [0, 0]);
  });

  test('a form that cannot be carried along was not sent, and its page says so after the proof', async () => {
    const { shop, finance } = await createTeam('Too much to carry');
    const { id } = finance.member;
    await setPassword(gateway.ctx, COMMAND_LINE, id, 'a long enough secret', { sessionId: null, holderId: null });
    const reader = await signIn(gateway, finance.member, { holderId: shop.holderId, confirmed: false });
    const asked = await reader.post(
      '/console/payouts',
      { detail: 'x'.repeat(7_000) },
      { referer: `${gateway.url}/console/payouts?done=saved` },
    );
    assert.equal(asked.location, `/console/confirm?next=${encodeURIComponent('/console/payouts?done=repeatStep')}`);
    const renamed = await reader.post(
      '/console/payouts',
      { code: '1' },
      { referer: `${gateway.url}/console/payouts/check` },
    );
    const next = '/console/payouts?done=repeatStep';
    assert.equal(
      renamed.location,
      `/console/confirm?next=${encodeURIComponent(next)}`,
      'the answer to a form is no page',
    );
    const proved = await reader.post('/console/confirm', { password: 'a long enough secret', next });
    assert.equal(proved.location, next);
    const page = await reader.get(next);
    assert.match(page.text, /class="box warning" role="status">Thank you\. Your last step was not carried out yet\./);
    assert.equal(await countOrders(shop), 0);
  });

  test('the list of payouts says what a person wrote, and no sentence of ours in another language', async () => {
    const { shop, finance } = await createTeam('Purposes');
    await topUp(shop);
    await payOut(finance, { amount: '100', currency: 'KES', mobile: '0712345000', method: METHOD });
    const note = { payee: 'Asha', detail: 'For the roof' };
    await payOut(finance, { amount: '200', currency: 'KES', mobile: '0712346000', method: METHOD, ...note });
    const { text } = await finance.get('/console/payouts', { 'accept-language': 'fr' });
    assert.match(text, /For the roof/);
    assert.doesNotMatch(text, /Payout to/);
  });

  test('money 4: the console takes as many rows as the command line, and no more', async () => {
    const { finance } = await createTeam('Many rows');
    const row = (index: number) => `100,KES,07${String(12_340_000 + index)},${METHOD},Payee é ${index}`;
    const rows = Array.from({ length: MAX_PAYOUT_FILE_ROWS }, (_, index) => row(index));
    const csv = ['amount,currency,mobile,method,payee', ...rows].join('\r\n');
    const most = await finance.post('/console/payouts/check', { csv });
    assert.match(most.text, /Create 5,?000 payouts/);
    const over = await finance.post('/console/payouts/check', { csv: `${csv}\r\n${row(MAX_PAYOUT_FILE_ROWS)}` });
    assert.equal(over.status, 400);
    assert.match(over.text, /more than 5000 rows/);
    const large = await finance.post('/console/payouts/check', { csv: `${CSV},"${'x'.repeat(1024 * 1024)}"` });
    assert.equal(large.status, 400);
    assert.match(large.text, /larger than 1 MiB/);
  });

  test('money 4: a file waits as one line, is approved by another person, and is nobody else’s', async () => {
    const { shop, owner, finance } = await createTeam('One line');
    await topUp(shop);
    await owner.post('/console/settings/approval', { needed: 'yes' });
    const made = await importPayouts(finance, { name: 'Wages', csv: CSV });
    assert.match(made.location ?? '', /done=importNeedsApproval/);
    const path = pathOf(made.location);
    const list = (await owner.get('/console/payouts')).text;
    assert.match(list, /Lists that need approval/);
    assert.match(list, /Approve 2 payouts/);
    assert.match((await owner.get('/console')).text, /\d payouts? to approve/);
    const own = (await finance.get(path)).text;
    assert.match(own, /You created this list\. Another owner or finance member must approve it/);
    assert.doesNotMatch(own, /Approve 2 payouts/);
    assert.equal((await finance.post(`${path}/approve`)).status, 403);
    const { owner: stranger } = await createTeam('Stranger to files');
    assert.equal((await stranger.get(path)).status, 404);
    assert.equal((await stranger.post(`${path}/approve`)).status, 404);
    assert.equal((await stranger.post(`${path}/cancel`)).status, 404);
    assert.match((await owner.get(path)).text, /Asha/);
    assert.match((await owner.post(`${path}/approve`)).location ?? '', /done=fileApproved/);
    await gateway.settle();
    assert.match((await finance.get(path)).text, /2 of 2/);
    const second = await importPayouts(finance, {
      csv: CSV.replace('Juma', 'J.'),
      confirm_repeats: 'yes',
    });
    const says = async (person: Person, action: string, sentence: string) => {
      const { text } = await person.post(action, {}, { 'accept-language': 'fr' });
      assert.ok(text.includes(`<p>${sentence}</p>`), `${action} ${sentence}`);
    };
    await says(finance, `${pathOf(second.location)}/approve`, french.orderRefused.ownOrder);
    assert.match((await owner.post(`${pathOf(second.location)}/cancel`)).location ?? '', /done=fileCancelled/);
    await says(owner, `${path}/approve`, french.orderRefused.notWaiting);
    await says(owner, `${path}/cancel`, french.orderRefused.sentAlready);
    await says(owner, `${pathOf(second.location)}/cancel`, french.orderRefused.sentAlready);
    await says(owner, '/console/transactions/TX_nothing/approve', french.transaction.notFound);
    assert.match((await owner.get(pathOf(second.location))).text, /Cancelled by/);
    const audit = (await owner.get('/console/audit')).text;
    for (const action of ['payout_file.created', 'payout_file.approved', 'payout_file.cancelled'])
      assert.ok(audit.includes(action), action);
  });
});

describe('the rule of two people', () => {
  test('review: an owner who is alone reads that nobody else can approve, before and after', async () => {
    const alone = await createShop(gateway.ctx, 'Alone');
    const owner = await addPerson(gateway, alone.holderId, 'owner', 'owner@alone.example.org');
    assert.match((await owner.get('/console/settings')).text, /Nobody else in this account can approve/);
    await owner.post('/console/settings/approval', { needed: 'yes' });
    await topUp(alone);
    const made = await importPayouts(owner, { name: 'Wages', csv: CSV });
    assert.match((await owner.get(pathOf(made.location))).text, /Another owner or finance member must approve it/);
    assert.equal((await owner.post(`${pathOf(made.location)}/approve`)).status, 403);
    await owner.post('/console/settings/approval', {});
    assert.match((await owner.get('/console/settings')).text, /Another owner or an administrator of the gateway/);
    await addPerson(gateway, alone.holderId, 'finance', 'finance@alone.example.org');
    assert.doesNotMatch((await owner.get('/console/settings')).text, /Nobody else in this account/);
  });

  test('money 20: one owner asks, an admin or another owner confirms, a day passes', async () => {
    const { ctx } = gateway;
    const { shop, owner, finance } = await createTeam('Two people');
    const admin = await addPerson(gateway, (await createShop(ctx, 'Operator')).holderId, 'owner', 'root@example.org', {
      admin: true,
    });
    const isOn = async () => (await findHolder(ctx.db, shop.holderId))?.payouts_need_approval;
    await owner.post('/console/settings/approval', { needed: 'yes' });
    assert.equal((await finance.post('/console/settings/approval', {})).status, 403);
    assert.match((await owner.post('/console/settings/approval', {})).location ?? '', /done=changeRequested/);
    assert.equal(await isOn(), true);
    assert.match((await finance.get('/console/payouts')).text, /requested:\s*Payouts no longer need a second person/);
    const page = (await owner.get('/console/settings')).text;
    const change = /approval\/changes\/([0-9a-f-]{36})/.exec(page)?.[1] ?? '';
    assert.doesNotMatch(page, />Confirm</);
    const own = await owner.post(`/console/settings/approval/changes/${change}`, { decision: 'confirm' });
    assert.equal(own.status, 403);
    const holderPage = `/console/admin/holders/${shop.holderId}`;
    assert.match((await admin.get(holderPage)).text, /Payouts no longer need a second person/);
    assert.equal((await owner.post(`${holderPage}/changes/${change}`, { decision: 'confirm' })).status, 403);
    assert.equal((await admin.post(`${holderPage}/changes/${change}`, { decision: 'confirm' })).status, 303);
    assert.equal(await isOn(), true);
    assert.match((await owner.get('/console/settings')).text, /root@example\.org/);
    ctx.clock.advance(DAY_MS);
    await applyRuleChanges(ctx);
    assert.equal(await isOn(), false);
  });

  test('money 20: a higher limit of refunds is asked for, a lower one holds at once', async () => {
    const { shop, owner } = await createTeam('Limits');
    const set = (limit: string) => owner.post('/console/settings/approval/refunds', { currency: 'KES', limit });
    assert.match((await set('5000')).location ?? '', /done=saved/);
    await owner.post('/console/settings/approval', { needed: 'yes' });
    assert.match((await set('6000')).location ?? '', /done=changeRequested/);
    assert.match((await owner.get('/console/settings')).text, /One person can refund up to KES.6\D000/);
    assert.match((await set('100')).location ?? '', /done=saved/);
    assert.equal((await set('much')).status, 400);
    const [row] = await gateway.ctx.db.query('select without_approval from refund_limits where holder_id = $1', [
      shop.holderId,
    ]);
    assert.deepEqual(row, { without_approval: 10_000n });
    // A new session, since a day has passed since the first.
    assert.equal((await (await signIn(gateway, owner.member)).get('/console/settings')).status, 200);
  });

  test('money 18: an admin cannot close a holder with money, and reads what is left', async () => {
    const { shop } = await createTeam('Closing');
    const other = await createShop(gateway.ctx, 'Operator 2');
    const admin = await addPerson(gateway, other.holderId, 'owner', 'root2@example.org', { admin: true });
    await topUp(shop, 250_000n);
    const path = `/console/admin/holders/${shop.holderId}/status`;
    const answer = await admin.post(path, { action: 'close' });
    assert.equal(answer.status, 409);
    assert.match(answer.text, /The holder cannot be closed: the wallet holds 2500 KES\./);
  });
});
