// The payments of a journey, and what is compared in the end.

import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import type { Method } from '../../src/catalog/catalog.ts';
import { COMMAND_LINE } from '../../src/holders/audit.ts';
import { createCollectionWriter } from '../../src/payments/accept.ts';
import { completeOrder } from '../../src/payments/collections.ts';
import { readPayout } from '../../src/payments/payout-requests.ts';
import { orderPayouts } from '../../src/payments/payouts.ts';
import { createRefund } from '../../src/payments/refunds.ts';
import { isFinal, type Status } from '../../src/payments/states.ts';
import { findTransaction, idFromRef, refOf, type Transaction } from '../../src/payments/transactions.ts';
import type { Context } from '../../src/platform/context.ts';
import { Problem } from '../../src/platform/errors.ts';
import { createUuid } from '../../src/platform/ids.ts';
import { formatAmount } from '../../src/platform/money.ts';
import { differencesOf } from '../books.ts';
import { PATHS } from '../client.ts';
import { CONNECTIONS, type Journey } from './journey.ts';

const WHOLE = 1_00n;
const PATIENCE_MS = 240_000;
/** Operators have answered by then what they ever answer; after it, a day passes at once. */
const ANSWERED_MS = 15_000;
const LONGEST_PAUSE_MS = 10_000;
const NO_ENGINE = {
  wake: () => undefined,
  hasCapacity: () => false,
  leaveToOthers: () => undefined,
  enqueue: () => undefined,
};

/** Methods that are tried, with their connections. */
export function journeyMethods({ ctx }: Journey): { method: Method; connection: string }[] {
  return CONNECTIONS.flatMap(({ name, methods }) =>
    methods.map((code) => ({ connection: name, method: ctx.catalog.methods.get(code) ?? assert.fail(code) })),
  );
}

const numberOf = (method: Method) => method.example ?? method.country.example;

/** A phone with an open prompt of M-PESA takes no other, so payers of different amounts are different people there. */
function payerOf(method: Method, amount: bigint): string {
  const number = numberOf(method);
  if (method.code !== 'MPESA_KEN') return number;
  const digits = String((amount / WHOLE) % 1_000n).padStart(3, '0');
  return `${number.slice(0, -6)}${digits}${number.slice(-3)}`;
}

/** By the API where the first table has the method, else as a payment link does it. */
export function collect(journey: Journey, method: Method, amount: bigint): Promise<string> {
  const row = journey.ctx.catalog.collectionCountries.get(method.country.id);
  const isInApi = row?.apiCollections === true && row.methods.some(({ code }) => code === method.code);
  return isInApi ? collectByApi(journey, method, amount) : whenAvailable(() => collectByLink(journey, method, amount));
}

async function collectByLink({ ctx, shop }: Journey, method: Method, amount: bigint): Promise<string> {
  const order = await completeOrder(
    ctx,
    { method, msisdn: payerOf(method, amount), amount },
    {
      holderId: shop.holderId,
      integrationId: shop.id,
      countryId: method.country.id,
      detail: '',
      reference1: null,
      reference2: null,
      callbackUrl: null,
      linkId: null,
    },
  );
  const engine = NO_ENGINE as unknown as Parameters<typeof createCollectionWriter>[1];
  const acceptance = await createCollectionWriter(ctx, engine).accept(order, null);
  return acceptance.kind === 'accepted' ? refOf(acceptance.transaction) : assert.fail(acceptance.kind);
}

/** Asks again, with the same key, until the gateway has taken it. */
async function collectByApi(journey: Journey, method: Method, amount: bigint): Promise<string> {
  const key = createUuid(Date.now());
  const params = {
    amount: formatAmount(amount),
    mobile: payerOf(method, amount),
    country_id: method.country.id,
    currency: method.currency,
    payment_method_type: method.code,
  };
  let last: unknown = null;
  for (const started = Date.now(); Date.now() - started < PATIENCE_MS; await pause(100)) {
    const answer = await journey.request(PATHS.collect, params, key);
    last = answer;
    if (answer === null || answer.status >= 500 || answer.status === 429) continue;
    const body = JSON.parse(answer.body) as { data?: { ref?: string } };
    return body.data?.ref ?? assert.fail(`${method.code}: ${answer.body}`);
  }
  return assert.fail(`${method.code} was not taken: ${JSON.stringify(last)}`);
}

/** Connections whose payers open a page or scan a code. */
const PAGES: ReadonlySet<string> = new Set(['orange-ivory-coast', 'orange-senegal']);

/** Null: the wallet does not hold it. */
export async function payOut({ ctx, shop }: Journey, method: Method, amount: bigint): Promise<string | null> {
  const reading = await readPayout(ctx, shop.holderId, {
    amount: formatAmount(amount),
    currency: method.currency,
    mobile: numberOf(method),
    method: method.code,
    payee: 'Ama Owusu',
  });
  if (!reading.ok) return assert.fail(`${method.code}: ${JSON.stringify(reading.errors)}`);
  const engine = NO_ENGINE as unknown as Parameters<typeof orderPayouts>[1];
  const [result] = await orderPayouts(ctx, engine, COMMAND_LINE, shop.holderId, [reading.order]);
  return result?.ok ? refOf(result.transaction) : null;
}

/** Null: the wallet does not hold it any more, or people must first decide what the operator contradicts. */
export async function refund(
  { ctx, shop }: Journey,
  collection: Transaction,
  asPayout: boolean,
): Promise<string | null> {
  const engine = NO_ENGINE as unknown as Parameters<typeof createRefund>[1];
  const request = { collection: refOf(collection), amount: null, asPayout };
  try {
    return refOf(await createRefund(ctx, engine, COMMAND_LINE, shop.holderId, request));
  } catch (error) {
    if (error instanceof Problem && ['overdraft', 'refund_not_possible'].includes(error.code)) return null;
    throw error;
  }
}

export async function find({ ctx, shop }: Journey, ref: string): Promise<Transaction> {
  const id = idFromRef(ref) ?? assert.fail(ref);
  return (await findTransaction(ctx.db, shop.holderId, id)) ?? assert.fail(ref);
}

/** The payer opens the page, or scans the code, that the operator gave for this payment. */
async function openPage({ db }: Pick<Context, 'db'>, { holder_id, id }: Transaction): Promise<void> {
  const [row] = await db.query<{ step: { kind: string; url?: string; content?: string } }>(
    'select step from payer_steps where holder_id = $1 and transaction_id = $2',
    [holder_id, id],
  );
  const address = row?.step.kind === 'qr' ? row.step.content : row?.step.url;
  // A page that does not load is opened again.
  if (address)
    await fetch(address).then(
      (page) => page.text(),
      () => undefined,
    );
}

/** Lets time pass until these have ended. */
export async function untilEnded(journey: Journey, refs: readonly string[]): Promise<Map<string, Status>> {
  const ends = new Map<string, Status>();
  for (const started = Date.now(); ends.size < refs.length && Date.now() - started < PATIENCE_MS; await pause(200)) {
    for (const ref of refs) {
      if (ends.has(ref)) continue;
      const transaction = await whenAvailable(() => find(journey, ref));
      if (isFinal(transaction.status)) ends.set(ref, transaction.status);
      else await whenAvailable(() => openPage(journey.ctx, transaction));
    }
    await passTime(journey, '1 minute');
  }
  return ends;
}

/** Rows that the gateway changes at the same moment can make the two wait for each other: the database then ends one. */
const passTime = (journey: Journey, howLong: string) => whenAvailable(() => moveClocks(journey, howLong));

/** On a machine that is busy with other things the database may have no connection free in time. Nothing was done then. */
async function whenAvailable<T>(work: () => Promise<T>, triesLeft = 20): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const isBusy = error instanceof Problem && error.status === 503 && error.code !== 'outcome_unknown';
    if (triesLeft === 0 || !isBusy) throw error;
    await pause(500);
    return whenAvailable(work, triesLeft - 1);
  }
}

/** As if the time of every lease, delay and pause had passed. */
async function moveClocks({ ctx }: Journey, howLong: string): Promise<void> {
  await ctx.db.query(
    `update payment_jobs set due_at = least(due_at, now()), submitted_at = submitted_at - $1::interval, since = since - $1::interval`,
    [howLong],
  );
  for (const table of ['operator_inbox', 'operator_hints'])
    await ctx.db.query(`update ${table} set due_at = now() where due_at > now()`);
}

/** Where the payer has to send the money. */
async function instructionsOf(journey: Journey, ref: string): Promise<{ reference: string; number: string }> {
  for (const started = Date.now(); Date.now() - started < PATIENCE_MS; await pause(100)) {
    const [row] = await journey.ctx.db.query<{ account_reference: string; pay_to: { number: string } }>(
      'select account_reference, pay_to from payment_instructions where holder_id = $1 and transaction_id = $2',
      [journey.shop.holderId, idFromRef(ref)],
    );
    if (row) return { reference: row.account_reference, number: row.pay_to.number };
  }
  return assert.fail(`${ref} has no instructions`);
}

/** What the payer of a till, pay bill or bank account does. */
export async function payAsInstructed(
  journey: Journey,
  method: Method,
  connection: string,
  ref: string,
  amount: bigint,
) {
  const { reference, number } = await whenAvailable(() => instructionsOf(journey, ref));
  const sum = formatAmount(amount);
  if (connection !== 'daraja') return journey.act(connection, 'bank_transfer', { account_number: number, amount: sum });
  const payment = { msisdn: numberOf(method), amount: sum, reference };
  return journey.act(connection, method.code === 'MPESA_TILL_KEN' ? 'pay_till' : 'pay_bill', payment);
}

/** A collection, a payout and a refund by every method. */
export async function payEverywhere(journey: Journey): Promise<void> {
  const methods = journeyMethods(journey);
  const collectAll = (more: bigint) =>
    Promise.all(
      methods.map(async ({ method, connection }) => {
        const amount = (method.collection?.min ?? 0n) + more * WHOLE;
        const ref = await collect(journey, method, amount);
        if (method.verification === 'instructions') await payAsInstructed(journey, method, connection, ref, amount);
        return { method, connection, ref };
      }),
    );
  // The wallets need more than is given back: for the payouts and the fees.
  const float = await collectAll(150n);
  await allSucceed(
    journey,
    float.map(({ ref }) => ref),
    'collection',
  );
  const collected = await collectAll(100n);
  await allSucceed(
    journey,
    collected.map(({ ref }) => ref),
    'collection',
  );
  const payouts: string[] = [];
  for (const { method, connection } of methods)
    if (railOf(journey, connection).capabilitiesOf(method, 'payout')) {
      // Some operators want more than the least that the catalogue allows.
      const amount = (method.payout?.min ?? 0n) + 20n * WHOLE;
      const ref = await whenAvailable(() => payOut(journey, method, amount));
      payouts.push(ref ?? assert.fail(`${method.code}: no money to pay out`));
    }
  await allSucceed(journey, payouts, 'payout');
  const refunds: string[] = [];
  for (const { method, connection, ref } of collected) {
    const asPayout = refundsAsPayout(journey, method, connection);
    if (asPayout === null) continue;
    const refunded = await whenAvailable(async () => refund(journey, await find(journey, ref), asPayout));
    refunds.push(refunded ?? assert.fail(`${method.code}: no money to refund`));
  }
  await allSucceed(journey, refunds, 'refund');
}

const railOf = ({ ctx }: Journey, connection: string) => ctx.rails.byName(connection) ?? assert.fail(connection);

/** Null: neither refund nor payout. */
function refundsAsPayout(journey: Journey, method: Method, connection: string): boolean | null {
  const rail = railOf(journey, connection);
  if (rail.capabilitiesOf(method, 'collection')?.refunds !== 'none') return false;
  return rail.capabilitiesOf(method, 'payout') ? true : null;
}

async function allSucceed(journey: Journey, refs: readonly string[], what: string): Promise<void> {
  const ends = await untilEnded(journey, refs);
  const wrong: string[] = [];
  for (const ref of refs)
    if (ends.get(ref) !== 'success') {
      const { method, status, failure_message: said } = await find(journey, ref);
      const [last] = await journey.ctx.db.query<{ raw: string }>(
        'select raw from evidence where holder_id = $1 and transaction_id = $2 order by id desc limit 1',
        [journey.shop.holderId, idFromRef(ref)],
      );
      wrong.push(`${method} ${status} ${said ?? ''} ${last?.raw ?? ''}`);
    }
  assert.deepEqual(wrong, [], what);
}

/** Payments of every kind by all methods but instructions; `at` is called before each. Returns those with a page to open. */
export async function payMany(
  journey: Journey,
  count: number,
  at: (index: number) => Promise<void>,
): Promise<string[]> {
  const methods = journeyMethods(journey).filter(({ method }) => method.verification !== 'instructions');
  const paid: { ref: string; method: Method; connection: string }[] = [];
  const lanes = Array.from({ length: 24 }, (_, lane) => lane);
  let next = 0;
  const refundable = paid;
  const pages: string[] = [];
  async function one(index: number): Promise<void> {
    const { method, connection } = methods[index % methods.length] ?? assert.fail();
    const step = BigInt(Math.floor(index / methods.length) + 1) * WHOLE;
    const kind = index % 10;
    if (kind >= 8) {
      const earlier = refundable.shift();
      const asPayout = earlier ? refundsAsPayout(journey, earlier.method, earlier.connection) : null;
      const collection = earlier && asPayout !== null ? await find(journey, earlier.ref) : null;
      if (collection?.status === 'success' && (await refund(journey, collection, asPayout === true)) !== null) return;
    }
    if (kind >= 6 && railOf(journey, connection).capabilitiesOf(method, 'payout')) {
      if ((await payOut(journey, method, (method.payout?.min ?? 0n) + step)) !== null) return;
    }
    const ref = await collect(journey, method, (method.collection?.min ?? 0n) + 100n * WHOLE + step);
    paid.push({ ref, method, connection });
    if (PAGES.has(connection)) pages.push(ref);
  }
  await Promise.all(
    lanes.map(async () => {
      for (let index = next++; index < count; index = next++) {
        await at(index);
        await whenAvailable(() => one(index));
      }
    }),
  );
  return pages;
}

/** Until nothing is open any more but what has a case. Patience begins anew whenever fewer are open. */
export async function settleAll(journey: Journey, pages: readonly string[]): Promise<void> {
  const { ctx } = journey;
  const started = Date.now();
  let [unpaid, fewest, since, pauseMs] = [[...pages], Infinity, started, 300];
  while (Date.now() - since < PATIENCE_MS) {
    unpaid = await whenAvailable(() => openPages(journey, unpaid));
    await passTime(journey, Date.now() - started > ANSWERED_MS ? '25 hours' : '2 minutes');
    const { length } = await whenAvailable(() => listOpen(ctx));
    if (length === 0) return;
    if (length < fewest) [fewest, since] = [length, Date.now()];
    // Leases end with the time that passes: a gateway that is slower than this would never finish a call of several steps.
    await pause(pauseMs);
    pauseMs = Math.min(pauseMs * 1.25, LONGEST_PAUSE_MS);
  }
  assert.fail(`payments are open that have no case:\n${(await listOpen(ctx)).join('\n')}`);
}

/** Payers may come back to a page after it has expired. Returns the pages that are not paid. */
async function openPages(journey: Journey, refs: readonly string[]): Promise<string[]> {
  const unpaid: string[] = [];
  for (const ref of refs) {
    const transaction = await find(journey, ref);
    if (transaction.status === 'success' || transaction.status === 'reversed') continue;
    await openPage(journey.ctx, transaction);
    unpaid.push(ref);
  }
  return unpaid;
}

/** Messages of operators that wait, and jobs of transactions that have no case. */
async function listOpen({ db }: Pick<Context, 'db'>): Promise<string[]> {
  const rows = await db.query<{ line: string }>(
    `select concat_ws(' ', 'a message to', rail, path) as line from operator_inbox
     union all
     select concat_ws(' ', t.id, t.direction, t.method, t.status, j.kind, 'tried', j.attempts, 'times, due', j.due_at)
     from payment_jobs j join transactions t on t.holder_id = j.holder_id and t.id = j.transaction_id
     where not exists (select from cases c
       where c.holder_id = j.holder_id and c.transaction_id = j.transaction_id and c.status = 'open')`,
  );
  return rows.map(({ line }) => line);
}

/** As simulators write it: with two decimals, or none. */
function readMoney(text: string): bigint {
  const [whole = '', cents = ''] = text.split('.');
  return BigInt(whole + cents.padEnd(2, '0'));
}

type Tally = { moved: number; booked: number; open: number };

/** What is wrong between the ledger and the operators' own books. */
export async function compareBooks(journey: Journey): Promise<string[]> {
  const problems: string[] = [];
  for (const { name } of CONNECTIONS) {
    const { net, movements } = await journey.bookOf(name);
    const tallies = await whenAvailable(() => tally(journey, name, movements));
    const unbooked = new Map<string, bigint>();
    for (const [key, { moved, booked, open }] of tallies) {
      const [way = '', currency = '', amount = '0'] = key.split(' ');
      if (moved < booked || moved > booked + open)
        problems.push(
          `${name}, ${key}: the operator moved it ${moved} times, booked ${booked}, open ${open}`,
          ...(await explain(journey, name, currency, BigInt(amount))),
        );
      const missing = BigInt(moved - booked) * BigInt(amount) * (way === 'out' ? -1n : 1n);
      unbooked.set(currency, (unbooked.get(currency) ?? 0n) + missing);
    }
    for (const [currency, text] of Object.entries(net)) {
      const held = readMoney(text) - (unbooked.get(currency) ?? 0n);
      const ours = await clearingOf(journey, name, currency);
      if (ours !== held) problems.push(`${name}: the ledger has ${ours} ${currency}, the operator ${held}`);
    }
  }
  const differences = await differencesOf(journey.ctx as unknown as Parameters<typeof differencesOf>[0]);
  return [...problems, ...differences.map((finding) => JSON.stringify(finding))];
}

/** What we know of the transactions and cases of one amount, for people who look for the cause of a difference. */
async function explain({ ctx }: Journey, connection: string, currency: string, amount: bigint): Promise<string[]> {
  const rows = await ctx.db.query<{ line: string }>(
    `select concat_ws(' ', t.id, t.direction, t.method, t.status, t.receipt) || E'\\n' || coalesce(string_agg(
              concat_ws(' ', '   ', e.at::time, e.source, e.state, e.effect, left(e.raw, 400)), E'\\n' order by e.id), '') as line
     from transactions t left join evidence e on e.holder_id = t.holder_id and e.transaction_id = t.id
     where t.rail = $1 and t.currency = $2 and t.amount = $3 group by t.id, t.direction, t.method, t.status, t.receipt
     union all
     select concat_ws(' ', 'case', kind, status, transaction_id, detail) from cases
     where rail = $1 and currency = $2 and amount = $3`,
    [connection, currency, amount],
  );
  return rows.map(({ line }) => line);
}

async function tally(
  journey: Journey,
  connection: string,
  movements: { kind: string; amount: string; currency: string }[],
) {
  const tallies = new Map<string, Tally>();
  const of = (key: string): Tally => {
    const known = tallies.get(key) ?? { moved: 0, booked: 0, open: 0 };
    tallies.set(key, known);
    return known;
  };
  for (const { kind, amount, currency } of movements)
    of(`${kind === 'collection' ? 'in' : 'out'} ${currency} ${readMoney(amount)}`).moved++;
  const rows = await journey.ctx.db.query<{ direction: string; currency: string; amount: bigint; status: Status }>(
    'select direction, currency, amount, status from transactions where rail = $1',
    [connection],
  );
  for (const { direction, currency, amount, status } of rows) {
    const entry = of(`${direction === 'collection' ? 'in' : 'out'} ${currency} ${amount}`);
    if (status === 'success' || status === 'reversed') entry.booked++;
    else if (!isFinal(status)) entry.open++;
  }
  // Money that came without an order that expects it: in suspense, with a case.
  const held = await journey.ctx.db.query<{ currency: string; amount: bigint }>(
    `select currency, amount from cases
     where rail = $1 and status = 'open' and amount is not null and kind in ('unknown_reference', 'wrong_amount', 'second_payment')`,
    [connection],
  );
  for (const { currency, amount } of held) of(`in ${currency} ${amount}`).booked++;
  return tallies;
}

async function clearingOf({ ctx }: Journey, connection: string, currency: string): Promise<bigint> {
  const [row] = await ctx.db.query<{ balance: bigint }>(
    `select coalesce(-sum(balance), 0)::bigint as balance from ledger_accounts
     where kind = 'operator_clearing' and rail = $1 and currency = $2`,
    [connection, currency],
  );
  return row?.balance ?? 0n;
}
