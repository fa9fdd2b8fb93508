// Mails against a real mail server: sent once, tried again, given up, and never more than what was written.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createTestContext } from '../../test/harness.ts';
import { createMailServer, type MailServer } from '../../test/mail-server.ts';
import { DAY_MS, HOUR_MS } from '../platform/clock.ts';
import { purgeExpired } from './housekeeping.ts';
import { mailIsConfigured, queueLinkMail, queueMail, sendMails } from './mail-queue.ts';

const MAIL = {
  to: 'ama@example.org',
  subject: 'Vérification',
  text: 'Somebody signed in.\n\n.\nhttps://pay.example.org',
};

describe('mails', () => {
  let ctx: Awaited<ReturnType<typeof createTestContext>>;
  let server: MailServer;
  before(async () => {
    server = await createMailServer();
    ctx = await createTestContext({ SMTP_URL: server.url, MAIL_FROM: 'pay@example.org', BRAND_NAME: 'Pay\u00e9' });
  });
  after(async () => {
    await ctx.close();
    await server.close();
  });

  const queued = async () => (await ctx.db.query('select from mails')).length;
  const queue = (mail = MAIL) => ctx.db.transaction((tx) => queueMail(tx, mail, ctx.clock.now()));

  test('a mail arrives once, as it was written', async () => {
    await queue();
    assert.equal(await sendMails(ctx), 1);
    assert.equal(await sendMails(ctx), 0);
    const [mail] = server.takeMails();
    assert.deepEqual([mail?.from, mail?.to], ['pay@example.org', ['ama@example.org']]);
    assert.equal(mail?.text, MAIL.text);
    assert.match(mail?.source ?? '', /^Subject: =\?UTF-8\?Q\?V=C3=A9rification\?=\r$/m);
    assert.match(mail?.source ?? '', /^Content-Type: text\/plain; charset=utf-8\r$/m);
    assert.equal(await queued(), 0);
  });

  test('a mail with a link is sealed until it is sent', async () => {
    await ctx.db.transaction((tx) => queueLinkMail(ctx, tx, { ...MAIL, text: 'otl_secret' }, ctx.clock.now()));
    const rows = await ctx.db.query<{ row: string }>('select mails::text as row from mails');
    assert.ok(!JSON.stringify(rows).includes('otl_secret'));
    await sendMails(ctx);
    assert.equal(server.takeMails()[0]?.text, 'otl_secret');
  });

  test('a rolled back fact sends no mail', async () => {
    const failing = ctx.db.transaction(async (tx) => {
      await queueMail(tx, MAIL, ctx.clock.now());
      throw new Error('rolled back');
    });
    await assert.rejects(failing, /rolled back/);
    assert.equal(await sendMails(ctx), 0);
  });

  test('no header can be added through an address or a subject', async () => {
    for (const mail of [
      { ...MAIL, subject: 'Hello\r\nBcc: eve@example.org' },
      { ...MAIL, subject: 'Hello\u2028Bcc: eve@example.org' },
      { ...MAIL, to: 'ama@example.org\r\nBcc: eve@example.org' },
      { ...MAIL, to: 'ama@example.org, eve@example.org' },
      { ...MAIL, to: 'ama@example.org\0' },
      { ...MAIL, to: 'Ama <ama@example.org>' },
    ])
      await assert.rejects(queue(mail), /a mail has/);
    await queue({ ...MAIL, subject: 'To: eve@example.org', text: 'Bcc: eve@example.org\r\n\r\nHello' });
    await sendMails(ctx);
    const [mail] = server.takeMails();
    assert.deepEqual(mail?.to, ['ama@example.org']);
    const headers = (mail?.source ?? '').split('\r\n\r\n')[0] ?? '';
    assert.doesNotMatch(headers, /^(?:To|Cc|Bcc): [^\r]*eve/m);
  });

  test('two processes send a mail once', async () => {
    await queue();
    await Promise.all([sendMails(ctx), sendMails(ctx)]);
    assert.equal(server.takeMails().length, 1);
  });

  test('a mail server that is away gets the mail later, with growing pauses, and a day later it is given up', async () => {
    server.refuse(451);
    await queue();
    assert.equal(await sendMails(ctx), 1);
    assert.equal(await sendMails(ctx), 0, 'not at once');
    const pauses: number[] = [];
    for (let n = 0; n < 12; n++) {
      const [row] = await ctx.db.query<{ due_at: Date }>('select due_at from mails');
      pauses.push(((row?.due_at.getTime() ?? 0) - ctx.clock.millis()) / 1_000);
      ctx.clock.advance(HOUR_MS);
      await sendMails(ctx);
    }
    assert.deepEqual(pauses.slice(0, 8), [30, 60, 120, 240, 480, 960, 1_920, 3_600]);
    assert.equal(await queued(), 1);
    ctx.clock.advance(DAY_MS / 2);
    await sendMails(ctx);
    assert.equal(await queued(), 0, 'given up');
    server.refuse(null);
    await queue();
    await sendMails(ctx);
    assert.equal(server.takeMails().length, 1);
  });

  test('an address that the mail server refuses is not tried again', async () => {
    server.refuse(550);
    await queue();
    await sendMails(ctx);
    assert.equal(await queued(), 0);
    server.refuse(null);
  });

  test('a process that died leaves its mails to the others', async () => {
    await queue();
    await ctx.db.query('update mails set due_at = $1, attempts = 1', [new Date(ctx.clock.millis() + 5 * 60_000)]);
    assert.equal(await sendMails(ctx), 0);
    ctx.clock.advance(5 * 60_000);
    assert.equal(await sendMails(ctx), 1);
    assert.equal(server.takeMails().length, 1);
  });

  test('without a mail server nothing is sent, and what was queued before is deleted', async () => {
    const silent = { ...ctx, config: { ...ctx.config, smtpUrl: '' } };
    assert.deepEqual([mailIsConfigured(ctx), mailIsConfigured(silent)], [true, false]);
    await queue();
    assert.equal(await sendMails(silent), 0);
    ctx.clock.advance(2 * DAY_MS + 1_000);
    await purgeExpired(silent);
    assert.equal(await queued(), 0);
  });
});
