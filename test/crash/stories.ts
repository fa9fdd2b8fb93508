// What happens around each place where a process may die: a refund by API, by people, cancelled; a file of payouts; a
// decision; a debt and its recovery; held money and its release; a dispute. A story ends with what must be there, once.

import assert from 'node:assert/strict';
import { createUuid } from '../../src/platform/ids.ts';
import type { ActionAnswer } from './actions.ts';
import { act, arm, type Company, collect, countOf, propose, type Setup, settle, until } from './setup.ts';

const HOUR_MS = 3_600_000;
const REFUNDS = '/api/v3/service-unified-refunds';

/** What must be there when everything has settled: states and amounts of transactions, states of decisions. */
export type Expected = {
  refunds: string[];
  payouts: string[];
  decisions: string[];
  debts: string[];
  /** What was held back of collections. */
  held: string[];
  disputes: string[];
  settlements: string[];
};

const NOTHING: Expected = {
  refunds: [],
  payouts: [],
  decisions: [],
  debts: [],
  held: [],
  disputes: [],
  settlements: [],
};

/** Tells the story. `strike` arms the place where a process dies. */
type Story = (setup: Setup, company: Company, strike: () => Promise<void>) => Promise<Expected>;

/** A repeated action may be answered with one of these: the process that died had done it. */
function accept(answer: ActionAnswer & { tries: number }, ...whenRepeated: string[]): string | null {
  if (answer.ok) return answer.value;
  assert.ok(answer.tries > 1 && whenRepeated.includes(answer.code), `${answer.code} at try ${answer.tries}`);
  return null;
}

async function paid(setup: Setup, company: Company, amount: number, digits = '000'): Promise<string> {
  const ref = await collect(setup, company, amount, digits);
  await settle(setup, company);
  return ref;
}

const refundByApi: Story = async (setup, company, strike) => {
  const id = await paid(setup, company, 2_000);
  await strike();
  const key = createUuid(Date.now());
  await setup.pair.request(company.shop, REFUNDS, { id, amount: 500 }, key);
  return { ...NOTHING, refunds: ['success 50000'] };
};

/** The operator takes its time with the refund: it is asked about, and then reports the result. */
const refundReported: Story = async (setup, company, strike) => {
  const id = await paid(setup, company, 2_000, '027');
  const key = createUuid(Date.now());
  await setup.pair.request(company.shop, REFUNDS, { id, amount: 700 }, key);
  await until(setup, 'sent', async () => (await countOf(setup, AT_OPERATOR, [company.holder])) > 0);
  await strike();
  // Asked before it has an answer, and then reported.
  await setup.ctx.db.query('update payment_jobs set due_at = now() where holder_id = $1', [company.holder]);
  await until(setup, 'asked', async () => (await countOf(setup, ASKED, [company.holder])) > 0);
  await setup.ctx.db.query('update sandbox_refunds set due_at = now() where due_at > now()');
  return { ...NOTHING, refunds: ['success 70000'] };
};

/** A refund that a person asks for, with a form that counts once. */
async function askForRefund(setup: Setup, company: Company, id: string): Promise<string> {
  const { holder, first } = company;
  const form = createUuid(Date.now());
  const made = await act(setup, first, { name: 'refund', holder, ref: id, amount: '60000', form });
  return accept(made, 'form_used') ?? (await refOfOnly(setup, company, 'refund'));
}

async function refOfOnly({ ctx }: Setup, { holder }: Company, direction: string): Promise<string> {
  const { refOf } = await import('../../src/payments/transactions.ts');
  const rows = await ctx.db.query<{ id: string }>(
    'select id from transactions where holder_id = $1 and direction = $2',
    [holder, direction],
  );
  assert.equal(rows.length, 1);
  return refOf(rows[0] ?? { id: '' });
}

const refundByPeople: Story = async (setup, company, strike) => {
  const { holder, second } = company;
  const id = await paid(setup, company, 2_000);
  await strike();
  const ref = await askForRefund(setup, company, id);
  accept(await act(setup, second, { name: 'approve refund', holder, ref }), 'not_found');
  return { ...NOTHING, refunds: ['success 60000'] };
};

const refundCancelled: Story = async (setup, company, strike) => {
  const { holder, first } = company;
  const id = await paid(setup, company, 2_000);
  const ref = await askForRefund(setup, company, id);
  await strike();
  accept(await act(setup, first, { name: 'cancel refund', holder, ref }), 'not_found');
  return { ...NOTHING, refunds: ['failed 60000'] };
};

async function payFile(setup: Setup, company: Company, amounts: string[]): Promise<void> {
  const { holder, first, second } = company;
  const rows = amounts.map((amount, index) => ({ amount, mobile: `25677200${index}000` }));
  const ordered = await act(setup, first, { name: 'order file', holder, file: 'wages.csv', rows });
  const ref = accept(ordered, 'payout_file_repeated') ?? (await refOfFile(setup, company));
  accept(await act(setup, second, { name: 'approve file', holder, ref }), 'not_found');
}

async function refOfFile({ ctx }: Setup, { holder }: Company): Promise<string> {
  const { payoutFileRef } = await import('../../src/payments/payout-files.ts');
  const rows = await ctx.db.query<{ id: string }>('select id from payout_batches where holder_id = $1', [holder]);
  assert.equal(rows.length, 1);
  return payoutFileRef(rows[0]?.id ?? '');
}

const file: Story = async (setup, company, strike) => {
  await paid(setup, company, 20_000);
  await strike();
  await payFile(setup, company, ['1000', '1500', '2000']);
  return { ...NOTHING, payouts: ['success 100000', 'success 150000', 'success 200000'] };
};

/** Nobody ever answers for a collection, and two people decide that it failed. */
const decision: Story = async (setup, company, strike) => {
  const { holder, second } = company;
  await collect(setup, company, 3_000, '005');
  await until(setup, 'sent', async () => (await countOf(setup, AT_OPERATOR, [holder])) > 0);
  // It was sent a day ago.
  await setup.ctx.db.query(
    'update payment_jobs set since = $2, submitted_at = $2, due_at = now() where holder_id = $1',
    [holder, new Date(Date.now() - 25 * HOUR_MS)],
  );
  const open = `select id from cases where holder_id = $1 and kind = 'no_answer'`;
  await until(setup, 'a case', async () => (await setup.ctx.db.query(open, [holder])).length > 0);
  const [each] = await setup.ctx.db.query<{ id: string }>(open, [holder]);
  await strike();
  const ref = await propose(setup, company, each?.id ?? '', 'settle_failed');
  assert.ok(ref, 'it can be proposed');
  accept(await act(setup, second, { name: 'approve decision', holder, ref }), 'decision_overtaken');
  return { ...NOTHING, decisions: ['settle_failed approved'] };
};

const ASKED = `select count(*) from evidence where holder_id = $1 and source = 'poll'`;
const AT_OPERATOR = `select count(*) from transactions where holder_id = $1 and status = 'processing'`;

/** The wallet is paid out, the operator takes the collection back, and the next collection pays the debt. */
const debt: Story = async (setup, company, strike) => {
  const { holder, first } = company;
  const ref = await paid(setup, company, 5_000);
  await payFile(setup, company, ['3000']);
  await settle(setup, company);
  await strike();
  await act(setup, first, { name: 'reverse', holder, ref });
  const owes = `select count(*) from cases where holder_id = $1 and kind = 'debt'`;
  await until(setup, 'a debt', async () => (await countOf(setup, owes, [holder])) > 0);
  await paid(setup, company, 9_000);
  return { ...NOTHING, payouts: ['success 300000'], debts: ['resolved'] };
};

/** The wallet is settled to a bank, and two people confirm the transfer. */
const settlement: Story = async (setup, company, strike) => {
  const { holder, first, second } = company;
  await paid(setup, company, 8_000);
  const bank = `bank-${holder}`;
  await setup.ctx.db.query(
    `insert into bank_accounts (name, currency, bank, account_number, zone, added_by, added_at)
     values ($1, 'UGX', 'Stanbic', '9030001', 'UTC', 'test', now())`,
    [bank],
  );
  await setup.ctx.db.query(
    `insert into settlement_rules (holder_id, currency, destination, schedule, minimum, usable_from, updated_by, updated_at)
     values ($1, 'UGX', '{"kind":"bank","bank":"DFCU","branch":"","account":"01234","name":"Duka"}', 'none', 0, now(), 'test', now())`,
    [holder],
  );
  await strike();
  const ref = accept(await act(setup, first, { name: 'settle', holder, period: 'hand-1' })) ?? '';
  accept(await act(setup, first, { name: 'confirm settlement', holder, ref, bank }));
  accept(await act(setup, second, { name: 'confirm settlement', holder, ref, bank }));
  return { ...NOTHING, settlements: ['paid, 2 transfers, 0 left'] };
};

/** A tenth of two collections is held back, and released on its day. */
const reserve: Story = async (setup, company, strike) => {
  const { holder, first } = company;
  accept(await act(setup, first, { name: 'hold back', holder, basisPoints: 1_000 }));
  await paid(setup, company, 2_000);
  await paid(setup, company, 3_000);
  await strike();
  await setup.ctx.db.query('update held_parts set release_at = now() where holder_id = $1', [holder]);
  accept(await act(setup, first, { name: 'release reserve', holder }));
  const waiting = 'select count(*) from held_parts where holder_id = $1 and released_at is null';
  await until(setup, 'released', async () => (await countOf(setup, waiting, [holder])) === 0);
  return { ...NOTHING, held: ['20000 released', '30000 released'] };
};

/** A payment is disputed after most of it was paid out; the next one brings what is lacking, and two people decide. */
const dispute: Story = async (setup, company, strike) => {
  const { holder, first, second } = company;
  const ref = await paid(setup, company, 5_000);
  await payFile(setup, company, ['3000']);
  await settle(setup, company);
  await strike();
  // Who hears nothing opens it again; then nothing is left of the payment that could be disputed.
  accept(await act(setup, first, { name: 'open dispute', holder, ref }), 'invalid_params');
  await paid(setup, company, 9_000);
  const [open] = await setup.ctx.db.query<{ case_id: string }>(
    'select case_id from disputes where holder_id = $1 and short = 0',
    [holder],
  );
  const decided = await propose(setup, company, open?.case_id ?? '', 'dispute_won');
  assert.ok(decided, 'it can be proposed');
  accept(await act(setup, second, { name: 'approve decision', holder, ref: decided }), 'decision_overtaken');
  return {
    ...NOTHING,
    payouts: ['success 300000'],
    decisions: ['dispute_won approved'],
    disputes: ['won 500000, lacking 0'],
  };
};

/** Every place that touches refunds, files, decisions, the inbox, debts, held money or disputes, with the story that passes it. */
export const PLACES: Record<string, Story> = {
  'refund-writing': refundByApi,
  'refund-committed': refundByApi,
  'before-submit/refund': refundByApi,
  'after-submit/refund': refundByApi,
  'outcomes-committed/refund': refundByApi,
  'after-poll/refund': refundReported,
  'inbox-committed': refundReported,
  'inbox-applied': refundReported,
  'refund-approving': refundByPeople,
  'refund-approved': refundByPeople,
  'refund-cancelling': refundCancelled,
  'refund-cancelled': refundCancelled,
  'file-begun': file,
  'file-writing': file,
  'file-committed': file,
  'file-approving': file,
  'file-approved': file,
  'before-submit/payout': file,
  'after-submit/payout': file,
  'outcomes-committed/payout': file,
  'decision-proposed': decision,
  'decision-asked': decision,
  'decision-approving': decision,
  'decision-committed': decision,
  'debt-incurred': debt,
  'debt-recovered': debt,
  'reserve-releasing': reserve,
  'reserve-released': reserve,
  'dispute-opening': dispute,
  'dispute-opened': dispute,
  // The same place as above, where the decision ends a dispute.
  'decision-approving of a dispute': dispute,
  'decision-committed of a dispute': dispute,
  'settlement-taking': settlement,
  'settlement-taken': settlement,
  'settlement-confirming': settlement,
  'settlement-confirmed': settlement,
};

/** Tells the story of a place, and checks that everything is there once. Answers how many processes died. */
export async function strikeAt(setup: Setup, company: Company, place: string, both: boolean): Promise<number> {
  const story = PLACES[place] ?? assert.fail(`no story passes ${place}`);
  let gateways = [...setup.pair.all];
  const expected = await story(setup, company, async () => {
    await setup.pair.revive();
    gateways = [...setup.pair.all];
    await arm(setup, place.split(' ')[0] ?? place, both);
  });
  await settle(setup, company);
  // Who is still alive must not die in the next story; who is about to die does not answer.
  await arm(setup, '', true);
  const died = gateways.filter((gateway) => gateway.hasExited()).length;
  await setup.pair.revive();
  await check(setup, company, expected);
  return died;
}

async function check({ ctx }: Setup, { holder }: Company, expected: Expected): Promise<void> {
  const list = async (sql: string): Promise<string[]> =>
    (await ctx.db.query<{ text: string }>(sql, [holder])).map(({ text }) => text);
  const transactions = (direction: string) =>
    list(`select status || ' ' || amount as text from transactions
          where holder_id = $1 and direction = '${direction}' order by amount, status`);
  const found: Expected = {
    refunds: await transactions('refund'),
    payouts: await transactions('payout'),
    decisions: (
      await list(`select action || ' ' || status as text from decisions where holder_id = $1 order by 1`)
    ).filter((each) => !each.startsWith('send_again')),
    settlements: await list(
      `select s.status || ', ' || (select count(*) from ledger_transfers t where t.holder_id = s.holder_id and t.transaction_id = s.id)
         || ' transfers, ' || (select balance from ledger_accounts a where a.holder_id = s.holder_id and a.kind = 'wallet_available')
         || ' left' as text from settlements s where holder_id = $1`,
    ),
    debts: await list(`select status as text from cases where holder_id = $1 and kind = 'debt'`),
    held: await list(`select amount - used || case when released_at is null then ' held' else ' released' end as text
                      from held_parts where holder_id = $1 order by amount`),
    disputes: await list(
      `select status || ' ' || amount || ', lacking ' || short as text from disputes where holder_id = $1`,
    ),
  };
  assert.deepEqual(found, expected);
  assert.deepEqual(await list(EVENTS_AMISS), [], 'each event once');
  assert.deepEqual(await list(WALLET_AMISS), [], 'wallet, reserve and debt follow from the transactions');
}

/** Transactions whose events are not exactly those of the states that they went through. */
const EVENTS_AMISS = `
  select t.id || ' ' || t.status || ': ' || coalesce(string_agg(e.type, ' '), 'no event') as text
  from transactions t left join events e on e.holder_id = t.holder_id and e.transaction_id = t.id
  where t.holder_id = $1
  group by t.id, t.direction, t.status
  having count(e.id) <> case when t.status = 'reversed' then 2 else 1 end
    or count(e.id) filter (where e.type = t.direction || '.' || t.status) <> 1`;

/** What a holder has and owes, if that is not what its transactions come to, or if something is still reserved or held. */
const WALLET_AMISS = `
  with moved as (
    select case direction
        when 'collection' then case when status = 'success' then amount - fee else 0 end
        when 'payout' then case when status = 'success' then -(amount + fee) else 0 end
        else case when status = 'success' then (select o.fee_returned from refund_orders o
          where o.holder_id = t.holder_id and o.transaction_id = t.id) - amount else 0 end
      end as amount
    from transactions t where holder_id = $1
    union all
    select -amount from settlements where holder_id = $1 and status <> 'cancelled'
  ), held as (
    select coalesce(sum(balance) filter (where kind in ('wallet_available', 'holder_receivable')), 0) as free,
      coalesce(sum(abs(balance)) filter (where kind in ('wallet_reserved', 'wallet_held', 'wallet_disputed', 'dispute_shortfall')),
        0) as reserved
    from ledger_accounts where holder_id = $1
  )
  select 'free ' || free || ', reserved ' || reserved || ', expected ' || (select sum(amount) from moved) as text
  from held where reserved <> 0 or free <> (select sum(amount) from moved)`;
