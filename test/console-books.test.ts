// The books in the console: from an operator's file through breaks, which two people decide about, to a signed day. Only for staff.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { parse } from 'csv-parse/sync';
import { type Break, listBreaks } from '../src/books/breaks.ts';
import { idFromRef } from '../src/payments/transactions.ts';
import { DAY_MS } from '../src/platform/clock.ts';
import { differencesOf } from './books.ts';
import { addPerson, type ConsoleAnswer, type Person } from './console-harness.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';
import { createShop, type Shop } from './shop.ts';
import { type StatementDay, writeStatementDay } from './statement-day.ts';
import { safaricomLines, safaricomStatement } from './statements.ts';

const PATH = '/console/admin/books';
const STATEMENTS = '/console/admin/rails/sandbox/statements';

describe('the books in the console', () => {
  let gateway: TestGateway;
  let shop: Shop;
  let written: StatementDay;
  let zawadi: Person;
  let otieno: Person;
  let merchant: Person;
  let statementPage = '';

  before(async () => {
    gateway = await createTestGateway();
    shop = await createShop(gateway.ctx);
    written = await writeStatementDay(gateway, shop);
    await gateway.advance(DAY_MS);
    zawadi = await addPerson(gateway, shop.holderId, 'viewer', 'zawadi@example.org', { admin: true });
    otieno = await addPerson(gateway, shop.holderId, 'viewer', 'otieno@example.org', { admin: true });
    merchant = await addPerson(gateway, shop.holderId, 'owner', 'merchant@example.org');
  });
  after(() => gateway.close());

  const account = () => ({ connection: 'sandbox', currency: 'KES', day: written.day });
  const closePage = () => `${PATH}/close?${new URLSearchParams(account()).toString()}`;
  const open = () => listBreaks(gateway.ctx.db, { status: 'open' }, 100);
  const openOf = async (kind: Break['kind']) => (await open()).filter((each) => each.kind === kind);

  async function sendStatement(content = written.csv, name = 'ORG_600998.csv'): Promise<string> {
    const form = new FormData();
    form.set('csrf', zawadi.csrf);
    form.set('file', new Blob([content]), name);
    const headers = { cookie: zawadi.cookie };
    const answer = await fetch(gateway.url + STATEMENTS, { method: 'POST', body: form, headers, redirect: 'manual' });
    assert.equal(answer.status, 303, await answer.text());
    const page = answer.headers.get('location') ?? '';
    while ((await zawadi.get(page)).text.includes('being read'));
    return page;
  }

  async function propose(action: string, breaks: readonly Break[], by = zawadi): Promise<ConsoleAnswer> {
    const ids = breaks.map(({ id }) => id).join(' ');
    return by.post(`${PATH}/proposals`, { breaks: ids, action, reason: 'seen in the portal of the operator' });
  }

  const pageOf = ({ location }: ConsoleAnswer) => (location ?? '').split('?')[0] ?? '';

  async function decide(action: string, breaks: readonly Break[]): Promise<string> {
    const proposed = await propose(action, breaks);
    assert.equal(proposed.status, 303, proposed.text);
    const approved = await otieno.post(`${pageOf(proposed)}/approve`);
    assert.equal(approved.status, 303, approved.text);
    return (await zawadi.get(pageOf(proposed))).text;
  }

  const statusOf = async (ref: string) => {
    const [row] = await gateway.ctx.db.query<{ status: string }>('select status from transactions where id = $1', [
      idFromRef(ref),
    ]);
    return row?.status;
  };

  test('are for staff only', async () => {
    for (const path of ['', '/breaks', '/breaks.csv', '/decide', '/proposals', '/close', '/closes', '/closes.csv'])
      assert.equal((await merchant.get(PATH + path)).status, 403, path);
    for (const path of ['/proposals', '/close/compare', '/close/fees', '/close/sign', '/close/reopen'])
      assert.equal((await merchant.post(PATH + path)).status, 403, path);
    const nobody = { connection: 'nowhere', currency: 'KES', day: written.day };
    for (const path of ['/close', '/closes', '/closes.csv'])
      assert.equal((await zawadi.get(`${PATH}${path}?${new URLSearchParams(nobody).toString()}`)).status, 404, path);
    assert.equal((await zawadi.get(`${PATH}/breaks/x`)).status, 404);
    assert.equal((await zawadi.get(`${PATH}/proposals/x`)).status, 404);
    assert.match((await zawadi.get('/console')).text, /href="\/console\/admin\/books"/);
    assert.doesNotMatch((await merchant.get('/console')).text, /\/console\/admin\/books/);
  });

  test('a statement of another connection is withdrawn with a reason, and the page says by whom', async () => {
    const page = await sendStatement(safaricomStatement(safaricomLines(2)), 'wrong.csv');
    assert.equal((await merchant.post(`${page}/withdraw`, { reason: 'not mine' })).status, 403);
    assert.equal((await zawadi.post(`${page}/withdraw`, { reason: ' ' })).status, 400);
    assert.match((await zawadi.get(page)).text, /Withdraw this statement/);
    const withdrawn = await zawadi.post(`${page}/withdraw`, { reason: 'the file of the other till' });
    assert.equal(withdrawn.status, 303, withdrawn.text);
    const { text } = await zawadi.get(page);
    assert.match(text, /zawadi@example\.org.*Lines that went with it: 2\..*the file of the other till/s);
    assert.doesNotMatch(text, /Withdraw this statement|SK00000000/);
    for (const [lang, word] of [
      ['fr', /Retiré/],
      ['pt', /Retirado/],
      ['sw', /Imeondolewa/],
    ] as const)
      assert.match((await zawadi.get(`${page}?lang=${lang}`)).text, word);
    await zawadi.get(`${page}?lang=en`);
  });

  test('a day shows that its statement is missing, then what does not agree', async () => {
    assert.match((await zawadi.get(PATH)).text, /Statement missing/);
    const early = await zawadi.post(`${PATH}/close/compare`, account());
    assert.equal(early.status, 400);
    assert.match(early.text, /There is no statement for this day/);
    statementPage = await sendStatement();
    assert.equal((await zawadi.post(`${PATH}/close/compare`, account())).status, 303);
    const { text } = await zawadi.get(`${PATH}?day=${written.day}`);
    for (const kind of ['Missing with us', 'Missing with them', 'State differs']) assert.match(text, new RegExp(kind));
    assert.match(text, /<svg class="difference-chart"/);
    assert.ok(text.length < 60_000);
  });

  test('breaks are listed, filtered and exported; one shows both sides', async () => {
    const list = await zawadi.get(`${PATH}/breaks`);
    assert.equal(list.text.match(/name="id"/g)?.length, 3);
    assert.match(list.text, /Decide all 3 of this filter/);
    const filtered = await zawadi.get(`${PATH}/breaks?kind=state&connection=sandbox&day=${written.day}`);
    assert.equal(filtered.text.match(/name="id"/g)?.length, 1);
    assert.equal((await zawadi.get(`${PATH}/breaks?age=7`)).text.match(/name="id"/g), null);
    const file = await zawadi.get(`${PATH}/breaks.csv`);
    const rows = parse(file.text, { columns: true, bom: true }) as Record<string, string>[];
    assert.deepEqual(rows.map((row) => row.kind ?? '').sort(), ['missing_with_them', 'missing_with_us', 'state']);
    for (const { opened_at: opened } of rows) assert.match(opened ?? '', /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/);
    const [state] = await openOf('state');
    const page = await zawadi.get(`${PATH}/breaks/${state?.id}`);
    assert.match(page.text, /LATE\d+/);
    assert.match(page.text, new RegExp(written.settled));
    assert.match(page.text, /our reference/);
    assert.match(page.text, /Apply what the statement says/);
  });

  test('one person cannot decide alone, and a break waits in one proposal at a time', async () => {
    const breaks = await openOf('state');
    const proposed = await propose('outcome', breaks);
    assert.equal((await zawadi.post(`${pageOf(proposed)}/approve`)).status, 403);
    assert.equal((await propose('explain', breaks, otieno)).status, 400);
    assert.equal(await statusOf(written.settled), 'failed');
    assert.equal((await zawadi.post(`${pageOf(proposed)}/reject`)).status, 303);
    assert.notEqual((await otieno.post(`${pageOf(proposed)}/approve`)).status, 303);
    assert.equal(await statusOf(written.settled), 'failed');
  });

  test('a reason and a decision that fits are needed', async () => {
    const breaks = await openOf('missing_with_them');
    const ids = breaks.map(({ id }) => id).join(' ');
    assert.equal((await zawadi.post(`${PATH}/proposals`, { breaks: ids, action: 'explain', reason: '' })).status, 400);
    assert.equal((await zawadi.post(`${PATH}/proposals`, { breaks: ids, reason: 'because' })).status, 400);
    assert.equal((await propose('suspense', breaks)).status, 400);
    assert.equal((await propose('explain', [])).status, 400);
    assert.equal((await zawadi.get(`${PATH}/decide`)).status, 400);
  });

  test('two people apply what the statement says, once', async () => {
    const page = await decide('outcome', await open());
    assert.match(page, /Applied/);
    assert.equal(await statusOf(written.settled), 'success');
    await gateway.settle();
    // Approved again, by a second click: nothing is left to do.
    const [row] = await gateway.ctx.db.query<{ id: string }>(
      `select id from break_proposals where status = 'approved'`,
    );
    assert.equal((await otieno.post(`${PATH}/proposals/${row?.id}/approve`)).status, 303);
    const transfers = await gateway.ctx.db.query(
      `select 1 from ledger_transfers where transaction_id = $1 and kind = 'collection'`,
      [idFromRef(written.settled)],
    );
    assert.equal(transfers.length, 1);
    assert.deepEqual(await openOf('state'), []);
  });

  test('money for nobody goes to suspense with a review', async () => {
    assert.match(await decide('suspense', await openOf('missing_with_us')), /Applied/);
    const [held] = await gateway.ctx.db.query<{ amount: bigint }>(
      `select amount from cases where status = 'open' and amount is not null`,
    );
    assert.equal(held?.amount, 70_000n);
    assert.deepEqual(await openOf('missing_with_us'), []);
    assert.equal((await openOf('other_day')).length, 2);
  });

  test('what was broken off goes on, and many breaks are one decision', async () => {
    const breaks = await open();
    const selection = await zawadi.get(`${PATH}/decide?${breaks.map(({ id }) => `id=${id}`).join('&')}`);
    assert.match(selection.text, /Fits 2 of 3/);
    assert.match((await zawadi.get(`${PATH}/decide?all=yes`)).text, /Fits 3 of 3/);
    const proposed = await propose('explain', breaks);
    await gateway.ctx.db.query(
      `update break_proposals set status = 'approved', decided_by = 'otieno@example.org', decided_by_member = $1, decided_at = $2
       where status = 'proposed'`,
      [otieno.member.id, gateway.ctx.clock.now()],
    );
    assert.match((await otieno.get(pageOf(proposed))).text, /have no result yet/);
    assert.equal((await otieno.post(`${pageOf(proposed)}/approve`)).status, 303);
    assert.equal((await zawadi.get(pageOf(proposed))).text.match(/status success">Resolved/g)?.length, 3);
    assert.deepEqual(await open(), []);
    const all = await listBreaks(gateway.ctx.db, { status: 'resolved' }, 100);
    assert.ok(all.some(({ resolved_by: by }) => by === 'zawadi@example.org, otieno@example.org'));
  });

  test('a day is previewed, signed and reopened', async () => {
    assert.equal((await zawadi.post(`${PATH}/close/compare`, account())).status, 303);
    const preview = await zawadi.get(closePage());
    assert.match(preview.text, /explained to the cent/);
    assert.match((await zawadi.get(`${closePage()}&balance=abc`)).text, /role="alert"/);
    const today = { ...account(), day: gateway.ctx.clock.now().toISOString().slice(0, 10) };
    const early = await zawadi.post(`${PATH}/close/sign`, today);
    assert.equal(early.status, 400);
    assert.match(early.text, /The day is not over yet/);
    const signed = await zawadi.post(`${PATH}/close/sign`, account());
    assert.equal(signed.status, 303, signed.text);
    assert.match((await zawadi.get(`${PATH}?day=${written.day}`)).text, /Closed by zawadi@example.org/);
    assert.equal((await zawadi.post(`${PATH}/close/sign`, account())).status, 400);
    assert.equal((await zawadi.post(`${PATH}/close/reopen`, { ...account(), reason: '' })).status, 400);
    gateway.ctx.clock.advance(1_000);
    assert.equal((await zawadi.post(`${PATH}/close/reopen`, { ...account(), reason: 'a line is wrong' })).status, 303);
    const query = new URLSearchParams({ connection: 'sandbox', currency: 'KES' }).toString();
    const chain = await zawadi.get(`${PATH}/closes?${query}`);
    assert.match(chain.text, /a line is wrong/);
    assert.match(chain.text, /reopened later/);
    const rows = parse((await zawadi.get(`${PATH}/closes.csv?${query}`)).text, { columns: true, bom: true }) as Record<
      string,
      string
    >[];
    assert.deepEqual(
      rows.map((row) => [row.kind, row.in_force, row.hash?.length]),
      [
        ['reopening', 'no', 64],
        ['close', 'no', 64],
      ],
    );
    gateway.ctx.clock.advance(1_000);
    assert.equal((await zawadi.post(`${PATH}/close/sign`, account())).status, 303);
    assert.deepEqual(await differencesOf(gateway.ctx), []);
    const file = await zawadi.get(statementPage);
    assert.match(file.text, /cannot be withdrawn.*which is signed in KES\. Reopen that day first.*were applied: \d/s);
    const refused = await zawadi.post(`${statementPage}/withdraw`, { reason: 'too late' });
    assert.equal(refused.status, 400);
    assert.match(refused.text, /Reopen that day first/);
  });

  test('every page is in each language', async () => {
    const [first] = await listBreaks(gateway.ctx.db, {}, 1);
    for (const [lang, expected] of [
      ['fr', /Comptes/],
      ['pt', /Contas do dia/],
      ['sw', /Hesabu za siku/],
    ] as const)
      for (const path of [
        '',
        '/breaks?status=all',
        `/breaks/${first?.id}`,
        '/proposals',
        closePage().slice(PATH.length),
      ]) {
        const page = await zawadi.get(`${PATH}${path}${path.includes('?') ? '&' : '?'}lang=${lang}`);
        assert.equal(page.status, 200, path);
        assert.match(page.text, expected, path);
      }
  });
});
