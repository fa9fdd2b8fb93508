// The front door: pages for people, JSON for programs, and the files that every host is asked for.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createTestGateway, type TestGateway } from '../../test/gateway.ts';

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

describe('the front door of a sandbox', () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await createTestGateway({ SECURITY_CONTACT: 'mailto:security@example.org' });
  });
  after(() => gateway.close());
  const ask = (url: string, accept?: string) =>
    gateway.app.inject({ url, headers: { host: 'localhost', ...(accept === undefined ? {} : { accept }) } });

  test('a browser sees the ways in, a program gets JSON', async () => {
    const page = await ask('/', BROWSER);
    assert.equal(page.statusCode, 200);
    assert.match(page.body, /^<!doctype html>.*<title>Simbi<\/title>/);
    for (const href of ['/console', '/docs', '/sandbox/phone', '/sandbox/callbacks', '/sandbox/components'])
      assert.ok(page.body.includes(`href="${href}`), href);
    assert.match(page.body, /Sandbox.*npx simbi collect 2500 KES/);
    for (const accept of [undefined, '*/*', 'application/json', 'application/json, text/html']) {
      const answer = await ask('/', accept);
      assert.deepEqual([answer.statusCode, answer.json().success], [200, true], accept);
    }
  });

  test('browsers read their language', async () => {
    for (const [asked, expected] of [
      ['fr-SN,fr;q=0.9', /<html lang="fr">.*Téléphone de test/],
      ['sw-TZ,en;q=0.9', /<html lang="sw">.*Simu ya majaribio/],
      ['de', /<html lang="en">/],
    ] as const) {
      const headers = { host: 'localhost', accept: BROWSER, 'accept-language': asked };
      assert.match((await gateway.app.inject({ url: '/', headers })).body, expected);
    }
  });

  test('an address that does not exist is a page for browsers, in the console and the documents too', async () => {
    for (const [url, back] of [
      ['/nothing', '/'],
      ['/console/typo', '/console'],
      ['/docs/typo', '/docs'],
      ['/sandbox/typo', '/'],
    ] as const) {
      const page = await ask(url, BROWSER);
      assert.equal(page.statusCode, 404, url);
      assert.match(page.body, /^<!doctype html>.*<h1>Page not found<\/h1>/, url);
      assert.ok(page.body.includes(`class="button" href="${back}"`), url);
      const answer = await ask(url);
      assert.deepEqual([answer.statusCode, answer.json().code], [404, 'not_found'], url);
    }
    assert.equal((await ask('/api/v3/typo', BROWSER)).json().code, 'not_found', 'the API speaks JSON to everybody');
  });

  test('a slash at the end leads to the page without it, never to another host', async () => {
    for (const [url, target] of [
      ['/console/', '/console'],
      ['/docs/', '/docs'],
      ['/docs/quickstart/?x=1', '/docs/quickstart?x=1'],
    ] as const) {
      const answer = await ask(url, BROWSER);
      assert.deepEqual([answer.statusCode, answer.headers.location], [301, target], url);
    }
    for (const url of ['//evil.example/docs/', '//console/', '/typo/'])
      assert.equal((await ask(url, BROWSER)).headers.location, undefined, url);
    assert.equal((await ask('/docs/')).statusCode, 404, 'programs are not redirected');
  });

  test('icons, robots.txt and security.txt', async () => {
    for (const url of ['/favicon.svg', '/favicon.ico']) {
      const icon = await ask(url);
      assert.match(String(icon.headers['content-type']), /^image\/svg\+xml/, url);
      assert.match(icon.body, /^<svg /, url);
    }
    assert.match((await ask('/robots.txt')).body, /^User-agent: \*\n/);
    const security = (await ask('/.well-known/security.txt')).body;
    assert.match(security, /^Contact: mailto:security@example\.org\nExpires: \d{4}-/);
  });
});

test('with a brand, pages and the icon carry its name', async () => {
  const gateway = await createTestGateway({ BRAND_NAME: 'Wazi Pay' });
  try {
    const page = await gateway.app.inject({ url: '/', headers: { host: 'localhost', accept: BROWSER } });
    assert.match(page.body, /<title>Wazi Pay<\/title>/);
    assert.match(
      (await gateway.app.inject({ url: '/favicon.svg', headers: { host: 'localhost' } })).body,
      />W<\/text>/,
    );
    const missing = await gateway.app.inject({ url: '/.well-known/security.txt', headers: { host: 'localhost' } });
    assert.equal(missing.statusCode, 404);
  } finally {
    await gateway.close();
  }
});
