// Pages about people: the team with its invitations, and the choices of one person: theme and language.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { addPerson, type Person, visitor } from './console-harness.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';
import { createShop } from './shop.ts';

describe('people in the console', () => {
  let gateway: TestGateway;
  let owner: Person;
  let viewer: Person;

  before(async () => {
    gateway = await createTestGateway();
    const { holderId } = await createShop(gateway.ctx, 'Shop');
    owner = await addPerson(gateway, holderId, 'owner');
    viewer = await addPerson(gateway, holderId, 'viewer');
  });
  after(() => gateway?.close());

  test('an owner opens a person, changes the role with its meaning beside it, and removes them; others cannot', async () => {
    const path = `/console/team/${viewer.member.id}`;
    assert.match((await owner.get('/console/team')).text, new RegExp(`href="${path}"`));
    assert.ok(!(await viewer.get('/console/team')).text.includes(path));
    assert.equal((await viewer.get(path)).status, 403);
    const page = (await owner.get(path)).text;
    assert.match(page, /value="finance"[^>]*>\s*<span>Finance<span class="muted">payouts, refunds/);
    assert.equal((await owner.post(path, { role: 'finance' })).location, '/console/team?done=saved');
    assert.match((await owner.get(path)).text, /value="finance" required checked/);
    const alone = `/console/team/${owner.member.id}`;
    const refused = await owner.post(alone, { role: '' });
    assert.equal(refused.status, 400);
    assert.match(refused.text, /An account needs at least one owner\./);
    for (const unclear of [{}, { role: 'manager' }]) {
      assert.equal((await owner.post(path, unclear)).status, 400, 'nobody is removed by a form that does not say so');
      assert.equal((await owner.get(path)).status, 200);
    }
    assert.equal((await owner.post(path, { role: '' })).location, '/console/team?done=saved');
    assert.equal((await owner.get(path)).status, 404);
  });

  test('an invitation to an address that is none keeps what was typed', async () => {
    const { status, text } = await owner.post('/console/team/invite', { email: 'new@example', role: 'finance' });
    assert.equal(status, 400);
    assert.match(text, /name="email" type="email" value="new@example"/);
    assert.match(text, /value="finance" required checked/);
  });

  test('an invitation that is sent again replaces the first: its link no longer works', async () => {
    const linkIn = (page: string) => /(\/console\/invitations\/inv_[\w-]+)/.exec(page)?.[1] ?? '';
    const first = linkIn(
      (await owner.post('/console/team/invite', { email: 'new@example.org', role: 'finance' })).text,
    );
    const again =
      /\/console(\/team\/invitations\/\d+\/resend)/.exec((await owner.get('/console/team')).text)?.[1] ?? '';
    const second = linkIn((await owner.post(`/console${again}`)).text);
    assert.notEqual(second, first);
    assert.equal((await visitor(gateway, '').get(second)).status, 200);
    assert.notEqual((await visitor(gateway, '').get(first)).status, 200);
    const page = (await owner.get('/console/team')).text;
    assert.equal(page.split('new@example.org').length - 1, 1, 'one invitation waits');
    assert.equal((await owner.post(`/console${again}`)).status, 404, 'not twice');
  });

  test('a theme is chosen by a link and kept by a cookie, on every page of ours', async () => {
    const chosen = await owner.get('/console/account?theme=dark');
    assert.match(chosen.text, /<html lang="en" data-theme="dark">/);
    assert.match(chosen.headers.get('set-cookie') ?? '', /theme=dark; Max-Age=\d+; Path=\/; HttpOnly; SameSite=Lax/);
    const cookie = `${owner.cookie}; theme=dark`;
    for (const path of ['/console', '/docs', '/', '/console/nothing'])
      assert.match(
        (await visitor(gateway, cookie).get(path, { accept: 'text/html' })).text,
        /<html[^>]* data-theme="dark"/,
        path,
      );
    const odd = await visitor(gateway, `${owner.cookie}; theme=x"onload`).get('/console');
    assert.match(odd.text, /<html lang="en">/);
    const system = await visitor(gateway, cookie).get('/console/account?theme=system');
    assert.match(system.text, /<html lang="en">/);
    assert.match(system.headers.get('set-cookie') ?? '', /theme=; Max-Age=0|theme=system; Max-Age=0/);
  });
});
