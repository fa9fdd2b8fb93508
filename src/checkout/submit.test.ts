// The token that a form carries, and the sealed draft of what was typed.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { createTestContext } from '../../test/harness.ts';
import { createVault, type DataKey } from '../platform/secrets.ts';
import { type FormDraft, openDraft, sealDraft } from './form-draft.ts';
import { readFormToken, signForm } from './submit.ts';

const LINK = '01890000-0000-7000-8000-000000000001';
const OTHER = '01890000-0000-7000-8000-000000000002';

const DRAFT: FormDraft = {
  country: 9,
  method: 'ORANGE_SEN',
  phone: '771234567',
  amount: '',
  firstName: '',
  lastName: '',
  email: '',
  notice: null,
};

describe('form tokens', () => {
  let ctx: Awaited<ReturnType<typeof createTestContext>>;
  before(async () => {
    ctx = await createTestContext();
  });
  after(() => ctx.close());

  test('name their link and attempt, and each form is another', () => {
    const [one, two] = [signForm(ctx, LINK, 3), signForm(ctx, LINK, 3)];
    assert.equal(readFormToken(ctx, LINK, one)?.number, 3);
    assert.notDeepEqual(readFormToken(ctx, LINK, one)?.id, readFormToken(ctx, LINK, two)?.id);
    assert.equal(readFormToken(ctx, OTHER, one), null);
  });

  test('cannot be changed or invented', () => {
    const token = Buffer.from(signForm(ctx, LINK, 0), 'base64url');
    fc.assert(
      fc.property(fc.nat(token.length - 1), fc.integer({ min: 1, max: 255 }), (place, flip) => {
        const forged = Buffer.from(token);
        forged[place] = (forged[place] ?? 0) ^ flip;
        assert.equal(readFormToken(ctx, LINK, forged.toString('base64url')), null);
      }),
    );
    fc.assert(fc.property(fc.string(), (text) => assert.equal(readFormToken(ctx, LINK, text), null)));
  });

  test('and drafts outlive a rotation of the keys, until the old key is retired', async () => {
    const key = (version: number): DataKey => ({
      version,
      key: Buffer.alloc(32, version + 1),
      opens: true,
      settled: true,
      recent: true,
    });
    const keys = [key(0)];
    const rotating = {
      ...ctx,
      vault: createVault({ keys: () => keys, reload: async () => undefined, watch: () => () => undefined }),
    };
    const token = signForm(rotating, LINK, 0);
    const draft = sealDraft(rotating, LINK, DRAFT);
    keys.unshift(key(1));
    assert.ok(readFormToken(rotating, LINK, token));
    assert.ok(readFormToken(rotating, LINK, signForm(rotating, LINK, 0)));
    assert.deepEqual(await openDraft(rotating, LINK, draft), DRAFT);
    keys.pop();
    assert.equal(readFormToken(rotating, LINK, token), null);
    assert.equal(await openDraft(rotating, LINK, draft), null);
  });

  test('grow old', () => {
    const token = signForm(ctx, LINK, 0);
    ctx.clock.advance(12 * 3_600_000 + 1);
    assert.equal(readFormToken(ctx, LINK, token), null);
  });

  test('drafts open for their own link only, and hide what was typed', async () => {
    const sealed = sealDraft(ctx, LINK, DRAFT);
    assert.deepEqual(await openDraft(ctx, LINK, sealed), DRAFT);
    assert.equal(await openDraft(ctx, OTHER, sealed), null);
    const forged = Buffer.from(sealed, 'base64url');
    forged[forged.length - 1] = (forged.at(-1) ?? 0) ^ 1;
    assert.equal(await openDraft(ctx, LINK, forged.toString('base64url')), null);
    assert.equal(await openDraft(ctx, LINK, undefined), null);
    assert.ok(!Buffer.from(sealed, 'base64url').includes('771234567'));
  });
});
