// docs/adding-a-rail.md, done: in a copy of the tree, a toy rail is one file, one line, one simulator and one page, and the contract
// of rails holds for it.

import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, test } from 'node:test';
import { start } from '../processes.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const TOY = join(import.meta.dirname, 'toy');
const COPIED = ['bin', 'docs', 'migrations', 'simulators', 'src', 'test', 'package.json'];
const tree = mkdtempSync(join(tmpdir(), 'simbi-toy-'));
after(() => rmSync(tree, { recursive: true, force: true }));

/** Changes a file of the copy; the text must be there. */
function edit(path: string, before: string, changed: string): void {
  const text = readFileSync(join(tree, path), 'utf8');
  assert.ok(text.includes(before), `${path} has no ${before}`);
  writeFileSync(join(tree, path), text.replace(before, changed));
}

test('the toy rail is four files and one line, and keeps the contract', async () => {
  for (const name of COPIED) cpSync(join(ROOT, name), join(tree, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(tree, 'node_modules'));
  cpSync(join(TOY, 'rail.txt'), join(tree, 'src/rails/toy.ts'));
  cpSync(join(TOY, 'simulator.txt'), join(tree, 'simulators/toy.ts'));
  cpSync(join(TOY, 'page.md'), join(tree, 'docs/rails/toy.md'));
  const list = 'export const RAILS: readonly RailDefinition[] = [';
  edit('src/rails/registry.ts', list, `${list}\n  toyRail,`);
  edit('src/rails/registry.ts', 'import ', "import { toyRail } from './toy.ts';\nimport ");
  // What is tried, beside the rail itself.
  const tried = 'export const OPERATORS: readonly OperatorUnderTest[] = [';
  edit('test/rails/operators.ts', tried, `${tried}\n${readFileSync(join(TOY, 'operator.txt'), 'utf8')}`);
  const imports = [
    "{ toyRail } from '../../src/rails/toy.ts'",
    "{ createToySimulator } from '../../simulators/toy.ts'",
  ];
  edit('test/rails/operators.ts', 'import ', `${imports.map((each) => `import ${each};\n`).join('')}import `);
  const { code, out, stderr } = await start(join(tree, 'test/rails/run.ts'), ['toy', '--few'], process.env).ended;
  assert.equal(code, 0, `${out}\n${stderr}`);
  assert.match(out, /toy: \d+ payments/);
});
