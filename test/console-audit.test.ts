// The audit log as people read it: a sentence for everything it records, in every language, and filters.

import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { LANGUAGE_CODES } from '../src/console/messages.ts';
import { COMMAND_LINE, recordAudit } from '../src/holders/audit.ts';
import { AUDIT_ACTIONS, AUDIT_KINDS, isAuditAction } from '../src/holders/audit-actions.ts';
import { addKey } from '../src/holders/keys.ts';
import { addPerson, type Person } from './console-harness.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';
import { createShop, type Shop } from './shop.ts';
import { CONSOLE_TEXTS } from './texts.ts';

const ROOT = join(import.meta.dirname, '..');

test('every name that the audit log records has its sentence, in every language', () => {
  const names = AUDIT_KINDS.flatMap((kind) => [...AUDIT_ACTIONS[kind]]);
  assert.equal(new Set(names).size, names.length, 'each name is in one group');
  for (const code of LANGUAGE_CODES)
    for (const name of names) {
      const sentence = CONSOLE_TEXTS[code].audit.actions[name]('Subject', { amount: 'KES 5', role: 'Owner' });
      assert.ok(sentence.length > 4 && !sentence.includes('.'), `${code} ${name}: ${sentence}`);
    }
  // Names that triggers write are checked by no compiler.
  const inTriggers = globSync('migrations/0*.sql', { cwd: ROOT }).flatMap((file) =>
    [...readFileSync(join(ROOT, file), 'utf8').matchAll(/insert into audit_log[^;]*?'([a-z_]+\.[a-z_]+)'/g)].map(
      ([, name]) => name,
    ),
  );
  assert.deepEqual(new Set(inTriggers), new Set(['member.signed_in']));
  assert.ok(inTriggers.every((name) => name !== undefined && isAuditAction(name)));
});

describe('the page of the audit log', () => {
  let gateway: TestGateway;
  let shop: Shop;
  let owner: Person;

  before(async () => {
    gateway = await createTestGateway();
    const { ctx } = gateway;
    shop = await createShop(ctx, 'Web shop');
    owner = await addPerson(gateway, shop.holderId, 'owner', 'amina@example.org');
    await ctx.db.query(`update members set name = 'Amina' where id = $1`, [owner.member.id]);
    const actor = { memberId: owner.member.id, name: 'amina@example.org' };
    await addKey(ctx, actor, shop.holderId, shop.id, { name: 'till', scopes: ['collect'], allowedAddresses: [] });
    await owner.post('/console/balances/top-up', { amount: '500', currency: 'KES' });
  });
  after(() => gateway?.close());

  test('an entry is a sentence, its details have names, and money its currency', async () => {
    const { text } = await owner.get('/console/audit');
    assert.match(text, /<bdi>Amina<\/bdi><\/b> added the API key till to Web shop/);
    assert.match(text, /Scopes: <bdi>collect<\/bdi>/);
    assert.match(text, /<bdi>The command line<\/bdi><\/b> added amina@example\.org to the team as Owner/);
    const french = await owner.get('/console/audit', { 'accept-language': 'fr' });
    assert.match(french.text, /<bdi>Amina<\/bdi><\/b> a ajouté la clé API till à Web shop/);
  });

  test('a settlement has its amount, which is stored as a decimal, and its words are translated', async () => {
    const { ctx } = gateway;
    const { holderId } = shop;
    const rule = { destination: 'KCB ••••3456', schedule: 'weekly', minimum: '500' };
    const entries = [
      { action: 'settlement.taken', subject: 'set_1', details: { amount: '1000', currency: 'KES', period: 'hand-1' } },
      { action: 'settlement.taken', subject: 'set_2', details: { amount: '25.50', currency: 'KES', period: 'hand-2' } },
      { action: 'settlement.rule_changed', subject: 'KES', details: rule },
      { action: 'day.closed', subject: 'kenya', details: { day: '2026-03-01', currency: 'KES' } },
    ] as const;
    await ctx.db.transaction(async (tx) => {
      for (const entry of entries) await recordAudit(tx, { holderId, actor: COMMAND_LINE, ...entry }, ctx.clock.now());
    });
    const page = async (language: string) =>
      (await owner.get('/console/audit', { 'accept-language': language })).text.replace(/[\u00a0\u202f]/g, ' ');
    const english = await page('en');
    assert.match(english, /started settlement set_1 of KES 1 000</);
    assert.match(english, /started settlement set_2 of KES 25\.50</);
    assert.match(english, /changed the settlement of KES: KCB ••••3456, every week</);
    assert.match(english, /Minimum: <bdi>KES 500<\/bdi>/);
    assert.match(english, /2026-03-01 of kenya in KES</);
    assert.doesNotMatch(english, /undefined|period:|schedule:|destination:/);
    assert.match(await page('fr'), /KCB ••••3456, chaque semaine</);
  });

  test('it is filtered by person, kind and days, and the file has the same rows', async () => {
    const deeds = async (query: string) =>
      [...(await owner.get(`/console/audit?${query}`)).text.matchAll(/<span title="([a-z_.]+)">/g)].map(
        ([, name]) => name,
      );
    assert.deepEqual(await deeds('person=amina%40example.org&kind=developers'), ['integration.key_added']);
    assert.deepEqual(await deeds('kind=people'), ['member.added']);
    assert.deepEqual(await deeds('to=2020-01-01'), []);
    assert.ok((await deeds('from=2020-01-01')).length >= 3);
    const file = (await owner.get('/console/audit.csv?kind=people')).text;
    assert.match(file, /The command line added amina@example\.org to the team as Owner/);
    assert.ok(!file.includes('integration.key_added'));
  });
});
