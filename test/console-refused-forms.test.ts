// A form of the console that is refused: its page is shown again, with what was typed, and each error stands by its field.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { CONSOLE_ROUTES } from '../src/console/routes.ts';
import { createClient, PATHS, textOf, ugandanCollection } from './client.ts';
import { addPerson, type Person } from './console-harness.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';

let gateway: TestGateway;
let owner: Person;
let admin: Person;
let holderId: bigint;
let shop: Awaited<ReturnType<typeof createClient>>;
let ref: string;

before(async () => {
  gateway = await createTestGateway();
  shop = await createClient(gateway, 'Careful shop');
  holderId = shop.shop.holderId;
  owner = await addPerson(gateway, holderId, 'owner');
  admin = await addPerson(gateway, holderId, 'viewer', 'admin@example.org', { admin: true });
  const collected = await shop.signed(PATHS.collect, ugandanCollection('000'));
  ref = textOf(collected.data.ref);
});
after(() => gateway.close());

type Case = { path: string; page: string; typed: Record<string, string>; wrong: string; by?: 'admin' };

function cases(): Case[] {
  const merchant = `/console/admin/holders/${holderId}`;
  const limit = { direction: 'payout', subject: 'holder', currency: 'KES' };
  return [
    {
      path: '/console/settings/limits',
      page: '/console/settings',
      typed: { ...limit, amount: '12,,5', count: '7' },
      wrong: 'limit-amount',
    },
    {
      path: '/console/settings/limits',
      page: '/console/settings',
      typed: { ...limit, amount: '90', count: 'many' },
      wrong: 'limit-count',
    },
    {
      path: '/console/settings/blocked',
      page: '/console/settings',
      typed: { mobile: '0772 1', reason: 'stolen' },
      wrong: 'blocked-mobile',
    },
    {
      path: '/console/settings/approval/refunds',
      page: '/console/settings',
      typed: { currency: 'KES', limit: '-4' },
      wrong: 'refund-limit-limit',
    },
    {
      path: '/console/balances/top-up',
      page: '/console/balances',
      typed: { currency: 'KES', amount: '1.2.3' },
      wrong: 'amount',
    },
    {
      path: `/console/transactions/${ref}/notes`,
      page: `/console/transactions/${ref}`,
      typed: { note: '' },
      wrong: 'note',
    },
    { path: '/console/callbacks/replay', page: '/console/callbacks', typed: { since: '' }, wrong: 'since' },
    {
      path: `${merchant}/limits`,
      page: merchant,
      typed: { ...limit, amount: 'x', count: '' },
      wrong: 'limit-amount',
      by: 'admin',
    },
    {
      path: `${merchant}/reserve`,
      page: merchant,
      typed: { percent: 'ten', days: '30' },
      wrong: 'reserve-percent',
      by: 'admin',
    },
    {
      path: `${merchant}/fees`,
      page: merchant,
      typed: { method: 'MPESA_KEN', direction: 'payout', percent: '2', fixed: '1..5', least: '3', most: '900' },
      wrong: 'fee-fixed',
      by: 'admin',
    },
    {
      path: '/console/admin/disputes',
      page: '/console/admin/cases',
      typed: { ref: 'nothing', amount: '5', reason: 'goods did not come', notice: 'CB-1', day: '2026-12-01' },
      wrong: 'ref',
      by: 'admin',
    },
  ];
}

/** What the page has in each field of the form: the value of an input, the chosen option, the text of an area. */
function fieldsOf(text: string, action: string): Map<string, string> {
  const form =
    text.split('<form').find((each) => each.includes(`action="${action}"`) && each.includes('class="field"')) ?? '';
  const found = new Map<string, string>();
  for (const [, name = '', value = ''] of form.matchAll(/<input id="f-[^"]+" name="([^"]+)"[^>]*? value="([^"]*)"/g))
    found.set(name, value);
  for (const [, name = '', choices = ''] of form.matchAll(/<select id="[^"]+" name="([^"]+)"[^>]*>(.*?)<\/select>/gs))
    found.set(name, /value="([^"]*)" selected/.exec(choices)?.[1] ?? '');
  for (const [, name = '', value = ''] of form.matchAll(/<textarea id="[^"]+" name="([^"]+)"[^>]*>(.*?)<\/textarea>/gs))
    found.set(name, value.trim());
  return found;
}

describe('a form that is refused', () => {
  test('keeps what was typed, says by the field what is wrong, and is open', async () => {
    for (const { path, page, typed, wrong, by } of cases()) {
      const person = by === 'admin' ? admin : owner;
      const { status, text } = await person.post(path, typed);
      const shown = `${path} ${wrong}`;
      assert.equal(status, 400, shown);
      assert.deepEqual(Object.fromEntries(fieldsOf(text, path)), typed, shown);
      const says = (pattern: string) => assert.ok(new RegExp(pattern, 's').test(text), `${shown}: ${pattern}`);
      says(`id="f-${wrong}"[^>]* aria-invalid="true"`);
      says(`<p class="field-error" id="e-${wrong}">`);
      says(`<div class="box error" role="alert" tabindex="-1" autofocus>.*?href="#f-${wrong}"`);
      assert.ok(!text.includes('data-live'), `${shown}: a page that renews itself`);
      assert.equal((await person.get(page)).text.includes('role="alert"'), false, `${shown}: the page itself`);
    }
  });

  test('what concerns no field is said above them', async () => {
    const looser = { direction: 'collection', subject: 'holder', currency: 'UGX', amount: '', count: '9' };
    await admin.post(`/console/admin/holders/${holderId}/limits`, { ...looser, count: '3' });
    const { status, text } = await owner.post('/console/settings/limits', looser, { 'accept-language': 'fr' });
    assert.equal(status, 400);
    assert.equal(fieldsOf(text, '/console/settings/limits').get('count'), '9');
    assert.match(text, /role="alert"[^>]*>\s*<p>La passerelle permet moins/);
  });

  test('is said to be refused also where its page does not have it any more', async () => {
    const collected = await shop.signed(PATHS.collect, ugandanCollection('000'));
    await gateway.settle();
    const dispute = { ref: textOf(collected.data.ref), reason: 'goods did not come', notice: 'CB-2' };
    const opened = await admin.post('/console/admin/disputes', dispute);
    const id = /case_\w+/.exec(opened.location ?? '')?.[0] ?? '';
    await gateway.ctx.db.query(
      `update cases set status = 'resolved', resolved_by = 'other', resolution = 'given back', settled = amount, resolved_at = now()
       where kind = 'dispute'`,
    );
    const { status, text } = await owner.post(`/console/cases/${id}/evidence`, { note: 'delivered on Monday' });
    assert.equal(status, 409);
    assert.doesNotMatch(text, /<textarea/);
    assert.match(text, /<div class="box error" role="alert"[^>]*>\s*<p>[^<]{10}/);
  });

  test('its address leads to its page, in another language too', async () => {
    for (const { path, page, by } of cases()) {
      const answer = await (by === 'admin' ? admin : owner).get(`${path}?lang=fr`);
      assert.deepEqual([answer.status, answer.location], [303, `${page}?lang=fr`]);
    }
  });

  test('every page that is named exists, for everybody who may send the form', () => {
    for (const { method, path, formOn, access } of CONSOLE_ROUTES) {
      if (formOn === null) continue;
      assert.equal(method, 'POST', path);
      const page = CONSOLE_ROUTES.find((each) => each.method === 'GET' && each.path === formOn);
      assert.ok(page, `${path}: ${formOn}`);
      const isOpen = Array.isArray(access)
        ? access.every((role) => page.access.includes(role))
        : page.access === access;
      assert.ok(isOpen, `${path}: ${formOn} is not for all of them`);
      for (const [name] of formOn.matchAll(/:\w+/g)) assert.ok(path.includes(name), `${path}: ${name}`);
    }
  });
});
