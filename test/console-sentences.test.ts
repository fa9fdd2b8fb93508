// What people read: the name of the gateway on pages and in mails, what a limit says and whom it names, who invites.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { COMMAND_LINE } from '../src/holders/audit.ts';
import { takeGuess } from '../src/holders/guesses.ts';
import { inviteMember } from '../src/holders/invitations.ts';
import { writeNoticeMail } from '../src/holders/notice-mails.ts';
import { flushRefusals } from '../src/platform/held-back.ts';
import { addPerson, type Person, visitor } from './console-harness.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';
import { createShop } from './shop.ts';

const FRENCH = { 'accept-language': 'fr' };
const OTHER_PLACE = '203.0.113.9';

describe('sentences of the console', () => {
  let gateway: TestGateway;
  let holderId: bigint;
  let admin: Person;

  before(async () => {
    gateway = await createTestGateway({ SMTP_URL: 'smtp://127.0.0.1:1', MAIL_FROM: 'gateway@example.org' });
    ({ holderId } = await createShop(gateway.ctx, 'Shop'));
    admin = await addPerson(gateway, holderId, 'owner', 'ada@example.org', { admin: true });
  });
  after(() => gateway?.close());

  test('review: without BRAND_NAME pages, titles, mails and documents say Simbi', async () => {
    const { config } = gateway.ctx;
    for (const path of ['/console/sign-in', '/docs', '/docs/signing'])
      assert.match((await visitor(gateway, '').get(path, { accept: 'text/html' })).text, /<title>[^<]*Simbi/, path);
    assert.match((await admin.get('/console')).text, /class="brand".*?<span>Simbi<\/span>/);
    const notice = { kind: 'password_changed', detail: '', at: new Date(0) } as const;
    const origin = { address: OTHER_PLACE, userAgent: '', language: 'en' } as const;
    assert.equal(writeNoticeMail(config, notice, origin).subject, 'Security notice from Simbi');
    assert.equal(config.brandName, 'Service', 'messages of the API keep the word of the specification');
  });

  test('review: a limit says in the language of the person when to try again', async () => {
    const person = String(admin.member.id);
    while ((await takeGuess(gateway.ctx, { kind: 'code', person, address: OTHER_PLACE })).allowed);
    await gateway.ctx.db.query('update members set totp_sealed = $2 where id = $1', [
      admin.member.id,
      gateway.ctx.vault.seal('00', 'nothing'),
    ]);
    try {
      const french = await admin.post('/console/confirm', { code: '000000' }, FRENCH);
      assert.equal(french.status, 429);
      assert.match(french.text, /Trop de tentatives\. Rien n’a été fait\. Réessayez dans 1 minute\./);
      const english = await admin.post('/console/confirm', { code: '000000' });
      assert.match(english.text, /Too many attempts\. Nothing was done\. Try again in 1 minute\./);
    } finally {
      await gateway.ctx.db.query('update members set totp_sealed = null where id = $1', [admin.member.id]);
    }
  });

  test('a page in Portuguese names countries as people there write them', async () => {
    const page = await admin.get('/console/transactions', { 'accept-language': 'pt-MZ' });
    assert.match(page.text, /<html lang="pt">[\s\S]*MTN MoMo \(Benim\)[\s\S]*>Quénia</);
    assert.match((await admin.get('/console/transactions')).text, />Côte d’Ivoire</);
  });

  test('review: admins see who is held back, not the number of a row or the key of a browser', async () => {
    const { ctx } = gateway;
    const other = await addPerson(gateway, holderId, 'viewer', 'kofi@example.org');
    const guesses = [
      { kind: 'recovery_code', person: String(other.member.id) },
      { kind: 'password', person: 'esi@example.org a1b2c3', shownAs: 'esi@example.org' },
    ] as const;
    // From many addresses, so that the limit of the person is the one that is reached.
    for (const guess of guesses)
      for (let n = 1; n <= 12; n++) await takeGuess(ctx, { ...guess, address: `198.51.100.${n}` });
    await flushRefusals(ctx);
    const page = (await admin.get('/console/admin/limits')).text.split('<tbody')[1] ?? '';
    assert.match(page, /Wrong recovery codes[\s\S]*kofi@example\.org/);
    assert.match(page, /Wrong passwords[\s\S]*esi@example\.org</);
    assert.ok(!page.includes('a1b2c3'));
    assert.match((await admin.get('/console/admin/limits', FRENCH)).text, /Codes de récupération erronés/);
  });

  test('review: who needs a login link gets it by mail where there is a mail server', async () => {
    const gone = await visitor(gateway, '').get('/console/login/gone');
    for (const page of [gone, await admin.get('/console/confirm'), await admin.get('/console/account/proof')]) {
      assert.match(page.text, /href="\/console\/sign-in\/link"/);
      assert.ok(!page.text.includes('npx simbi login-link'), 'a command that only the host can type');
    }
  });

  test('review: an invitation of the host names the host', async () => {
    const { token } = await inviteMember(gateway.ctx, COMMAND_LINE, holderId, 'new@example.org', 'viewer', 'page');
    const page = (await visitor(gateway, '').get(`/console/invitations/${token}`)).text;
    assert.match(page, /The host of this gateway invited you to join Shop/);
  });
});
