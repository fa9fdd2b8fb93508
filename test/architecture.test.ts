// The rules of ARCHITECTURE.md as data: which module may import which, no cycles, and documents that match the code.

import assert from 'node:assert/strict';
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { filesOf, isCode, ROOT, readTree } from '../scripts/tree.ts';
import { environmentExample } from '../src/platform/config.ts';

/** A module may import itself and what stands here: folders of src, or single files of them. */
const MAY_IMPORT: Record<string, string[]> = {
  platform: [],
  ui: ['platform'],
  'embedded-postgres': [],
  backup: ['platform'],
  catalog: ['platform'],
  ledger: ['platform'],
  holders: ['platform'],
  rails: ['platform', 'catalog'],
  sandbox: ['platform', 'ui', 'catalog'],
  callbacks: ['platform', 'holders'],
  payments: ['platform', 'catalog', 'holders', 'ledger', 'rails', 'callbacks/events.ts'],
  archive: ['platform', 'holders', 'ledger', 'callbacks', 'payments'],
  distribution: ['platform'],
  books: ['platform', 'holders', 'ledger', 'rails', 'payments'],
  links: ['platform', 'catalog', 'holders', 'payments'],
  checkout: ['platform', 'ui', 'catalog', 'holders', 'payments', 'links'],
  docs: ['platform', 'ui', 'callbacks/events.ts'],
  front: ['platform', 'ui'],
  console: [
    'platform',
    'ui',
    'catalog',
    'holders',
    'ledger',
    'callbacks',
    'payments',
    'books',
    'links',
    'checkout/payers.ts',
    'checkout/receipt-codes.ts',
    'checkout/receipt-mails.ts',
    'checkout/receipt-texts.ts',
    'sandbox',
  ],
};

/** Files and folders of src that put the modules together: they import anything, and no module imports them. */
const TOP = [
  'app',
  'cli',
  'commands',
  'database-mode',
  'demo',
  'demo-file',
  'foundation',
  'gateway',
  'gateway-child',
  'gateway-process',
  'gateway-service',
  'open-context',
  'open-payments',
  'process-flags',
  'running-server',
  'sample-shop',
  'sandbox-child',
  'sandbox-process',
  'sandbox-service',
  'sandbox-time',
  'server',
  'services',
  'supervisor',
  'worker',
];

/** Packages with a build per platform: the lockfile must carry both, whatever machine wrote it. */
const NATIVE = [
  'node-linux-{}',
  '@embedded-postgres/linux-{}',
  '@img/sharp-linux-{}',
  '@node-rs/argon2-linux-{}-gnu',
  '@biomejs/cli-linux-{}',
  '@oxlint/binding-linux-{}-gnu',
  '@oxlint-tsgolint/linux-{}',
  '@typescript/typescript-linux-{}',
];

const IMPORT =
  /(?:^|\n)\s*(?:import|export)\b[^'";]*?from\s*'([^']+)'|(?:^|\n)\s*import\s*'([^']+)'|\bimport\(\s*'([^']+)'/g;

const sources = globSync('{src,sdk}/**/*.ts', { cwd: ROOT, exclude: ['**/node_modules/**', 'sdk/dist/**'] }).sort();
const code = sources.filter((file) => !file.endsWith('.test.ts'));

/** The files of ours that a file imports, types included, as paths from the root. */
function importsOf(file: string): string[] {
  const text = readFileSync(join(ROOT, file), 'utf8');
  const targets = [...text.matchAll(IMPORT)].map((match) => match[1] ?? match[2] ?? match[3] ?? '');
  return targets
    .filter((target) => target.startsWith('.'))
    .map((target) => relative(ROOT, resolve(ROOT, dirname(file), target)));
}

const graph = new Map(code.map((file) => [file, importsOf(file)]));

/** `src/platform/db.ts` belongs to `platform`, `src/app.ts` to `app`, `sdk/client.ts` to `sdk`. */
function moduleOf(file: string): string {
  const [top = '', second = ''] = file.split('/');
  return top === 'src' ? second.replace(/\.ts$/, '') : top;
}

function isAllowed(from: string, target: string): boolean {
  const [source, aim] = [moduleOf(from), moduleOf(target)];
  if (source === aim || TOP.includes(source)) return !target.startsWith('test/');
  return (MAY_IMPORT[source] ?? []).some((allowed) => allowed === aim || target === `src/${allowed}`);
}

describe('imports', () => {
  test('every module is in the table', () => {
    const known = [...Object.keys(MAY_IMPORT), ...TOP, 'sdk'];
    assert.deepEqual(
      [...new Set(code.map(moduleOf))].filter((name) => !known.includes(name)),
      [],
    );
  });

  test('no arrow but those of the table', () => {
    const broken = [...graph].flatMap(([file, targets]) =>
      targets.filter((target) => !isAllowed(file, target)).map((target) => `${file} → ${target}`),
    );
    assert.deepEqual(broken, []);
  });

  test('simulators share no code with the gateway', () => {
    const shared = globSync('simulators/**/*.ts', { cwd: ROOT })
      .filter((file) => !file.endsWith('.test.ts'))
      .flatMap((file) => importsOf(file).map((target) => `${file} → ${target}`))
      .filter((arrow) => !arrow.includes('→ simulators/'));
    assert.deepEqual(shared, []);
  });

  test('every permission of the table is used', () => {
    const unused = Object.entries(MAY_IMPORT).flatMap(([module, permissions]) => {
      const targets = [...graph].filter(([file]) => moduleOf(file) === module).flatMap(([, imported]) => imported);
      return permissions
        .filter((allowed) => !targets.some((target) => target === `src/${allowed}` || moduleOf(target) === allowed))
        .map((allowed) => `${module} → ${allowed}`);
    });
    assert.deepEqual(unused, []);
  });

  test('every import leads to a file', () => {
    const missing = [...graph].flatMap(([file, targets]) =>
      targets.filter((target) => !existsSync(join(ROOT, target))).map((target) => `${file} → ${target}`),
    );
    assert.deepEqual(missing, []);
  });

  test('no cycle between files, types included', () => {
    const done = new Set<string>();
    const path: string[] = [];
    const cycles: string[] = [];
    function visit(file: string): void {
      const at = path.indexOf(file);
      if (at >= 0) cycles.push([...path.slice(at), file].join(' → '));
      if (at >= 0 || done.has(file)) return;
      path.push(file);
      for (const target of graph.get(file) ?? []) visit(target);
      path.pop();
      done.add(file);
    }
    for (const file of graph.keys()) visit(file);
    assert.deepEqual(cycles, []);
  });

  test('the table in ARCHITECTURE.md is this one', () => {
    const text = readFileSync(join(ROOT, 'ARCHITECTURE.md'), 'utf8');
    const written = Object.fromEntries(
      [...text.matchAll(/^\| ([\w-]+) \| (.*) \|$/gm)].map(([, module, allowed]) => [module, allowed]),
    );
    for (const [module, allowed] of Object.entries(MAY_IMPORT))
      assert.equal(written[module], allowed.length > 0 ? allowed.join(', ') : 'nothing of ours', module);
  });
});

describe('documents', () => {
  test('the tree in ARCHITECTURE.md names every folder and file, and nothing else', () => {
    const tree = readTree();
    const described = tree.map((folder) => folder.path);
    const folders = readdirSync(join(ROOT, 'src'), { withFileTypes: true, recursive: true })
      .filter((entry) => entry.isDirectory() && readdirSync(join(entry.parentPath, entry.name)).length > 0)
      .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)));
    for (const folder of folders) assert.ok(described.includes(folder), `${folder}/ is not in the tree`);
    for (const folder of tree) {
      if (isCode(folder.path))
        assert.deepEqual(folder.names, filesOf(folder.path), `${folder.path}/: write it with "node scripts/tree.ts"`);
    }
  });

  test('.env.example has every setting', () => {
    assert.equal(readFileSync(join(ROOT, '.env.example'), 'utf8'), environmentExample());
  });
});

describe('the code', () => {
  test('reads the environment in one place', () => {
    const readers = code.filter((file) => readFileSync(join(ROOT, file), 'utf8').includes('process.env'));
    assert.deepEqual(readers, ['src/cli.ts']);
  });

  test('asks the clock it is given, not the machine', () => {
    const allowed = ['src/platform/clock.ts'];
    const readers = code.filter((file) => /\bDate\.now\(|new Date\(\)/.test(readFileSync(join(ROOT, file), 'utf8')));
    assert.deepEqual(
      readers.filter((file) => !allowed.includes(file) && !file.startsWith('sdk/')),
      [],
    );
  });
});

describe('the lockfile', () => {
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { resolved?: string; optional?: boolean }>;
  };

  test('carries the x64 and the arm64 build of every native package', () => {
    const wanted = NATIVE.flatMap((name) => ['x64', 'arm64'].map((cpu) => name.replace('{}', cpu)));
    assert.deepEqual(
      wanted.filter((name) => !lock.packages[`node_modules/${name}`]),
      [],
    );
  });

  test('names no download address: an install uses the registry that is set up', () => {
    const named = Object.entries(lock.packages).filter(([, { resolved }]) => resolved !== undefined);
    assert.deepEqual(
      named.map(([name]) => name),
      [],
    );
  });
});
