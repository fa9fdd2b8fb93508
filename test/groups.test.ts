// Files that share a process stay apart: what one does before, after and wrongly concerns no other.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { groupFiles } from './groups.ts';

function inFolder(work: (folder: string, write: (name: string, code: string) => string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), 'simbi-grouped-'));
  try {
    work(folder, (name, code) => {
      writeFileSync(join(folder, name), `import { after, before, beforeEach, test } from 'node:test';\n${code}`);
      return join(folder, name);
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

test('a file that fails is named and fails the group; the next one runs all the same, with its own hooks only', () => {
  inFolder((folder, write) => {
    const say = (text: string) => `() => console.log('said: ${text}')`;
    const files = [
      write('broken.mjs', "throw new Error('cannot be loaded');"),
      write('first.mjs', `before(${say('1')}); after(${say('2')}); test('one', () => { throw new Error('no'); });`),
      write('second.mjs', `before(${say('3')}); beforeEach(${say('4')}); after(${say('5')}); test('two', () => {});`),
    ];
    const { groups, alone } = groupFiles(files, folder);
    assert.deepEqual([groups.length, alone], [1, []]);
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const { status, stdout } = spawnSync(process.execPath, groups, { env, encoding: 'utf8' });
    assert.equal(status, 1);
    assert.equal([...stdout.matchAll(/^said: (\d)$/gm)].map(([, said]) => said).join(''), '12345', stdout);
    for (const line of [/✖ .*broken\.mjs/, /✖ one/, /✖ .*first\.mjs/, /✔ two/, /✔ .*second\.mjs/])
      assert.match(stdout, line);
  });
});

test('a file that looks at its process has one of its own', () => {
  inFolder((folder, write) => {
    const measuring = write('measuring.mjs', 'test(String(process.memoryUsage().rss), () => {});');
    assert.deepEqual(groupFiles([measuring], folder), { groups: [], alone: [measuring] });
  });
});
