// Float in the console: the form of a connection, what administrators see and get by mail, and a payout that waits.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { mailLowFloats } from '../src/console/float-mails.ts';
import { COMMAND_LINE } from '../src/holders/audit.ts';
import { sendMails } from '../src/holders/mail-queue.ts';
import { createConnection } from '../src/payments/connection-changes.ts';
import { listFloatSettings } from '../src/payments/float-settings.ts';
import { watchFloat } from '../src/payments/float-watch.ts';
import { recordBalances } from '../src/payments/operator-balances.ts';
import { topUpSandbox } from '../src/payments/sandbox-top-up.ts';
import { listMails, MAIL_BOX_SENDER, type MailBox, openMailBox } from '../src/sandbox/mail-box.ts';
import { addPerson, type Person, payOut } from './console-harness.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';
import { createShop, type Shop } from './shop.ts';

const FORM = { currency: 'KES', low: '50 000', stop: '0', account: '', shared: 'yes' };

describe('float in the console', () => {
  let gateway: TestGateway;
  let mailBox: MailBox;
  let shop: Shop;
  let admin: Person;

  before(async () => {
    mailBox = await openMailBox();
    gateway = await createTestGateway({ SMTP_URL: mailBox.url, MAIL_FROM: MAIL_BOX_SENDER });
    mailBox.keepIn(gateway.ctx);
    const { ctx } = gateway;
    shop = await createShop(ctx);
    admin = await addPerson(gateway, shop.holderId, 'owner', 'admin@example.org', { admin: true });
    const draft = { rail: 'daraja', name: 'kenya', environment: 'simulator', baseUrl: 'http://127.0.0.1:9' } as const;
    await createConnection(ctx, COMMAND_LINE, { ...draft, values: {} });
    await topUpSandbox(ctx, COMMAND_LINE, shop.holderId, 'KES', 10_000_00n);
  });
  after(async () => {
    await mailBox.close();
    await gateway.close();
  });

  const report = (available: bigint) =>
    gateway.ctx.db.transaction((tx) =>
      recordBalances(
        tx,
        [{ connection: 'kenya', account: 'Utility Account', currency: 'KES', available }],
        gateway.ctx.clock.now(),
      ),
    );

  test('an administrator sets when a float is low, and ends it', async () => {
    const page = await admin.get('/console/admin/rails/kenya');
    assert.match(page.text, /action="\/console\/admin\/rails\/kenya\/float"/);
    const saved = await admin.post('/console/admin/rails/kenya/float', FORM);
    assert.equal(saved.location, '/console/admin/rails/kenya?done=saved');
    const [setting] = await listFloatSettings(gateway.ctx.db);
    assert.deepEqual(setting, {
      connection: 'kenya',
      currency: 'KES',
      account: null,
      low: 50_000_00n,
      stop: 0n,
      isShared: true,
    });
    assert.equal((await admin.post('/console/admin/rails/kenya/float', { ...FORM, stop: '60 000' })).status, 400);
    assert.equal((await admin.post('/console/admin/rails/kenya/float', { ...FORM, currency: 'XXX' })).status, 400);
    await admin.post('/console/admin/rails/kenya/float', { ...FORM, low: '' });
    assert.deepEqual(await listFloatSettings(gateway.ctx.db), []);
    const owner = await addPerson(gateway, shop.holderId, 'owner', 'amina@example.org');
    assert.equal((await owner.post('/console/admin/rails/kenya/float', FORM)).status, 403);
  });

  test('administrators get one mail about a low float, and see it until it is well', async () => {
    const { ctx } = gateway;
    await admin.post('/console/admin/rails/kenya/float', FORM);
    await report(60_000_00n);
    await watchFloat(ctx);
    assert.doesNotMatch((await admin.get('/console/admin')).text, /floats-in-need/);
    await report(40_000_00n);
    await watchFloat(ctx);
    assert.deepEqual([await mailLowFloats(ctx), await mailLowFloats(ctx)], [1, 0]);
    while ((await sendMails(ctx)) > 0);
    const [mail] = await listMails(ctx.db);
    assert.deepEqual([mail?.to_address, mail?.subject], ['admin@example.org', 'Float is running low: kenya, KES']);
    assert.match(mail?.body ?? '', /KES.40.000/);
    for (const path of ['/console/admin', '/console/admin/rails'])
      assert.match((await admin.get(path)).text, /The KES float of kenya is low/);
    const french = await admin.get('/console/admin/rails/kenya', { 'accept-language': 'fr' });
    assert.match(french.text, /Suffit pour plus de deux semaines/);
    await report(90_000_00n);
    await watchFloat(ctx);
    assert.doesNotMatch((await admin.get('/console/admin')).text, /floats-in-need/);
  });

  test('a payout that waits says so, is sent after two minutes in the sandbox, and counts once', async () => {
    await payOut(admin, { currency: 'KES', amount: '500', mobile: '254712000013', payee: 'Juma' });
    await gateway.settle();
    const [row] = await gateway.ctx.db.query<{ ref: string }>(
      `select transaction_id::text as ref from float_waits where holder_id = $1`,
      [shop.holderId],
    );
    assert.ok(row);
    const list = (await admin.get('/console/payouts')).text;
    const [path = ''] = /\/console\/transactions\/TX_\w+/.exec(list) ?? [];
    assert.match((await admin.get(path)).text, /Waiting for float since/);
    assert.match((await admin.get('/console/admin')).text, /1 payout waits for float at sandbox/);
    await gateway.advance(62_000);
    await gateway.advance(62_000);
    assert.doesNotMatch((await admin.get(path)).text, /Waiting for float since/);
    const [paid] = await gateway.ctx.db.query<{ status: string }>('select status from transactions where id = $1', [
      row.ref,
    ]);
    assert.equal(paid?.status, 'success');
    await watchFloat(gateway.ctx);
    assert.doesNotMatch((await admin.get('/console/admin')).text, /waits for float/);
  });
});
