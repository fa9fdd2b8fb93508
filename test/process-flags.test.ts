// V8 only warns about an option that it no longer has, and then goes on without it.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { V8_FLAGS } from '../src/process-flags.ts';

test('V8 has every option that a process sets', () => {
  const known = execFileSync(process.execPath, ['--v8-options'], { encoding: 'utf8' });
  for (const flag of V8_FLAGS.split(' ')) {
    const [name = ''] = flag.replace(/^--(no-)?/, '').split('=');
    assert.match(
      known,
      new RegExp(`^ +--${name} `, 'm'),
      `${flag} of src/process-flags.ts is not an option of this Node`,
    );
  }
});
