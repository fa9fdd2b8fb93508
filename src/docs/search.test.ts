// Search finds a word, also by its beginning; the page about it comes before a page that mentions it.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createTestGateway, type TestGateway } from '../../test/gateway.ts';
import { PROBLEMS } from '../platform/errors.ts';
import { indexPlaces, placesOf, type SearchPlace, search, tokensOf } from './search.ts';

const place = (title: string, text: string): SearchPlace => ({
  kind: 'guide',
  title,
  page: title,
  url: `/${title}`,
  text,
});

describe('the index', async () => {
  test('words have no accents, capitals or plurals, and names count as their parts too', () => {
    assert.deepEqual(tokensOf('Côte d’Ivoire: callback_url, v3, Links, address'), [
      'cote',
      'd',
      'ivoire',
      'callback_url',
      'callback',
      'url',
      'v3',
      'link',
      'address',
    ]);
  });

  test('a section is a place with the address of its heading; code is text, its comments are no headings', () => {
    const places = placesOf('guide', 'Page', '/p', '# Page\n\nfirst\n\n## The `second`\n\n```sh\n## no heading\n```\n');
    assert.deepEqual(
      places.map(({ title, url, text }) => [title, url, text]),
      [
        ['Page', '/p', 'first'],
        ['The second', '/p#the-second', '## no heading'],
      ],
    );
  });

  const index = await indexPlaces([
    place('salt', 'a fresh one for every request'),
    place('signing', 'the envelope has a salt, a timestamp, a signature'),
    place('long', `${Array.from({ length: 400 }, (_, number) => `word${number}`).join(' ')} salt`),
    place('other', 'nothing of the kind'),
  ]);
  const titles = (query: string) => search(index, query).map(({ title }) => title);

  test('headings come before mentions, short texts before long ones', () => {
    assert.deepEqual(titles('salt'), ['salt', 'signing', 'long']);
  });
  test('a place with all the words comes first', () => {
    assert.deepEqual(titles('salt timestamp')[0], 'signing');
  });
  test('the beginning of a word finds it, two letters do not', () => {
    assert.deepEqual(titles('envel'), ['signing']);
    assert.deepEqual(titles('en'), []);
  });
  test('an empty query finds nothing', () => {
    for (const query of ['', '  ', '***', '"']) assert.deepEqual(titles(query), []);
  });
  test('the excerpt shows the word', () => {
    assert.match(search(index, 'salt')[2]?.excerpt ?? '', /^… .*salt$/);
  });
  test('what stands behind the longest query is not read, for the excerpt neither', () => {
    assert.match(search(index, `salt ${' '.repeat(200)}word0`)[2]?.excerpt ?? '', /^… .*salt$/);
  });
});

describe('the page', () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await createTestGateway();
  });
  after(() => gateway.close());
  const ask = (query: string, accept = 'application/json') =>
    gateway.app.inject({ url: `/docs/search?q=${encodeURIComponent(query)}`, headers: { accept } });
  const urls = async (query: string) =>
    (await ask(query)).json<{ data: { url: string }[] }>().data.map(({ url }) => url);

  test('finds guides, operations and every error code', async () => {
    assert.equal((await urls('idempotency_conflict'))[0], '/docs/errors/idempotency_conflict');
    assert.equal((await urls('get-unified-balance'))[0], '/docs/reference/balance#post-api-v3-get-unified-balance');
    assert.equal((await urls('callback'))[0], '/docs/callbacks');
    assert.equal((await urls('payment link'))[0], '/docs/payment-links');
    assert.ok((await urls('test numbers')).includes('/docs/collections#test-numbers'));
    assert.ok((await urls('lease crash')).some((url) => url.startsWith('/docs/decisions/')));
    for (const code of Object.keys(PROBLEMS)) assert.ok((await urls(code)).includes(`/docs/errors/${code}`), code);
  });

  test('every address in the results exists', async () => {
    for (const url of new Set((await Promise.all(['callback', 'signature', 'sandbox'].map(urls))).flat())) {
      const reply = await gateway.app.inject({ url, headers: { accept: 'text/html' } });
      assert.equal(reply.statusCode, 200, url);
      const anchor = url.split('#')[1];
      if (anchor) assert.ok(reply.body.includes(`id="${anchor}"`), url);
    }
  });

  test('finds the page about a word that the page itself may write otherwise', async () => {
    for (const [query, url] of [
      ['mpesa', '/docs/rails/daraja'],
      ['2fa', '/docs/merchants/roles'],
      ['refund', '/docs/refunds'],
      ['refund customer', '/docs/merchants/refunds'],
      ['csv', '/docs/merchants/statements'],
      ['salary', '/docs/merchants/payouts'],
      ['webhook', '/docs/callbacks'],
      ['momo', '/docs/rails/mtn-momo'],
      ['excel', '/docs/merchants/statements'],
    ] as const)
      assert.equal((await urls(query))[0]?.split('#')[0], url, query);
  });

  test('works without scripts; the query is escaped; every page has the search box', async () => {
    const { body, statusCode } = await ask('"><script>alert(1)</script>', 'text/html');
    assert.equal(statusCode, 200);
    assert.ok(!body.includes('<script>alert') && body.includes('value="&#34;&#62;&#60;script'));
    assert.match((await ask('', 'text/html')).body, /<h1>Search<\/h1>/);
    assert.match((await ask('zzzzz', 'text/html')).body, /Nothing found/);
    for (const url of ['/docs', '/docs/quickstart', '/docs/reference', '/docs/errors/rate_limited', '/docs/decisions'])
      assert.match(
        (await gateway.app.inject({ url })).body,
        /<form class="docs-search" role="search" action="\/docs\/search">/,
        url,
      );
  });

  test('guides are in the order a newcomer reads them', async () => {
    const { body } = await gateway.app.inject({ url: '/docs' });
    const places = [
      'quickstart',
      'signing',
      'collections',
      'payment-links',
      'callbacks',
      'sdk',
      'errors',
      'conformance',
    ];
    const found = places.map((name) => body.indexOf(`href="/docs/${name}"`));
    assert.ok(found.every((at) => at > 0));
    assert.deepEqual(
      found,
      found.toSorted((left, right) => left - right),
    );
  });
});
