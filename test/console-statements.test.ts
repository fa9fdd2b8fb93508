// Statements in the console: an admin sends a file with a plain form, sees how it was read, and gets the original back.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { addPerson, type Person } from './console-harness.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';
import { createShop } from './shop.ts';
import { safaricomLines, safaricomStatement } from './statements.ts';

describe('statements in the console', () => {
  const PATH = '/console/admin/rails/sandbox/statements';
  let gateway: TestGateway;
  let admin: Person;
  let owner: Person;

  before(async () => {
    gateway = await createTestGateway();
    const shop = await createShop(gateway.ctx);
    admin = await addPerson(gateway, shop.holderId, 'owner', 'admin@example.org', { admin: true });
    owner = await addPerson(gateway, shop.holderId, 'owner');
  });
  after(() => gateway.close());

  async function send(person: Person, text: string, fields: Record<string, string> = {}) {
    const form = new FormData();
    for (const [name, value] of Object.entries({ csrf: person.csrf, ...fields })) form.set(name, value);
    form.set('file', new Blob([text]), 'ORG_600998.csv');
    const headers = { cookie: person.cookie };
    const answer = await fetch(gateway.url + PATH, { method: 'POST', body: form, headers, redirect: 'manual' });
    return { status: answer.status, text: await answer.text(), location: answer.headers.get('location') ?? '' };
  }

  /** The page of a file once it is read: reading goes on after the answer. */
  async function pageWhenRead(location: string): Promise<string> {
    for (;;) {
      const { text } = await admin.get(location);
      if (!text.includes('being read')) return text;
    }
  }

  const BAD = 'SKX1,2026-11-14 10:00:00,,Pay Bill,Vanished,10.00,,,,,,,';
  const TEXT = safaricomStatement([...safaricomLines(1_200), BAD]);

  test('a file is read, its bad lines are listed, and the original comes back byte for byte', async () => {
    const sent = await send(admin, TEXT);
    assert.equal(sent.status, 303, sent.text);
    const page = await pageWhenRead(sent.location);
    assert.match(page, /The status &#34;Vanished&#34; is not known\.|The status &quot;Vanished&quot; is not known\./);
    assert.match(page, /SK00000049/);
    const original = await admin.get(`${sent.location}/original`);
    assert.equal(original.text, TEXT);
    assert.match((await admin.get(PATH)).text, /ORG_600998\.csv/);
    const rows = await gateway.ctx.db.query<{ actor: string }>(
      `select actor from audit_log where action = 'statement.imported'`,
    );
    assert.deepEqual(rows, [{ actor: 'admin@example.org' }]);
  });

  test('a file that cannot be read is refused with the reason; so is a form without a file or without its token', async () => {
    const strange = await send(admin, 'a,b,c\n1,2,3\n');
    assert.equal(strange.status, 400);
    assert.match(strange.text, /form of no operator/);
    assert.equal((await admin.post(PATH)).status, 400);
    assert.equal((await send(admin, TEXT, { csrf: 'x' })).status, 403);
  });

  test('only admins see or send statements', async () => {
    assert.equal((await owner.get(PATH)).status, 403);
    assert.equal((await send(owner, TEXT)).status, 403);
    assert.equal((await owner.get(`${PATH}/1`)).status, 403);
    assert.equal((await owner.get(`${PATH}/1/original`)).status, 403);
    assert.equal((await admin.get(`/console/admin/rails/other/statements/1`)).status, 404);
  });
});
