// The page of a transaction: plain sentences, repeats in one line, the money as an addition, notes, retries, receipts to send.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { COMMAND_LINE } from '../src/holders/audit.ts';
import { balancesOf } from '../src/ledger/ledger.ts';
import { transfersOf } from '../src/ledger/reports.ts';
import { createLink, linkUuid } from '../src/links/links.ts';
import { setFee } from '../src/payments/fees.ts';
import { setHolderStatus } from '../src/payments/holder-status.ts';
import { applyOutcomes } from '../src/payments/outcomes.ts';
import { topUpSandbox } from '../src/payments/sandbox-top-up.ts';
import { idFromRef } from '../src/payments/transactions.ts';
import type { Observation } from '../src/rails/rail.ts';
import { collectInKenya } from './client.ts';
import { addPerson, hiddenFieldsOf, type Person, payOut } from './console-harness.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';
import { createShop, type Shop } from './shop.ts';

let gateway: TestGateway;
let shop: Shop;
let owner: Person;
let shops = 0;

before(async () => {
  gateway = await createTestGateway({ OPEN_PROMPTS_PER_NUMBER: '3', PROMPTS_PER_NUMBER_PER_DAY: '10' });
});
after(() => gateway.close());

beforeEach(async () => {
  shop = await createShop(gateway.ctx, `Page ${++shops}`);
  owner = await addPerson(gateway, shop.holderId, 'owner', `owner${shops}@example.org`);
});

const onceIn = (page: string) => /name="once" value="([^"]+)"/.exec(page)?.[1] ?? '';
const textOf = (page: string) =>
  page
    .slice(page.indexOf('<main'))
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll(/&#\d+;/g, (entity) => String.fromCodePoint(Number(entity.slice(2, -1))))
    .replaceAll(/\s+/g, ' ');
const pageOf = async (ref: string, person = owner) => (await person.get(`/console/transactions/${ref}`)).text;
const refIn = (location: string | null) => /(?:TX|RF)_\w{26}/.exec(location ?? '')?.[0] ?? '';

async function collect(ending: string, params: Record<string, unknown> = {}): Promise<string> {
  const ref = await collectInKenya(gateway, shop, { mobile: `254712345${ending}`, amount: 2500, ...params });
  await gateway.settle();
  return ref;
}

function report(ref: string, observation: Observation): Promise<unknown> {
  const transactionId = idFromRef(ref) ?? '';
  return gateway.ctx.db.transaction((tx) =>
    applyOutcomes(tx, gateway.ctx, [{ transactionId, source: 'poll', observation, raw: '{"answer":"the same"}' }]),
  );
}

describe('what the page says', () => {
  test('who, how much and which status are its title, and the number is written as people say it', async () => {
    const page = await pageOf(await collect('000', { third_party_reference_1: 'order-9' }));
    assert.match(textOf(page), /Transactions › TX_….{8,12} KES 2.?500 Succeeded/u);
    assert.match(textOf(page), /0712 345 000 · M-PESA · /);
    assert.match(page, /order-9/);
  });

  test('answers that changed nothing are one line, with each of them behind a click', async () => {
    const ref = await collect('678');
    for (let count = 0; count < 3; count++) await report(ref, { state: 'pending' });
    const text = textOf(await pageOf(ref));
    assert.match(text, /Asked M-PESA \d times, no change Show each answer/);
    assert.equal(text.match(/no change/g)?.length, 1);
    assert.ok(text.indexOf('no change') < text.indexOf('Request received'), 'newest first');
    assert.match(text, /Prompt sent to the phone M-PESA accepted the request/);
  });

  test('a prompt of long ago waits for nobody: the operator has not said how it ended', async () => {
    await collect('005');
    const list = async () => textOf((await owner.get('/console/transactions')).text);
    assert.match(await list(), /Waiting for PIN/);
    gateway.ctx.clock.advance(16 * 60_000);
    assert.match(await list(), /Result not known yet/);
    assert.doesNotMatch(await list(), /Waiting for PIN/);
  });

  test('money that failed to come is not said to be in', async () => {
    await collect('000');
    await collect('001', { amount: 900 });
    const totals = async (query: string) =>
      /class="totals muted">([^<]*)/.exec((await owner.get(`/console/transactions${query}`)).text)?.[1] ?? '';
    assert.match(await totals(''), /KES.2.500 in/);
    assert.match(await totals('?status=succeeded'), /KES.2.500 in/);
    assert.match(await totals('?status=failed'), /1 transaction · Collection: KES.900$/);
  });

  test('a percentage has the decimal sign of its language', async () => {
    const fee = { basisPoints: 150n, fixed: 0n, min: 0n, max: null };
    await setFee(gateway.ctx, COMMAND_LINE, shop.holderId, 'MPESA_KEN', 'collection', fee);
    const ref = await collect('000', { amount: 2000 });
    assert.match(textOf(await pageOf(ref)), /Fee \(1\.5 %\)/);
    const french = await owner.get(`/console/transactions/${ref}`, { 'accept-language': 'fr' });
    assert.match(textOf(french.text), /Frais \(1,5 %\)/);
  });

  test('review: samples have the client id of the integration and use our client first', async () => {
    const text = textOf(await pageOf(await collect('000')));
    assert.ok(text.includes(`clientId: "${shop.clientId}"`));
    assert.ok(text.indexOf('@simbi/client') < text.indexOf('openssl'));
    assert.match(text, /simbi\.collections\.create\(/);
    assert.ok(!text.includes(shop.secretKey));
  });

  test('review: no phrase of before is on the page', async () => {
    const text = textOf(await pageOf(await collect('000'))) + textOf(await pageOf(await collect('001')));
    for (const phrase of ['it has it', 'This changed nothing', 'decided the state', 'Money moved', 'Give it back'])
      assert.ok(!text.includes(phrase), phrase);
  });
});

describe('the money of a transaction', () => {
  test('review: a payment that failed shows no fee, and why it failed in plain words', async () => {
    const text = textOf(await pageOf(await collect('001')));
    assert.match(text, /Failed Not enough money/);
    assert.match(text, /Requested KES 2.?500 Failed − KES 2.?500 Added to your balance KES 0/u);
    assert.doesNotMatch(text, /Fee \(/);
  });

  test('a success is what was paid less the fee, and equals what the ledger added', async () => {
    const ref = await collect('000');
    const text = textOf(await pageOf(ref));
    assert.match(text, /Paid by customer KES 2.?500 Fee \(1 %\) − KES 25 Added to your balance KES 2.?475/u);
    const lines = await transfersOf(gateway.ctx.db, shop.holderId, idFromRef(ref) ?? '');
    assert.equal(lines.find(({ kind }) => kind === 'collection')?.amount, 247_500n);
  });

  test('refunds and what the operator took back leave what is in the balance', async () => {
    await collect('000');
    const ref = await collect('000');
    await owner.post(`/console/transactions/${ref}/refund`, { amount: '500' });
    await gateway.settle();
    assert.match(textOf(await pageOf(ref)), /Refunded − KES 500 Left in your balance KES 1.?975/u);
    const taken = await collect('000');
    await report(taken, { state: 'reversed', receipt: null, rawCode: 'R', message: '' });
    const text = textOf(await pageOf(taken));
    assert.match(
      text,
      /Taken back by the operator − KES 2.?500 Fee returned to you KES 25 Left in your balance KES 0/u,
    );
  });

  test('review: a refund says what leaves the balance, to the hundredth', async () => {
    await collect('000');
    const ref = await collect('000');
    const asked = await owner.post(`/console/transactions/${ref}/refund`);
    await gateway.settle();
    const [wallet] = await balancesOf(gateway.ctx.db, shop.holderId);
    assert.equal(wallet?.available, 247_500n);
    assert.match(
      textOf(await pageOf(refIn(asked.location))),
      /Back to customer KES 2.?500 Fee returned to you − KES 25 Taken from your balance KES 2.?475/u,
    );
  });

  test('review: a payout that waits or failed took nothing', async () => {
    await topUpSandbox(gateway.ctx, COMMAND_LINE, shop.holderId, 'KES', 1_000_000n);
    const failed = await payOut(owner, payout('0712345003'));
    await gateway.settle();
    const text = textOf(await pageOf(refIn(failed.location)));
    assert.match(text, /To send KES 1.?500 Returned to your balance − KES 1.?500 Taken from your balance KES 0/u);
    assert.match(text, /returned to your balance.*held from your balance/u);
  });
});

function payout(mobile: string): Record<string, string> {
  return { amount: '1500', currency: 'KES', mobile, method: 'MPESA_KEN', payee: 'Wanjiku Otieno', invoice_no: 'INV-7' };
}

describe('notes', () => {
  test('a note is shown with its author, audited, and never longer than its limit', async () => {
    const ref = await collect('000');
    const finance = await addPerson(gateway, shop.holderId, 'finance', `notes${shops}@example.org`);
    const added = await finance.post(`/console/transactions/${ref}/notes`, {
      note: 'Called her.\r\n<b>Comes</b> at 5.',
    });
    assert.equal(added.location, `/console/transactions/${ref}?done=noteAdded`);
    const page = await pageOf(ref);
    assert.match(textOf(page), new RegExp(`Note by notes${shops}@example.org Called her. <b>Comes</b> at 5.`));
    assert.ok(!page.includes('<b>Comes'), 'shown as text');
    await finance.post(`/console/transactions/${ref}/notes`, { note: 'x'.repeat(1_500) });
    const rows = await gateway.ctx.db.query<{ length: number }>(
      'select char_length(body) as length from transaction_notes where holder_id = $1 order by number',
      [shop.holderId],
    );
    assert.deepEqual(
      rows.map(({ length }) => length),
      [30, 1_000],
    );
    const audited = await gateway.ctx.db.query(
      `select from audit_log where holder_id = $1 and action = 'transaction.note_added' and subject = $2`,
      [shop.holderId, ref],
    );
    assert.equal(audited.length, 2);
  });

  test('an empty note, a viewer and another account write nothing', async () => {
    const ref = await collect('000');
    assert.equal((await owner.post(`/console/transactions/${ref}/notes`, { note: '  ' })).status, 400);
    const viewer = await addPerson(gateway, shop.holderId, 'viewer', `viewer${shops}@example.org`);
    assert.equal((await viewer.post(`/console/transactions/${ref}/notes`, { note: 'Hello' })).status, 403);
    const other = await createShop(gateway.ctx, 'Other');
    const stranger = await addPerson(gateway, other.holderId, 'owner', `stranger${shops}@example.org`);
    assert.equal((await stranger.post(`/console/transactions/${ref}/notes`, { note: 'Hello' })).status, 404);
    assert.equal(
      (await gateway.ctx.db.query('select from transaction_notes where holder_id = $1', [shop.holderId])).length,
      0,
    );
  });
});

describe('a retry', () => {
  async function retry(ref: string, person = owner, once?: string) {
    const page = await pageOf(ref, person);
    return person.post(`/console/transactions/${ref}/retry`, { once: once ?? onceIn(page) });
  }

  test('is one tap: the same payer, amount and references, as a new payment linked to the first', async () => {
    const failed = await collect('001', { third_party_reference_1: 'order-12' });
    const again = await retry(failed);
    assert.match(again.location ?? '', /\/console\/transactions\/TX_\w+\?done=retried/);
    const ref = refIn(again.location);
    assert.notEqual(ref, failed);
    const rows = await gateway.ctx.db.query(
      `select direction, amount, msisdn, method, reference_1, integration_id from transactions where id = any ($1) order by id`,
      [[idFromRef(failed), idFromRef(ref)]],
    );
    assert.deepEqual(rows[0], rows[1]);
    assert.match(textOf(await pageOf(ref)), new RegExp(`Retry of ${failed}`));
    assert.match(textOf(await pageOf(failed)), new RegExp(`Retried by owner${shops}@example.org ${ref}`));
  });

  test('only one is open at a time, and a form counts once', async () => {
    const failed = await collect('001', { mobile: '254712777777' });
    await report(failed, { state: 'failed', failureCode: 'WRONG_PIN', rawCode: '1', message: '' });
    const once = onceIn(await pageOf(failed));
    const answers = await Promise.all([retry(failed, owner, once), retry(failed, owner, once)]);
    const notices = answers.map(({ location }) => /done=(\w+)/.exec(location ?? '')?.[1]);
    assert.deepEqual(new Set(notices), new Set(['formAlreadySent', 'retried']));
    assert.doesNotMatch(await pageOf(failed), /\/retry"/, 'no button while one is open');
    const other = await collect('x', { mobile: '254712999999' });
    await report(other, { state: 'failed', failureCode: 'WRONG_PIN', rawCode: '1', message: '' });
    const two = await Promise.all([retry(other, owner, ''), retry(other, owner, '')]);
    assert.deepEqual(new Set(two.map(({ status }) => status)), new Set([303, 400]), 'two people at the same moment');
    const second = await owner.post(`/console/transactions/${failed}/retry`);
    assert.equal(second.status, 400);
    assert.match(second.text, /A retry is waiting already/);
  });

  test('is refused when the customer has paid the same reference meanwhile, and for what did not fail', async () => {
    const failed = await collect('001', { third_party_reference_1: 'order-13' });
    const page = await pageOf(failed);
    const paid = await collect('000', { third_party_reference_1: 'order-13' });
    const refused = await owner.post(`/console/transactions/${failed}/retry`, { once: onceIn(page) });
    assert.match(refused.text, /has paid this since/);
    assert.match((await owner.post(`/console/transactions/${paid}/retry`)).text, /did not fail/);
  });

  test('respects the limit of the number, the role and the state of the account', async () => {
    const viewer = await addPerson(gateway, shop.holderId, 'viewer', `viewer${shops}@example.org`);
    const refs: string[] = [];
    for (let count = 0; count < 4; count++) {
      const ref = await collect('x', { mobile: '254712888888' });
      await report(ref, { state: 'failed', failureCode: 'WRONG_PIN', rawCode: '1', message: '' });
      refs.push(ref);
    }
    const [first = '', ...others] = refs;
    assert.equal((await viewer.post(`/console/transactions/${first}/retry`)).status, 403);
    for (const ref of others) assert.equal((await retry(ref)).status, 303);
    const limited = await retry(first);
    assert.equal(limited.status, 429);
    assert.match(limited.text, /too many payment requests/);
    await setHolderStatus(gateway.ctx, COMMAND_LINE, shop.holderId, 'suspended');
    assert.equal((await owner.post(`/console/transactions/${first}/retry`)).status, 400);
  });

  test('of a payment that was started on a link leads to the link', async () => {
    const link = await createLink(
      gateway.ctx,
      { holderId: shop.holderId, integrationId: shop.id, defaultCallbackUrl: null },
      { country_id: 1, currency: 'KES', amount: '100', item_name: 'Basket' },
    );
    const failed = await collect('001');
    await gateway.ctx.ownerDb.query('update transactions set link_id = $1 where id = $2', [link.id, idFromRef(failed)]);
    const page = await pageOf(failed);
    assert.match(page, /class="button" href="\/console\/links\/pl_\w+"/);
    for (const way of ['retry', 'retry-link'])
      assert.equal((await owner.post(`/console/transactions/${failed}/${way}`)).status, 400, way);
  });

  test('by a payment link where there is no prompt; a second link only when the first is closed', async () => {
    const failed = await collect('001');
    await gateway.ctx.ownerDb.query(`update transactions set verification = 'instructions' where id = $1`, [
      idFromRef(failed),
    ]);
    assert.match(await pageOf(failed), /Retry with a payment link/);
    const made = await owner.post(`/console/transactions/${failed}/retry-link`);
    assert.match(made.location ?? '', /\/console\/links\/pl_\w+\?done=linkCreated/);
    assert.match((await owner.post(`/console/transactions/${failed}/retry-link`)).text, /A retry is waiting already/);
    assert.match(textOf(await pageOf(failed)), /Retried by .* New payment link/);
    // Paid on the link: nothing asks for it again, by a link or by a prompt.
    const id = linkUuid(/pl_\w+/.exec(made.location ?? '')?.[0] ?? '');
    await gateway.ctx.ownerDb.query(`update payment_links set status = 'paid' where id = $1`, [id]);
    assert.match((await owner.post(`/console/transactions/${failed}/retry-link`)).text, /has paid this since/);
  });

  test('by a prompt is refused while a payment link asks for the same money, and after it was paid there', async () => {
    const failed = await collect('001');
    const made = await owner.post(`/console/transactions/${failed}/retry-link`);
    const id = linkUuid(/pl_\w+/.exec(made.location ?? '')?.[0] ?? '');
    assert.match((await retry(failed, owner, '')).text, /A retry is waiting already/);
    await gateway.ctx.ownerDb.query(`update payment_links set status = 'paid' where id = $1`, [id]);
    assert.match((await retry(failed, owner, '')).text, /has paid this since/);
    await gateway.ctx.ownerDb.query(`update payment_links set status = 'disabled' where id = $1`, [id]);
    assert.equal((await retry(failed, owner, '')).status, 303);
  });

  test('of a payout is reviewed and ordered as any other, and linked', async () => {
    await topUpSandbox(gateway.ctx, COMMAND_LINE, shop.holderId, 'KES', 1_000_000n);
    const failed = refIn((await payOut(owner, payout('0712345003'))).location);
    await gateway.settle();
    const review = await owner.get(`/console/transactions/${failed}/retry`);
    assert.match(textOf(review.text), /Wanjiku Otieno/);
    const fields = { ...hiddenFieldsOf(review.text), confirm_repeats: 'yes' };
    const sent = await owner.post('/console/payouts', fields);
    assert.match(sent.location ?? '', /done=payoutCreated/);
    const ref = refIn(sent.location);
    assert.match(textOf(await pageOf(ref)), new RegExp(`Retry of ${failed}`));
  });
});

describe('sending a receipt', () => {
  test('offers WhatsApp, SMS and a copy of an address that anyone can check', async () => {
    const page = await pageOf(await collect('000'));
    const url = /id="receipt-url">([^<]+)</.exec(page)?.[1] ?? '';
    assert.match(page, /href="https:\/\/wa\.me\/254712345000\?text=/);
    assert.match(page, /href="sms:\+254712345000/);
    const path = new URL(url.replaceAll('&#47;', '/')).pathname;
    const receipt = await fetch(gateway.url + path);
    assert.equal(receipt.status, 200);
    assert.match(await receipt.text(), /TEST/);
    assert.doesNotMatch(await pageOf(await collect('001')), /wa\.me/, 'there is no receipt of a failure');
  });
});
