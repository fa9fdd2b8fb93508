// Receipts by e-mail: asked for by the payer or sent by the business, in the payer's language, a few times and no more.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { openShop, type Shop } from '../../test/browser/shop.ts';
import { addPerson } from '../../test/console-harness.ts';
import { createTestGateway, type TestGateway } from '../../test/gateway.ts';
import { createMailServer, type MailServer } from '../../test/mail-server.ts';
import { sendMails } from '../holders/mail-queue.ts';
import { readTransactions } from '../payments/transactions.ts';
import type { JsonObject } from '../platform/strict-json.ts';
import { createLocale } from './language.ts';
import { findReceipt } from './receipt-codes.ts';
import { readReceipt, receiptFacts } from './receipts.ts';

const HOUR_MS = 3_600_000;

describe('a receipt by e-mail', () => {
  let gateway: TestGateway;
  let server: MailServer;
  let shop: Shop;

  before(async () => {
    server = await createMailServer();
    gateway = await createTestGateway({ SMTP_URL: server.url, MAIL_FROM: 'pay@gateway.example' });
    shop = await openShop(gateway);
  });
  after(async () => {
    await gateway.close();
    await server.close();
  });

  const get = (url: string) => gateway.app.inject({ url });
  const post = (url: string, fields: Record<string, string>, headers: Record<string, string> = {}) =>
    gateway.app.inject({
      method: 'POST',
      url,
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      payload: new URLSearchParams(fields).toString(),
    });

  /** Pays a link in Kenya. Answers the page after the payment and the address of its receipt. */
  async function pay(more: JsonObject = {}, phone = '0712345000'): Promise<{ paid: string; receipt: string }> {
    const { url } = await shop.link({ country_id: 1, currency: 'KES', amount: '2500', business_name: 'Duka', ...more });
    const path = new URL(url).pathname;
    const form = /name="form" value="([^"]+)"/.exec((await get(path)).body)?.[1] ?? '';
    const { headers } = await post(path, { phone, method: 'MPESA_KEN', form });
    await gateway.settle();
    const paid = (await get(String(headers.location))).body;
    return { paid, receipt: /\/r\/[0-9A-Z-]{16}/.exec(paid)?.[0] ?? '' };
  }

  async function receive() {
    while ((await sendMails(gateway.ctx)) > 0);
    return server.takeMails();
  }

  test('a method that is called by words has its name in the language of the receipt', async () => {
    const { receipt } = await pay({}, '0712347000');
    const code = receipt.split('/').at(-1) ?? '';
    const id = (await findReceipt(gateway.ctx, gateway.ctx.db, code)) ?? '';
    const [transaction] = await readTransactions(gateway.ctx.db, [id]);
    assert.ok(transaction);
    const receiptOfBank = await readReceipt(gateway.ctx, { ...transaction, method: 'BANK_NGA' }, code);
    const texts = receiptFacts(gateway.ctx, createLocale('fr', null), receiptOfBank).map(
      ([name, value]) => `${name} ${value}`,
    );
    assert.ok(texts.includes('Payé avec Virement bancaire'), texts.join(', '));
  });

  test('the payer asks for it on either page, and it says what the page says, in their language', async () => {
    const { paid, receipt } = await pay();
    assert.match(paid, new RegExp(`<form method="post" action="${receipt}/mail">`));
    const asked = await post(`${receipt}/mail?lang=fr`, { email: 'Wanjiku@example.org' });
    assert.equal(asked.headers.location, `${receipt}?lang=fr&mail=sent`);
    assert.match((await get(`${receipt}?lang=fr&mail=sent`)).body, /role="status">Le reçu est en route/);
    const [mail, ...others] = await receive();
    assert.deepEqual([mail?.to, others], [['wanjiku@example.org'], []]);
    assert.match(mail?.text ?? '', /^Reçu de TEST\u00a0: .*\n\nVous avez payé 2.500.KES à Duka\.\n\n/);
    assert.match(mail?.text ?? '', new RegExp(`Payé depuis.: •••• 000[^]*http://[^ ]+${receipt}`));
    assert.doesNotMatch(mail?.text ?? '', /712345/);
  });

  test('a wrong address, a form of another site and a receipt that is not paid send nothing', async () => {
    const { receipt } = await pay({}, '0712346000');
    for (const email of ['nobody', 'a\u0001b@example.org', 'a@example\u007f.org'])
      assert.match(String((await post(`${receipt}/mail`, { email })).headers.location), /\?mail=wrong&/);
    const foreign = await post(`${receipt}/mail`, { email: 'a@example.org' }, { 'sec-fetch-site': 'cross-site' });
    assert.equal(foreign.statusCode, 403);
    assert.equal((await post('/r/AAAAA-AAAAA-AAAA/mail', { email: 'a@example.org' })).statusCode, 404);
    assert.deepEqual(await receive(), []);
  });

  test('a mistyped address stands in the open form with what is wrong beside it, and in no address or log', async () => {
    const { receipt } = await pay({}, '0712343000');
    const typed = 'wanjiku<at>example.org';
    const location = String((await post(`${receipt}/mail?lang=fr`, { email: typed })).headers.location);
    assert.ok(location.startsWith(`${receipt}?lang=fr&mail=wrong&`) && !/wanjiku/i.test(location), location);
    const { body } = await get(location);
    const form = /<details[\s\S]*?<\/details>/.exec(body)?.[0] ?? '';
    assert.match(form, /^<details class="no-print" open>/);
    assert.match(
      form,
      /value="wanjiku&#60;at&#62;example\.org"[^>]*aria-describedby="email-error" aria-invalid="true"/,
    );
    assert.match(form, /<p class="field-error" id="email-error">Saisissez une adresse e-mail complète\./);
    assert.match(body, /<title>Erreur\u00a0: /);
    assert.match(body, /role="alert"><a href="#email">Saisissez/);
    // Of another receipt, or changed: nothing is shown.
    const other = await pay({}, '0712342000');
    assert.match((await get(location.replace(receipt, other.receipt))).body, /name="email"[^>]* value=""/);
    assert.match((await get(`${receipt}?mail=wrong&d=x`)).body, /name="email"[^>]* value=""/);
  });

  test('few mails leave for one receipt, and few for one mailbox', async () => {
    const { receipt } = await pay({}, '0712347000');
    const results: string[] = [];
    for (let n = 0; n < 6; n++) {
      const { headers } = await post(`${receipt}/mail`, { email: `n${n}@example.org` });
      results.push(String(headers.location).split('=')[1] ?? '');
    }
    assert.deepEqual(results, ['sent', 'sent', 'sent', 'sent', 'sent', 'limited']);
    assert.equal((await receive()).length, 5);
    await gateway.advance(HOUR_MS + 1_000);
    assert.match(String((await post(`${receipt}/mail`, { email: 'n@example.org' })).headers.location), /sent/);
    await receive();
  });

  test('a name that the business chose puts no link into the mail', async () => {
    const { receipt } = await pay({ business_name: 'Win https://evil.example/a now' }, '0712348000');
    await post(`${receipt}/mail`, { email: 'reader@example.org' });
    assert.doesNotMatch((await receive())[0]?.text ?? '', /evil\.example/);
  });

  test('a member sends it from the page of the transaction, in the language of the payer’s country', async () => {
    const { paid } = await pay({ email: 'payer@example.org' }, '0712349000');
    const ref = /TX_[0-9A-Z]+/i.exec(paid)?.[0] ?? '';
    const [{ holder_id: holderId } = { holder_id: 0n }] = await gateway.ctx.db.query<{ holder_id: bigint }>(
      'select holder_id from integrations limit 1',
    );
    const finance = await addPerson(gateway, holderId, 'finance');
    const page = await finance.get(`/console/transactions/${ref}`);
    assert.match(page.text, /name="email"[^>]*value="payer@example\.org"/);
    const sent = await finance.post(`/console/transactions/${ref}/receipt`, { email: 'payer@example.org' });
    assert.equal(sent.location, `/console/transactions/${ref}?done=receiptMailed`);
    const [mail] = await receive();
    assert.deepEqual(mail?.to, ['payer@example.org']);
    const viewer = await addPerson(gateway, holderId, 'viewer');
    assert.equal((await viewer.post(`/console/transactions/${ref}/receipt`, { email: 'a@b.org' })).status, 403);
    assert.equal((await finance.post(`/console/transactions/${ref}/receipt`, { email: 'nobody' })).status, 400);
    assert.deepEqual(await receive(), []);
  });
});
