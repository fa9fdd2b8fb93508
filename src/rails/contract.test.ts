// What every rail must keep, for any operator. A new rail adds a harness: an operator whose faults can be set.
// All tests below then run against it.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import fc from 'fast-check';
import { createCallbackReceiver } from '../../test/callback-receiver.ts';
import { createTestContext } from '../../test/harness.ts';
import { queryOf } from '../../test/rail-calls.ts';
import { loadCatalog } from '../catalog/catalog.ts';
import { LARGEST_AMOUNT } from '../platform/money.ts';
import type { WireFault } from '../sandbox/scripts.ts';
import { createSimulatedOperator } from '../sandbox/simulated-operator.ts';
import {
  type CallbackRequest,
  type CollectCall,
  MAX_RAW_CHARACTERS,
  type Observation,
  type Rail,
  type RailMethod,
  type RefundCall,
} from './rail.ts';
import { createRails } from './registry.ts';

/** The faults of the operator. `after`: it did the work, and only the response is spoilt. */
const SPOILT_AFTER = ['timeout', 'error', 'reset', 'garbage', 'html', 'huge', 'drip', 'redirect'] as const;
const SPOILT_BEFORE = ['timeout', 'error', 'reset', 'down'] as const;
/** Long enough for the operator to do its work on a busy machine before the caller gives up. */
const SHORT_TIMEOUT_MS = 750;
type Spoilt =
  | { accepted: true; how: (typeof SPOILT_AFTER)[number] }
  | { accepted: false; how: (typeof SPOILT_BEFORE)[number] };

type Harness = {
  rail: Rail;
  /** The same rail with a short time-out, for calls that are never answered. */
  impatientRail: Rail;
  method: RailMethod;
  currency: string;
  /** A payer whose payment succeeds in the reply, and one whose success is reported by callback. */
  payer: string;
  payerByCallback: string;
  /** A number that is registered under no name. */
  unnamed: string;
  /** Sets a fault for the next call, or for `times` calls. */
  spoil(what: Spoilt, times?: number): void;
  heal(): void;
  /** How many times the operator moved money under this reference. */
  countCharges(reference: string): Promise<number>;
  /** How much the operator gave back of this collection. */
  sumRefunded(reference: string): Promise<bigint>;
  /** The callbacks that the operator has sent since the last call. */
  takeCallbacks(): Promise<CallbackRequest[]>;
  close(): Promise<void>;
};

async function createSandboxHarness(): Promise<Harness> {
  const ctx = await createTestContext();
  const gateway = await createCallbackReceiver();
  const operator = createSimulatedOperator(ctx, { gatewayUrl: gateway.url, silenceMs: 5_000 });
  await operator.listen();
  const rails = createRails(ctx, { sandboxOperatorUrl: operator.url });
  const impatientRails = createRails(ctx, { sandboxOperatorUrl: operator.url, timeoutMs: SHORT_TIMEOUT_MS });
  const method = loadCatalog().methods.get('MTN_MOMO_UGA');
  assert.ok(method);
  const rail = rails.railFor(method, 'collection', 1n);
  const impatientRail = impatientRails.railFor(method, 'collection', 1n);
  assert.ok(rail && impatientRail);
  return {
    rail,
    impatientRail,
    method,
    currency: 'UGX',
    payer: '256772345000',
    payerByCallback: '256772345006',
    unnamed: '256772345003',
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
    async sumRefunded(reference) {
      const [row] = await ctx.db.query<{ sum: bigint }>(
        `select coalesce(sum(amount), 0)::bigint as sum from sandbox_refunds
         where payment_reference = $1 and status = 'succeeded'`,
        [reference],
      );
      return row?.sum ?? 0n;
    },
    async takeCallbacks() {
      while ((await operator.runDueOutcomes()) > 0);
      return gateway.received.splice(0);
    },
    async close() {
      await rails.close();
      await impatientRails.close();
      await operator.close();
      await gateway.close();
      await ctx.close();
    },
  };
}

describeRail('sandbox', createSandboxHarness);

function describeRail(name: string, createHarness: () => Promise<Harness>): void {
  describe(`the ${name} rail keeps the contract`, () => {
    let harness: Harness;
    let sequence = 0;
    before(async () => {
      harness = await createHarness();
    });
    after(() => harness.close());
    beforeEach(async () => {
      harness.heal();
      await harness.takeCallbacks();
    });

    /** A rail that gives up soon could do so before a busy operator has begun: only for answers that never end. */
    const railFor = (how: string) => (/timeout|drip/.test(how) ? harness.impatientRail : harness.rail);
    const createReference = () => `TX_CONTRACT${String(++sequence).padStart(10, '0')}`;
    const call = (changes: Partial<CollectCall> = {}): CollectCall => ({
      prepared: null,
      returnUrl: 'https://pay.example.com/',
      reference: createReference(),
      method: harness.method,
      msisdn: harness.payer,
      amount: 150_000n,
      currency: harness.currency,
      merchantName: 'Kampala Books',
      verified: false,
      ...changes,
    });
    const refundOf = (collected: CollectCall, changes: Partial<RefundCall> = {}): RefundCall => ({
      method: collected.method,
      msisdn: collected.msisdn,
      amount: collected.amount,
      currency: collected.currency,
      merchantName: collected.merchantName,
      reference: createReference().replace('TX_', 'RF_'),
      collection: { reference: collected.reference, railReference: null, receipt: null, amount: collected.amount },
      ...changes,
    });
    const query = (reference: string, rail = harness.rail) => rail.query(queryOf(reference, harness.method));

    test('a submit that succeeds says so, with a receipt and the exact amount', async () => {
      const { observation, raw } = await harness.rail.collect(call({ amount: 123_456n }));
      assert.equal(observation.state, 'succeeded');
      assert.ok(observation.state === 'succeeded' && observation.receipt);
      assert.equal(observation.amount, 123_456n);
      assert.equal(observation.currency, harness.currency);
      assert.ok(raw.length > 0 && raw.length <= MAX_RAW_CHARACTERS);
    });

    test('amounts are exact up to the largest', async () => {
      const amounts = fc.oneof(fc.bigInt(1n, LARGEST_AMOUNT), fc.constantFrom(1n, 10n, 99n, 100n, LARGEST_AMOUNT));
      await fc.assert(
        fc.asyncProperty(amounts, async (amount) => {
          const given = call({ amount });
          const { observation } = await harness.rail.collect(given);
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
      const replies = await Promise.all(Array.from({ length: 20 }, () => harness.rail.collect(given)));
      const receipts = replies.map(({ observation }) => observation.state === 'succeeded' && observation.receipt);
      assert.equal(new Set(receipts).size, 1);
      assert.ok(receipts[0]);
      assert.equal(await harness.countCharges(given.reference), 1);
    });

    test('a known reference with another amount is not charged, and is not evidence', async () => {
      const given = call();
      await harness.rail.collect(given);
      const { observation } = await harness.rail.collect({ ...given, amount: given.amount + 1n });
      assert.equal(observation.state, 'unknown');
    });

    test('payouts are idempotent too', async () => {
      const { verified: _, returnUrl: __, ...collected } = call();
      const given = { ...collected, recipientName: null };
      const first = await harness.rail.payout(given);
      const second = await harness.rail.payout(given);
      assert.equal(first.observation.state, 'succeeded');
      assert.deepEqual(second.observation, first.observation);
    });

    for (const how of SPOILT_AFTER) {
      test(`${how} after the operator accepted is unknown, and the query then reports the outcome`, async () => {
        const given = call();
        harness.spoil({ accepted: true, how });
        const { observation, raw } = await railFor(how).collect(given);
        assert.equal(observation.state, 'unknown');
        assert.ok(observation.state === 'unknown' && !observation.definitelyNotFound);
        assert.ok(raw.length <= MAX_RAW_CHARACTERS);
        assert.equal((await query(given.reference)).observation.state, 'succeeded');
        assert.equal((await harness.rail.collect(given)).observation.state, 'succeeded');
        assert.equal(await harness.countCharges(given.reference), 1);
      });
    }

    for (const how of SPOILT_BEFORE) {
      test(`${how} before the operator accepted is unknown, and the query then reports definitely not found`, async () => {
        const given = call();
        harness.spoil({ accepted: false, how });
        const { observation } = await railFor(how).collect(given);
        harness.heal();
        assert.equal(observation.state, 'unknown');
        assert.ok(observation.state === 'unknown' && !observation.definitelyNotFound);
        const asked = (await query(given.reference)).observation;
        assert.ok(asked.state === 'unknown' && asked.definitelyNotFound);
        assert.equal(await harness.countCharges(given.reference), 0);
      });
    }

    test('a query that fails never says not found', async () => {
      for (const how of SPOILT_AFTER) {
        harness.spoil({ accepted: true, how });
        const { observation } = await query('TX_NEVER_SUBMITTED', railFor(how));
        assert.ok(observation.state === 'unknown' && !observation.definitelyNotFound, how);
      }
    });

    describe('refunds', () => {
      let given: CollectCall;
      let receipt: string | null;
      beforeEach(async () => {
        given = call();
        const { observation } = await harness.rail.collect(given);
        assert.ok(observation.state === 'succeeded');
        receipt = observation.receipt;
      });

      const refund = async (refundCall: RefundCall, rail = harness.rail): Promise<Observation> => {
        const reply = await rail.refund?.(refundCall);
        assert.ok(reply);
        return reply.observation;
      };
      const queryRefund = async (reference: string): Promise<Observation> => {
        return (await harness.rail.query(queryOf(reference, harness.method, 'refund'))).observation;
      };
      const isPartial = () => harness.rail.capabilitiesOf(harness.method, 'collection')?.refunds === 'partial';

      test('a rail that says it refunds has the call', () => {
        assert.equal(
          harness.rail.refund !== undefined,
          harness.rail.capabilitiesOf(harness.method, 'collection')?.refunds !== 'none',
        );
      });

      test('money 2: a refund has a receipt of its own, and its collection stays as it was', async () => {
        const whole = refundOf(given);
        const answer = await refund(whole);
        assert.ok(answer.state === 'succeeded' && answer.receipt);
        assert.notEqual(answer.receipt, receipt);
        assert.deepEqual([answer.amount, answer.currency], [given.amount, given.currency]);
        assert.deepEqual(await queryRefund(whole.reference), answer);
        const collected = (await query(given.reference)).observation;
        assert.ok(collected.state === 'succeeded' && collected.receipt === receipt);
      });

      test('money 2: one reference sent many times at once gives back once', async () => {
        const whole = refundOf(given);
        const answers = await Promise.all(Array.from({ length: 20 }, () => refund(whole)));
        const receipts = answers.map((answer) => answer.state === 'succeeded' && answer.receipt);
        assert.equal(new Set(receipts).size, 1);
        assert.ok(receipts[0]);
        assert.equal(await harness.sumRefunded(given.reference), given.amount);
        assert.equal((await refund({ ...whole, amount: whole.amount - 1n })).state, 'unknown', 'another amount');
      });

      for (const how of SPOILT_AFTER)
        test(`money 2: ${how} after a refund was accepted is unknown, and the query then reports its outcome`, async () => {
          const whole = refundOf(given);
          harness.spoil({ accepted: true, how });
          const answer = await refund(whole, railFor(how));
          assert.ok(answer.state === 'unknown' && !answer.definitelyNotFound);
          const asked = await queryRefund(whole.reference);
          assert.ok(asked.state === 'succeeded' && asked.receipt);
          assert.deepEqual(await refund(whole), asked);
          assert.equal(await harness.sumRefunded(given.reference), given.amount);
        });

      for (const how of SPOILT_BEFORE)
        test(`money 2: ${how} before a refund was accepted is unknown, and the query then reports definitely not found`, async () => {
          const whole = refundOf(given);
          harness.spoil({ accepted: false, how });
          const answer = await refund(whole, railFor(how));
          harness.heal();
          assert.ok(answer.state === 'unknown' && !answer.definitelyNotFound);
          const asked = await queryRefund(whole.reference);
          assert.ok(asked.state === 'unknown' && asked.definitelyNotFound);
          assert.equal(await harness.sumRefunded(given.reference), 0n);
          assert.equal((await refund(whole)).state, 'succeeded');
        });

      test('money 2: a query of a refund that fails never says not found, nor does the reference of its collection', async () => {
        harness.spoil({ accepted: true, how: 'error' });
        const spoilt = await queryRefund('RF_NEVER_SUBMITTED');
        assert.ok(spoilt.state === 'unknown' && !spoilt.definitelyNotFound);
        const asked = await queryRefund(given.reference);
        assert.ok(asked.state === 'unknown' && asked.definitelyNotFound, 'a collection is not a refund');
      });

      test('money 2: parts add up to what was collected, over any number of refunds at once', async () => {
        if (!isPartial()) return;
        const third = given.amount / 3n;
        const parts = Array.from({ length: 5 }, () => refundOf(given, { amount: third }));
        const answers = await Promise.all(parts.map((part) => refund(part)));
        assert.deepEqual(answers.map(({ state }) => state).sort(), [
          'failed',
          'failed',
          'succeeded',
          'succeeded',
          'succeeded',
        ]);
        const receipts = answers.flatMap((answer) => (answer.state === 'succeeded' ? [answer.receipt] : []));
        assert.equal(new Set(receipts).size, 3, 'each part has its own receipt');
        assert.equal(await harness.sumRefunded(given.reference), given.amount);
        for (const [index, part] of parts.entries()) {
          assert.equal((await refund(part)).state, answers[index]?.state, 'asked again, the answer is the same');
          assert.equal((await queryRefund(part.reference)).state, answers[index]?.state);
        }
      });

      test('money 2: what was not collected is not given back', async () => {
        const tooMuch = refundOf(given, { amount: given.amount + 1n });
        const unpaid = call({ msisdn: harness.payerByCallback });
        await harness.rail.collect(unpaid);
        for (const wrong of [tooMuch, refundOf(unpaid), refundOf(call()), refundOf(given, { currency: 'KES' })]) {
          const answer = await refund(wrong);
          assert.ok(answer.state === 'failed' && answer.message !== '' && answer.rawCode !== '');
          assert.equal((await queryRefund(wrong.reference)).state, 'failed', 'refused for good');
        }
        await harness.takeCallbacks();
        assert.equal((await refund(refundOf(unpaid))).state, 'pending', 'paid now');
      });

      test('money 2: a callback about a refund names the reference of the refund', async () => {
        const slow = call({ msisdn: harness.payerByCallback });
        await harness.rail.collect(slow);
        await harness.takeCallbacks();
        const part = refundOf(slow, { amount: isPartial() ? 100n : slow.amount });
        assert.equal((await refund(part)).state, 'pending');
        const [callback] = await harness.takeCallbacks();
        const [reading] = callback ? harness.rail.readCallback(callback) : [];
        assert.ok(reading?.kind === 'proof' || reading?.kind === 'hint');
        assert.equal(reading.reference, part.reference);
        if (reading.kind === 'proof') {
          assert.ok(reading.observation.state === 'succeeded' && reading.observation.receipt);
          assert.equal(reading.observation.amount, part.amount);
          assert.deepEqual(await queryRefund(part.reference), reading.observation);
        }
      });
    });

    test('the name of a number is told, or null: never an exception, never late', async () => {
      const { rail, method, payer, unnamed } = harness;
      if (rail.lookUpName === undefined) return;
      const name = await rail.lookUpName({ msisdn: payer, method });
      assert.ok(name);
      assert.equal(await rail.lookUpName({ msisdn: payer, method }), name);
      assert.equal(await rail.lookUpName({ msisdn: unnamed, method }), null);
      for (const how of [...SPOILT_AFTER, 'down'] as const) {
        harness.spoil(how === 'down' ? { accepted: false, how } : { accepted: true, how });
        assert.equal(await harness.impatientRail.lookUpName?.({ msisdn: payer, method }), null, how);
      }
    });

    test('a token that the operator refused is not reported as sent', async () => {
      if (harness.rail.sendToken === undefined) return;
      const token = { msisdn: harness.payer, text: '123456', method: harness.method };
      assert.equal((await harness.rail.sendToken(token)).sent, true);
      harness.spoil({ accepted: true, how: 'timeout' });
      assert.equal((await harness.impatientRail.sendToken?.(token))?.sent, false);
    });

    test('a text to the payer is sent, refused or not known: never an exception', async () => {
      const { rail, method, payer, impatientRail } = harness;
      if (rail.sendPayerText === undefined) return;
      assert.equal(rail.capabilitiesOf(method, 'collection')?.textsPayers, true);
      const given = call();
      await rail.collect(given);
      const text = { reference: given.reference, railReference: null, method, msisdn: payer, text: 'Receipt' };
      assert.equal((await rail.sendPayerText(text)).state, 'sent');
      for (const how of SPOILT_AFTER) {
        harness.spoil({ accepted: true, how });
        const state = (await impatientRail.sendPayerText?.(text))?.state;
        assert.notEqual(state, 'refused', `${how}: it may have been sent`);
      }
    });

    describe('callbacks', () => {
      let given: CollectCall;
      let genuine: CallbackRequest;
      beforeEach(async () => {
        given = call({ msisdn: harness.payerByCallback });
        assert.equal((await harness.rail.collect(given)).observation.state, 'pending');
        const callback = (await harness.takeCallbacks())[0];
        assert.ok(callback);
        genuine = callback;
      });

      test('a genuine one is proof, or at least a hint; read again it says the same', () => {
        const readings = harness.rail.readCallback(genuine);
        assert.equal(readings.length, 1);
        const [reading] = readings;
        assert.ok(reading?.kind === 'proof' || reading?.kind === 'hint');
        assert.equal(reading.reference, given.reference);
        if (reading.kind === 'proof') {
          assert.ok(reading.observation.state === 'succeeded' && reading.observation.receipt);
          assert.equal(reading.observation.amount, given.amount);
        }
        assert.deepEqual(harness.rail.readCallback(genuine), readings);
      });

      test('a forged one is rejected', () => {
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
          for (const reading of harness.rail.readCallback(request))
            assert.ok(reading.kind === 'rejected' || reading.kind === 'hint', JSON.stringify(reading));
      });

      test('any bytes are read without an exception', () => {
        fc.assert(
          fc.property(fc.uint8Array({ maxLength: 300 }), fc.string(), (bytes, header) => {
            const headers = { ...genuine.headers, 'x-operator-signature': header };
            for (const reading of harness.rail.readCallback({ ...genuine, headers, body: Buffer.from(bytes) }))
              assert.ok(reading.kind === 'rejected' || reading.kind === 'hint');
          }),
        );
      });
    });

    test('an operator that cannot be reached is unknown, not an exception', async () => {
      await harness.close();
      assert.equal((await harness.rail.collect(call())).observation.state, 'unknown');
      harness = await createHarness();
    });
  });
}
