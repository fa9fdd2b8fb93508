// Refunds in the console: whole and in parts, by one person or two, once; and who may not.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { french } from '../src/console/messages/fr.ts';
import { portuguese } from '../src/console/messages/pt.ts';
import { swahili } from '../src/console/messages/sw.ts';
import { setPayoutApproval, setRefundLimit } from '../src/holders/approval-rules.ts';
import { COMMAND_LINE } from '../src/holders/audit.ts';
import { applyOutcomes } from '../src/payments/outcomes.ts';
import { idFromRef } from '../src/payments/transactions.ts';
import { AMOUNT_SENTENCES } from '../src/platform/amount-sentences.ts';
import { collectInKenya } from './client.ts';
import { addPerson, type Person } from './console-harness.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';
import { createShop, type Shop } from './shop.ts';

const MESSAGES = { fr: french, pt: portuguese, sw: swahili };

let gateway: TestGateway;
let shop: Shop;
let finance: Person;
let owner: Person;
let shops = 0;

before(async () => {
  gateway = await createTestGateway();
});
after(() => gateway.close());

beforeEach(async () => {
  shop = await createShop(gateway.ctx, `Refunds ${++shops}`);
  finance = await addPerson(gateway, shop.holderId, 'finance', `finance${shops}@example.org`);
  owner = await addPerson(gateway, shop.holderId, 'owner', `owner${shops}@example.org`);
});

/** A payment of KES 2500 that succeeded, and money for the fees. */
async function paid(): Promise<string> {
  await collectInKenya(gateway, shop, {});
  const ref = await collectInKenya(gateway, shop, { amount: 2500 });
  await gateway.settle();
  return ref;
}

const onceIn = (page: string) => /name="once" value="([^"]+)"/.exec(page)?.[1] ?? '';
const textOf = (page: string) =>
  page
    .slice(page.indexOf('<main'))
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll(/\s+/g, ' ');

const mainOf = (page: string) => textOf(page.slice(0, page.indexOf('</main>')));

async function request(person: Person, ref: string, fields: Record<string, string> = {}) {
  const form = await person.get(`/console/transactions/${ref}/refund`);
  assert.equal(form.status, 200);
  return person.post(`/console/transactions/${ref}/refund`, { once: onceIn(form.text), ...fields });
}

function pathOf({ location }: { location: string | null }): string {
  return (location ?? '').split('?')[0] ?? '';
}

describe('a refund in the console', () => {
  test('in parts: the form names what is left, and the page of the payment shows each of them', async () => {
    const ref = await paid();
    assert.match(textOf((await finance.get(`/console/transactions/${ref}/refund`)).text), /Up to KES\s2.?500 of this/);
    const first = await request(finance, ref, { amount: '1000', reason: 'One of two came back' });
    assert.match(first.location ?? '', /^\/console\/transactions\/RF_\w+\?done=refundRequested$/);
    await gateway.settle();
    const page = textOf((await finance.get(pathOf(first))).text);
    for (const expected of ['Succeeded', ref, 'One of two came back', `Created by ${finance.member.email}`])
      assert.ok(page.includes(expected), expected);
    assert.match(page, /Refund your reservations|your reservations/);
    const half = textOf((await finance.get(`/console/transactions/${ref}`)).text);
    assert.match(half, /Left to refund KES\s1.?500/);
    assert.match(half, /Succeeded/);
    const rest = await request(finance, ref);
    await gateway.settle();
    assert.match(textOf((await finance.get(pathOf(rest))).text), /KES\s1.?500/);
    assert.match(textOf((await finance.get(`/console/transactions/${ref}`)).text), /Reversed/);
    assert.equal((await finance.get(`/console/transactions/${ref}/refund`)).status, 400);
  });

  test('a form that is sent twice refunds once', async () => {
    const ref = await paid();
    const form = await finance.get(`/console/transactions/${ref}/refund`);
    const fields = { once: onceIn(form.text), amount: '100' };
    const answers = await Promise.all([1, 2, 3].map(() => finance.post(`/console/transactions/${ref}/refund`, fields)));
    assert.equal(answers.filter(({ location }) => /done=formAlreadySent/.test(location ?? '')).length, 2);
    const rows = await gateway.ctx.db.query('select 1 from refund_orders where holder_id = $1', [shop.holderId]);
    assert.equal(rows.length, 1);
  });

  test('a form that refunds everything and is sent again says that it was sent, not that nothing was created', async () => {
    const ref = await paid();
    const path = `/console/transactions/${ref}/refund`;
    const fields = { once: onceIn((await finance.get(path)).text) };
    const answers = await Promise.all([1, 2].map(() => finance.post(path, fields)));
    answers.push(await finance.post(path, fields));
    const sent = answers.map(({ status, location }) => `${status} ${/done=(\w+)/.exec(location ?? '')?.[1] ?? ''}`);
    const expected = ['303 refundRequested', '303 formAlreadySent', '303 formAlreadySent'];
    assert.deepEqual(new Set(sent), new Set(expected));
    assert.equal(sent.filter((each) => each === expected[0]).length, 1);
    const other = await finance.post(path, { once: '' });
    assert.equal(other.status, 400, 'another form finds nothing left');
  });

  test('more than is left, or what is no amount, is refused in the form', async () => {
    const ref = await paid();
    const much = await request(finance, ref, { amount: '2500.01' });
    assert.equal(much.status, 400);
    assert.match(textOf(much.text), /can still be refunded/);
    const path = `/console/transactions/${ref}/refund`;
    const french = await finance.post(path, { amount: '3000' }, { 'accept-language': 'fr' });
    assert.match(french.text, /id="e-amount">Il reste 2\s500\sKES à rembourser/);
    assert.equal((await request(finance, ref, { amount: 'all of it' })).status, 400);
    const ambiguous = await request(finance, ref, { amount: '1,500' });
    assert.equal(ambiguous.status, 400);
    assert.match(ambiguous.text, /value="1,500"/, 'what was typed stays in the form');
  });

  test('what is refused is said in the language of the page', async () => {
    await setPayoutApproval(gateway.ctx, COMMAND_LINE, shop.holderId, true);
    const [whole, asked] = [await paid(), await paid()];
    const waiting = pathOf(await request(finance, asked, { amount: '100' }));
    const cancelled = pathOf(await request(finance, asked, { amount: '200' }));
    await finance.post(`${cancelled}/cancel`);
    const contradicted = await paid();
    const doubted = pathOf(await request(finance, contradicted, { amount: '300' }));
    const transactionId = idFromRef(contradicted) ?? assert.fail();
    const observation = { state: 'failed', failureCode: 'UNSPECIFIED', rawCode: '', message: '' } as const;
    await gateway.ctx.db.transaction((tx) =>
      applyOutcomes(tx, gateway.ctx, [{ transactionId, source: 'callback', observation, raw: '' }]),
    );
    const refundPath = (ref: string) => `/console/transactions/${ref}/refund`;
    for (const language of ['fr', 'pt', 'sw'] as const) {
      const { refunds, orderRefused } = MESSAGES[language];
      const says = async (path: string, sentence: string, person = owner, fields = {}) => {
        const { status, text } = await person.post(path, fields, { 'accept-language': language });
        assert.ok(status >= 400 && status < 500, `${path} ${status}`);
        assert.ok(mainOf(text).includes(sentence), `${sentence} ${mainOf(text)}`);
        assert.doesNotMatch(mainOf(text), /\b(refund|already|approval|takes)\b/i);
      };
      const tooFine = AMOUNT_SENTENCES[language].tooManyDecimals(0);
      await says(refundPath(whole), tooFine, finance, { amount: '10.50' });
      await says(refundPath(contradicted), orderRefused.contradicted, finance, { amount: '10' });
      await says(`${doubted}/approve`, orderRefused.contradicted);
      await says(`${waiting}/approve`, orderRefused.ownOrder, finance);
      await says(`${cancelled}/approve`, orderRefused.notWaiting);
      await says(`${cancelled}/cancel`, orderRefused.sentAlready);
      const { text } = await finance.get(`${waiting}/refund`, { 'accept-language': language });
      assert.ok(mainOf(text).includes(refunds.notPossible), mainOf(text));
    }
  });

  test('money 20: one person does not refund alone above the limit', async () => {
    const ref = await paid();
    await setRefundLimit(gateway.ctx, COMMAND_LINE, shop.holderId, { currency: 'KES', without_approval: 100_000n });
    await setPayoutApproval(gateway.ctx, COMMAND_LINE, shop.holderId, true);
    const small = await request(finance, ref, { amount: '500' });
    assert.match(small.location ?? '', /done=refundRequested/);
    await gateway.settle();
    const asked = await request(finance, ref, { amount: '600' });
    assert.match(asked.location ?? '', /done=refundNeedsApproval/, 'both together are above the limit');
    await gateway.settle();
    const page = await finance.get(pathOf(asked));
    assert.match(textOf(page.text), /Needs approval/);
    assert.match(textOf(page.text), /You requested this refund\. Someone else must approve it\./);
    assert.equal((await finance.post(`${pathOf(asked)}/approve`)).status, 403);
    assert.match(textOf((await owner.get('/console')).text), /1 refund to approve/);
    assert.match((await owner.get('/console/payouts')).text, new RegExp(`action="${pathOf(asked)}/approve"`));
    assert.ok(!(await finance.get('/console/payouts')).text.includes(`${pathOf(asked)}/approve`));
    assert.match((await owner.post(`${pathOf(asked)}/approve`)).location ?? '', /done=refundApproved/);
    await gateway.settle();
    const approved = textOf((await owner.get(pathOf(asked))).text);
    assert.match(approved, /Succeeded/);
    assert.ok(approved.includes(`Approved by ${owner.member.email}`));
    assert.ok(!/to approve/.test(textOf((await owner.get('/console')).text)));
  });

  test('is cancelled while it waits, and then releases its money', async () => {
    const ref = await paid();
    await setPayoutApproval(gateway.ctx, COMMAND_LINE, shop.holderId, true);
    const asked = await request(finance, ref, { amount: '2000' });
    assert.match((await finance.post(`${pathOf(asked)}/cancel`)).location ?? '', /done=refundCancelled/);
    assert.match(textOf((await finance.get(pathOf(asked))).text), /Failed/);
    assert.match(textOf((await finance.get(`/console/transactions/${ref}`)).text), /Left to refund KES\s2.?500/);
    assert.equal((await owner.post(`${pathOf(asked)}/approve`)).status, 404);
  });

  test('a viewer and a developer cannot ask for one, approve one or cancel one; a stranger finds nothing', async () => {
    const ref = await paid();
    await setPayoutApproval(gateway.ctx, COMMAND_LINE, shop.holderId, true);
    const asked = pathOf(await request(finance, ref, { amount: '500' }));
    for (const role of ['viewer', 'developer'] as const) {
      const person = await addPerson(gateway, shop.holderId, role, `${role}${shops}@example.org`);
      assert.equal((await person.get(`/console/transactions/${ref}/refund`)).status, 403);
      assert.equal((await person.post(`/console/transactions/${ref}/refund`)).status, 403);
      assert.equal((await person.post(`${asked}/approve`)).status, 403);
      assert.equal((await person.post(`${asked}/cancel`)).status, 403);
      assert.ok(!(await person.get(`/console/transactions/${ref}`)).text.includes(`${ref}/refund"`));
    }
    const other = await createShop(gateway.ctx, 'Somebody else');
    const stranger = await addPerson(gateway, other.holderId, 'owner', `stranger${shops}@example.org`);
    assert.equal((await stranger.get(asked)).status, 404);
    assert.equal((await stranger.get(`/console/transactions/${ref}/refund`)).status, 404);
    assert.equal((await stranger.post(`${asked}/approve`)).status, 404);
  });

  test('where the operator cannot refund, the form offers a payout to the payer instead', async (t) => {
    const ref = await paid();
    const rail = gateway.services.ctx.rails.byName('sandbox') ?? assert.fail();
    const method = gateway.services.ctx.catalog.methods.get('MPESA_KEN') ?? assert.fail();
    const capabilities = rail.capabilitiesOf(method, 'collection') as { refunds: string };
    t.after(() => {
      capabilities.refunds = 'partial';
    });
    assert.ok(!(await finance.get(`/console/transactions/${ref}/refund`)).text.includes('name="as_payout"'));
    capabilities.refunds = 'whole';
    assert.match((await finance.get(`/console/transactions/${ref}/refund`)).text, /refunds whole payments only/);
    capabilities.refunds = 'none';
    const refused = await request(finance, ref, { amount: '500' });
    assert.equal(refused.status, 400);
    assert.match(textOf(refused.text), /Choose to send it as a payout/);
    const asked = await request(finance, ref, { amount: '500', as_payout: 'yes' });
    await gateway.settle();
    assert.match(textOf((await finance.get(pathOf(asked))).text), /Succeeded .*Sent as a payout Yes/);
  });

  test('lists, the filter, the export and the search know refunds', async () => {
    const ref = await paid();
    const asked = pathOf(await request(finance, ref, { amount: '500' }));
    await gateway.settle();
    const refund = asked.replace('/console/transactions/', '');
    const list = (await finance.get('/console/transactions?type=refund')).text;
    assert.ok(list.includes(refund) && !list.includes(ref));
    const csv = (await finance.get('/console/transactions.csv?type=refund')).text;
    assert.ok(csv.includes(refund) && !csv.includes(`${ref},`));
    assert.equal((await finance.get(`/console/search?q=${refund}`)).location, asked);
  });
});
