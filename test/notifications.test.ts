// Notifications: who hears about what by mail, each once, in a mail box that a real SMTP exchange fills.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { notifyMembers } from '../src/console/notifications.ts';
import { COMMAND_LINE } from '../src/holders/audit.ts';
import { createHolder } from '../src/holders/holders.ts';
import { sendMails } from '../src/holders/mail-queue.ts';
import { openCases } from '../src/payments/cases.ts';
import { topUpSandbox } from '../src/payments/sandbox-top-up.ts';
import { hasMailBox } from '../src/platform/config.ts';
import { listMails, MAIL_BOX_SENDER, type MailBox, openMailBox } from '../src/sandbox/mail-box.ts';
import { collectInKenya } from './client.ts';
import { addPerson, type Person, payOut, visitor } from './console-harness.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';
import { createShop } from './shop.ts';

const DAY_MS = 24 * 3_600_000;

let gateway: TestGateway;
let mailBox: MailBox;
let owner: Person;
let developer: Person;

before(async () => {
  mailBox = await openMailBox();
  gateway = await createTestGateway({ SMTP_URL: mailBox.url, MAIL_FROM: MAIL_BOX_SENDER });
  mailBox.keepIn(gateway.ctx);
  const { id: holderId } = await createHolder(gateway.ctx, COMMAND_LINE, 'Duka la Amani');
  owner = await addPerson(gateway, holderId, 'owner', 'amina@example.org');
  developer = await addPerson(gateway, holderId, 'developer', 'otieno@example.org');
  await topUpSandbox(gateway.ctx, COMMAND_LINE, holderId, 'KES', 10_000_00n);
});
after(async () => {
  await mailBox.close();
  await gateway.close();
});

/** What is new in the mail box: recipient and subject of each, oldest first. */
let seen = 0;
async function newMails() {
  while ((await sendMails(gateway.ctx)) > 0);
  const mails = (await listMails(gateway.ctx.db)).toReversed();
  const fresh = mails.slice(seen);
  seen = mails.length;
  return fresh;
}

const namesOf = (mails: readonly { to_address: string; subject: string }[]) =>
  mails.map(({ to_address, subject }) => `${to_address}: ${subject}`);

describe('notifications', () => {
  test('a failed payout is reported once, to those who handle money', async () => {
    await newMails();
    await payOut(owner, { currency: 'KES', amount: '500', mobile: '254712000001', payee: 'Juma' });
    await gateway.settle();
    await notifyMembers(gateway.ctx);
    await notifyMembers(gateway.ctx);
    const mails = await newMails();
    assert.deepEqual(namesOf(mails), ['amina@example.org: A payout failed: Duka la Amani']);
    assert.match(mails[0]?.body ?? '', /KES.500 to Juma failed\. The money is back in your balance\. TX_/);
  });

  test('the mail box shows an invitation and a login link, which can be clicked', async () => {
    await owner.post('/console/team/invite', { email: 'ada@example.org', role: 'viewer' });
    const [invitation] = await newMails();
    assert.equal(invitation?.to_address, 'ada@example.org');
    const list = await owner.get('/sandbox/mail');
    assert.match(list.text, /You are invited/);
    const mail = await owner.get(`/sandbox/mail/${invitation?.id}`);
    assert.match(mail.text, /<a href="http:\/\/[^"]+\/console\/invitations\/inv_/);
    assert.equal((await owner.get('/sandbox/mail/999999')).status, 404);
    await visitor(gateway, owner.cookie, owner.csrf).post('/console/sign-in/link', { email: 'amina@example.org' });
    const [link] = await newMails();
    assert.deepEqual([link?.to_address, link?.subject], ['amina@example.org', 'Your login link']);
  });

  test('pages that tell somebody to look for a mail lead to the mail box', async () => {
    const anybody = visitor(gateway, '');
    for (const path of ['/console/sign-in', '/console/sign-in/link'])
      assert.match((await anybody.get(path)).text, /href="\/sandbox\/mail"/, path);
    const invited = await owner.post('/console/team/invite', { email: 'asha@example.org', role: 'viewer' });
    assert.match(invited.text, /href="\/sandbox\/mail"/);
    await newMails();
  });

  test('each person chooses; the summary of a day comes the next morning', async () => {
    await developer.post('/console/notifications', { daily_summary: 'yes' });
    await owner.post('/console/notifications', {});
    const page = await developer.get('/console/notifications');
    assert.match(page.text, /name="daily_summary" value="yes" checked/);
    assert.doesNotMatch(page.text, /name="receiver_down" value="yes" checked/);
    await notifyMembers(gateway.ctx);
    assert.deepEqual(namesOf(await newMails()), []);
    await payOut(owner, { currency: 'KES', amount: '700', mobile: '254712000000', payee: 'Asha' });
    await gateway.settle();
    gateway.ctx.clock.advance(DAY_MS);
    await notifyMembers(gateway.ctx);
    await notifyMembers(gateway.ctx);
    const mails = await newMails();
    assert.deepEqual(namesOf(mails), ['otieno@example.org: Yesterday: Duka la Amani']);
    assert.match(
      mails[0]?.body ?? '',
      /^2026-03-02: 0 payments succeeded, 0 failed or expired\.\nPaid out: KES.700 \(1\)/,
    );
  });

  test('a receiver that is down, a new review and a low balance reach those who handle them, once', async () => {
    const { ctx } = gateway;
    const shop = await createShop(ctx, 'Soko');
    const treasurer = await addPerson(gateway, shop.holderId, 'finance', 'neema@example.org');
    await addPerson(gateway, shop.holderId, 'developer', 'kofi@example.org');
    // A receiver counts as down after three callbacks in a row.
    for (let n = 0; n < 3; n++)
      await collectInKenya(gateway, shop, { amount: 100, callback_url: 'http://127.0.0.1:9/' });
    await topUpSandbox(ctx, COMMAND_LINE, shop.holderId, 'KES', 10_000_00n);
    await payOut(treasurer, { currency: 'KES', amount: '9500', mobile: '254712000000', payee: 'Supplier' });
    await gateway.settle();
    await ctx.db.transaction((tx) =>
      openCases(tx, ctx, [{ holderId: shop.holderId, transactionId: null, kind: 'unknown_reference', detail: {} }]),
    );
    await gateway.advance(16 * 60_000);
    await notifyMembers(ctx);
    await notifyMembers(ctx);
    const mails = await newMails();
    assert.deepEqual(namesOf(mails).sort(), [
      'kofi@example.org: Callbacks are failing: Soko',
      'neema@example.org: A payment needs review: Soko',
      'neema@example.org: Balance is running low: Soko',
    ]);
    assert.match(
      mails.map(({ body }) => body).join(),
      /http:\/\/127\.0\.0\.1:9 does not answer\. 3 callbacks are waiting/,
    );
  });

  test('only a sandbox that nobody else can reach shows its mails', () => {
    const own = { mode: 'sandbox', smtpUrl: '', host: '127.0.0.1', publicUrl: '' } as const;
    assert.equal(hasMailBox(own), true);
    assert.equal(hasMailBox({ ...own, publicUrl: 'http://localhost:9000' }), true);
    assert.equal(hasMailBox({ ...own, mode: 'live' }), false);
    assert.equal(hasMailBox({ ...own, smtpUrl: 'smtp://mail.example.org' }), false);
    assert.equal(hasMailBox({ ...own, host: '0.0.0.0' }), false);
    assert.equal(hasMailBox({ ...own, publicUrl: 'https://sandbox.example.org' }), false);
  });
});
