// Guesses of second-factor codes: many at once, from many addresses and through two processes, only as many as the limit
// are compared.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { TOTP } from 'otpauth';
import { createApp } from '../src/app.ts';
import { COMMAND_LINE } from '../src/holders/audit.ts';
import { addMember, createLoginLink, type Member } from '../src/holders/members.ts';
import { base32, startFactor } from '../src/holders/second-factor.ts';
import { connectDatabase } from '../src/platform/db.ts';
import { createMemory } from '../src/platform/memory.ts';
import { createMetrics } from '../src/platform/metrics.ts';
import { createServices } from '../src/services.ts';
import { type ConsoleAnswer, csrfOf, signIn, visitor } from './console-harness.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';
import { PATIENCE } from './harness.ts';
import { createShop } from './shop.ts';

const LIMIT = 10;
const AT_ONCE = 200;
/** Few enough to be refused before those that wait for the lock give up. */
const WHILE_LOCKED = 40;
const MINUTE_MS = 61_000;

describe('guessing a second factor', () => {
  let gateway: TestGateway;
  let second: { url: string; close(): Promise<void> };
  let people = 0;

  before(async () => {
    gateway = await createTestGateway({ TRUSTED_PROXIES: '127.0.0.1', DATABASE_POOL_SIZE: '40' });
    second = await startSecondProcess(gateway);
  });
  after(async () => {
    await second?.close();
    await gateway?.close();
  });

  /** A member with a second factor, and the code it shows now. */
  async function addCareful(): Promise<{ member: Member; code: () => string }> {
    const { ctx } = gateway;
    const { holderId } = await createShop(ctx, `Careful ${++people}`);
    const person = { email: `careful${people}@example.org`, name: 'Careful', holderId, role: 'owner' } as const;
    const member = await addMember(ctx, COMMAND_LINE, person);
    const secret = await startFactor(ctx, member.id);
    await ctx.db.query('update members set totp_sealed = totp_pending, totp_pending = null where id = $1', [member.id]);
    return { member, code: () => new TOTP({ secret: base32(secret) }).generate({ timestamp: ctx.clock.millis() }) };
  }

  /** As far as the page that asks for the code. */
  async function startSignIn(member: Member) {
    const { token } = await createLoginLink(gateway.ctx, member.id);
    const visited = await visitor(gateway, '').get(`/console/login/${token}`);
    const cookie = /simbi_visitor=[\w-]+/.exec(visited.headers.get('set-cookie') ?? '')?.[0] ?? '';
    const csrf = csrfOf(visited.text);
    const asked = await visitor(gateway, cookie, csrf).post(`/console/login/${token}`);
    const pending = /name="pending" value="([^"]+)"/.exec(asked.text)?.[1] ?? '';
    const enter = (code: string, url = gateway.url, address = '203.0.113.9') =>
      visitor({ ...gateway, url }, cookie, csrf).post(
        '/console/sign-in/code',
        { pending, code },
        { 'x-forwarded-for': address },
      );
    return { enter };
  }

  const wrong = (code: string) => (code === '000000' ? '000001' : '000000');
  const statuses = (answers: ConsoleAnswer[]) => {
    const count = (status: number) => answers.filter((answer) => answer.status === status).length;
    return { compared: count(401), refused: count(429), all: answers.length };
  };

  test('security S4: of many codes sent at once, only as many as the limit are compared', async () => {
    const { member, code } = await addCareful();
    const { enter } = await startSignIn(member);
    const answers = await gateway.ctx.db.transaction(async (tx) => {
      // Nobody's secret can be read until all guesses have arrived: what is counted after it was compared is counted too late.
      await tx.query('lock table members in access exclusive mode');
      const sent = Array.from({ length: WHILE_LOCKED }, () => enter(wrong(code())));
      await settled(sent, WHILE_LOCKED - LIMIT);
      return sent;
    });
    assert.equal(statuses(await Promise.all(answers)).refused, WHILE_LOCKED - LIMIT);
    const right = await enter(code());
    assert.equal(right.status, 429, 'a right code is not compared either');
    assert.ok(Number(right.headers.get('retry-after')) > 0);
    gateway.ctx.clock.advance(MINUTE_MS);
    const later = await startSignIn(member);
    assert.equal((await later.enter(code())).status, 303);
  });

  test('security S4: many addresses and two processes share one limit for a person', async () => {
    const { member, code } = await addCareful();
    const { enter } = await startSignIn(member);
    const answers = await Promise.all(
      Array.from({ length: AT_ONCE }, (_, index) =>
        enter(wrong(code()), index % 2 === 0 ? gateway.url : second.url, `2001:db8:${index.toString(16)}::1`),
      ),
    );
    assert.deepEqual(statuses(answers), { compared: LIMIT, refused: AT_ONCE - LIMIT, all: AT_ONCE });
    gateway.ctx.clock.advance(MINUTE_MS);
  });

  test('security S4: one /64 of IPv6 is one address', async () => {
    const guesses = await Promise.all(
      Array.from({ length: 3 }, async (_, index) => {
        const { member, code } = await addCareful();
        const { enter } = await startSignIn(member);
        return Array.from({ length: LIMIT }, (__, guess) =>
          enter(wrong(code()), gateway.url, `2001:db8:7:7::${index}:${guess}`),
        );
      }),
    );
    const answers = await Promise.all(guesses.flat());
    assert.equal(statuses(answers).compared, LIMIT);
    gateway.ctx.clock.advance(MINUTE_MS);
  });

  test('security S4: the proof before secrets and payouts has the same limit, in both processes', async () => {
    const { member, code } = await addCareful();
    const person = await signIn(gateway, member, { confirmed: false });
    const enter = (value: string, url = gateway.url) =>
      visitor({ ...gateway, url }, person.cookie, person.csrf).post('/console/confirm', { code: value });
    const answers = await Promise.all(
      Array.from({ length: AT_ONCE }, (_, index) => enter(wrong(code()), index % 2 === 0 ? gateway.url : second.url)),
    );
    assert.deepEqual(statuses(answers), { compared: LIMIT, refused: AT_ONCE - LIMIT, all: AT_ONCE });
    gateway.ctx.clock.advance(MINUTE_MS);
    for (let proof = 0; proof <= LIMIT; proof++) {
      gateway.ctx.clock.advance(30_000);
      assert.equal((await enter(code())).status, 303, 'right codes are given back');
    }
  });
});

/** Resolves once so many of the answers are there. */
function settled(answers: Promise<unknown>[], count: number): Promise<void> {
  return new Promise((resolve) => {
    let left = count;
    for (const answer of answers)
      void answer.then(() => {
        if (--left === 0) resolve();
      });
  });
}

/** What another process shares with the first: the database and the master key, and no memory. */
async function startSecondProcess(gateway: TestGateway): Promise<{ url: string; close(): Promise<void> }> {
  const { config, clock, databaseTime, log, vault, databaseUrl } = gateway.ctx;
  const db = connectDatabase({ ...PATIENCE, url: databaseUrl, poolSize: 10, applicationName: 'simbi-test' });
  const context = { config, clock, databaseTime, log, vault, db, memory: createMemory(), metrics: createMetrics() };
  const services = await createServices(context);
  const app = createApp(services);
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  return {
    url,
    async close() {
      await app.close();
      await services.stop();
      await db.close();
    },
  };
}
