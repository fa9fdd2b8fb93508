// The ledger: posts transfers, and reads balances and history. Posting works on arrays: one statement locks the
// accounts in sorted order, a second what is beside the wallets among them (debts, held money), and one call of post_transfers
// adds all transfers and moves each balance once.

import { type ColumnSpec, columns } from '../platform/columns.ts';
import { type Reader, type Statement, type Tx, violatedConstraint } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { lesserOf } from '../platform/money.ts';
import { createBeside, type LockedAccount, lockAccounts } from './accounts.ts';
import {
  type AccountRef,
  accountKey,
  disputeShortfall,
  holderReceivable,
  isBesideWallet,
  mayGoNegative,
  walletHeld,
} from './chart.ts';
import {
  creditOf,
  debtIncurred,
  debtRecovered,
  disputeCovered,
  reserveUsed,
  type Transfer,
  type TransferKind,
} from './postings.ts';

/** The largest posting is a whole file of payouts. */
const MAX_TRANSFERS = 10_000;
const MAX_STATEMENT_LINES = 1_000;

export type PostedTransfer = Transfer & {
  /** Never before the newest transfer of either account, whatever the clock says. */
  readonly postedAt: Date;
  readonly debitBalance: bigint;
  readonly creditBalance: bigint;
};

type PostResult =
  | { readonly ok: true; readonly transfers: PostedTransfer[] }
  | { readonly ok: false; readonly refused: 'overdraft'; readonly account: AccountRef };

/**
 * Transfers that are posted together or not at all. With `mayUseHeld` what the wallet lacks may come out of the rolling reserve.
 * With `mayBorrow` they state a fact that has happened, so the ledger cannot refuse them: what the wallet and the reserve
 * lack becomes a debt of the holder.
 */
export type PostingGroup = readonly Transfer[] | PlannedGroup;

type PlannedGroup = {
  readonly transfers: readonly Transfer[];
  readonly mayBorrow: boolean;
  readonly mayUseHeld?: boolean;
};

/** This fact of this transaction is in the ledger already. The database transaction must be rolled back. */
export class AlreadyPostedError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'AlreadyPosted';
  }
}

/**
 * Posts all transfers or none. Throws Problem('overdraft') before anything is written, and AlreadyPostedError.
 * A database transaction should post once: a second call takes further locks out of order.
 */
export async function post(tx: Tx, transfers: readonly Transfer[], at: Date): Promise<PostedTransfer[]> {
  const [result] = await postEach(tx, [transfers], at);
  if (!result?.ok) throw new Problem('overdraft');
  return result.transfers;
}

/**
 * Posts groups of transfers in the order given. A group that would overdraw an account is refused as a whole and
 * writes nothing. The others are posted: of sixty payouts in one batch, with money for ten, ten succeed. A group that
 * credits the wallet of a holder in debt is followed by the transfer that recovers the debt; the result contains it.
 */
export async function postEach(tx: Tx, groups: readonly PostingGroup[], at: Date): Promise<PostResult[]> {
  const planned = groups.map((group) => ('mayBorrow' in group ? group : { transfers: group, mayBorrow: false }));
  const all = planned.flatMap((group) => group.transfers);
  if (all.length === 0) return groups.map(() => ({ ok: true, transfers: [] }));
  if (all.length > MAX_TRANSFERS) throw new Error(`${all.length} transfers are too many for one posting`);
  refuseRepetition(all);
  const refs = all.flatMap((transfer) => [transfer.debit, transfer.credit]);
  const accounts = await lockAccounts(tx, refs, at);
  const missing = missingBeside(accounts, planned, at);
  if (missing.length > 0) for (const [key, account] of await createBeside(tx, missing, at)) accounts.set(key, account);
  const postedAt = latest(at, accounts.values());
  const results = planned.map((group) => applyGroup(accounts, group, postedAt));
  const posted = results.flatMap((result) => (result.ok ? result.transfers : []));
  if (posted.length > 0) await insertTransfers(tx, posted, accounts, postedAt);
  return results;
}

/** Accounts beside wallets that the groups need and that do not exist yet. Found by posting to a copy of the accounts. */
function missingBeside(accounts: Map<string, LockedAccount>, planned: readonly PlannedGroup[], at: Date): AccountRef[] {
  const named = planned.flatMap(({ transfers }) => transfers.flatMap(({ debit, credit }) => [debit, credit]));
  const debts = planned
    .filter(({ mayBorrow }) => mayBorrow)
    .flatMap(({ transfers }) => walletsOf(transfers).map(debtOf));
  const possible = [...named.filter(isBesideWallet), ...debts].filter((ref) => !accounts.has(accountKey(ref)));
  if (possible.length === 0) return [];
  const copy = new Map([...accounts].map(([key, account]) => [key, { ...account }]));
  for (const ref of possible)
    copy.set(accountKey(ref), {
      id: 0n,
      ref,
      mayGoNegative: mayGoNegative(ref),
      updatedAt: at,
      place: null,
      balance: 0n,
    });
  const moved = planned
    .flatMap((group) => {
      // What a group lacks is lent before another of its accounts refuses it.
      const lent = lendShortfall(copy, group);
      const result = applyGroup(copy, group, at);
      return result.ok ? result.transfers : lent;
    })
    .flatMap(({ debit, credit }) => [debit, credit])
    .filter((ref) => isBesideWallet(ref) && !accounts.has(accountKey(ref)));
  return [
    ...new Map(
      [...named.filter((ref) => possible.includes(ref)), ...moved].map((ref) => [accountKey(ref), ref]),
    ).values(),
  ];
}

/** The available sides of wallets that a group moves. */
function walletsOf(transfers: readonly Transfer[]): AccountRef[] {
  return transfers.flatMap(({ debit, credit }) => [debit, credit]).filter((ref) => ref.kind === 'wallet_available');
}

function debtOf({ holderId, currency }: AccountRef): AccountRef {
  return holderReceivable(holderId, currency);
}

function refuseRepetition(transfers: readonly Transfer[]): void {
  const seen = new Set<string>();
  for (const { transactionId, kind } of transfers) {
    const once = `${transactionId} ${kind}`;
    if (seen.has(once)) throw new AlreadyPostedError(`${kind} of transaction ${transactionId} is twice in one posting`);
    seen.add(once);
  }
}

/** The times of an account's transfers never decrease, so its balance at any moment is defined. */
function latest(at: Date, accounts: Iterable<LockedAccount>): Date {
  let moment = at;
  for (const account of accounts) if (account.updatedAt > moment) moment = account.updatedAt;
  return moment;
}

function applyGroup(accounts: Map<string, LockedAccount>, group: PlannedGroup, postedAt: Date): PostResult {
  const lent = lendShortfall(accounts, group);
  const transfers: PostedTransfer[] = [];
  for (const transfer of [...lent, ...group.transfers]) {
    transfers.push(applyTransfer(accounts, transfer, postedAt));
    const debit = lockedAccount(accounts, transfer.debit);
    if (debit.balance < 0n && !debit.mayGoNegative) {
      for (const undone of transfers) {
        lockedAccount(accounts, undone.debit).balance += undone.amount;
        lockedAccount(accounts, undone.credit).balance -= undone.amount;
      }
      return { ok: false, refused: 'overdraft', account: transfer.debit };
    }
  }
  if (lent.length === 0)
    for (const payBack of [recoverDebt, coverDisputes])
      transfers.push(
        ...payBack(accounts, group.transfers).map((transfer) => applyTransfer(accounts, transfer, postedAt)),
      );
  return { ok: true, transfers };
}

function applyTransfer(accounts: Map<string, LockedAccount>, transfer: Transfer, postedAt: Date): PostedTransfer {
  const debit = lockedAccount(accounts, transfer.debit);
  const credit = lockedAccount(accounts, transfer.credit);
  debit.balance -= transfer.amount;
  credit.balance += transfer.amount;
  return { ...transfer, postedAt, debitBalance: debit.balance, creditBalance: credit.balance };
}

/**
 * The transfers that give a wallet what the group lacks at its lowest point: out of the rolling reserve first, then as a debt.
 * None when the wallet holds enough, or when not all of it can be given.
 */
function lendShortfall(
  accounts: Map<string, LockedAccount>,
  { transfers, mayBorrow, mayUseHeld }: PlannedGroup,
): Transfer[] {
  const [wallet] = mayBorrow || mayUseHeld ? walletsOf(transfers) : [];
  const [first] = transfers;
  if (!wallet || !first) return [];
  const key = accountKey(wallet);
  let { balance } = lockedAccount(accounts, wallet);
  let lowest = 0n;
  for (const { debit, credit, amount } of transfers) {
    if (accountKey(debit) === key) balance -= amount;
    if (accountKey(credit) === key) balance += amount;
    if (balance < lowest) lowest = balance;
  }
  const held = accounts.get(accountKey(walletHeld(wallet.holderId, wallet.currency)))?.balance ?? 0n;
  const fromHeld = lesserOf(held, -lowest);
  const rest = -lowest - fromHeld;
  if (rest > 0n && !mayBorrow) return [];
  return [
    ...reserveUsed({ ...first, amount: fromHeld }, mayBorrow ? 'fact' : 'order'),
    ...debtIncurred({ ...first, amount: rest }),
  ];
}

/** The transfer that takes a debt out of the wallet that the group has just credited. */
function recoverDebt(accounts: Map<string, LockedAccount>, transfers: readonly Transfer[]): Transfer[] {
  const credit = transfers.find((transfer) => transfer.credit.kind === 'wallet_available');
  if (!credit || credit.kind === 'debt') return [];
  return payBack(accounts, credit, debtOf(credit.credit), debtRecovered);
}

/** The transfer that brings what open disputes lack, out of the wallet that the group has just credited. */
function coverDisputes(accounts: Map<string, LockedAccount>, transfers: readonly Transfer[]): Transfer[] {
  const credit = transfers.find((transfer) => transfer.credit.kind === 'wallet_available');
  if (!credit) return [];
  const { holderId, currency } = credit;
  return payBack(accounts, credit, disputeShortfall(holderId, currency), disputeCovered);
}

function payBack(
  accounts: Map<string, LockedAccount>,
  credit: Transfer,
  owed: AccountRef,
  posting: typeof debtRecovered,
): Transfer[] {
  const amount = lesserOf(
    lockedAccount(accounts, credit.credit).balance,
    -(accounts.get(accountKey(owed))?.balance ?? 0n),
  );
  return amount > 0n ? posting({ ...credit, amount }, creditOf(credit.kind)) : [];
}

function lockedAccount(accounts: Map<string, LockedAccount>, ref: AccountRef): LockedAccount {
  const account = accounts.get(accountKey(ref));
  if (!account) throw new Error(`${accountKey(ref)} is not locked`);
  return account;
}

type TransferRow = PostedTransfer & {
  readonly debitAccount: LockedAccount;
  readonly creditAccount: LockedAccount;
  readonly positionPlace: string | null;
};

const TRANSFER_COLUMNS: Record<string, ColumnSpec<TransferRow>> = {
  holder_ids: ['bigint', (row) => row.holderId],
  debit_accounts: ['bigint', (row) => row.debitAccount.id],
  credit_accounts: ['bigint', (row) => row.creditAccount.id],
  amounts: ['bigint', (row) => row.amount],
  debit_balances: ['bigint', (row) => row.debitBalance],
  credit_balances: ['bigint', (row) => row.creditBalance],
  transaction_ids: ['uuid', (row) => row.transactionId],
  kinds: ['transfer_kind', (row) => row.kind],
  currencies: ['text', (row) => row.currency],
};

const TRANSFERS = columns<TransferRow>(2, {
  ...TRANSFER_COLUMNS,
  debit_places: ['tid', (row) => row.debitAccount.place],
  credit_places: ['tid', (row) => row.creditAccount.place],
  position_places: ['tid', (row) => row.positionPlace],
});

const POST_TRANSFERS: Statement = {
  name: 'post_transfers',
  text: `select moved_holder, moved_account, moved_to from post_transfers(${TRANSFERS.parameters}, $1)`,
};

const TRANSFERS_ON_SERVERS = columns<TransferRow>(2, TRANSFER_COLUMNS);

const POST_ON_SERVERS: Statement = {
  name: 'post_transfers_on_servers',
  text: `select post_transfers(${TRANSFERS_ON_SERVERS.parameters}, $1)`,
};

async function insertTransfers(
  tx: Tx,
  posted: PostedTransfer[],
  accounts: Map<string, LockedAccount>,
  postedAt: Date,
): Promise<void> {
  const rows = posted.map((transfer) => ({
    ...transfer,
    debitAccount: lockedAccount(accounts, transfer.debit),
    creditAccount: lockedAccount(accounts, transfer.credit),
    positionPlace: tx.places?.find(positionKey(transfer.holderId))?.place ?? null,
  }));
  try {
    if (tx.isDistributed?.()) await tx.query(POST_ON_SERVERS, [postedAt, ...TRANSFERS_ON_SERVERS.arrays(rows)]);
    else notePlaces(tx, accounts, await tx.query<MovedRow>(POST_TRANSFERS, [postedAt, ...TRANSFERS.arrays(rows)]));
  } catch (error) {
    switch (violatedConstraint(error)) {
      case 'account_not_overdrawn':
        throw new Problem('overdraft');
      case 'posting_not_in_future':
        throw new Problem('clock_skewed', { retryAfterSeconds: 5 });
      case 'transfer_posted_once':
      case 'reserve_concluded_once':
      case 'settlement_concluded_once':
        throw new AlreadyPostedError('a transfer of this posting is in the ledger already', { cause: error });
      default:
        throw error;
    }
  }
}

const positionKey = (holderId: bigint) => `position:${holderId}`;

/** Where a balance is now; or, without an account, the position of the holder. */
type MovedRow = { moved_holder: bigint; moved_account: bigint | null; moved_to: string };

/** For the next posting. */
function notePlaces(tx: Tx, accounts: ReadonlyMap<string, LockedAccount>, moved: readonly MovedRow[]): void {
  const keys = new Map([...accounts].map(([key, { id }]) => [id, key]));
  for (const { moved_holder: holderId, moved_account: account, moved_to: place } of moved) {
    const key = account === null ? positionKey(holderId) : keys.get(account);
    if (key !== undefined) tx.places?.note(key, { id: account ?? holderId, place });
  }
}

export type WalletBalance = {
  readonly walletAccount: number;
  readonly currency: string;
  /** available + reserved + held */
  readonly balance: bigint;
  readonly available: bigint;
  readonly reserved: bigint;
  /** In the rolling reserve, and for open disputes. */
  readonly held: bigint;
  readonly updatedAt: Date;
};

/** Named, because it is planned for longer than it runs. */
const WALLET_BALANCES: Statement = {
  name: 'wallet_balances',
  text: `select wallet_account, w.currency, a.balance as available, r.balance as reserved, h.held,
       greatest(a.updated_at, r.updated_at, h.updated_at) as updated_at
     from wallets w
     join ledger_accounts a using (holder_id, wallet_account)
     join ledger_accounts r using (holder_id, wallet_account)
     cross join lateral (
       select coalesce(sum(balance), 0)::bigint as held, max(updated_at) as updated_at from ledger_accounts
       where holder_id = w.holder_id and currency = w.currency and kind in ('wallet_held', 'wallet_disputed', 'dispute_shortfall')
     ) as h
     where holder_id = $1 and a.kind = 'wallet_available' and r.kind = 'wallet_reserved'
       and ($2::bigint is null or wallet_account = $2) and ($3::text is null or w.currency = $3)
     order by wallet_account`,
};

/** The holder's wallets that match the filter, by number. */
export async function balancesOf(
  reader: Reader,
  holderId: bigint,
  filter: { walletAccount?: number; currency?: string } = {},
): Promise<WalletBalance[]> {
  // A number that the column cannot hold is a wallet that nobody has.
  if (filter.walletAccount !== undefined && !Number.isSafeInteger(filter.walletAccount)) return [];
  const rows = await reader.query<{
    wallet_account: number;
    currency: string;
    available: bigint;
    reserved: bigint;
    held: bigint;
    updated_at: Date;
  }>(WALLET_BALANCES, [holderId, filter.walletAccount ?? null, filter.currency ?? null]);
  return rows.map((row) => ({
    walletAccount: row.wallet_account,
    currency: row.currency,
    balance: row.available + row.reserved + row.held,
    available: row.available,
    reserved: row.reserved,
    held: row.held,
    updatedAt: row.updated_at,
  }));
}

/** What the holder owes the gateway, by currency. */
export function debtsOf(reader: Reader, holderId: bigint): Promise<{ currency: string; amount: bigint }[]> {
  return reader.query(
    `select currency, -balance as amount from ledger_accounts
     where holder_id = $1 and kind = 'holder_receivable' and balance < 0 order by currency`,
    [holderId],
  );
}

/** What has left the holder's wallets and not reached its bank yet, by currency. */
export function payablesOf(reader: Reader, holderId: bigint): Promise<{ currency: string; amount: bigint }[]> {
  return reader.query(
    `select currency, balance as amount from ledger_accounts
     where holder_id = $1 and kind = 'settlement_payable' and balance > 0 order by currency`,
    [holderId],
  );
}

/** The balance of the account at that moment; zero before its first transfer. */
export async function balanceAt(reader: Reader, account: AccountRef, moment: Date): Promise<bigint> {
  const [row] = await reader.query<{ balance: bigint }>(
    `with account as (select id from ledger_accounts where holder_id = $3 and key = $1)
     select balance from (
       (select debit_balance as balance, posted_at, id from ledger_transfers
        where holder_id = $3 and debit_account = (select id from account) and posted_at <= $2 order by posted_at desc, id desc limit 1)
       union all
       (select credit_balance, posted_at, id from ledger_transfers
        where holder_id = $3 and credit_account = (select id from account) and posted_at <= $2 order by posted_at desc, id desc limit 1)
     ) as newest
     order by posted_at desc, id desc limit 1`,
    [accountKey(account), moment, account.holderId],
  );
  return row?.balance ?? 0n;
}

export type StatementLine = {
  readonly transferId: bigint;
  readonly kind: TransferKind;
  readonly transactionId: string;
  /** Positive: credited; negative: debited. */
  readonly change: bigint;
  readonly balance: bigint;
  readonly postedAt: Date;
};

/** The account's transfers, newest first; `before` is the last transferId of the page before. */
export async function statement(
  reader: Reader,
  account: AccountRef,
  page: { before?: bigint; limit: number },
): Promise<StatementLine[]> {
  const rows = await reader.query<{
    id: bigint;
    kind: TransferKind;
    transaction_id: string;
    change: bigint;
    balance: bigint;
    posted_at: Date;
  }>(
    `with account as (select id from ledger_accounts where holder_id = $4 and key = $1),
     edge as (
       select coalesce(
           (select posted_at from (select holder_id, posted_at from ledger_transfers where id = $2 offset 0) by_id
            where holder_id = $4), 'infinity') as posted_at,
         coalesce($2, 9223372036854775807) as id
     )
     select id, kind, transaction_id, change, balance, posted_at from (
       (select id, kind, transaction_id, -amount as change, debit_balance as balance, posted_at from ledger_transfers
        where holder_id = $4 and debit_account = (select id from account)
          and (posted_at, id) < ((select posted_at from edge), (select id from edge))
        order by posted_at desc, id desc limit $3)
       union all
       (select id, kind, transaction_id, amount, credit_balance, posted_at from ledger_transfers
        where holder_id = $4 and credit_account = (select id from account)
          and (posted_at, id) < ((select posted_at from edge), (select id from edge))
        order by posted_at desc, id desc limit $3)
     ) as line
     order by posted_at desc, id desc limit $3`,
    [accountKey(account), page.before ?? null, Math.min(page.limit, MAX_STATEMENT_LINES), account.holderId],
  );
  return rows.map((row) => ({
    transferId: row.id,
    kind: row.kind,
    transactionId: row.transaction_id,
    change: row.change,
    balance: row.balance,
    postedAt: row.posted_at,
  }));
}
