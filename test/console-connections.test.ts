// Connections in the console: a form made from the schema of a rail, what is shown of a connection, and who may do what.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type RunningSimulator, startSimulator } from '../simulators/frame.ts';
import { SIMULATORS } from '../simulators/index.ts';
import { collectInKenya } from './client.ts';
import { addPerson, type Person } from './console-harness.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';
import { createShop, type Shop } from './shop.ts';
import { CONSOLE_TEXTS } from './texts.ts';

describe('connections in the console', () => {
  let gateway: TestGateway;
  let simulator: RunningSimulator;
  let shop: Shop;
  let admin: Person;

  before(async () => {
    const entry = SIMULATORS.daraja;
    assert.ok(entry);
    simulator = await startSimulator(entry.create, { settings: { ...entry.settings } });
    gateway = await createTestGateway();
    shop = await createShop(gateway.ctx);
    admin = await addPerson(gateway, shop.holderId, 'owner', 'admin@example.org', { admin: true });
  });
  after(async () => {
    await gateway.close();
    await simulator.close();
  });

  const auditOf = async (subject: string) =>
    (
      await gateway.ctx.db.query<{ action: string }>('select action from audit_log where subject = $1 order by id', [
        subject,
      ])
    ).map(({ action }) => action);

  test('every setting of every rail has its label and its hint in every language', async () => {
    const settings = gateway.ctx.rails.definitions.flatMap((definition) => definition.settings);
    for (const code of ['fr', 'pt', 'sw'] as const) {
      const { railLabels, railHints } = CONSOLE_TEXTS[code];
      const sorted = (texts: readonly string[]) => [...new Set(texts)].sort();
      assert.deepEqual(Object.keys(railLabels).sort(), sorted(settings.map(({ label }) => label)));
      assert.deepEqual(Object.keys(railHints).sort(), sorted(settings.map(({ help }) => help)));
      for (const hint of Object.values(railHints)) assert.doesNotMatch(hint, /\b(?:the|is|of|your|this|with)\b/i);
    }
    const form = await admin.get('/console/admin/rails/new?rail=daraja&environment=sandbox', {
      'accept-language': 'fr',
    });
    assert.match(form.text, /Mot de passe de l’initiateur/);
    assert.match(form.text, /Le short code B2C d’où partent les virements\./);
    assert.doesNotMatch(form.text, /The B2C short code/);
  });

  test('in sandbox mode the form offers simulators and sandboxes, never production', async () => {
    const { text } = await admin.get('/console/admin/rails/new');
    assert.match(text, /rail=daraja&(amp;)?environment=simulator/);
    assert.match(text, /rail=daraja&(amp;)?environment=sandbox/);
    assert.doesNotMatch(text, /environment=production/);
  });

  test('every error is named at once, and no secret is shown again', async () => {
    const answer = await admin.post('/console/admin/rails', {
      rail: 'daraja',
      environment: 'sandbox',
      name: 'Daraja!',
      consumer_key: 'my-consumer-key',
      shortcode: 'abc',
      methods: 'MPESA_KEN NOT_A_METHOD',
    });
    assert.equal(answer.status, 400);
    for (const sentence of [/is not a name/, /Consumer secret is missing/, /Short code for prompts/, /NOT_A_METHOD/])
      assert.match(answer.text, sentence);
    assert.doesNotMatch(answer.text, /my-consumer-key/);
  });

  test('a connection is made, tested, used, changed, paused, resumed and removed', async () => {
    const made = await admin.post('/console/admin/rails', {
      rail: 'daraja',
      environment: 'simulator',
      name: 'kenya',
      base_url: simulator.url,
      methods: gateway.ctx.rails.definitions.find(({ name }) => name === 'daraja')?.methods.join('\n') ?? '',
      route: 'yes',
    });
    assert.equal(made.location, '/console/admin/rails/kenya?done=connectionCreated');
    assert.match((await admin.post('/console/admin/rails/kenya/test')).text, /callbacks reach/);
    // Only some calls of each pass are kept: those of the test must not crowd out the payment.
    await storeCalls();
    await collectInKenya(gateway, shop, { mobile: '254708374149' });
    await storeCalls();
    const page = await admin.get('/console/admin/rails/kenya');
    assert.match(page.text, /\/mpesa\/stkpush\/v1\/processrequest/);
    assert.doesNotMatch(page.text, /simulated-consumer-secret|simulated-passkey/);
    assert.match((await admin.get('/console/admin/rails')).text, /href="\/console\/admin\/rails\/kenya"/);
    const changed = await admin.post('/console/admin/rails/kenya/settings', {
      ...(await settingsOf('kenya')),
      business_name: 'Duka la Amani',
    });
    assert.equal(changed.location, '/console/admin/rails/kenya?done=saved');
    await admin.post('/console/admin/rails/kenya/pause');
    assert.match((await admin.get('/console/admin/rails/kenya')).text, /paused/);
    await admin.post('/console/admin/rails/kenya/resume');
    await gateway.ctx.db.query(`delete from payment_jobs`);
    await admin.post('/console/admin/rails/kenya/remove');
    assert.deepEqual(await auditOf('kenya'), [
      'connection.created',
      'connection.changed',
      'connection.paused',
      'connection.resumed',
      'connection.removed',
    ]);
  });

  const storeCalls = () => gateway.services.jobs.find(({ name }) => name === 'operator_calls')?.pass();

  /** What the form of the settings holds, as a browser sends it. */
  async function settingsOf(name: string): Promise<Record<string, string>> {
    const [row] = await gateway.ctx.db.query<{ settings: Record<string, string>; methods: string[] }>(
      'select settings, methods from connections where name = $1',
      [name],
    );
    return { ...row?.settings, methods: row?.methods.join('\n') ?? '', matched_callbacks: 'apply' };
  }

  test('connections that share an account are named above the list, in the language of the page', async () => {
    const methods = gateway.ctx.rails.definitions.find(({ name }) => name === 'daraja')?.methods.join('\n') ?? '';
    for (const [name, shortcode, till_number] of [
      ['left', '600100', '600101'],
      ['right', '600200', '600201'],
    ] as const)
      await admin.post('/console/admin/rails', {
        rail: 'daraja',
        environment: 'simulator',
        name,
        base_url: simulator.url,
        methods,
        shortcode,
        paybill_number: shortcode,
        till_number,
        payout_shortcode: '600900',
      });
    const read = async (language = 'en') =>
      (await admin.get('/console/admin/rails', { 'accept-language': language })).text.replaceAll('\u00a0', ' ');
    assert.match(await read(), /class="box[^>]*>left and right pay out from one account/);
    assert.doesNotMatch(await read(), /are one account at/);
    await gateway.ctx.db.query(
      `update connections set settings = settings || '{"shortcode": "600100"}' where name = 'right'`,
    );
    assert.match(await read(), /class="box warning">left and right are one account at M-PESA Kenya/);
    for (const language of ['fr', 'pt', 'sw']) {
      assert.match(await read(language), /class="box warning">left \S+ right /);
      assert.doesNotMatch(await read(language), /one account/);
    }
    await gateway.ctx.db.query(`update connections set removed_at = now() where name in ('left', 'right')`);
  });

  test('a route is changed, and a wrong one is refused in words', async () => {
    const wrong = await admin.post('/console/admin/rails/routes', {
      method: 'MPESA_KEN',
      direction: 'collection',
      connections: 'nobody',
    });
    assert.equal(wrong.status, 400);
    assert.match(wrong.text, /There is no connection .{1,8}nobody/);
  });

  test('only admins see connections, and a change needs a proof of identity', async () => {
    const owner = await addPerson(gateway, shop.holderId, 'owner', 'owner@example.org');
    assert.equal((await owner.get('/console/admin/rails')).status, 403);
    assert.equal((await owner.get('/console/admin/rails/new')).status, 403);
    const stale = await addPerson(gateway, shop.holderId, 'owner', 'stale@example.org', {
      admin: true,
      confirmed: false,
    });
    // A sandbox asks nobody who has nothing to prove it with.
    await gateway.ctx.db.query(`update members set password_hash = 'x' where id = $1`, [stale.member.id]);
    for (const path of ['/console/admin/rails', '/console/admin/rails/first/settings']) {
      const fields = { rail: 'daraja', environment: 'simulator', consumer_secret: 'not to be shown' };
      const answer = await stale.post(path, fields);
      assert.match(answer.location ?? '', /^\/console\/confirm\?next=.*repeatStep/);
      assert.doesNotMatch(answer.text, /not to be shown/, 'a page with the secret');
    }
  });
});
