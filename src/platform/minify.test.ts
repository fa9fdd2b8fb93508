import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { minifyScript } from './minify.ts';

const SOURCE = '// A comment.\nvar first = 1;\nconsole.log(first + 1);\n';
const MINIFIED = 'console.log(2);';

test('a script is minified once; later starts read the result', async () => {
  const cache = await mkdtemp(join(tmpdir(), 'simbi-minify-'));
  try {
    assert.equal(minifyScript(SOURCE, cache), MINIFIED);
    const [file = '', ...more] = await readdir(cache);
    assert.deepEqual(more, []);
    await writeFile(join(cache, file), 'kept();');
    assert.equal(minifyScript(SOURCE, cache), 'kept();');
    assert.equal(minifyScript(`${SOURCE}\n`, cache), MINIFIED, 'another source is minified anew');
  } finally {
    await rm(cache, { recursive: true });
  }
});

test('a folder that cannot be written only costs time', () => {
  assert.equal(minifyScript(SOURCE, '/dev/null/scripts'), MINIFIED);
});
