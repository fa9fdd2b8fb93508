// The movements of a whole wallet between two moments, in the order they were posted: what is available and what is reserved,
// together, and the fees beside them. A reservation moves money within the wallet, so it changes nothing here; a payout counts when
// it is posted. Every movement has the balances that the ledger stored with it, so a reader can compare its own sum with them.

import type { Reader } from '../platform/db.ts';
import { accountKey, feeIncome, walletAvailable, walletDisputed, walletReserved } from './chart.ts';
import type { PostingSpan } from './daily-money.ts';
import type { TransferKind } from './postings.ts';

/** Transfers that one statement reads. */
const PAGE_TRANSFERS = 2_000;

/** An account of the history. Nothing after `lastId` is read, so the history ends where its closing balance was read. */
type Side = { id: bigint; opening: bigint; closing: bigint; lastId: bigint };

export type WalletHistory = {
  readonly holderId: bigint;
  readonly span: PostingSpan;
  readonly available: Side;
  readonly reserved: Side;
  /** Null: the holder has paid no fee in this currency yet. */
  readonly fees: Side | null;
  /** Null: no payment of this wallet was ever disputed. */
  readonly disputed: Side | null;
  /** Available and reserved together. */
  readonly opening: bigint;
  readonly closing: bigint;
};

export type WalletMovement = {
  readonly kind: TransferKind;
  readonly transactionId: string;
  readonly postedAt: Date;
  /** What the wallet gained; negative: lost. */
  readonly net: bigint;
  /** What the holder paid as a fee, as a negative amount; positive: a fee that was given back. */
  readonly fee: bigint;
  /** The wallet after the movement, as the ledger stored it. */
  readonly balance: bigint;
};

/** These move the gateway's own income, not what the holder paid for a payment. */
const INCOME_KINDS: readonly TransferKind[] = ['suspense_income', 'suspense_income_reversal'];

/** What a lost dispute takes left the wallet when it was opened; that it was lost is a line all the same. */
const SHOWN_WITHOUT_AMOUNT: readonly TransferKind[] = ['dispute_loss'];

const newestBefore = (moment: string) => `(
  select balance, id from (
    (select debit_balance as balance, id, posted_at from ledger_transfers
     where debit_account = a.id and holder_id = a.holder_id and posted_at < ${moment} order by posted_at desc, id desc limit 1)
    union all
    (select credit_balance, id, posted_at from ledger_transfers
     where credit_account = a.id and holder_id = a.holder_id and posted_at < ${moment} order by posted_at desc, id desc limit 1)
  ) as found order by posted_at desc, id desc limit 1)`;

/**
 * The balances of the wallet at both ends; null when the holder has no such wallet. One statement reads all of them, and the
 * transfers of an account are committed in their order: what is posted later never falls into what was read here.
 */
export async function openWalletHistory(
  reader: Reader,
  holderId: bigint,
  currency: string,
  span: PostingSpan,
): Promise<WalletHistory | null> {
  const accounts = [walletAvailable, walletReserved, feeIncome, walletDisputed];
  const keys = accounts.map((account) => accountKey(account(holderId, currency)));
  const rows = await reader.query<{ kind: string; id: bigint; opening: bigint; closing: bigint; last_id: bigint }>(
    `select a.kind, a.id, coalesce(first.balance, 0)::bigint as opening, coalesce(last.balance, 0)::bigint as closing,
            coalesce(last.id, 0)::bigint as last_id
     from ledger_accounts a
     left join lateral ${newestBefore('$3')} as first on true
     left join lateral ${newestBefore('$4')} as last on true
     where a.holder_id = $1 and a.key = any ($2)`,
    [holderId, keys, span.from, span.to],
  );
  const side = (kind: string): Side | null => {
    const row = rows.find((each) => each.kind === kind);
    return row ? { id: row.id, opening: row.opening, closing: row.closing, lastId: row.last_id } : null;
  };
  const available = side('wallet_available');
  const reserved = side('wallet_reserved');
  if (!available || !reserved) return null;
  return {
    holderId,
    span,
    available,
    reserved,
    fees: side('fee_income'),
    disputed: side('wallet_disputed'),
    opening: available.opening + reserved.opening,
    closing: available.closing + reserved.closing,
  };
}

/** When the wallet first had money; null: never. Money leaves it only after some has come. */
export async function firstCredit(reader: Reader, holderId: bigint, currency: string): Promise<Date | null> {
  const [row] = await reader.query<{ posted_at: Date }>(
    `select t.posted_at from ledger_accounts a cross join lateral (
       select posted_at from ledger_transfers where holder_id = a.holder_id and credit_account = a.id order by posted_at limit 1
     ) as t where a.holder_id = $1 and a.key = $2`,
    [holderId, accountKey(walletAvailable(holderId, currency))],
  );
  return row?.posted_at ?? null;
}

type TransferRow = {
  id: bigint;
  kind: TransferKind;
  transaction_id: string;
  posted_at: Date;
  place: string;
  amount: bigint;
  debit_account: bigint;
  credit_account: bigint;
  debit_balance: bigint;
  credit_balance: bigint;
};

/** The movements, a page at a time. Transfers within the wallet are left out. */
export async function* readWalletHistory(reader: Reader, history: WalletHistory): AsyncGenerator<WalletMovement[]> {
  const { available, reserved } = history;
  const balances = new Map([
    [available.id, available.opening],
    [reserved.id, reserved.opening],
  ]);
  let after: { place: string; id: bigint } = { place: '-infinity', id: 0n };
  for (;;) {
    const rows = await readPage(reader, history, after);
    const last = rows.at(-1);
    if (!last) return;
    yield rows.flatMap((row) => movementOf(history, balances, row));
    if (rows.length < PAGE_TRANSFERS) return;
    after = { place: last.place, id: last.id };
  }
}

function readPage(
  reader: Reader,
  { holderId, span, available, reserved, fees, disputed }: WalletHistory,
  after: { place: string; id: bigint },
): Promise<TransferRow[]> {
  const sides = [available, reserved, fees, disputed].filter((side) => side !== null);
  const branch = (account: string) => `
    (select t.id, t.kind, t.transaction_id, t.posted_at, t.amount, t.debit_account, t.credit_account, t.debit_balance, t.credit_balance
     from ledger_transfers t
     where t.${account} = side.account and t.holder_id = $1 and t.id <= side.last_id and t.posted_at >= $4 and t.posted_at < $5
       and (t.posted_at, t.id) > ($6::timestamptz, $7::bigint)
     order by t.posted_at, t.id limit $8)`;
  // A transfer between two of the accounts is found at both.
  return reader.query<TransferRow>(
    `select distinct on (t.posted_at, t.id) t.*, t.posted_at::text as place
     from unnest($2::bigint[], $3::bigint[]) as side (account, last_id)
     cross join lateral (${branch('debit_account')} union all ${branch('credit_account')}) as t
     order by t.posted_at, t.id limit $8`,
    [
      holderId,
      sides.map(({ id }) => id),
      sides.map(({ lastId }) => lastId),
      span.from,
      span.to,
      after.place,
      after.id,
      PAGE_TRANSFERS,
    ],
  );
}

function movementOf(
  { available, reserved, fees }: WalletHistory,
  balances: Map<bigint, bigint>,
  row: TransferRow,
): WalletMovement[] {
  let net = 0n;
  if (balances.has(row.debit_account)) {
    net -= row.amount;
    balances.set(row.debit_account, row.debit_balance);
  }
  if (balances.has(row.credit_account)) {
    net += row.amount;
    balances.set(row.credit_account, row.credit_balance);
  }
  const fee = INCOME_KINDS.includes(row.kind) ? 0n : feeOf(row, fees?.id);
  if (net === 0n && fee === 0n && !SHOWN_WITHOUT_AMOUNT.includes(row.kind)) return [];
  const balance = (balances.get(available.id) ?? 0n) + (balances.get(reserved.id) ?? 0n);
  return [{ kind: row.kind, transactionId: row.transaction_id, postedAt: row.posted_at, net, fee, balance }];
}

function feeOf(row: TransferRow, fees: bigint | undefined): bigint {
  if (row.credit_account === fees) return -row.amount;
  return row.debit_account === fees ? row.amount : 0n;
}
