// Amounts that people type: every door reads the same text as the same amount or refuses it, and a single payout is shown
// once more, exactly as it will be ordered, before it leaves.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { COMMAND_LINE } from '../src/holders/audit.ts';
import { setFee } from '../src/payments/fees.ts';
import { previewPayout } from '../src/payments/payout-preview.ts';
import { readPayout } from '../src/payments/payout-requests.ts';
import { topUpSandbox } from '../src/payments/sandbox-top-up.ts';
import type { AmountLanguage } from '../src/platform/amount-sentences.ts';
import { formatMoney } from '../src/platform/money.ts';
import { readTypedAmount } from '../src/platform/typed-amounts.ts';
import { openShop } from './browser/shop.ts';
import { addPerson, hiddenFieldsOf, importPayouts, type Person, payOut } from './console-harness.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';
import { createTestContext } from './harness.ts';
import { silentRail, withPayments } from './payments.ts';
import { createShop, type Shop } from './shop.ts';

const FRENCH = { 'accept-language': 'fr' };
const AMBIGUOUS_IN_FRENCH = '«\u00a01,500\u00a0» peut signifier 1500 ou 1,50. Écrivez 1500 ou 1,50.';
const SENEGAL = { currency: 'XOF', mobile: '221771234000' };
const KENYA = { currency: 'KES', mobile: '0712345000', method: 'MPESA_KEN' };

let gateway: TestGateway;
let shop: Shop;
let person: Person;
let shops = 0;

before(async () => {
  gateway = await createTestGateway();
});
after(() => gateway.close());

beforeEach(async () => {
  shops++;
  shop = await createShop(gateway.ctx, `Shop ${shops}`);
  person = await addPerson(gateway, shop.holderId, 'finance', `finance${shops}@example.org`);
  for (const currency of ['XOF', 'KES'])
    await topUpSandbox(gateway.ctx, COMMAND_LINE, shop.holderId, currency, 100_000_000n);
});

async function ordered(): Promise<bigint[]> {
  const rows = await gateway.ctx.db.query<{ amount: bigint }>(
    `select amount from transactions where holder_id = $1 and direction = 'payout' order by amount`,
    [shop.holderId],
  );
  return rows.map((row) => row.amount);
}

describe('the doors of the console', () => {
  test('money 1: a payout of "1500,00" is 1 500 and not 150 000', async () => {
    assert.equal((await payOut(person, { ...SENEGAL, amount: '1500,00' }, FRENCH)).status, 303);
    assert.equal((await payOut(person, { ...KENYA, amount: '25000,50' })).status, 303);
    assert.deepEqual(await ordered(), [150_000n, 2_500_050n]);
  });

  test('money 1: what has two meanings is refused in the language of the page', async () => {
    const french = await person.post('/console/payouts', { ...SENEGAL, amount: '1,500' }, FRENCH);
    assert.equal(french.status, 400);
    assert.ok(french.text.includes(AMBIGUOUS_IN_FRENCH));
    const english = await person.post('/console/payouts', { ...SENEGAL, amount: '1.500' });
    assert.match(english.text, /“1\.500” can mean 1500 or 1\.50\. Write 1500 or 1\.50\./);
    assert.deepEqual(await ordered(), []);
  });

  test('a payout that cannot be made is refused in the language of the page', async () => {
    const swahili = { 'accept-language': 'sw' };
    for (const [fields, headers, expected] of [
      [{ ...KENYA, mobile: '12', amount: '100' }, swahili, /Hii si namba ya simu ya nchi inayotumia KES\./],
      [{ ...KENYA, amount: '99999999' }, swahili, /Kiasi cha juu zaidi kwa M-PESA ni KES/],
      [{ ...KENYA, mobile: '12', amount: '100' }, FRENCH, /pas un numéro de mobile d’un pays qui utilise le KES\./],
      [{ ...KENYA, amount: '99999999' }, FRENCH, /Le montant maximal pour M-PESA est de/],
      [{ ...KENYA, amount: '99999999' }, {}, /The largest amount for M-PESA is KES/],
    ] as const) {
      const answer = await person.post('/console/payouts', fields, headers);
      assert.equal(answer.status, 400);
      assert.match(answer.text, expected);
    }
    assert.deepEqual(await ordered(), []);
  });

  test('money 1: a file is read by the same rules', async () => {
    const csv = 'amount;currency;mobile\n1500,00;XOF;221771234000\n1 500,50;XOF;221771234000\n1,500;XOF;221771234000\n';
    const checked = await person.post('/console/payouts/check', { csv: csv.replace('1 500,50', '2 500') }, FRENCH);
    assert.ok(checked.text.includes(AMBIGUOUS_IN_FRENCH));
    await person.post('/console/payouts/import', { csv: csv.replace('1 500,50', '2 500') }, FRENCH);
    assert.deepEqual(await ordered(), [], 'a file with a row to fix orders nothing');
    const right = csv.replace('1 500,50', '2 500').replace(/1,500;.*/, '');
    await importPayouts(person, { csv: right }, FRENCH);
    assert.deepEqual(await ordered(), [150_000n, 250_000n]);
  });

  test('money 1: a link, a top-up, a fee and a filter are read by the same rules', async () => {
    const { ctx } = gateway;
    const link = { country_id: '1', item_name: 'Basket' };
    assert.equal((await person.post('/console/links', { ...link, amount: '1500,50' }, FRENCH)).status, 303);
    const unclear = await person.post('/console/links', { ...link, amount: '1,500' }, FRENCH);
    assert.equal(unclear.status, 400);
    assert.ok(unclear.text.includes(AMBIGUOUS_IN_FRENCH));
    const links = await ctx.db.query('select amount from payment_links where holder_id = $1', [shop.holderId]);
    assert.deepEqual(links, [{ amount: 150_050n }]);

    const topUp = await person.post('/console/balances/top-up', { currency: 'KES', amount: '1,500' }, FRENCH);
    assert.equal(topUp.status, 400);
    assert.ok(topUp.text.includes(AMBIGUOUS_IN_FRENCH));

    const trial = await person.post('/console/test-payment', { country_id: '1', amount: '1,500' }, FRENCH);
    assert.equal(trial.status, 400);
    assert.ok(trial.text.includes(AMBIGUOUS_IN_FRENCH));

    const admin = await addPerson(gateway, shop.holderId, 'owner', `admin${shops}@example.org`, { admin: true });
    const fee = { method: 'MPESA_KEN', direction: 'payout', percent: '0', least: '0,00', most: '' };
    const fees = `/console/admin/holders/${shop.holderId}/fees`;
    assert.equal((await admin.post(fees, { ...fee, fixed: '1.500' })).status, 400);
    assert.equal((await admin.post(fees, { ...fee, fixed: '12,50' })).status, 303);
    const [agreed] = await ctx.db.query('select fixed from fee_overrides where holder_id = $1', [shop.holderId]);
    assert.deepEqual(agreed, { fixed: 1_250n });

    await payOut(person, { ...KENYA, amount: '1500' });
    const filter = (least: string) => person.get(`/console/transactions?least=${encodeURIComponent(least)}`, FRENCH);
    assert.ok((await filter('1 499,50')).text.includes('/console/transactions/TX_'));
    assert.ok(!(await filter('1 500,50')).text.includes('/console/transactions/TX_'));
    assert.ok((await filter('1,500')).text.includes(AMBIGUOUS_IN_FRENCH));
  });

  test('money 1: a longer text is refused, not cut to another amount', async () => {
    const answer = await person.post('/console/payouts', { ...KENYA, amount: `${'0'.repeat(39)}25` });
    assert.equal(answer.status, 400);
  });
});

test('money 1: the payment page reads the same texts, and proposes in the language of the payer', async () => {
  const { url } = await (await openShop(gateway)).link({ country_id: 9, currency: 'XOF', reusable: true });
  const pay = async (amount: string, language: string) => {
    const page = await (await fetch(`${url}?lang=${language}`)).text();
    const form = /name="form" value="([^"]+)"/.exec(page)?.[1] ?? '';
    const fields = { form, amount, phone: '771234000', method: 'ORANGE_MONEY_SEN' };
    return (await fetch(`${url}?lang=${language}`, { method: 'POST', body: new URLSearchParams(fields) })).text();
  };
  for (const language of ['en', 'fr', 'pt', 'sw']) {
    for (const text of ['1500', '1500,00', '1 500', '1.500,00', '1,500.00', 'XOF 1 500'])
      assert.match(await pay(text, language), /name="confirmed"[\s\S]*1\u202f?500/, `${text} in ${language}`);
    const refused = readTypedAmount('1.500', language as AmountLanguage);
    assert.ok(!refused.ok && (await pay('1.500', language)).includes(refused.sentence), language);
  }
});

test('money 1: the name of an operator is shown without its control characters, and is not required', async () => {
  const base = await createTestContext();
  const nameFrom = async (lookUpName?: () => Promise<string | null>) => {
    const ctx = withPayments(base, silentRail(lookUpName ? { lookUpName } : {}));
    const reading = await readPayout(ctx, 1n, { currency: 'UGX', mobile: '0772123456', amount: '1000' });
    assert.ok(reading.ok);
    return (await previewPayout(ctx, 1n, reading.order)).registeredName;
  };
  try {
    assert.equal(await nameFrom(async () => 'ADA \u001b[2J\nOBI'), 'ADA [2J OBI');
    assert.equal(await nameFrom(async () => null), null);
    assert.equal(await nameFrom(async () => ' '), null);
    assert.equal(await nameFrom(), null);
  } finally {
    await base.close();
  }
});

describe('a single payout is shown before it leaves', () => {
  test('money 1: amount, registered name, fee and wallet are shown, and nothing is ordered yet', async () => {
    const rail = gateway.ctx.rails.byName('sandbox');
    assert.ok(rail);
    rail.lookUpName = async ({ msisdn }) => `WANJIKU <${msisdn}>`;
    const page = await person.post('/console/payouts', { ...KENYA, amount: '1 500', payee: 'Wanjiku' });
    assert.equal(page.status, 200);
    const money = (amount: bigint) => formatMoney(amount, 'KES', 'en');
    for (const text of [money(150_000n), money(1_500n), money(100_000_000n - 151_500n), 'WANJIKU &#60;254712345000'])
      assert.ok(page.text.includes(text), text);
    assert.deepEqual(await ordered(), []);
    await person.post('/console/payouts', hiddenFieldsOf(page.text));
    assert.deepEqual(await ordered(), [150_000n]);
  });

  test('money 1: what differs from what was shown is shown again instead of ordered', async () => {
    const page = await person.post('/console/payouts', { ...KENYA, amount: '1500' });
    const shown = hiddenFieldsOf(page.text);
    const other = await person.post('/console/payouts', { ...shown, amount: '150000' });
    assert.match(other.text, /has changed since you saw it/);
    const fee = { basisPoints: 0n, fixed: 2_000n, min: 0n, max: null };
    await setFee(gateway.ctx, COMMAND_LINE, shop.holderId, 'MPESA_KEN', 'payout', fee);
    gateway.ctx.clock.advance(1_000);
    const dearer = await person.post('/console/payouts', shown);
    assert.match(dearer.text, /has changed since you saw it/);
    assert.ok(dearer.text.includes(formatMoney(2_000n, 'KES', 'en')));
    assert.deepEqual(await ordered(), []);
    assert.equal((await person.post('/console/payouts', hiddenFieldsOf(dearer.text))).status, 303);
    assert.deepEqual(await ordered(), [150_000n]);
  });

  test('money 1: going back to the form or the page and sending again orders nothing twice', async () => {
    const once = /name="once" value="([^"]+)"/.exec((await person.get('/console/payouts/new')).text)?.[1] ?? '';
    const typed = { ...KENYA, once, amount: '1500' };
    const first = await person.post('/console/payouts', typed);
    const changed = await person.post('/console/payouts', { ...hiddenFieldsOf(first.text), change: 'yes' });
    assert.match(changed.text, /name="amount" type="text" value="1500"/);
    assert.equal((await payOut(person, typed)).location?.includes('/transactions/TX_'), true);
    assert.match((await payOut(person, typed)).location ?? '', /done=formAlreadySent/);
    assert.match((await person.post('/console/payouts', hiddenFieldsOf(first.text))).location ?? '', /formAlreadySent/);
    assert.deepEqual(await ordered(), [150_000n]);
  });

  test('review: the same payout from two browsers at once is ordered by one, and the other is warned', async () => {
    const shown = await Promise.all([1, 2, 3].map(() => person.post('/console/payouts', { ...KENYA, amount: '1500' })));
    const answers = await Promise.all(shown.map((page) => person.post('/console/payouts', hiddenFieldsOf(page.text))));
    assert.equal(answers.filter(({ status }) => status === 303).length, 1);
    assert.deepEqual(await ordered(), [150_000n]);
    const warned = answers.find(({ status }) => status === 200);
    assert.match(warned?.text ?? '', /The same number received the same amount/);
    const fields = { ...hiddenFieldsOf(warned?.text ?? ''), confirm_repeats: 'yes' };
    assert.equal((await person.post('/console/payouts', fields)).status, 303);
    assert.deepEqual(await ordered(), [150_000n, 150_000n]);
  });

  test('review: a file whose fees changed since it was checked is shown again', async () => {
    const csv = 'amount,currency,mobile,method\n1500,KES,0712345000,MPESA_KEN\n';
    const shown = hiddenFieldsOf((await person.post('/console/payouts/check', { csv })).text);
    const fee = { basisPoints: 0n, fixed: 2_000n, min: 0n, max: null };
    await setFee(gateway.ctx, COMMAND_LINE, shop.holderId, 'MPESA_KEN', 'payout', fee);
    gateway.ctx.clock.advance(1_000);
    const again = await person.post('/console/payouts/import', shown);
    assert.equal(again.status, 409);
    assert.match(again.text, /has changed since you saw it/);
    assert.deepEqual(await ordered(), []);
    assert.equal((await person.post('/console/payouts/import', hiddenFieldsOf(again.text))).status, 303);
  });

  test('money 1: a payout that the wallet does not cover comes back to the form', async () => {
    const page = await person.post('/console/payouts', { currency: 'UGX', mobile: '0772123456', amount: '1 000' });
    assert.equal(page.status, 400);
    assert.match(page.text, /does not cover this amount and its fee/);
  });
});
