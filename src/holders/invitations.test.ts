// Joining: an invitation or a sign-up happens as a whole or not at all.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createTestContext } from '../../test/harness.ts';
import { createShop } from '../../test/shop.ts';
import { COMMAND_LINE, listAudit } from './audit.ts';
import { createHolder, findHolder } from './holders.ts';
import { acceptInvitation, findInvitation, inviteMember } from './invitations.ts';
import { addMember, findMemberByEmail, listMemberships, type MemberRole, roleAt } from './members.ts';
import { provePassword } from './passwords.ts';
import { registerHolder } from './registration.ts';

const PASSWORD = 'a long enough secret';

describe('joining', () => {
  let ctx: Awaited<ReturnType<typeof createTestContext>>;
  before(async () => {
    ctx = await createTestContext();
    await ctx.ownerDb.query(
      `create function fail() returns trigger language plpgsql as $$ begin raise 'failed'; end $$`,
    );
  });
  after(() => ctx.close());

  /** Runs `work` while every insert into `table` fails, as if the process had ended there. */
  async function withFailing(table: string, work: () => Promise<unknown>): Promise<void> {
    await ctx.ownerDb.query(`create trigger fail before insert on ${table} execute function fail()`);
    await assert.rejects(work(), /failed/);
    await ctx.ownerDb.query(`drop trigger fail on ${table}`);
  }

  async function invite(email: string, role: MemberRole, holderId: bigint): Promise<string> {
    const { token } = await inviteMember(ctx, COMMAND_LINE, holderId, email, role, 'page');
    return token ?? '';
  }

  const memberOf = async (email: string) =>
    (await provePassword(ctx, email, PASSWORD, { address: '192.0.2.1', browser: null }))?.memberId ?? null;

  test('an invitation that could not be accepted to the end can still be used', async () => {
    const shop = await createShop(ctx, 'Inviting');
    const token = await invite('Bola@example.org', 'finance', shop.holderId);
    const bola = { name: 'Bola', password: PASSWORD };
    for (const table of ['memberships', 'audit_log'])
      await withFailing(table, () => acceptInvitation(ctx, token, bola));
    assert.equal(await findMemberByEmail(ctx.db, 'bola@example.org'), null);
    assert.equal((await findInvitation(ctx.db, token, ctx.clock.now()))?.email, 'bola@example.org');
    const { member } = await acceptInvitation(ctx, token, bola);
    assert.equal(await roleAt(ctx.db, member.id, shop.holderId), 'finance');
    await assert.rejects(acceptInvitation(ctx, token, bola), { code: 'unauthenticated' });
  });

  test('an invitation never sets the password of a person who has an account', async () => {
    const shop = await createShop(ctx, 'Inviting again');
    const person = { email: 'chi@example.org', name: 'Chi', holderId: shop.holderId, role: 'viewer' } as const;
    const chi = await addMember(ctx, COMMAND_LINE, person);
    const token = await invite('chi@example.org', 'owner', shop.holderId);
    const thief = { name: 'Chi', password: PASSWORD };
    await assert.rejects(acceptInvitation(ctx, token, thief), { code: 'unauthenticated' });
    await assert.rejects(acceptInvitation(ctx, token, { memberId: chi.id + 1n }), { code: 'unauthenticated' });
    assert.equal(await memberOf('chi@example.org'), null);
    await acceptInvitation(ctx, token, { memberId: chi.id });
    assert.equal(await roleAt(ctx.db, chi.id, shop.holderId), 'owner');
  });

  test('a sign-up that failed leaves nothing behind and can be repeated', async () => {
    const details = { business: 'Kiosk', name: 'Dayo', email: 'Dayo@example.org', password: PASSWORD };
    for (const table of ['holders', 'memberships', 'audit_log'])
      await withFailing(table, () => registerHolder(ctx, details));
    assert.equal(await findMemberByEmail(ctx.db, details.email), null);
    assert.deepEqual(await ctx.db.query('select 1 from holders where name = $1', ['Kiosk']), []);
    const member = await registerHolder(ctx, details);
    assert.equal(await memberOf('dayo@example.org'), member?.id);
    assert.equal(await registerHolder(ctx, { ...details, password: 'another password' }), null);
    assert.equal(await memberOf('dayo@example.org'), member?.id);
    const [membership] = await listMemberships(ctx.db, member?.id ?? 0n);
    const actions = (await listAudit(ctx.db, membership?.holder_id ?? 0n, 10)).map((entry) => entry.action);
    assert.deepEqual(actions, ['member.password_set', 'member.added', 'holder.created']);
  });

  test('a new holder gets the time zone of the first person who accepts, while nobody chose one', async () => {
    const zoneOf = async (id: bigint) => (await findHolder(ctx.db, id))?.time_zone;
    const { holderId } = await createShop(ctx, 'Zone of the owner');
    const first = await invite('first@example.org', 'owner', holderId);
    await acceptInvitation(ctx, first, { name: 'First', password: PASSWORD }, 'Africa/Nairobi');
    assert.equal(await zoneOf(holderId), 'Africa/Nairobi');
    const second = await invite('second@example.org', 'owner', holderId);
    await acceptInvitation(ctx, second, { name: 'Second', password: PASSWORD }, 'Europe/Paris');
    assert.equal(await zoneOf(holderId), 'Africa/Nairobi');
    const chosen = await createHolder(ctx, COMMAND_LINE, 'Zone of the command', 'Africa/Lagos');
    const token = await invite('third@example.org', 'owner', chosen.id);
    await acceptInvitation(ctx, token, { name: 'Third', password: PASSWORD }, 'Europe/Paris');
    assert.equal(await zoneOf(chosen.id), 'Africa/Lagos');
  });
});
