// Cases in the console: proposed by one person, approved by another, with evidence; and who may not.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { listCasesOf } from '../src/payments/cases.ts';
import { idFromRef } from '../src/payments/transactions.ts';
import { createHolderUuid, NO_HOLDER, publicId } from '../src/platform/ids.ts';
import { collectInKenya } from './client.ts';
import { addPerson, type Person, payOut, signIn } from './console-harness.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';
import { createShop, type Shop } from './shop.ts';

const HOUR_MS = 3_600_000;
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const EVIDENCE = { reason: 'The statement shows it.', reference: 'statement 12, line 4' };

let gateway: TestGateway;
let shop: Shop;
let finance: Person;
let admin: Person;
let second: Person;
let shops = 0;

before(async () => {
  gateway = await createTestGateway();
});
after(() => gateway.close());

beforeEach(async () => {
  shop = await createShop(gateway.ctx, `Cases ${++shops}`);
  const other = await createShop(gateway.ctx, `Operators ${shops}`);
  finance = await addPerson(gateway, shop.holderId, 'finance', `finance${shops}@example.org`);
  admin = await addPerson(gateway, other.holderId, 'owner', `admin${shops}@example.org`, { admin: true });
  second = await addPerson(gateway, other.holderId, 'owner', `second${shops}@example.org`, { admin: true });
});

const textOf = (page: string) =>
  page
    .slice(page.indexOf('<main'))
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll(/\s+/g, ' ');
const address = (data: Buffer, type = 'text/plain') => `data:${type};base64,${data.toString('base64')}`;

/** Sessions and their proofs end while days pass. */
async function signInAgain(): Promise<void> {
  finance = await signIn(gateway, finance.member, { holderId: shop.holderId });
  admin = await signIn(gateway, admin.member);
  second = await signIn(gateway, second.member);
}

/** A payment that the operator never answers for, and its case. */
async function stuck(): Promise<{ ref: string; caseRef: string }> {
  const ref = await collectInKenya(gateway, shop, { mobile: '254712345005', amount: 2500 });
  for (let quarter = 0; quarter < 5; quarter++) await gateway.advance(6 * HOUR_MS);
  await signInAgain();
  const [each] = await listCasesOf(gateway.ctx.db, shop.holderId, idFromRef(ref) ?? '');
  assert.equal(each?.kind, 'no_answer');
  return { ref, caseRef: publicId('case', each.id) };
}

async function decisionsOf(person: Person, path: string): Promise<string[]> {
  const { text } = await person.get(path);
  return [...text.matchAll(/action="\/console(\/admin\/decisions\/dec_\w+)\/approve"/g)].map(([, found = '']) => found);
}

describe('a case that nobody answers', () => {
  test('money 19: is proposed by a member with a document, and approved by an admin on its page', async () => {
    const { ref, caseRef } = await stuck();
    const page = await finance.get(`/console/cases/${caseRef}`);
    assert.equal(page.status, 200);
    const text = textOf(page.text);
    for (const expected of ['No final result for a day', ref, 'KES', 'Timeline', 'It succeeded', 'Propose'])
      assert.ok(text.includes(expected), expected);
    assert.equal((await finance.get(`/console/search?q=${caseRef}`)).location, `/console/cases/${caseRef}`);
    assert.match(text, /The payer has paid\. KES\s2.?500, less the fee, is added to the wallet\./);
    const proposed = await finance.post(`/console/cases/${caseRef}/decisions`, {
      ...EVIDENCE,
      action: 'settle_success',
      document: address(PNG, 'text/html'),
    });
    assert.equal(proposed.location, `/console/cases/${caseRef}?done=decisionProposed`);
    const waiting = textOf((await finance.get(`/console/cases/${caseRef}`)).text);
    assert.match(waiting, /An administrator of this gateway must approve it/);
    assert.match(
      textOf((await admin.get('/console/admin')).text),
      /Decisions that wait for a second person .*It succeeded/,
    );
    const adminPath = `/console/admin/cases/${caseRef}`;
    assert.match(textOf((await admin.get(adminPath)).text), /The operator is asked once more first/);
    const [decision = ''] = await decisionsOf(admin, adminPath);
    const approved = await admin.post(`/console${decision}/approve`);
    assert.equal(approved.location, `${adminPath}?done=decisionApproved`);
    assert.match(textOf((await finance.get(`/console/transactions/${ref}`)).text), /Succeeded/);
    const closed = textOf((await finance.get(`/console/cases/${caseRef}`)).text);
    assert.match(closed, /This review is closed/);
    assert.ok(closed.includes(finance.member.email) && closed.includes(admin.member.email));
    assert.ok(!/Decisions that wait/.test((await admin.get('/console/admin')).text));
    const document = await admin.get(`/console${decision}/document`);
    assert.equal(document.headers.get('content-type'), 'image/png', 'the bytes decide, not what the browser said');
    assert.match(document.headers.get('content-disposition') ?? '', /^attachment; filename="dec_\w+\.png"$/);
    assert.equal(document.headers.get('x-content-type-options'), 'nosniff');
    assert.match(document.headers.get('content-security-policy') ?? '', /sandbox/);
  });

  test('one person alone decides nothing, and cannot propose twice', async () => {
    const { ref, caseRef } = await stuck();
    const path = `/console/admin/cases/${caseRef}`;
    await admin.post(`${path}/decisions`, { ...EVIDENCE, action: 'settle_failed' });
    assert.deepEqual(await decisionsOf(admin, path), [], 'no button for the person who proposed it');
    const [decision = ''] = await decisionsOf(second, path);
    assert.equal((await admin.post(`/console${decision}/approve`)).status, 403);
    assert.ok(!(await finance.get(`/console/cases/${caseRef}`)).text.includes('name="action"'));
    assert.equal(
      (await finance.post(`/console/cases/${caseRef}/decisions`, { ...EVIDENCE, action: 'settle_success' })).status,
      400,
    );
    assert.match((await second.post(`/console${decision}/reject`)).location ?? '', /done=decisionRejected/);
    assert.match(textOf((await finance.get(`/console/transactions/${ref}`)).text), /Processing/);
    assert.match(textOf((await finance.get(`/console/cases/${caseRef}`)).text), /Rejected/);
    await finance.post(`/console/cases/${caseRef}/decisions`, { ...EVIDENCE, action: 'settle_failed' });
    const own =
      /name="decision" value="(dec_\w+)"/.exec((await finance.get(`/console/cases/${caseRef}`)).text)?.[1] ?? '';
    const withdrawn = await finance.post(`/console/cases/${caseRef}/withdraw`, { decision: own });
    assert.match(withdrawn.location ?? '', /done=decisionRejected/);
  });

  test('what is missing or wrong is said in the form, and what was typed stays', async () => {
    const { caseRef } = await stuck();
    const path = `/console/cases/${caseRef}/decisions`;
    const send = (fields: Record<string, string>) => finance.post(path, { ...EVIDENCE, ...fields });
    assert.match((await send({})).text, /id="e-action"/);
    const ambiguous = await send({ action: 'settle_amount', amount: '1,500' });
    assert.equal(ambiguous.status, 400);
    assert.match(ambiguous.text, /id="e-amount"/);
    assert.match(ambiguous.text, /value="statement 12, line 4"/);
    assert.match((await send({ action: 'settle_amount' })).text, /Enter the amount that was paid/);
    assert.match((await send({ action: 'settle_success', reference: '' })).text, /id="e-reference"/);
    const sayNo = /must be text, or a PNG, JPEG or WebP picture/;
    for (const document of [
      address(Buffer.from('GIF89a…')),
      address(Buffer.from([0, 1, 2, 3])),
      address(Buffer.alloc(1_048_577, 65)),
      'data:text/plain;base64,???',
      'hello',
    ])
      assert.match((await send({ action: 'settle_success', document })).text, sayNo);
    assert.equal((await send({ action: 'write_off' })).status, 400);
    assert.match(
      (await send({ action: 'settle_success', document: address(Buffer.from('line 4: paid')) })).location ?? '',
      /done/,
    );
  });

  test('the operator answers first: the page says so, with the state as it is now', async () => {
    const { ref, caseRef } = await stuck();
    await finance.post(`/console/cases/${caseRef}/decisions`, { ...EVIDENCE, action: 'settle_failed' });
    const [decision = ''] = await decisionsOf(admin, `/console/admin/cases/${caseRef}`);
    await gateway.ctx.db.query(
      `update sandbox_payments set status = 'succeeded', receipt = 'LATE-1' where reference = $1`,
      [ref],
    );
    const answer = await admin.post(`/console${decision}/approve`);
    assert.equal(answer.location, `/console/admin/cases/${caseRef}?overtaken=yes`);
    const page = textOf((await admin.get(answer.location ?? '')).text);
    assert.match(page, /The situation has changed\. Nothing was decided\..*The payment is now: Succeeded/);
    assert.match(page, /Overtaken/);
  });

  test('a viewer and a developer cannot propose; another holder’s case is not found', async () => {
    const { caseRef } = await stuck();
    for (const role of ['viewer', 'developer'] as const) {
      const person = await addPerson(gateway, shop.holderId, role, `${role}c${shops}@example.org`);
      const page = await person.get(`/console/cases/${caseRef}`);
      assert.equal(page.status, 200);
      assert.ok(!page.text.includes('name="reason"'));
      assert.equal((await person.post(`/console/cases/${caseRef}/decisions`, EVIDENCE)).status, 403);
      assert.equal((await person.get(`/console/admin/cases/${caseRef}`)).status, 403);
    }
    const other = await createShop(gateway.ctx, 'Somebody else');
    const stranger = await addPerson(gateway, other.holderId, 'owner', `strangerc${shops}@example.org`);
    assert.equal((await stranger.get(`/console/cases/${caseRef}`)).status, 404);
    assert.equal((await stranger.get(`/console/search?q=${caseRef}`)).status, 200, 'not a way to it either');
    assert.equal(
      (await stranger.post(`/console/cases/${caseRef}/decisions`, { ...EVIDENCE, action: 'settle_success' })).status,
      404,
    );
  });
});

describe('a debt', () => {
  async function inDebt(): Promise<string> {
    await collectInKenya(gateway, shop, { mobile: '254712345008', amount: 2500 });
    await gateway.settle();
    await payOut(finance, { amount: '2000', currency: 'KES', mobile: '0712345000', method: 'MPESA_KEN' });
    await gateway.advance(120_000);
    const [row] = await gateway.ctx.db.query<{ id: string }>(
      `select id from cases where holder_id = $1 and kind = 'debt' and status = 'open'`,
      [shop.holderId],
    );
    return publicId('case', row?.id ?? assert.fail('no debt'));
  }

  test('money 8: is shown with its age; the debtor cannot close it, two admins can', async () => {
    const caseRef = await inDebt();
    const balances = textOf((await finance.get('/console/balances')).text);
    assert.match(balances, /You owe KES\s[\d ,.\s]+ · Since .*\(less than a day\)/);
    assert.match(balances, /paid from the next money that comes in/);
    assert.match(textOf((await finance.get('/console')).text), /You owe KES/);
    const page = textOf((await finance.get(`/console/cases/${caseRef}`)).text);
    assert.match(page, /Only administrators of this gateway can decide this/);
    assert.equal(
      (await finance.post(`/console/cases/${caseRef}/decisions`, { ...EVIDENCE, action: 'write_off' })).status,
      400,
    );
    assert.equal((await finance.post(`/console/cases/${caseRef}/resolve`, { resolution: 'Forget it.' })).status, 404);
    await gateway.advance(49 * HOUR_MS);
    await signInAgain();
    const debtors = textOf((await admin.get('/console/admin/debts')).text);
    assert.ok(debtors.includes(`Cases ${shops}`));
    assert.match(debtors, /\(2 days\)/);
    assert.match(textOf((await admin.get(`/console/admin/holders/${shop.holderId}`)).text), /Owes KES/);
    const path = `/console/admin/cases/${caseRef}`;
    await admin.post(`${path}/decisions`, { ...EVIDENCE, action: 'write_off' });
    const [decision = ''] = await decisionsOf(second, path);
    assert.match((await second.post(`/console${decision}/approve`)).location ?? '', /done=decisionApproved/);
    assert.ok(!textOf((await finance.get('/console/balances')).text).includes('You owe'));
    assert.ok(!textOf((await admin.get('/console/admin/debts')).text).includes(`Cases ${shops} `));
  });
});

describe('a case without money', () => {
  async function openCase(kind: string): Promise<string> {
    const id = createHolderUuid(gateway.ctx.clock.millis(), shop.holderId);
    await gateway.ctx.db.query('insert into cases (id, holder_id, kind, opened_at) values ($1, $2, $3, $4)', [
      id,
      shop.holderId,
      kind,
      gateway.ctx.clock.now(),
    ]);
    return publicId('case', id);
  }

  test('money 8: a note closes a case that reports a fact, and no other', async () => {
    const fact = await openCase('late_success');
    assert.match((await finance.get(`/console/cases/${fact}`)).text, /name="resolution"/);
    assert.equal((await finance.post(`/console/cases/${fact}/resolve`, { resolution: 'Delivered.' })).status, 303);
    const open = await openCase('contradiction');
    assert.ok(!(await finance.get(`/console/cases/${open}`)).text.includes('name="resolution"'));
    assert.equal((await finance.post(`/console/cases/${open}/resolve`, { resolution: 'Delivered.' })).status, 404);
  });

  test('money in suspense is credited by two admins to an account by its name; a name that two have is refused', async () => {
    const { ctx } = gateway;
    const twin = await createShop(ctx, `Twin ${shops}`);
    await createShop(ctx, `Twin ${shops}`);
    const id = createHolderUuid(ctx.clock.millis(), NO_HOLDER);
    await ctx.db.query(
      `insert into cases (id, holder_id, kind, opened_at, amount, currency, rail)
       values ($1, 0, 'unknown_reference', $2, 70000, 'KES', 'sandbox')`,
      [id, ctx.clock.now()],
    );
    const path = `/console/admin/cases/${publicId('case', id)}`;
    const send = (holder: string) => admin.post(`${path}/decisions`, { ...EVIDENCE, action: 'credit_holder', holder });
    assert.match(
      textOf((await send(`Twin ${shops}`)).text),
      new RegExp(`Several accounts have this name.*${twin.holderId}`),
    );
    assert.match(textOf((await send('Nobody')).text), /There is no open account/);
    assert.match(textOf((await send('')).text), /Choose the account/);
    assert.match((await send(`Cases ${shops}`)).location ?? '', /done=decisionProposed/);
    const page = textOf((await second.get(path)).text);
    assert.ok(page.includes(`Cases ${shops} ${shop.holderId}`), 'the approver sees whom it goes to');
    await ctx.db.query(`update decisions set status = 'rejected' where case_id = $1`, [id]);
    await ctx.db.query(
      `update cases set status = 'resolved', settled = amount, resolved_at = opened_at where id = $1`,
      [id],
    );
  });
});
