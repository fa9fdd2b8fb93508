// Holders, people and integrations: what is kept secret, what works once, what is written down.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { createTestContext } from '../../test/harness.ts';
import { createShop, tokenOf } from '../../test/shop.ts';
import { setHolderStatus } from '../payments/holder-status.ts';
import { connectDatabase } from '../platform/db.ts';
import { createMemory } from '../platform/memory.ts';
import { createVault } from '../platform/secrets.ts';
import { COMMAND_LINE, listAudit } from './audit.ts';
import { createHolder, findHolder, holderNames, listHolders } from './holders.ts';
import { purgeExpired } from './housekeeping.ts';
import { canOpenSecrets } from './integration-secrets.ts';
import {
  findLiveIntegration,
  isAddressAllowed,
  listIntegrations,
  loadLiveIntegration,
  rotateSecret,
  updateIntegration,
} from './integrations.ts';
import {
  addMember,
  createLoginLink,
  createSession,
  findMemberByEmail,
  findSession,
  revokeSession,
  roleAt,
  useLoginLink,
} from './members.ts';

const HOUR_MS = 3_600_000;
const notFound = { code: 'not_found' };

describe('identity', () => {
  let ctx: Awaited<ReturnType<typeof createTestContext>>;
  before(async () => {
    ctx = await createTestContext();
  });
  after(() => ctx.close());

  test('a suspended holder can come back, a closed one cannot', async () => {
    const holder = await createHolder(ctx, COMMAND_LINE, 'Comes and goes');
    assert.equal((await setHolderStatus(ctx, COMMAND_LINE, holder.id, 'suspended')).status, 'suspended');
    assert.equal((await setHolderStatus(ctx, COMMAND_LINE, holder.id, 'active')).status, 'active');
    await setHolderStatus(ctx, COMMAND_LINE, holder.id, 'closed');
    await assert.rejects(setHolderStatus(ctx, COMMAND_LINE, holder.id, 'active'), notFound);
    assert.equal((await findHolder(ctx.db, holder.id))?.status, 'closed');
    const actions = (await listAudit(ctx.db, holder.id, 10)).map((entry) => entry.action);
    assert.deepEqual(actions, ['holder.closed', 'holder.active', 'holder.suspended', 'holder.created']);
  });

  test('holders are listed in pages, the newest first', async () => {
    const made = [];
    for (const name of ['One', 'Two', 'Three']) made.unshift(await createHolder(ctx, COMMAND_LINE, name));
    const first = await listHolders(ctx.db, { limit: 2 });
    assert.deepEqual(first, made.slice(0, 2));
    const [third] = await listHolders(ctx.db, { limit: 2, before: first[1]?.id });
    assert.deepEqual(third, made[2]);
    assert.deepEqual(await holderNames(ctx.db, [made[2]?.id ?? 0n]), new Map([[made[2]?.id, 'One']]));
  });

  test('the audit log is only ever added to', async () => {
    for (const sql of ['update audit_log set actor = $$x$$', 'delete from audit_log', 'truncate audit_log'])
      await assert.rejects(ctx.ownerDb.query(sql), /append-only/);
  });

  test('there are at most two live secrets of each kind; the third rotation ends the first', async () => {
    const shop = await createShop(ctx, 'Rotating');
    const live = async () =>
      (await loadLiveIntegration(ctx, { id: shop.id }))?.keys.map((key) => String(key.secret.export()));
    ctx.clock.advance(1);
    const second = await rotateSecret(ctx, COMMAND_LINE, shop.holderId, shop.id, 'api');
    assert.deepEqual(await live(), [second.secret, shop.secretKey]);
    ctx.clock.advance(1);
    const third = await rotateSecret(ctx, COMMAND_LINE, shop.holderId, shop.id, 'api');
    assert.deepEqual(await live(), [third.secret, second.secret]);
    ctx.clock.advance(24 * HOUR_MS);
    assert.deepEqual(await live(), [third.secret]);
    const both = await loadLiveIntegration(ctx, { id: shop.id });
    assert.deepEqual(both?.callbackSecrets, [shop.callbackSecret], 'the other kind is untouched');
    assert.match(shop.callbackSecret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  });

  test('secrets lie sealed in the database, for one integration and one master key', async () => {
    const shop = await createShop(ctx, 'Sealed');
    const rows = await ctx.db.query<{ sealed: Buffer }>(
      'select sealed from integration_secrets where integration_id = $1',
      [shop.id],
    );
    assert.equal(rows.length, 2);
    for (const { sealed } of rows)
      for (const secret of [shop.secretKey, shop.callbackSecret]) assert.ok(!sealed.includes(secret));
    assert.equal(await canOpenSecrets(ctx), true);
    assert.equal(await canOpenSecrets({ ...ctx, vault: createVault(randomBytes(32)) }), false);
  });

  test('a change made by one process is seen by another within a second', async () => {
    const shop = await createShop(ctx, 'Seen late');
    const other = { ...ctx, db: connectDatabase({ url: ctx.databaseUrl }), memory: createMemory() };
    const seen = async () => (await findLiveIntegration(other, { clientId: shop.clientId }))?.status;
    assert.equal(await seen(), 'active');
    await updateIntegration(ctx, COMMAND_LINE, shop.holderId, shop.id, { status: 'revoked' });
    assert.equal(await seen(), 'active', 'a moment of memory is the point of the cache');
    ctx.clock.advance(1_000);
    assert.equal(await seen(), 'revoked');
    assert.equal(await findLiveIntegration(other, { clientId: 'client_new' }), null);
    await other.db.close();
  });

  test('an integration that is revoked while its addresses are saved stays revoked', async () => {
    const shop = await createShop(ctx, 'Revoked meanwhile');
    const saved = await ctx.db.transaction(async (tx) => {
      await tx.query(`update integrations set status = 'revoked' where id = $1`, [shop.id]);
      const saving = updateIntegration(ctx, COMMAND_LINE, shop.holderId, shop.id, { allowedAddresses: ['10.0.0.0/8'] });
      const waits = 'select from pg_locks where not granted and transactionid = pg_current_xact_id()::xid';
      while ((await tx.query(waits)).length === 0) await setImmediate();
      return { saving };
    });
    const { status, allowedAddresses } = await saved.saving;
    assert.deepEqual({ status, allowedAddresses }, { status: 'revoked', allowedAddresses: ['10.0.0.0/8'] });
  });

  test("another holder's integration does not exist", async () => {
    const [mine, theirs] = [await createShop(ctx, 'Mine'), await createShop(ctx, 'Theirs')];
    await assert.rejects(
      updateIntegration(ctx, COMMAND_LINE, mine.holderId, theirs.id, { status: 'revoked' }),
      notFound,
    );
    await assert.rejects(rotateSecret(ctx, COMMAND_LINE, mine.holderId, theirs.id, 'api'), notFound);
    assert.deepEqual(
      (await listIntegrations(ctx.db, mine.holderId)).map((one) => one.title),
      ['Mine'],
    );
  });

  test('an allow-list takes addresses and ranges of both families, and nothing else', async () => {
    const shop = await createShop(ctx, 'Listed');
    const set = (allowedAddresses: string[]) =>
      updateIntegration(ctx, COMMAND_LINE, shop.holderId, shop.id, { allowedAddresses });
    const listed = await set(['203.0.113.7', '10.0.0.0/8', '2001:db8::/32']);
    for (const [address, allowed] of [
      ['203.0.113.7', true],
      ['::ffff:203.0.113.7', true],
      ['203.0.113.8', false],
      ['10.255.0.1', true],
      ['2001:db8::1', true],
      ['2001:db9::1', false],
      ['not an address', false],
    ] as const)
      assert.equal(isAddressAllowed(listed, address), allowed, address);
    assert.throws(() => set(['example.org']), { code: 'invalid_params' });
    assert.throws(() => set(Array(51).fill('10.0.0.1')), { code: 'invalid_params' });
    assert.equal(isAddressAllowed(await set([]), '192.0.2.1'), true);
  });

  test('a sign-in link works once, for thirty minutes, also when two click at once', async () => {
    const shop = await createShop(ctx, 'With people');
    const person = { email: 'Ada@Example.org', name: 'Ada', holderId: shop.holderId, role: 'owner' } as const;
    const member = await addMember(ctx, COMMAND_LINE, person);
    assert.equal((await findMemberByEmail(ctx.db, 'ADA@example.org'))?.id, member.id);
    assert.equal(await roleAt(ctx.db, member.id, shop.holderId), 'owner');
    assert.equal(await roleAt(ctx.db, member.id, shop.holderId + 999n), null);
    const link = await createLoginLink(ctx, member.id);
    const clicks = await Promise.allSettled(Array.from({ length: 8 }, () => useLoginLink(ctx, link.token)));
    assert.equal(clicks.filter((click) => click.status === 'fulfilled').length, 1);
    const late = await createLoginLink(ctx, member.id);
    ctx.clock.advance(30 * 60_000);
    await assert.rejects(useLoginLink(ctx, late.token), { code: 'unauthenticated' });
    await assert.rejects(useLoginLink(ctx, 'otl_x'), { code: 'unauthenticated' });
  });

  test('a session ends after an hour of silence, after twelve hours, and when it is revoked', async () => {
    const member = await findMemberByEmail(ctx.db, 'ada@example.org');
    assert.ok(member);
    const open = () => createSession(ctx, member.id, { userAgent: 'test', address: '127.0.0.1' });
    const idle = await open();
    ctx.clock.advance(HOUR_MS);
    assert.equal(await findSession(ctx, idle.token), null);
    const long = await open();
    for (let half = 0; half < 23; half++) {
      ctx.clock.advance(HOUR_MS / 2);
      assert.equal((await findSession(ctx, long.token))?.member.email, 'ada@example.org');
    }
    ctx.clock.advance(HOUR_MS / 2);
    assert.equal(await findSession(ctx, long.token), null);
    const revoked = await open();
    const session = await findSession(ctx, revoked.token);
    assert.ok(session);
    await revokeSession(ctx, member.id + 1n, session.id);
    assert.ok(await findSession(ctx, revoked.token), "another person's session is left alone");
    await revokeSession(ctx, member.id, session.id);
    assert.equal(await findSession(ctx, revoked.token), null);
  });

  test('housekeeping forgets what can no longer matter and keeps the rest', async () => {
    const shop = await createShop(ctx, 'Kept clean');
    const key = (name: string) =>
      ctx.db.query(
        `insert into idempotency_keys (holder_id, integration_id, key, operation, params_hash, answer, created_at)
         values ($1, $2, $3, 'test', '\\x00', '{}', $4)`,
        [shop.holderId, shop.id, name, ctx.clock.now()],
      );
    await key('old');
    await tokenOf(ctx, shop);
    ctx.clock.advance(9 * 24 * HOUR_MS);
    await key('young');
    await tokenOf(ctx, shop);
    while ((await purgeExpired(ctx)) > 0);
    const count = async (table: string) => (await ctx.db.query(`select 1 from ${table}`)).length;
    assert.deepEqual(await ctx.db.query('select key from idempotency_keys'), [{ key: 'young' }]);
    assert.deepEqual([await count('tokens'), await count('login_links')], [1, 0]);
    await rotateSecret(ctx, COMMAND_LINE, shop.holderId, shop.id, 'api', 0);
    const secrets = () => ctx.db.query('select 1 from integration_secrets where integration_id = $1', [shop.id]);
    while ((await purgeExpired(ctx)) > 0);
    assert.equal((await secrets()).length, 3, 'an ended secret stays for a week');
    ctx.clock.advance(8 * 24 * HOUR_MS);
    while ((await purgeExpired(ctx)) > 0);
    assert.deepEqual([(await secrets()).length, await count('tokens')], [2, 0], 'then it goes with its tokens');
  });
});
