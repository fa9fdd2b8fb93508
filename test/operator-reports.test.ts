// Operator reports over a whole gateway: the pages on which admins read them, and the migration that makes receipts unique.

import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { keepUnmatched } from '../src/payments/unmatched-reports.ts';
import { connectDatabase } from '../src/platform/db.ts';
import { createHolderUuid } from '../src/platform/ids.ts';
import { migrate } from '../src/platform/migrate.ts';
import { MIGRATIONS_FOLDER } from '../src/platform/migration-files.ts';
import { SANDBOX_CALLBACK_KEY_PURPOSE } from '../src/rails/sandbox.ts';
import { clientOf, PATHS, textOf } from './client.ts';
import { addPerson, type Person } from './console-harness.ts';
import { createEmptyDatabase } from './database.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';
import { createShop } from './shop.ts';

const ROWS = 60;
const FIRST_OF_RECEIPTS = 15;

describe('money 26: pages of operator reports', () => {
  let gateway: TestGateway;
  let admin: Person;

  before(async () => {
    gateway = await createTestGateway();
    const shop = await createShop(gateway.ctx);
    admin = await addPerson(gateway, shop.holderId, 'viewer', 'ops@example.org', { admin: true });
    await gateway.ctx.db.query(
      `insert into rejected_callbacks (rail, reason, headers, body, received_at)
       select 'sandbox', 'forged number ' || n, '{}', 'body', now() + n * interval '1 second' from generate_series(1, ${ROWS}) n`,
    );
    await gateway.ctx.db.query(
      `insert into incoming_payments (rail, receipt, account_reference, amount, currency, holder_id, outcome, received_at)
       select 'sandbox', 'IN-' || lpad(n::text, 3, '0'), 'acc', 100, 'KES', 0, 'suspense', '2026-03-01T00:00:00Z'
       from generate_series(1, ${ROWS}) n`,
    );
    await gateway.ctx.db.query(
      `insert into quarantined_reports (holder_id, id, rail, source, reference, error, raw, received_at, last_received_at, case_id)
       select 0, gen_random_uuid(), 'sandbox', 'callback', 'acc-' || n, 'bad value ' || n, '<b>raw</b>', now(), now(), gen_random_uuid()
       from generate_series(1, ${ROWS}) n`,
    );
    const reports = Array.from({ length: ROWS }, (_, index) => ({
      rail: 'sandbox',
      reference: `TX_UNKNOWN_${index}`,
      direction: 'collection' as const,
      observation: { state: 'pending' } as const,
      raw: '',
    }));
    await gateway.ctx.db.transaction((tx) => keepUnmatched(tx, gateway.ctx, reports));
  });
  after(() => gateway.close());

  const FOUND: Record<string, RegExp> = {
    unmatched: /TX_UNKNOWN_\d+/g,
    quarantined: /bad value \d+/g,
    incoming: /IN-\d+/g,
    rejected: /forged number \d+/g,
  };
  for (const [list, pattern] of Object.entries(FOUND))
    test(`${list}: every row is on exactly one of two pages`, async () => {
      const first = await admin.get(`/console/admin/reports?list=${list}`);
      assert.equal(first.status, 200);
      const next = /rel="next" href="([^"]+)"/
        .exec(first.text)?.[1]
        ?.replaceAll('&#61;', '=')
        .replace(/&(?:amp|#38);/g, '&');
      assert.ok(next);
      const second = await admin.get(next);
      const shown = [...first.text.matchAll(pattern), ...second.text.matchAll(pattern)].map(([text]) => text);
      assert.equal(shown.length, ROWS);
      assert.equal(new Set(shown).size, ROWS);
      assert.ok(!second.text.includes('rel="next"'));
      assert.ok(!first.text.includes('<b>raw</b>'));
    });

  test('a cursor that is none begins at the top, and French is French', async () => {
    for (const after of ['x', 'W10', Buffer.from('["x","y","z"]').toString('base64url')])
      assert.equal((await admin.get(`/console/admin/reports?list=quarantined&after=${after}`)).status, 200);
    const french = await admin.get('/console/admin/reports?lang=fr', { 'accept-language': 'fr' });
    assert.match(french.text, /Messages des opérateurs/);
  });
});

test('money 13: the migration gives each receipt to the first transaction that has it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'simbi-receipts-'));
  const database = await createEmptyDatabase();
  const db = connectDatabase({ url: database.url, as: 'owner' });
  try {
    const before = (file: string) =>
      !/^\d{4}_/.test(basename(file)) || Number(basename(file).slice(0, 4)) < FIRST_OF_RECEIPTS;
    await cp(MIGRATIONS_FOLDER, folder, { recursive: true, filter: before });
    await migrate(database.url, undefined, folder);
    const [first, second] = [createHolderUuid(1, 7n), createHolderUuid(2, 7n)];
    const caseId = createHolderUuid(3, 0n);
    await db.query(
      `insert into transactions (id, holder_id, direction, status, amount, fee, currency, country_id, method, rail, detail,
         verification, receipt, created_at, updated_at, settled_at)
       select id, 7, 'collection', 'success', 100, 1, 'KES', 1, 'M', 'r', '', 'prompt', 'SAME', now(), now(), at
       from unnest($1::uuid[], $2::timestamptz[]) as t (id, at)`,
      [
        [second, first],
        [new Date('2026-03-02T10:00:00Z'), new Date('2026-03-02T09:00:00Z')],
      ],
    );
    await db.query(
      `insert into incoming_payments (rail, receipt, amount, currency, holder_id, outcome, case_id, received_at)
       values ('r', 'HELD', 5, 'KES', 0, 'suspense', $1, now())`,
      [caseId],
    );
    await migrate(database.url);
    const rows = await db.query(
      'select receipt, holder_id, transaction_id, case_id from operator_receipts order by receipt',
    );
    assert.deepEqual(rows, [
      { receipt: 'HELD', holder_id: 0n, transaction_id: null, case_id: caseId },
      { receipt: 'SAME', holder_id: 7n, transaction_id: first, case_id: null },
    ]);
  } finally {
    await db.close();
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  }
});

test('a message of an operator about payments of two accounts: each account is shown its own part only', async () => {
  const gateway = await createTestGateway();
  try {
    const owners: Person[] = [];
    const references: string[] = [];
    for (const [index, name] of ['First', 'Second'].entries()) {
      const client = clientOf(gateway, await createShop(gateway.ctx, name));
      owners.push(await addPerson(gateway, client.shop.holderId, 'owner', `owner${index}@example.org`));
      const params = { amount: 2_500, mobile: `25677200${index}012`, country_id: 11, currency: 'UGX' };
      references.push(textOf((await client.signed(PATHS.collect, params)).data.ref));
    }
    await gateway.settle();
    const events = references.map((reference) => ({
      type: 'payment.updated',
      reference,
      status: 'pending',
      amount: '2500',
      currency: 'UGX',
    }));
    const payload = JSON.stringify({ events });
    const key = gateway.ctx.vault.deriveKey(SANDBOX_CALLBACK_KEY_PURPOSE);
    const signature = createHmac('sha256', key).update(`1./operators/sandbox.${payload}`).digest('hex');
    const headers = { 'content-type': 'application/json', 'x-operator-signature': `t=1,v1=${signature}` };
    const answer = await gateway.app.inject({ method: 'POST', url: '/operators/sandbox', headers, payload });
    assert.equal(answer.statusCode, 200);
    await gateway.settle();
    for (const [index, owner] of owners.entries()) {
      const page = (await owner.get(`/console/transactions/${references[index]}`)).text;
      assert.match(page, /payment\.updated/);
      assert.ok(!page.includes(references[1 - index] ?? '?'));
    }
  } finally {
    await gateway.close();
  }
});
