// What makes forms, receipts, colours and names safe: small pure things, tested as tables and by properties.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { createTestContext } from '../../test/harness.ts';
import { createHolderUuid } from '../platform/ids.ts';
import { contrast, DARK_GROUND, LIGHT_GROUND, readAccent } from './accent.ts';
import { type FormDraft, openDraft, readFormToken, sealDraft, signForm } from './form-tokens.ts';
import { initialOf, maskNumber, showName } from './names.ts';
import { findReceipt, normaliseReceiptCode, receiptCode } from './receipt-codes.ts';

const LINK = '01890000-0000-7000-8000-000000000001';
const OTHER = '01890000-0000-7000-8000-000000000002';

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

  test('grow old', () => {
    const token = signForm(ctx, LINK, 0);
    ctx.clock.advance(12 * 3_600_000 + 1);
    assert.equal(readFormToken(ctx, LINK, token), null);
  });

  test('drafts open for their own link only, and hide what was typed', () => {
    const draft: FormDraft = {
      country: 9,
      method: 'ORANGE_SEN',
      phone: '771234567',
      amount: '',
      firstName: '',
      lastName: '',
      email: '',
      notice: null,
    };
    const sealed = sealDraft(ctx, LINK, draft);
    assert.deepEqual(openDraft(ctx, LINK, sealed), draft);
    assert.equal(openDraft(ctx, OTHER, sealed), null);
    assert.equal(openDraft(ctx, LINK, `${sealed.slice(0, -2)}AA`), null);
    assert.equal(openDraft(ctx, LINK, undefined), null);
    assert.ok(!Buffer.from(sealed, 'base64url').includes('771234567'));
  });

  test('a receipt is found by its code however it is typed, and no other code is one', async () => {
    const transaction = { holder_id: 7n, id: createHolderUuid(ctx.clock.millis(), 7n) } as never;
    const code = await receiptCode(ctx as never, transaction);
    assert.match(code, /^[0-9A-Z]{5}-[0-9A-Z]{5}-[0-9A-Z]{4}$/);
    assert.equal(await receiptCode(ctx as never, transaction), code, 'one transaction, one code');
    const typed = code.toLowerCase().replaceAll('-', ' ').replaceAll('0', 'o').replaceAll('1', 'l');
    assert.equal(await findReceipt(ctx, ctx.db, typed), (transaction as { id: string }).id);
    assert.equal(normaliseReceiptCode(typed), code);
    const before = ctx.db.counters.statements;
    const wrong = code.slice(0, -1) + (code.endsWith('7') ? '8' : '7');
    assert.equal(await findReceipt(ctx, ctx.db, wrong), null);
    assert.equal(ctx.db.counters.statements, before, 'a code that was not signed is not even looked up');
    for (const nonsense of ['', 'x', 'A'.repeat(60), "'; drop table receipts; --"])
      assert.equal(await findReceipt(ctx, ctx.db, nonsense), null);
  });
});

test('any colour of a merchant becomes one that can be read, in light and dark', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 0xffffff }), (value) => {
      const { onLight, onDark } = readAccent(`#${value.toString(16).padStart(6, '0')}`);
      assert.ok(contrast(onLight, LIGHT_GROUND) >= 4.5);
      assert.ok(contrast('#ffffff', onLight) >= 4.5, 'white words on the button');
      assert.ok(contrast(onDark, DARK_GROUND) >= 4.5);
    }),
  );
  assert.equal(readAccent('#0b6157').onLight, '#0b6157', 'a good colour stays as it is');
  assert.deepEqual(readAccent('red'), readAccent(null));
  assert.equal(Math.round(contrast('#000000', '#ffffff')), 21);
});

test('names keep to one line and to themselves', () => {
  assert.equal(showName('  Chez\n\tAwa  '), 'Chez Awa');
  assert.equal(showName('\u202egnp.exe\u2069\u0000'), 'gnp.exe');
  assert.equal(showName('Ké́́́́́́'.normalize('NFD')).length <= 6, true);
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) =>
      assert.doesNotMatch(showName(text), /[\p{Cc}\u202a-\u202e\u2066-\u2069]/u),
    ),
  );
  assert.equal(initialOf('élan'), 'É');
  assert.equal(initialOf(''), '•');
});

test('a number is shown so that only its owner can use it', () => {
  const masked = (number: string) => maskNumber(number).replaceAll('\u00a0', ' ');
  assert.equal(masked('0712 345678'), '0712 ••••78');
  assert.equal(masked('01 97 12 34 56'), '01 97 •• •• 56');
  assert.equal(masked('77 123 45 67'), '77 12• •• 67');
});
