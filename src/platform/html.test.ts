// Escaping, the policy's hashes, and forms that are read only where a scope asks for them.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { createTestContext } from '../../test/harness.ts';
import { formOf, parseForms, refuseForeignForm } from './forms.ts';
import { html, inlineScript, inlineStyle, pageHeaders, printHtml, printPage, trusted } from './html.ts';
import { createHttpServer, type HttpServer } from './http.ts';

describe('markup', () => {
  test('whatever a person wrote cannot leave its place', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const inside = printHtml(html`<p title="${text}">${text}</p>`);
        const value = inside.slice('<p title="'.length, -'</p>'.length);
        assert.equal(value.split('">').length, 2);
        assert.doesNotMatch(value.replace('">', ''), /[<>"']/);
      }),
    );
  });

  test('an exclamation mark before a value does not switch escaping off', () => {
    assert.equal(printHtml(html`Hello!${'<b>'}`), 'Hello!&#60;b&#62;');
  });

  test('markup is not escaped twice, lists are joined, nothing is nothing', () => {
    const items = ['a & b', 'c'].map((item) => html`<li>${item}</li>`);
    assert.equal(
      printHtml(html`<ul>${items}${null}${undefined}${false}${0}${12n}</ul>`),
      '<ul><li>a &#38; b</li><li>c</li>012</ul>',
    );
    assert.equal(printHtml(html`${trusted('<hr>')}`), '<hr>');
  });

  test('an object that only looks like markup is refused by its type and printed as nothing dangerous', () => {
    const forged = JSON.parse('{"markup":"<script>"}') as never;
    assert.throws(() => html`${forged}`);
  });

  test('the policy names the hashes of what stands in the page, and nothing else', () => {
    const style = inlineStyle('\n p { color: red }\n b { color: blue }\n');
    const script = inlineScript('\n  a();\n  b()\n');
    const page = { language: 'en', title: 'T', styles: [style], scripts: [script], body: html`x` };
    const text = printPage(page);
    const policy = pageHeaders(page)['Content-Security-Policy'] ?? '';
    for (const [, inside] of text.matchAll(/<(?:style|script)>(.*?)<\/(?:style|script)>/gs)) {
      const hash = createHash('sha256')
        .update(inside ?? '')
        .digest('base64');
      assert.ok(policy.includes(`'sha256-${hash}'`));
    }
    assert.equal([...policy.matchAll(/sha256-/g)].length, 2);
    assert.doesNotMatch(policy, /unsafe|\*|http/);
  });
});

describe('forms', () => {
  let app: HttpServer;
  let close: () => Promise<void>;

  before(async () => {
    const ctx = await createTestContext();
    app = createHttpServer(ctx);
    app.register((scope, _options, done) => {
      parseForms(scope);
      scope.post('/form', (request) => {
        refuseForeignForm(request);
        return Object.fromEntries(formOf(request));
      });
      done();
    });
    app.post('/json', (request) => ({ body: request.body }));
    await app.ready();
    close = async () => {
      await app.close();
      await ctx.close();
    };
  });
  after(() => close());

  const send = (url: string, payload: string, headers: Record<string, string> = {}) =>
    app.inject({
      method: 'POST',
      url,
      payload,
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    });

  test('are read with their spaces and accents', async () => {
    const answer = await send('/form', 'name=Aminata+Ba&place=S%C3%A9dhiou&empty=');
    assert.deepEqual(answer.json(), { name: 'Aminata Ba', place: 'Sédhiou', empty: '' });
  });

  test('that are broken are refused: repeated fields, bad encoding, a zero byte, too many, too large', async () => {
    assert.equal((await send('/form', 'a=1&a=2')).statusCode, 400);
    assert.equal((await send('/form', 'a=%ff')).statusCode, 400);
    assert.equal((await send('/form', 'a=%zz')).statusCode, 400);
    assert.equal((await send('/form', 'a=%00')).statusCode, 400);
    assert.equal(
      (await send('/form', Array.from({ length: 50 }, (_, index) => `f${index}=1`).join('&'))).statusCode,
      400,
    );
    assert.equal((await send('/form', `a=${'x'.repeat(9_000)}`)).statusCode, 413);
  });

  test('stay unknown to every route that did not ask for them', async () => {
    assert.equal((await send('/json', 'a=1')).statusCode, 415);
  });

  test('from another site are refused', async () => {
    assert.equal((await send('/form', 'a=1', { 'sec-fetch-site': 'cross-site' })).statusCode, 403);
    assert.equal((await send('/form', 'a=1', { origin: 'https://evil.example' })).statusCode, 403);
    assert.equal((await send('/form', 'a=1', { origin: 'null' })).statusCode, 403);
    assert.equal((await send('/form', 'a=1', { origin: 'null', 'sec-fetch-site': 'same-origin' })).statusCode, 200);
    assert.equal((await send('/form', 'a=1', { origin: 'http://localhost', host: 'localhost' })).statusCode, 200);
  });
});
