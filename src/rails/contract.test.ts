// What every rail must keep, whoever the operator is. A new rail adds a harness: a far side that can be told how to
// misbehave. Everything below then runs against it.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import fc from 'fast-check';
import { createCallbackReceiver } from '../../test/callback-receiver.ts';
import { createTestContext } from '../../test/harness.ts';
import { loadCatalog } from '../catalog/catalog.ts';
import { LARGEST_AMOUNT } from '../platform/money.ts';
import type { WireFault } from '../sandbox/scripts.ts';
import { createSimulatedOperator } from '../sandbox/simulated-operator.ts';
import { type CallbackRequest, type CollectCall, MAX_RAW_CHARACTERS, type Rail, type RailMethod } from './rail.ts';
import { createRails } from './registry.ts';

/** How the far side misbehaves. `after`: it did what was asked, and only the answer is spoilt. */
const SPOILT_AFTER = ['timeout', 'error', 'reset', 'garbage', 'html', 'huge', 'drip', 'redirect'] as const;
const SPOILT_BEFORE = ['timeout', 'error', 'reset', 'down'] as const;
type Spoilt =
  | { accepted: true; how: (typeof SPOILT_AFTER)[number] }
  | { accepted: false; how: (typeof SPOILT_BEFORE)[number] };

type Harness = {
  rail: Rail;
  method: RailMethod;
  currency: string;
  /** A payer whose money moves at once, and one whose money moves and is told by callback. */
  payer: string;
  payerByCallback: string;
  /** Spoils the next call, or every call until `heal`. */
  spoil(what: Spoilt, times?: number): void;
  heal(): void;
  /** How often the far side moved money under this reference. */
  countCharges(reference: string): Promise<number>;
  /** The callbacks that the far side sends for what has happened until now. */
  takeCallbacks(): Promise<CallbackRequest[]>;
  close(): Promise<void>;
};

async function createSandboxHarness(): Promise<Harness> {
  const ctx = await createTestContext();
  const gateway = await createCallbackReceiver();
  const operator = createSimulatedOperator(ctx, { gatewayUrl: gateway.url, silenceMs: 5_000 });
  await operator.listen();
  const rails = createRails(ctx, { sandboxOperatorUrl: operator.url, timeoutMs: 300 });
  const method = loadCatalog().methods.get('MTN_MOMO_UGA');
  assert.ok(method);
  const rail = rails.railFor(method, 'sandbox');
  assert.ok(rail);
  return {
    rail,
    method,
    currency: 'UGX',
    payer: '256772345000',
    payerByCallback: '256772345006',
    spoil(what, times = 1) {
      const fault = (what.accepted ? `${what.how}_after` : what.how) as WireFault;
      operator.scripts.add({ call: 'any', fault, times });
    },
    heal: () => operator.scripts.clear(),
    async countCharges(reference) {
      const rows = await ctx.db.query(`select from sandbox_payments where reference = $1 and status = 'succeeded'`, [
        reference,
      ]);
      return rows.length;
    },
    async takeCallbacks() {
      while ((await operator.runDueOutcomes()) > 0);
      return gateway.received.splice(0);
    },
    async close() {
      await rails.close();
      await operator.close();
      await gateway.close();
      await ctx.close();
    },
  };
}

describeRail('sandbox', createSandboxHarness);

function describeRail(name: string, createHarness: () => Promise<Harness>): void {
  describe(`the ${name} rail keeps the contract`, () => {
    let far: Harness;
    let sequence = 0;
    before(async () => {
      far = await createHarness();
    });
    after(() => far.close());
    beforeEach(async () => {
      far.heal();
      await far.takeCallbacks();
    });

    const createReference = () => `TX_CONTRACT${String(++sequence).padStart(10, '0')}`;
    const call = (changes: Partial<CollectCall> = {}): CollectCall => ({
      reference: createReference(),
      method: far.method,
      msisdn: far.payer,
      amount: 150_000n,
      currency: far.currency,
      label: 'Kampala Books',
      verified: false,
      ...changes,
    });
    const query = (reference: string) =>
      far.rail.query({ reference, direction: 'collection', method: far.method, railReference: null });

    test('a submit that succeeds says so, with a receipt and the exact amount', async () => {
      const { observation, raw } = await far.rail.collect(call({ amount: 123_456n }));
      assert.equal(observation.state, 'succeeded');
      assert.ok(observation.state === 'succeeded' && observation.receipt);
      assert.equal(observation.amount, 123_456n);
      assert.equal(observation.currency, far.currency);
      assert.ok(raw.length > 0 && raw.length <= MAX_RAW_CHARACTERS);
    });

    test('amounts are exact up to the largest', async () => {
      const amounts = fc.oneof(fc.bigInt(1n, LARGEST_AMOUNT), fc.constantFrom(1n, 10n, 99n, 100n, LARGEST_AMOUNT));
      await fc.assert(
        fc.asyncProperty(amounts, async (amount) => {
          const given = call({ amount });
          const { observation } = await far.rail.collect(given);
          const asked = await query(given.reference);
          assert.ok(observation.state === 'succeeded' && asked.observation.state === 'succeeded');
          assert.equal(observation.amount, amount);
          assert.equal(asked.observation.amount, amount);
        }),
        { numRuns: 25 },
      );
    });

    test('one reference submitted many times at once charges once, and every answer names the same receipt', async () => {
      const given = call();
      const replies = await Promise.all(Array.from({ length: 20 }, () => far.rail.collect(given)));
      const receipts = replies.map(({ observation }) => observation.state === 'succeeded' && observation.receipt);
      assert.equal(new Set(receipts).size, 1);
      assert.ok(receipts[0]);
      assert.equal(await far.countCharges(given.reference), 1);
    });

    test('a known reference with another amount is not charged, and proves nothing', async () => {
      const given = call();
      await far.rail.collect(given);
      const { observation } = await far.rail.collect({ ...given, amount: given.amount + 1n });
      assert.equal(observation.state, 'unknown');
    });

    test('payouts are idempotent too', async () => {
      const { verified: _, ...given } = call();
      const first = await far.rail.payout(given);
      const second = await far.rail.payout(given);
      assert.equal(first.observation.state, 'succeeded');
      assert.deepEqual(second.observation, first.observation);
    });

    for (const how of SPOILT_AFTER) {
      test(`${how} after the operator accepted is unknown, and the query then tells the truth`, async () => {
        const given = call();
        far.spoil({ accepted: true, how });
        const { observation, raw } = await far.rail.collect(given);
        assert.equal(observation.state, 'unknown');
        assert.ok(observation.state === 'unknown' && !observation.definitelyNotFound);
        assert.ok(raw.length <= MAX_RAW_CHARACTERS);
        assert.equal((await query(given.reference)).observation.state, 'succeeded');
        assert.equal((await far.rail.collect(given)).observation.state, 'succeeded');
        assert.equal(await far.countCharges(given.reference), 1);
      });
    }

    for (const how of SPOILT_BEFORE) {
      test(`${how} before the operator accepted is unknown, and the query then says: definitely not found`, async () => {
        const given = call();
        far.spoil({ accepted: false, how });
        const { observation } = await far.rail.collect(given);
        assert.equal(observation.state, 'unknown');
        assert.ok(observation.state === 'unknown' && !observation.definitelyNotFound);
        const asked = (await query(given.reference)).observation;
        assert.ok(asked.state === 'unknown' && asked.definitelyNotFound);
        assert.equal(await far.countCharges(given.reference), 0);
      });
    }

    test('a query that fails never says not found', async () => {
      for (const how of SPOILT_AFTER) {
        far.spoil({ accepted: true, how });
        const { observation } = await query('TX_NEVER_SUBMITTED');
        assert.ok(observation.state === 'unknown' && !observation.definitelyNotFound, how);
      }
    });

    test('a spoilt refund is unknown, and given back once', async () => {
      if (far.rail.refund === undefined) return;
      const given = call();
      await far.rail.collect(given);
      const refund = { ...given, railReference: null };
      far.spoil({ accepted: true, how: 'error' });
      assert.equal((await far.rail.refund(refund)).observation.state, 'unknown');
      assert.equal((await far.rail.refund(refund)).observation.state, 'reversed');
      assert.equal((await query(given.reference)).observation.state, 'reversed');
    });

    test('what was not paid is not given back', async () => {
      const refund = { ...call(), railReference: null };
      const unknown = await far.rail.refund?.(refund);
      assert.equal(unknown?.observation.state, 'unknown');
      await far.rail.collect(refund);
      const partial = await far.rail.refund?.({ ...refund, amount: refund.amount - 1n });
      assert.equal(partial?.observation.state, 'failed');
      assert.equal((await query(refund.reference)).observation.state, 'succeeded');
    });

    test('a token that was not taken is not called sent', async () => {
      if (far.rail.sendToken === undefined) return;
      const token = { msisdn: far.payer, text: '123456', method: far.method };
      assert.equal((await far.rail.sendToken(token)).sent, true);
      far.spoil({ accepted: true, how: 'timeout' });
      assert.equal((await far.rail.sendToken(token)).sent, false);
    });

    describe('callbacks', () => {
      let given: CollectCall;
      let genuine: CallbackRequest;
      beforeEach(async () => {
        given = call({ msisdn: far.payerByCallback });
        assert.equal((await far.rail.collect(given)).observation.state, 'pending');
        const callback = (await far.takeCallbacks())[0];
        assert.ok(callback);
        genuine = callback;
      });

      test('a genuine one is proof, or at least a hint; read again it says the same', () => {
        const readings = far.rail.readCallback(genuine);
        assert.equal(readings.length, 1);
        const [reading] = readings;
        assert.ok(reading?.kind === 'proof' || reading?.kind === 'hint');
        assert.equal(reading.reference, given.reference);
        if (reading.kind === 'proof') {
          assert.ok(reading.observation.state === 'succeeded' && reading.observation.receipt);
          assert.equal(reading.observation.amount, given.amount);
        }
        assert.deepEqual(far.rail.readCallback(genuine), readings);
      });

      test('a forged one never proves anything', () => {
        const tampered = Buffer.from(genuine.body.toString().replace('1500', '9500'));
        assert.notDeepEqual(tampered, genuine.body);
        const signature = String(genuine.headers['x-operator-signature']);
        const forged: CallbackRequest[] = [
          { ...genuine, body: tampered },
          { ...genuine, headers: {} },
          { ...genuine, path: '/operators/another' },
          { ...genuine, body: Buffer.alloc(0) },
          { ...genuine, body: Buffer.alloc(10_000_000, '[') },
          { ...genuine, headers: { ...genuine.headers, 'x-operator-signature': signature.replace(/.$/, 'z') } },
          { ...genuine, headers: { ...genuine.headers, 'x-operator-signature': signature.replace(/t=\d+/, 't=1') } },
          { ...genuine, headers: { ...genuine.headers, 'x-operator-signature': [signature, signature] } },
        ];
        for (const request of forged)
          for (const reading of far.rail.readCallback(request))
            assert.ok(reading.kind === 'rejected' || reading.kind === 'hint', JSON.stringify(reading));
      });

      test('any bytes whatever are read without an exception', () => {
        fc.assert(
          fc.property(fc.uint8Array({ maxLength: 300 }), fc.string(), (bytes, header) => {
            const headers = { ...genuine.headers, 'x-operator-signature': header };
            for (const reading of far.rail.readCallback({ ...genuine, headers, body: Buffer.from(bytes) }))
              assert.ok(reading.kind === 'rejected' || reading.kind === 'hint');
          }),
        );
      });
    });

    test('an operator that is gone is unknown, not an exception', async () => {
      await far.close();
      assert.equal((await far.rail.collect(call())).observation.state, 'unknown');
      far = await createHarness();
    });
  });
}
