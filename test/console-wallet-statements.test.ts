// Statements in the console: every member downloads those of the own wallets, in three formats; past months are listed, stored and
// announced to who wants it.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { makeMonthlyStatements } from '../src/books/monthly-statements.ts';
import { notifyMembers } from '../src/console/notifications.ts';
import { COMMAND_LINE } from '../src/holders/audit.ts';
import { topUpSandbox } from '../src/payments/sandbox-top-up.ts';
import { collectInKenya } from './client.ts';
import { addPerson, type Person } from './console-harness.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';
import { createShop, type Shop } from './shop.ts';

let gateway: TestGateway;
let shop: Shop;
let viewer: Person;
let ref: string;

before(async () => {
  gateway = await createTestGateway({ SMTP_URL: 'smtp://127.0.0.1:9', MAIL_FROM: 'books@example.org' });
  shop = await createShop(gateway.ctx, 'Duka la Amani');
  viewer = await addPerson(gateway, shop.holderId, 'viewer');
  ref = await collectInKenya(gateway, shop, { third_party_reference_1: '=cmd|1' });
});
after(() => gateway.close());

const MARCH = '/console/balances/KES/statement?from=2026-03-01&to=2026-03-31';

describe('statements in the console', () => {
  test('the page of a wallet offers periods and formats', async () => {
    const page = await viewer.get('/console/balances/KES');
    assert.match(page.text, /Download a statement/);
    const links = page.text.replaceAll('&#61;', '=').replaceAll('&#38;', '&');
    assert.match(links, /from=2026-02-01&to=2026-02-28&format=pdf/);
  });

  test('CSV, XLSX and PDF of a period, with the payment in them', async () => {
    const csv = await viewer.get(`${MARCH}&format=csv`);
    assert.equal(csv.headers.get('content-type'), 'text/csv; charset=utf-8');
    assert.match(csv.headers.get('content-disposition') ?? '', /statement-KES-2026-03-01-2026-03-31\.csv/);
    assert.ok(csv.text.includes(ref) && csv.text.includes(`"'=cmd|1"`));
    const xlsx = await viewer.get(`${MARCH}&format=xlsx`);
    assert.match(xlsx.text, /^PK/);
    const pdf = await viewer.get(`${MARCH}&format=pdf`);
    assert.match(pdf.text, /^%PDF-/);
  });

  test('wrong days and wallets of others are refused', async () => {
    for (const query of [
      '',
      '?from=2026-03-02&to=2026-03-01',
      '?from=2026-02-30&to=2026-03-01',
      '?from=2000-01-01&to=2999-01-01',
    ])
      assert.equal((await viewer.get(`/console/balances/KES/statement${query}`)).status, 400, query);
    const other = await createShop(gateway.ctx, 'Other');
    await topUpSandbox(gateway.ctx, COMMAND_LINE, other.holderId, 'XOF', 100_00n);
    assert.equal((await viewer.get('/console/balances/XOF/statement?from=2026-03-01&to=2026-03-31')).status, 404);
    assert.equal((await viewer.get('/console/balances/KES/months/2026-03-01')).status, 404);
    assert.equal((await viewer.get('/console/balances/KES/months/%00')).status, 404);
  });

  test('the past month is listed with its fingerprint, stays as it was made, and is announced once', async () => {
    await viewer.post('/console/notifications', { statement_ready: 'yes' });
    gateway.ctx.clock.set(new Date('2026-04-01T03:00:00Z'));
    const late = await addPerson(gateway, shop.holderId, 'owner', 'late@example.org');
    while ((await makeMonthlyStatements(gateway.ctx)) > 0);
    const page = await late.get('/console/balances/KES');
    const sha256 = /title="([0-9a-f]{64})"/.exec(page.text)?.[1];
    const file = await late.get('/console/balances/KES/months/2026-03-01');
    assert.equal(createHash('sha256').update(file.text).digest('hex'), sha256);
    assert.match(page.text, /Monthly statements[\s\S]*2026-03/);
    const links = page.text.replaceAll('&#61;', '=');
    assert.match(links, /months\/2026-03-01\?format=xlsx[\s\S]*months\/2026-03-01\?format=pdf/);
    const pdf = await late.get('/console/balances/KES/months/2026-03-01?format=pdf');
    assert.match(pdf.headers.get('content-disposition') ?? '', /statement-KES-2026-03-01-2026-03-31\.pdf/);
    assert.match(pdf.text, /^%PDF-/);
    const queued = async () => {
      await notifyMembers(gateway.ctx);
      const [row] = await gateway.ctx.db.query<{ count: bigint }>(
        `select count(*) from notifications_sent where kind = 'statement_ready'`,
      );
      return Number(row?.count);
    };
    assert.equal(await queued(), 1);
    assert.equal(await queued(), 1);
  });
});
