// Every block of a guide that is marked `bash` runs unchanged, in the order of the page, beside one real server on a new
// data directory; the commands in it run in the process of the test. The configuration page and the files for monitoring are
// compared with the code.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ROOT } from '../scripts/tree.ts';
import { loadCatalog } from '../src/catalog/catalog.ts';
import { configurationReference } from '../src/platform/config.ts';
import { RAILS } from '../src/rails/registry.ts';
import { withMethodsTable, withSettingsTable } from '../src/rails/settings-reference.ts';
import { serveCommands } from './command-server.ts';
import { reservePort } from './ports.ts';
import { type RunningProcess, simbi } from './processes.ts';

const GUIDES = ['sandbox', 'going-live', 'operating'];

const read = (...names: string[]) => readFileSync(join(ROOT, ...names), 'utf8');
const blocksOf = (guide: string) =>
  [...read('docs', `${guide}.md`).matchAll(/^```bash\n([\s\S]*?)^```$/gm)].map((match) => match[1] ?? '');

const folder = mkdtempSync(join(tmpdir(), 'simbi-docs-'));
let port: number;
let server: RunningProcess;
let commands: Awaited<ReturnType<typeof serveCommands>>;

before(async () => {
  port = await reservePort();
  // Where a reader's `npx simbi` finds the checkout, the folder of the test has none: this stands in for it.
  process.chdir(folder);
  commands = await serveCommands(folder);
  server = simbi(['serve'], { DATA_DIR: join(folder, 'data'), PORT: String(port), LOG_LEVEL: 'warn' });
  await server.printed(/Listening/);
});

after(async () => {
  server.child.kill('SIGTERM');
  await server.ended;
  commands.close();
  process.chdir(ROOT);
  rmSync(folder, { recursive: true, force: true });
});

/** Runs a script as a reader would: one shell, stopping at the first line that fails. */
function runScript(script: string): Promise<{ code: number | null; output: string }> {
  const PATH = `${commands.bin}:${process.env.PATH ?? ''}`;
  const child = spawn('bash', ['-euo', 'pipefail', '-c', script], {
    cwd: folder,
    env: { PATH, HOME: folder, NO_COLOR: '1', PORT: String(port) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.stdout.on('data', (chunk) => (output += String(chunk)));
  child.stderr.on('data', (chunk) => (output += String(chunk)));
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, output })));
}

describe('guides', () => {
  for (const guide of GUIDES)
    test(`${guide}.md runs from its first block to its last`, async () => {
      const blocks = blocksOf(guide);
      assert.ok(blocks.length > 0);
      const { code, output } = await runScript(blocks.join('\n'));
      assert.equal(code, 0, output);
    });

  test('links between guides lead somewhere', () => {
    for (const guide of [...GUIDES, 'configuration'])
      for (const [, file, heading] of read('docs', `${guide}.md`).matchAll(/\]\(([\w-]+\.md)(#[\w-]+)?\)/g)) {
        const text = read('docs', file ?? '');
        const headings = [...text.matchAll(/^#+ (.*)$/gm)].map(
          ([, title]) =>
            `#${(title ?? '')
              .toLowerCase()
              .replace(/[^\w\s-]/g, '')
              .trim()
              .replace(/\s+/g, '-')}`,
        );
        if (heading) assert.ok(headings.includes(heading), `${guide}.md → ${file}${heading}`);
      }
  });
});

describe('generated and shipped files', () => {
  test('configuration.md is what the settings say', () => {
    const hint = 'write it with: npx node scripts/settings.ts';
    assert.equal(read('docs', 'configuration.md'), configurationReference(), hint);
  });

  test('docs/rails is what the rails say', () => {
    const hint = 'write it with: npx node scripts/rails.ts';
    for (const rail of RAILS) {
      const page = read('docs', `rails/${rail.name}.md`);
      assert.match(page, /<!-- settings -->/);
      assert.equal(page, withSettingsTable(page, rail), `${rail.name}: ${hint}`);
    }
    const overview = read('docs', 'rails/README.md');
    assert.equal(overview, withMethodsTable(overview, loadCatalog(), RAILS), hint);
  });

  test('alert rules and dashboard name only metrics that exist', async () => {
    const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    const known = new Set([...metrics.matchAll(/^# TYPE (\w+)/gm)].map((match) => match[1]));
    const dashboard = JSON.parse(read('ops', 'grafana-dashboard.json')) as {
      panels: { targets: { expr: string }[] }[];
    };
    const texts = [
      read('ops', 'alerts.yml'),
      ...dashboard.panels.flatMap((panel) => panel.targets.map(({ expr }) => expr)),
    ];
    const named = texts.flatMap((text) =>
      [...text.matchAll(/\bsimbi_\w+/g)].map(([name]) => name.replace(/_bucket$/, '')),
    );
    assert.ok(named.length > 15);
    assert.deepEqual(
      [...new Set(named)].filter((name) => !known.has(name)),
      [],
    );
  });
});
