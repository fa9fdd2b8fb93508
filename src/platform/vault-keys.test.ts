// The versions of the keys in the database: made once by whichever process is first, found by all, replaced while they run.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { createTestContext } from '../../test/harness.ts';
import { Problem } from './errors.ts';
import { createLocalWrapper, type KeyWrapper, KeyWrapperError } from './key-wrapper.ts';
import type { Vault } from './secrets.ts';
import {
  openVault,
  prepareRewrap,
  prepareVersion,
  readVaultKeys,
  retireVersion,
  storeRewrapped,
  storeVersion,
} from './vault-keys.ts';

let ctx: Awaited<ReturnType<typeof createTestContext>>;
const [firstMaster, secondMaster] = [randomBytes(32), randomBytes(32)];

before(async () => {
  ctx = await createTestContext();
});

after(async () => {
  await ctx?.close();
});

/** A process that starts with these master keys, the first of which wraps. */
async function startWith(masterKeys: Buffer[], problems: string[] = []): Promise<Vault> {
  const vault = await openVault({
    db: ctx.db,
    wrappers: () => masterKeys.map(createLocalWrapper),
    firstKeys: masterKeys,
    opensSecrets: async () => true,
    onProblem: (reason) => problems.push(reason),
  });
  return vault ?? assert.fail('the vault did not open');
}

async function rotate(wrappers: KeyWrapper[]): Promise<number> {
  const key = await prepareVersion(ctx.db, wrappers);
  assert.ok(await ctx.db.transaction((tx) => storeVersion(tx, key)));
  return key.version;
}

const isUnavailable = (error: unknown) => error instanceof Problem && error.code === 'database_unavailable';

describe('the keys of a database', () => {
  test('a wrong master key is noticed before anything is written', async () => {
    const options = { db: ctx.db, wrappers: () => [createLocalWrapper(firstMaster)], onProblem: () => undefined };
    const vault = await openVault({ ...options, firstKeys: [firstMaster], opensSecrets: async () => false });
    assert.equal(vault, null);
    assert.deepEqual(await readVaultKeys(ctx.db), []);
  });

  test('of eight processes that start at once, one makes the keys and all have them', async () => {
    const vaults = await Promise.all(Array.from({ length: 8 }, () => startWith([firstMaster])));
    assert.deepEqual(
      (await readVaultKeys(ctx.db)).map((row) => row.version),
      [1, 0],
    );
    for (const from of vaults)
      for (const to of vaults) assert.equal(await to.open(from.seal('text', 'purpose'), 'purpose'), 'text');
  });

  test('the master key is in the table only in encrypted form, and never version 1', async () => {
    for (const { wrapped } of await readVaultKeys(ctx.db)) assert.ok(!wrapped?.includes(firstMaster));
    const sealed = (await startWith([firstMaster])).seal('text', 'purpose');
    assert.equal(sealed.readUInt32BE(1), 1);
  });

  test('a process that has not seen a version yet reads it when it meets a value of it', async () => {
    const old = await startWith([firstMaster]);
    const version = await rotate([createLocalWrapper(firstMaster)]);
    const sealed = (await startWith([firstMaster])).seal('new', 'purpose');
    assert.equal(sealed.readUInt32BE(1), version);
    const opened = await Promise.all(Array.from({ length: 50 }, () => old.open(sealed, 'purpose')));
    assert.deepEqual(new Set(opened), new Set(['new']));
    assert.equal(old.seal('x', 'purpose').readUInt32BE(1), version, 'from then on it seals with it too');
  });

  test('a process that meets none finds the version by itself', async () => {
    const vault = await startWith([firstMaster]);
    const stop = vault.watch();
    try {
      const version = await rotate([createLocalWrapper(firstMaster)]);
      while (vault.seal('x', 'purpose').readUInt32BE(1) !== version) await new Promise((next) => setTimeout(next, 20));
    } finally {
      stop();
    }
  });

  test('two rotations at the same moment make one version', async () => {
    const wrapper = createLocalWrapper(firstMaster);
    const keys = await Promise.all([prepareVersion(ctx.db, [wrapper]), prepareVersion(ctx.db, [wrapper])]);
    const stored = await Promise.all(keys.map((key) => ctx.db.transaction((tx) => storeVersion(tx, key))));
    assert.equal(stored.filter(Boolean).length, 1);
  });
});

describe('a new master key', () => {
  test('processes with both keys start before and after the keys are moved; none with only the wrong one', async () => {
    const running = await startWith([firstMaster]);
    const before = running.seal('before', 'purpose');
    const both = [secondMaster, firstMaster];
    assert.equal(await (await startWith(both)).open(before, 'purpose'), 'before');
    await assert.rejects(startWith([secondMaster]), /another master key.*MASTER_KEY_PREVIOUS/);
    const moved = await prepareRewrap(ctx.db, both.map(createLocalWrapper));
    await ctx.db.transaction((tx) => storeRewrapped(tx, moved));
    assert.equal(moved.length, (await readVaultKeys(ctx.db)).length);
    for (const keys of [both, [secondMaster]])
      assert.equal(await (await startWith(keys)).open(before, 'purpose'), 'before');
    await assert.rejects(startWith([firstMaster]), /another master key/);
    assert.equal(await running.open(before, 'purpose'), 'before', 'a running process has its keys in memory');
    assert.deepEqual(await prepareRewrap(ctx.db, [createLocalWrapper(secondMaster)]), [], 'a second time does nothing');
  });

  test('a rotation during a change of the master key leaves no version that only the old one opens', async () => {
    const [old, next] = [secondMaster, firstMaster];
    const both = [createLocalWrapper(next), createLocalWrapper(old)];
    // A version that is made between the reading of the keys and their change.
    const prepared = await prepareRewrap(ctx.db, both);
    await rotate(both);
    const changed = ctx.db.transaction(async (tx) => {
      if (!(await storeRewrapped(tx, prepared))) throw new Error('a version was made meanwhile');
    });
    await assert.rejects(changed, /made meanwhile/);
    const before = new Set((await readVaultKeys(ctx.db)).map(({ wrapper }) => wrapper));
    assert.deepEqual([...before], [createLocalWrapper(old).name], 'all or nothing');
    // And one that was made before the change, and is stored after it.
    const late = await prepareVersion(ctx.db, both);
    const rewrapped = await prepareRewrap(ctx.db, both);
    assert.ok(await ctx.db.transaction((tx) => storeRewrapped(tx, rewrapped)));
    assert.equal(await ctx.db.transaction((tx) => storeVersion(tx, late)), false);
    await startWith([next]);
    // As it was before.
    const back = await prepareRewrap(ctx.db, both.toReversed());
    assert.ok(await ctx.db.transaction((tx) => storeRewrapped(tx, back)));
  });

  test('a process that cannot unwrap a new version goes on with those it has, and says why', async () => {
    const problems: string[] = [];
    let wrappers = [createLocalWrapper(secondMaster)];
    const vault = await openVault({
      db: ctx.db,
      wrappers: () => wrappers,
      firstKeys: [],
      opensSecrets: async () => true,
      onProblem: (reason) => problems.push(reason),
    });
    assert.ok(vault);
    const before = vault.seal('before', 'purpose');
    const away: KeyWrapper = {
      name: wrappers[0]?.name ?? '',
      wrap: () => Promise.reject(new KeyWrapperError('The key service is away.', true)),
      unwrap: () => Promise.reject(new KeyWrapperError('The key service is away.', true)),
    };
    wrappers = [away];
    await rotate([createLocalWrapper(secondMaster)]);
    const after = (await startWith([secondMaster])).seal('after', 'purpose');
    await assert.rejects(vault.open(after, 'purpose'), isUnavailable);
    await assert.rejects(vault.open(after, 'purpose'), isUnavailable);
    assert.deepEqual(problems, ['The key service is away.'], 'said once, asked once');
    assert.equal(await vault.open(before, 'purpose'), 'before');
    assert.equal(await vault.open(vault.seal('x', 'purpose'), 'purpose'), 'x');
  });
});

describe('an old version', () => {
  test('is retired only when its successor is old enough; then its key is gone', async () => {
    const before = (await startWith([secondMaster])).seal('text', 'purpose');
    const old = before.readUInt32BE(1);
    const retire = (version: number, seconds: number) =>
      ctx.db.transaction((tx) => retireVersion(tx, version, seconds));
    assert.equal(await retire(old, 0), false, 'the newest is never retired');
    await rotate([createLocalWrapper(secondMaster)]);
    assert.equal(await retire(old, 3_600), false);
    assert.equal(await retire(old, 0), true);
    assert.equal(await retire(old, 0), false);
    const row = (await readVaultKeys(ctx.db)).find(({ version }) => version === old);
    assert.equal(row?.wrapped, null);
    await assert.rejects((await startWith([secondMaster])).open(before, 'purpose'), /retired/);
  });

  test('version 0 keeps deriving the keys that never change', async () => {
    const expected = (await startWith([secondMaster])).deriveKey('receipt code');
    assert.ok(await ctx.db.transaction((tx) => retireVersion(tx, 0, 0)));
    const vault = await startWith([secondMaster]);
    assert.deepEqual(vault.deriveKey('receipt code'), expected);
    assert.ok(!vault.deriveKeys('receipt code').some((key) => key.equals(expected)));
  });
});

describe('somebody who may write to the table', () => {
  test('security vault: cannot exchange the keys of two versions, nor put one of their own', async () => {
    const rows = (await readVaultKeys(ctx.db)).filter((row) => row.wrapped !== null && row.version > 0);
    const [newer, older] = rows;
    assert.ok(newer && older);
    const put = (version: number, { wrapped, fingerprint }: { wrapped: Buffer | null; fingerprint: Buffer }) =>
      ctx.db.query('update vault_keys set wrapped = $2, fingerprint = $3 where version = $1', [
        version,
        wrapped,
        fingerprint,
      ]);
    await put(newer.version, older);
    await assert.rejects(startWith([secondMaster]), /was changed/);
    const foreign = createLocalWrapper(randomBytes(32));
    await put(newer.version, { ...newer, wrapped: await foreign.wrap(randomBytes(32)) });
    await assert.rejects(startWith([secondMaster]), /was changed/);
    await put(newer.version, newer);
    await startWith([secondMaster]);
  });
});
