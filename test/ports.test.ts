// Ports stay reserved for as long as the process that reserved them runs.

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { removeLeftovers } from './database.ts';
import { RESERVATIONS, reservePort } from './ports.ts';

test('a test run that starts beside another one does not take its ports', async () => {
  const file = join(RESERVATIONS, String(await reservePort()));
  await removeLeftovers();
  assert.ok(existsSync(file), 'the reservation is gone');
});
