// What the caller signed, if nothing else is known: the body as it was sent, without its signature.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { withoutSignature } from './signature-checks.ts';

test('the signature is taken out of a body, wherever it stands, and the rest stays as it was sent', () => {
  for (const [sent, rest] of [
    ['{"a": 1, "signature" : "x", "b":  2}', '{"a": 1, "b":  2}'],
    ['{\n  "signature": "x",\n  "a": 1\n}', '{\n  "a": 1\n}'],
    ['{"a":1,\n  "signature":"x"\n}\n', '{"a":1}'],
    ['{ "signature": "x" }', '{}'],
    [' {"a": 1} ', '{"a": 1}'],
  ] as const)
    assert.equal(withoutSignature(sent), rest, sent);
});

test('a body of spaces is read to its end, in time that grows with its length alone', () => {
  const program = `
    import { withoutSignature } from ${JSON.stringify(new URL('./signature-checks.ts', import.meta.url))};
    const spaces = ' '.repeat(3_000_000);
    const rests = ['', '"signature"', '"signature":', ','].map((text) => withoutSignature('{' + text + spaces + '}'));
    process.stdout.write(String(rests.length));
  `;
  // In a process that is given up: the square of this length would be hours.
  const read = spawnSync(process.execPath, ['--input-type=module', '-e', program], { timeout: 60_000 });
  assert.equal(String(read.stdout), '4');
});
