// The published signature vectors hold for the server's own code and for every program of docs/signing.md
// whose language is on this machine; what must not verify does not verify anywhere.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { canonicalEnvelope, signatureOf } from '../src/holders/envelope.ts';
import { type JsonObject, parseStrictJson } from '../src/platform/strict-json.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';
import { runInRealTime } from './real-time.ts';
import { createShop } from './shop.ts';
import { readSigningPrograms, type SigningProgram } from './signing-programs.ts';

type Vector = {
  name: string;
  needs: string[];
  secret_key: string;
  body: string;
  canonical: string;
  sha256: string;
  signature: string;
  valid: boolean;
  wrong: { body?: string; signature?: string; why: string };
};

const guide = readFileSync(new URL('../docs/signing.md', import.meta.url), 'utf8');
const vectors = JSON.parse(readFileSync(new URL('../docs/signing-vectors.json', import.meta.url), 'utf8'))
  .cases as Vector[];
const programs = readSigningPrograms();
const CORNERS = [
  'whole-floats',
  'trailing-zeros',
  'negative-zero',
  'exponents',
  'backspace',
  'line-separators',
  'delete-character',
  'utf16-order',
];

const parseBody = (text: string) => parseStrictJson(Buffer.from(text)) as JsonObject;

describe('signature vectors', () => {
  test('there are enough of them, each with a name of its own, one line, and a wrong variant', () => {
    assert.ok(vectors.length >= 25);
    assert.equal(new Set(vectors.map(({ name }) => name)).size, vectors.length);
    for (const { name, body, needs, valid, wrong } of vectors) {
      assert.equal(valid, true, name);
      assert.ok(!/[\r\n]/.test(body + (wrong.body ?? '')), name);
      assert.ok(
        needs.every((corner) => CORNERS.includes(corner)),
        name,
      );
      assert.ok(wrong.why.length > 5 && (wrong.body === undefined) !== (wrong.signature === undefined), name);
    }
    for (const corner of CORNERS)
      assert.ok(
        vectors.some(({ needs }) => needs.includes(corner)),
        corner,
      );
  });

  for (const { name, secret_key, body, canonical, sha256, signature, wrong } of vectors)
    test(`the server agrees: ${name}`, () => {
      const parsed = parseBody(body);
      assert.equal(canonicalEnvelope(parsed), canonical);
      assert.equal(createHash('sha256').update(canonical).digest('hex'), sha256);
      assert.equal(signatureOf(secret_key, parsed), signature);
      assert.equal(parsed.signature, signature);
      const claimed = wrong.signature ?? signature;
      assert.notEqual(signatureOf(secret_key, parseBody(wrong.body ?? body)), claimed, wrong.why);
    });
});

describe('programs of docs/signing.md', { concurrency: 2 }, () => {
  test('all six languages are there, and the table of limits says what their fences say', () => {
    assert.deepEqual(
      programs.map(({ language }) => language),
      ['ts', 'python', 'php', 'java', 'go', 'bash'],
    );
    for (const corner of CORNERS) {
      const cells = guide
        .split('\n')
        .find((line) => line.startsWith(`| \`${corner}\` `))
        ?.split('|')
        .slice(3, -1);
      assert.deepEqual(
        cells?.map((cell) => cell.trim() !== '✓'),
        programs.map(({ without }) => without.includes(corner)),
        corner,
      );
    }
  });

  for (const program of programs) {
    const skip = program.missing.length > 0 ? `this machine has no ${program.missing.join(', ')}` : false;
    test(`${program.file} signs every vector it claims`, { skip }, async () => {
      const claimed = vectors.filter(({ needs }) => !needs.some((corner) => program.without.includes(corner)));
      assert.ok(claimed.length >= 25);
      for (const [secretKey, cases] of Map.groupBy(claimed, ({ secret_key }) => secret_key))
        await assertSigns(program, secretKey, cases);
    });

    test(`${program.file} prints an envelope that the server takes`, { skip }, async () => {
      const credentials = { secretKey: 'geheim', clientId: 'demo', sender: 'Café "Ngozi" ☕ <&>' };
      const before = Math.floor(Date.now() / 1000);
      const body = parseBody(await program.run('--print', credentials));
      const { timestamp, salt, signature, ...rest } = body;
      assert.deepEqual({ ...rest }, { client_id: 'demo', sender: credentials.sender, params: {} });
      assert.ok(Number.isInteger(timestamp) && Number(timestamp) >= before);
      assert.ok(typeof salt === 'string' && /^[0-9a-f]{32}$/.test(salt));
      assert.equal(signature, signatureOf(credentials.secretKey, body));
    });
  }
});

/** One start of the program for all cases of a secret: the bodies and their wrong variants, a line each. */
async function assertSigns(program: SigningProgram, secretKey: string, cases: Vector[]): Promise<void> {
  const bodies = [...new Set(cases.flatMap(({ body, wrong }) => [body, wrong.body ?? body]))];
  const lines = (await program.run('--sign', { secretKey }, `${bodies.join('\n')}\n`)).trimEnd().split('\n');
  assert.equal(lines.length, bodies.length);
  const signed = new Map(bodies.map((body, index) => [body, lines[index]]));
  for (const { name, body, signature, wrong } of cases) {
    assert.equal(signed.get(body), signature, name);
    assert.notEqual(signed.get(wrong.body ?? body), wrong.signature ?? signature, `${name}: ${wrong.why}`);
  }
}

describe('against a running server', () => {
  let gateway: TestGateway;
  let stop = async () => {};
  before(async () => {
    gateway = await createTestGateway();
    stop = runInRealTime(gateway);
  });
  after(async () => {
    await stop();
    await gateway.close();
  });

  for (const program of programs)
    test(`${program.language}: gets a token, signs like the server, and is let in`, async (t) => {
      if (program.missing.length > 0) return t.skip(`not on this machine: ${program.missing.join(', ')}`);
      const shop = await createShop(gateway.ctx, `Café "Ngozi" ☕ ${program.language}`);
      const credentials = { url: gateway.url, clientId: shop.clientId, secretKey: shop.secretKey, sender: shop.title };
      const printed = await program.run('', credentials);
      assert.match(printed, /token until /);
      assert.match(printed, /signature agrees: true/);
      assert.match(printed, /Balance retrieved\./);
      await assert.rejects(program.run('', { ...credentials, secretKey: `${shop.secretKey}x` }));
    });
});
