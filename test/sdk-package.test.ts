// The client as a stranger gets it: built, packed, installed without network into an empty project, and used there by
// the machine's own Node, and by a browser.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { browserMissing, startBrowser } from './browser/browser.ts';
import { compile } from './compiler.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';
import { reservePort } from './ports.ts';
import { machineNode } from './processes.ts';
import { runInRealTime } from './real-time.ts';
import { createShop } from './shop.ts';

const run = promisify(execFile);
const ROOT = resolve(import.meta.dirname, '..');
const MAX_BUNDLE_BYTES = 12_000;
const RUN_TIMEOUT_MS = 120_000;

const home = mkdtempSync(join(tmpdir(), 'simbi-sdk-'));
const project = join(home, 'shop');
const installed = join(project, 'node_modules/@simbi/client');
const guide = readFileSync(join(ROOT, 'docs/sdk.md'), 'utf8');
const blocks = (language: string) =>
  Array.from(guide.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm')), ([, text = '']) => text);

let gateway: TestGateway;

before(async () => {
  mkdirSync(project);
  writeFileSync(join(project, 'package.json'), '{ "name": "shop", "private": true, "type": "module" }\n');
  // The guide's own commands. The registry is nowhere: whatever would need it fails.
  const environment = {
    ...process.env,
    PATH: `${join(ROOT, 'node_modules/.bin')}:${process.env.PATH}`,
    SHOP: project,
    npm_config_cache: join(home, 'cache'),
    npm_config_registry: 'http://127.0.0.1:9/',
    npm_config_offline: 'true',
    npm_config_ignore_scripts: 'true',
    npm_config_update_notifier: 'false',
    npm_config_audit: 'false',
  };
  await run('bash', ['-euc', blocks('bash').join('\n')], { cwd: ROOT, env: environment, timeout: RUN_TIMEOUT_MS });
  gateway = await createTestGateway();
});
after(async () => {
  await gateway?.close();
  rmSync(home, { recursive: true, force: true });
});

describe('the package', () => {
  type Manifest = {
    name: string;
    exports: Record<string, { types: string; default: string } | string>;
    [member: string]: unknown;
  };
  const manifest = () => JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as Manifest;
  const code = () => readdirSync(join(installed, 'dist')).filter((name) => name.endsWith('.js'));

  test('holds what is needed and nothing else', () => {
    assert.deepEqual(readdirSync(installed).sort(), ['LICENSE', 'README.md', 'dist', 'package.json']);
    assert.deepEqual(
      readdirSync(join(installed, 'dist')).filter((name) => !/\.(js|d\.ts)$/.test(name)),
      [],
    );
    for (const name of code())
      assert.ok(existsSync(join(installed, 'dist', name.replace(/js$/, 'd.ts'))), `${name} has no types`);
  });

  test('passes publint and are-the-types-wrong as a tarball', async () => {
    const tool = (name: string) => join(ROOT, 'node_modules/.bin', name);
    await run('npm', ['pack', '--ignore-scripts', '--pack-destination', home], { cwd: join(ROOT, 'sdk') });
    const tarball = join(home, readdirSync(home).find((name) => name.endsWith('.tgz')) ?? '');
    // Both end with an error when they find one. The package is for import only, and says so.
    await run(process.execPath, [tool('publint'), tarball, '--strict']);
    await run(process.execPath, [tool('attw'), tarball, '--profile', 'esm-only', '--no-emoji']);
  });

  test('leads to its code and its types, types first, and needs nothing', () => {
    const { exports, type, sideEffects, types, ...rest } = manifest();
    assert.deepEqual([type, sideEffects], ['module', false]);
    const entry = exports['.'];
    assert.ok(typeof entry === 'object');
    assert.deepEqual(Object.keys(entry), ['types', 'default'], 'the first condition that fits is taken');
    assert.equal(types, entry.types);
    assert.equal(exports['./package.json'], './package.json');
    for (const target of [entry.types, entry.default]) assert.ok(existsSync(join(installed, target)), target);
    for (const member of ['dependencies', 'peerDependencies', 'optionalDependencies', 'scripts', 'bin', 'main'])
      assert.ok(!(member in rest), member);
  });

  test('is universal: no module of Node, no global of Node, every import a file of its own', () => {
    for (const name of readdirSync(join(installed, 'dist'))) {
      const text = readFileSync(join(installed, 'dist', name), 'utf8');
      assert.doesNotMatch(text, /\b(?:process|Buffer|require|__dirname|global)\b\s*[.(]/, name);
      for (const [, target = ''] of text.matchAll(/(?:from|import\()\s*'([^']+)'/g)) {
        assert.match(target, /^\.\/[\w-]+\.js$/, `${name} imports ${target}`);
        assert.ok(existsSync(join(installed, 'dist', target)), `${name} imports ${target}`);
      }
    }
  });

  test(`is under ${MAX_BUNDLE_BYTES} bytes compressed`, (t) => {
    const bytes = code().reduce((sum, name) => sum + gzipSync(readFileSync(join(installed, 'dist', name))).length, 0);
    t.diagnostic(`${bytes} bytes, file by file`);
    assert.ok(bytes < MAX_BUNDLE_BYTES, `${bytes}`);
  });

  test('its types hold in a strict program, in a browser project and in one of Node', async () => {
    writeFileSync(
      join(project, 'browser.ts'),
      `import { createClient, SimbiError, webhooks, type SimbiEvent, type Transaction } from '@simbi/client';
       const simbi = createClient({ baseUrl: 'http://localhost', clientId: 'a', secretKey: 'b', sender: 'c' });
       const ended: Promise<Transaction> = simbi.transactions.waitFor('TX_1', { signal: new AbortController().signal });
       const old = (await simbi.transactions.get('TX_1', { version: 2 }));
       // @ts-expect-error v2 has no status_code
       old.status_code;
       // @ts-expect-error amount is required
       void simbi.collections.create({ mobile: '1', country_id: 11, currency: 'UGX' });
       // @ts-expect-error so is no member that does not exist
       void simbi.collections.create({ amount: 1, mobile: '1', country_id: 11, currency: 'UGX', colour: 'red' });
       function tell(event: SimbiEvent): string {
         // @ts-expect-error only a link's event surely has it
         if (event.type === 'collection.success') return event.data.payment_link_id;
         if (event.type === 'payment_link.paid') return event.data.payment_link_id;
         // @ts-expect-error no such type
         if (event.type === 'collection.paid') return '';
         return event.data.ref;
       }
       const request = new Request('http://localhost');
       tell(await webhooks.verify(await request.text(), request.headers, ['whsec_a']));
       ended.catch((error: unknown) => error instanceof SimbiError && error.code === 'wait_timed_out');`,
    );
    const strict = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess'];
    const browser = ['--lib', 'es2022,dom,dom.iterable', '--types', '', '--target', 'es2022'];
    await compile(
      [...strict, ...browser, '--module', 'esnext', '--moduleResolution', 'bundler', 'browser.ts'],
      project,
    );
    await compile([...strict, ...browser, '--module', 'nodenext', 'browser.ts'], project);
    // The guide's program is TypeScript too; there the receiver is one of Node.
    writeFileSync(join(project, 'guide.ts'), blocks('ts').join('\n'));
    const node = ['--lib', 'es2024', '--typeRoots', join(ROOT, 'node_modules/@types'), '--types', 'node'];
    await compile([...strict, ...node, '--target', 'es2022', '--module', 'nodenext', 'guide.ts'], project);
  });

  test("the guide's program is a whole journey on the machine's own Node", async (t) => {
    t.diagnostic(`Node ${(await run(machineNode(), ['--version'])).stdout.trim()}`);
    const shop = await createShop(gateway.ctx, 'Guide shop');
    const demo = {
      base_url: gateway.url,
      client_id: shop.clientId,
      secret_key: shop.secretKey,
      sender: shop.title,
      callback_secret: shop.callbackSecret,
    };
    writeFileSync(join(project, 'demo.json'), JSON.stringify(demo));
    writeFileSync(join(project, 'guide.mjs'), blocks('ts').join('\n'));
    const stop = runInRealTime(gateway);
    try {
      const { stdout } = await run(machineNode(), ['guide.mjs'], {
        cwd: project,
        env: { PATH: process.env.PATH, DEMO: 'demo.json', PORT: String(await reservePort()) },
        timeout: RUN_TIMEOUT_MS,
      });
      const lines = stdout.trim().split('\n');
      for (const wanted of [
        /^TX_\w+ .*PIN/,
        /^success null$/,
        /^2475$/,
        /^MTN MoMo 25$/,
        /'Uganda'/,
        /^true$/,
        /\/pay\/pl_/,
        /^pl_\w+ Lunch$/,
        /^1 0$/,
        /^invalid_params 400 false req_/,
        /amount/,
        /^paid: TX_/,
        /^204$/,
      ])
        assert.ok(
          lines.some((line) => wanted.test(line)),
          `${wanted} is missing in:\n${stdout}`,
        );
    } finally {
      await stop();
    }
  });
});

describe('a runtime that is not Node', { skip: browserMissing() ?? false }, () => {
  test('signs, waits and verifies in a browser', async () => {
    const shop = await createShop(gateway.ctx, 'Browser shop');
    const browser = await startBrowser();
    const stop = runInRealTime(gateway);
    try {
      const page = await browser.newPage();
      // Served from the gateway's own origin, because its API is for servers and answers no other page.
      await page.route('**/sdk-test/**', (route) => {
        const name = new URL(route.request().url()).pathname.split('/').at(-1) ?? '';
        return name === ''
          ? route.fulfill({ contentType: 'text/html', body: '<!doctype html><title>test</title>' })
          : route.fulfill({ contentType: 'text/javascript', path: join(installed, 'dist', name) });
      });
      await page.goto(`${gateway.url}/sdk-test/`);
      const result = await page.evaluate(
        async ({ baseUrl, secretKey, clientId, sender, callbackSecret }) => {
          const entry = '/sdk-test/index.js';
          const sdk = (await import(entry)) as typeof import('../sdk/src/index.ts');
          const simbi = sdk.createClient({ baseUrl, clientId, secretKey, sender });
          const order = { amount: 2500, mobile: '0772123000', country_id: 11, currency: 'UGX' };
          const { ref } = await simbi.collections.create(order);
          const { status } = await simbi.transactions.waitFor(ref);
          const [event] = await simbi.events.list().toArray({ limit: 1 });
          if (!event) throw new Error('no event');
          const { rawBody, headers } = await simbi.webhooks.sign(event, callbackSecret);
          const verified = await simbi.webhooks.verify(rawBody, new Headers(headers), callbackSecret);
          return [status, verified.type, verified.data.ref === ref];
        },
        {
          baseUrl: gateway.url,
          secretKey: shop.secretKey,
          clientId: shop.clientId,
          sender: shop.title,
          callbackSecret: shop.callbackSecret,
        },
      );
      assert.deepEqual(result, ['success', 'collection.success', true]);
    } finally {
      await stop();
      await browser.close();
    }
  });
});
