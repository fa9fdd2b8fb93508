// The statement that accepts collections leaves out what no request of its batch needs, and has no arrays for one request alone.
// Whatever is left out, it writes the same.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { createTestContext, type TestContext } from '../../test/harness.ts';
import { collectionOrder, silentRail, withPayments } from '../../test/payments.ts';
import { createShop, type Shop } from '../../test/shop.ts';
import { sha256 } from '../platform/secrets.ts';
import { type CollectionWriter, createCollectionWriter } from './accept.ts';
import type { PaymentsContext } from './context.ts';
import type { PaymentEngine } from './engine.ts';
import { findTransaction } from './transactions.ts';

/** The rail of this test expects a confirmation from numbers that end so. */
const CONFIRMED = '7';
const EITHER = [false, true];

describe('batches of accepted collections', () => {
  let base: TestContext & { close(): Promise<void> };
  let ctx: PaymentsContext & TestContext;
  let shop: Shop;
  let writer: CollectionWriter;
  let numbers = 0;
  const engine = { hasCapacity: () => false, leaveToOthers: () => undefined } as unknown as PaymentEngine;

  before(async () => {
    base = await createTestContext({ OPEN_PROMPTS_PER_NUMBER: '1' });
    ctx = withPayments(
      base,
      silentRail({
        accountReferenceOf: ({ reference, msisdn }) => (msisdn.endsWith(CONFIRMED) ? `ref ${reference}` : null),
      }),
    );
    shop = await createShop(ctx, 'One');
    writer = createCollectionWriter(ctx, engine);
  });
  after(() => base.close());

  type Needs = { keys: boolean; prompts: boolean; references: boolean };
  type Request = { signature?: string; key?: string | null; msisdn: string };

  function accept({ signature = randomBytes(32).toString('hex'), key = null, msisdn }: Request) {
    const { holderId, id } = shop;
    return writer.accept(collectionOrder({ holderId, integrationId: id }, 'quiet', { msisdn }), {
      signature: { signature, signedAt: ctx.clock.now() },
      idempotency: key === null ? null : { key, paramsHash: sha256(key), operation: 'collection', answer: () => ({}) },
    });
  }

  /** A new number. Those of the sandbox that answer by themselves (…000 to …012) have no limit. */
  function numberFor({ prompts, references }: Omit<Needs, 'keys'>): string {
    const end = references ? `${prompts ? '9' : '0'}0${CONFIRMED}` : `${prompts ? '9' : '0'}01`;
    return `25677${String(numbers++).padStart(4, '0')}${end}`;
  }

  async function acceptAndRepeat({ count, keys, prompts, references }: Needs & { count: number }): Promise<void> {
    const requests = Array.from({ length: count }, () => ({
      signature: randomBytes(32).toString('hex'),
      key: keys ? randomBytes(8).toString('hex') : null,
      msisdn: numberFor({ prompts, references }),
    }));
    const accepted = (await Promise.all(requests.map(accept))).map((answer) => {
      assert.ok(answer.kind === 'accepted');
      return answer.transaction;
    });
    const ids = accepted.map(({ id }) => id);
    const stored = await Promise.all(ids.map((id) => findTransaction(ctx.db, shop.holderId, id)));
    assert.deepEqual(stored, accepted, 'what is stored is what was answered');
    const [written] = await ctx.db.query<Record<string, bigint>>(
      `select (select count(*) from payment_jobs where transaction_id = any ($1)) as jobs,
              (select count(*) from payment_instructions where transaction_id = any ($1)) as "references",
              (select count(*) from number_limits where prompt_ids && $1::uuid[]) as prompts,
              (select count(*) from idempotency_keys where key = any ($2)) as keys,
              (select count(*) from spent_signatures where signature = any ($3) and signed_at = $4) as signatures`,
      [
        ids,
        requests.map(({ key }) => key),
        requests.map(({ signature }) => Buffer.from(signature, 'hex')),
        ctx.clock.now(),
      ],
    );
    const all = BigInt(count);
    assert.deepEqual(written, {
      jobs: all,
      references: references ? all : 0n,
      prompts: prompts ? all : 0n,
      keys: keys ? all : 0n,
      signatures: all,
    });

    const again = await Promise.all(
      requests.map((request) => accept({ ...request, msisdn: numberFor({ prompts: false, references }) })),
    );
    assert.deepEqual(new Set(again.map(({ kind }) => kind)), new Set(['signature_reused']), 'each works once');
    const repeated = await Promise.all(
      requests.map(({ key, msisdn }) => accept({ key, msisdn: prompts ? msisdn : numberFor({ prompts, references }) })),
    );
    const expected = prompts ? 'number_limited' : keys ? 'key_taken' : 'accepted';
    assert.deepEqual(new Set(repeated.map(({ kind }) => kind)), new Set([expected]), 'sent again with a new signature');
  }

  for (const count of [1, 4])
    for (const keys of EITHER)
      for (const prompts of EITHER)
        for (const references of EITHER)
          test(`${count} with keys ${keys}, prompts ${prompts}, references ${references}`, () =>
            acceptAndRepeat({ count, keys, prompts, references }));

  test('one request of a batch that needs more changes nothing for the others', async () => {
    const plain = Array.from({ length: 3 }, () => ({ msisdn: numberFor({ prompts: false, references: false }) }));
    const limited = { msisdn: numberFor({ prompts: true, references: true }), key: 'with everything' };
    const kinds = (await Promise.all([...plain, limited, limited].map(accept))).map(({ kind }) => kind);
    assert.deepEqual(kinds, ['accepted', 'accepted', 'accepted', 'accepted', 'key_taken']);
  });
});
