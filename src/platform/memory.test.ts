import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemory, perProcess } from './memory.ts';

test('a value is created once in each context, and definitions do not share it', () => {
  let created = 0;
  const first = perProcess(() => ({ number: ++created }));
  const second = perProcess(() => ({ number: ++created }));
  const ctx = { memory: createMemory() };
  assert.equal(first(ctx), first({ ...ctx }), 'a context with more members is the same process');
  assert.notEqual(first(ctx), second(ctx));
  assert.notEqual(first(ctx), first({ memory: createMemory() }));
  assert.equal(created, 3);
});
