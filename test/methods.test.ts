// Every country and method of both tables: the smallest, a typical and the largest amount are accepted; everything else
// is refused, and the refusal names the field in a plain sentence.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type CollectionCountry, loadCatalog, type Method, type TableRow } from '../src/catalog/catalog.ts';
import { listCollectionCountries, listLinkCountries } from '../src/catalog/countries.ts';
import { completeOrder, readPayment } from '../src/payments/collections.ts';
import { refOf } from '../src/payments/transactions.ts';
import { collectFieldErrors } from '../src/platform/errors.ts';
import { amountToNumber, formatAmount } from '../src/platform/money.ts';
import type { JsonObject, JsonValue } from '../src/platform/strict-json.ts';
import { type Client, createClient, PATHS, textOf } from './client.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';

/** Begins with a capital letter or with the name of the field. */
const SENTENCE = /^(?:[A-Z"]|[a-z_]+ (?:must|may|is) ).{8,300}[.]$/;
const catalog = loadCatalog();

let gateway: TestGateway;
let client: Client;

before(async () => {
  gateway = await createTestGateway();
  client = await createClient(gateway);
});
after(() => gateway.close());

/** An amount between the limits, with as many decimals as the method takes. */
function typicalAmount({ collection }: Method): bigint {
  const whole = collection.min * 3n < collection.max ? collection.min * 3n : collection.min;
  return collection.decimals === 2 ? whole + 25n : whole;
}

/** One step of the method's decimals, in hundredths. */
function stepOf({ collection }: Method): bigint {
  return collection.decimals === 2 ? 1n : 100n;
}

function numberOf(row: TableRow, method: Method): string {
  return method.example ?? row.country.example;
}

function goodParams(row: TableRow, method: Method): JsonObject {
  return {
    amount: amountToNumber(typicalAmount(method)),
    mobile: numberOf(row, method),
    country_id: row.countryId,
    currency: row.currency,
    payment_method_type: method.code,
  };
}

/** A number of another country. */
function foreignNumber(row: TableRow): string {
  const other = listLinkCountries(catalog).find(({ dialCode }) => dialCode !== row.dialCode);
  return `+${other?.country.example ?? ''}`;
}

function refusals(row: TableRow, method: Method): [about: string, field: string, changes: JsonObject][] {
  const { min, max, decimals } = method.collection;
  const tooFine =
    decimals === 2 ? `${formatAmount(typicalAmount(method))}1` : `${formatAmount(typicalAmount(method))}.5`;
  return [
    ['one decimal too many', 'amount', { amount: tooFine }],
    ['one decimal too many, as a number', 'amount', { amount: Number(tooFine) }],
    ['below the smallest amount', 'amount', { amount: formatAmount(min - stepOf(method)) }],
    ['above the largest amount', 'amount', { amount: formatAmount(max + stepOf(method)) }],
    ['zero', 'amount', { amount: 0 }],
    ['negative', 'amount', { amount: -1000 }],
    ['text', 'amount', { amount: 'a lot' }],
    ['an empty text', 'amount', { amount: '' }],
    ['beyond every number', 'amount', { amount: '99999999999999999999' }],
    ['a number of another country', 'mobile', { mobile: foreignNumber(row) }],
    ['a number that is none', 'mobile', { mobile: '12345' }],
    ['an unknown method', 'payment_method_type', { payment_method_type: 'Bank of Nowhere' }],
  ];
}

function assertSentences(errors: JsonValue | undefined, field: string, about: string): void {
  const sentences = (errors as JsonObject | undefined)?.[field];
  assert.ok(Array.isArray(sentences) && sentences.length > 0, `${about}: ${JSON.stringify(errors)}`);
  for (const sentence of sentences) assert.match(textOf(sentence), SENTENCE, about);
}

describe('collections through the API', () => {
  for (const row of listCollectionCountries(catalog).filter(({ apiCollections }) => apiCollections))
    describe(row.name, () => {
      for (const method of row.methods) {
        test(`${method.code}: smallest, typical and largest amount are accepted`, async () => {
          const { min, max } = method.collection;
          for (const amount of [min, typicalAmount(method), max])
            for (const written of [amountToNumber(amount), formatAmount(amount)]) {
              const reply = await client.signed(PATHS.collect, { ...goodParams(row, method), amount: written });
              assert.equal(reply.status, 200, JSON.stringify(reply.body));
              assert.deepEqual(
                [reply.data.amount, reply.data.currency, reply.data.payment_method_type, reply.data.country_id],
                [amountToNumber(amount), row.currency, method.code, row.countryId],
              );
            }
        });

        test(`${method.code}: everything else is refused, by field and in sentences`, async () => {
          const other = listCollectionCountries(catalog).find(
            (entry) => entry.apiCollections && entry.currency !== row.currency,
          );
          const all: [string, string, JsonObject][] = [
            ...refusals(row, method),
            ['another currency', 'currency', { currency: other?.currency ?? '' }],
            ['a currency in small letters', 'currency', { currency: row.currency.toLowerCase() }],
            ['another country', 'currency', { country_id: other?.countryId ?? 0 }],
            ['an unknown country', 'country_id', { country_id: 5 }],
            ['a country that is not supported', 'country_id', { country_id: 2 }],
          ];
          await Promise.all(
            all.map(async ([about, field, changes]) => {
              const reply = await client.signed(PATHS.collect, { ...goodParams(row, method), ...changes });
              assert.equal(reply.status, 400, `${about}: ${JSON.stringify(reply.body)}`);
              assert.equal(reply.body.success, false);
              assertSentences(reply.body.errors, field, about);
            }),
          );
        });

        test(`${method.code}: found by its name, its aliases and its number`, async () => {
          const names = [
            method.name,
            method.code,
            method.name.toUpperCase(),
            method.code.replaceAll('_', '-'),
            ...method.aliases,
          ];
          for (const name of names) {
            const reply = await client.signed(PATHS.collect, { ...goodParams(row, method), payment_method_type: name });
            assert.equal(reply.data.payment_method_type, method.code, name);
          }
          const { payment_method_type: _, ...rest } = goodParams(row, method);
          const predicted = await client.signed(PATHS.collect, rest as JsonObject);
          assert.equal(predicted.data.payment_method_type, method.code, JSON.stringify(predicted.body));
        });
      }
    });

  test('every error is in one answer', async () => {
    const reply = await client.signed(PATHS.collect, {
      amount: 'x',
      mobile: '1',
      country_id: 11,
      currency: 'KES',
      payment_method_type: 'MTN',
      callback_url: 'ftp://x',
      third_party_reference_1: 'x'.repeat(129),
    });
    assert.deepEqual(Object.keys(reply.body.errors as JsonObject).sort(), [
      'amount',
      'callback_url',
      'currency',
      'mobile',
      'third_party_reference_1',
    ]);
  });
});

describe('countries that are not supported by the API, once an operator of the gateway opens them', () => {
  const closed = listCollectionCountries(catalog).filter(({ apiCollections }) => !apiCollections);
  for (const row of closed)
    test(`${row.name}: each method takes whole amounts within its limits`, () => {
      for (const method of row.methods) {
        assert.equal(method.collection.decimals, 0, method.code);
        assertTakenByFunction(row, method);
      }
    });
});

describe('payment links', () => {
  for (const row of listLinkCountries(catalog))
    describe(row.name, () => {
      for (const method of row.methods) {
        test(`${method.code}: smallest, typical and largest amount are accepted, from the link to the transaction`, async () => {
          const { min, max } = method.collection;
          for (const amount of [min, typicalAmount(method), max]) {
            const link = await client.signed(PATHS.createLink, {
              country_id: row.countryId,
              currency: row.currency,
              amount: formatAmount(amount),
            });
            assert.equal(link.status, 200, JSON.stringify(link.body));
            assert.equal(link.data.amount, formatAmount(amount));
            const accepted = await payByLink(row, method, amount);
            assert.equal(accepted, amountToNumber(amount));
          }
          assertTakenByFunction(row, method);
        });

        test(`${method.code}: everything else is refused, by field and in sentences`, () => {
          for (const [about, field, changes] of refusals(row, method)) {
            const collected = collectFieldErrors();
            const payment = readPayment(
              row,
              { ...goodParams(row, method), ...changes },
              (name, sentence) => collected.add(name, sentence),
              { lenient: true },
            );
            assert.equal(payment, null, about);
            assertSentences(collected.errors, field, about);
          }
        });
      }

      test('a link with a wrong amount, currency or country is not created', async () => {
        const good = { country_id: row.countryId, currency: row.currency, amount: '100000' };
        const wrong: [string, JsonObject][] = [
          ['amount', { amount: '0' }],
          ['amount', { amount: '-5' }],
          ['amount', { amount: 'a lot' }],
          ['amount', { amount: '100.001' }],
          ['amount', { amount: '99999999999999' }],
          ['currency', { currency: 'EUR' }],
          ['currency', { currency: row.currency.toLowerCase() }],
          ['country_id', { country_id: 5 }],
          ['currency_country_id', { currency_country_id: 5 }],
        ];
        for (const [field, changes] of wrong) {
          const reply = await client.signed(PATHS.createLink, { ...good, ...changes });
          assert.deepEqual(
            [reply.status, reply.body.message],
            [400, 'Payment link was not created.'],
            JSON.stringify(changes),
          );
          assertSentences(reply.body.errors, field, JSON.stringify(changes));
        }
      });
    });
});

function assertTakenByFunction(row: TableRow | CollectionCountry, method: Method): void {
  const { min, max } = method.collection;
  for (const amount of [min, typicalAmount(method), max]) {
    const collected = collectFieldErrors();
    const params = { ...goodParams(row, method), amount: formatAmount(amount) };
    const payment = readPayment(row, params, (field, sentence) => collected.add(field, sentence), { lenient: true });
    assert.deepEqual([payment?.amount, payment?.method.code, collected.errors], [amount, method.code, {}]);
  }
}

/** What the hosted page does with a form that passed: the amount of the transaction that it made, as status shows it. */
async function payByLink(row: TableRow, method: Method, amount: bigint): Promise<JsonValue | undefined> {
  const { ctx, services } = gateway;
  const params = { ...goodParams(row, method), amount: formatAmount(amount) };
  const payment = readPayment(row, params, assert.fail, { lenient: true });
  assert.ok(payment);
  const order = await completeOrder(ctx, payment, {
    holderId: client.shop.holderId,
    integrationId: client.shop.id,
    countryId: row.countryId,
    detail: 'Payment by link',
    reference1: null,
    reference2: null,
    callbackUrl: null,
    linkId: null,
  });
  assert.deepEqual([order.currency, order.method], [row.currency, method.code]);
  const acceptance = await services.payments.collections.accept(order, null);
  assert.ok(acceptance.kind === 'accepted');
  return (await client.signed(PATHS.statusV3, { id: refOf(acceptance.transaction) })).data.amount;
}

test('both tables are walked whole', () => {
  assert.equal(listLinkCountries(catalog).length, 11);
  assert.equal(listCollectionCountries(catalog).length, 9);
  assert.equal(listLinkCountries(catalog).flatMap(({ methods }) => methods).length, 23);
  assert.equal(listCollectionCountries(catalog).flatMap(({ methods }) => methods).length, 18);
});
