// The rows behind the chart: wallets and ledger accounts are created when they are first needed, and locked in one order
// by every posting. Only ledger.ts changes balances.

import { columns } from '../platform/columns.ts';
import type { Statement, Tx } from '../platform/db.ts';
import { byHolder, inTurns, queryByHolder } from '../platform/one-holder.ts';
import type { RowPlace } from '../platform/row-places.ts';
import {
  type AccountRef,
  accountKey,
  besideWallet,
  isBesideWallet,
  isWallet,
  mayGoNegative,
  walletAvailable,
  walletReserved,
} from './chart.ts';

type WalletKey = { readonly holderId: bigint; readonly currency: string };
export type Wallet = WalletKey & { readonly walletAccount: number };

/** An account whose row is locked; `balance` and `updatedAt` cannot change until the transaction ends. */
export type LockedAccount = {
  readonly id: bigint;
  readonly ref: AccountRef;
  readonly mayGoNegative: boolean;
  readonly updatedAt: Date;
  /** Where the row is, so that it is changed there; null on several servers. */
  readonly place: string | null;
  balance: bigint;
};

const ownerOf = (ref: AccountRef) => ref.holderId;

const WANTED = columns<AccountRef>(1, {
  holder_id: ['bigint', (ref) => ref.holderId],
  key: ['text', accountKey],
});

// Locks in the order of (holder, id), so two batches over the same accounts wait for each other instead of deadlocking.
// When an account does not exist yet nothing is locked: accounts must be created before any lock is held.
const LOCK_ACCOUNTS = byHolder(
  'ledger_lock_accounts',
  3,
  (ofOne, placeIn) => `
    with wanted as materialized (
      select a.holder_id, a.id from ${WANTED.rows} join ledger_accounts a using (holder_id, key) where ${ofOne('a')}
    )
    select a.id, a.key, a.balance, a.updated_at, ${placeIn('a')} as place
    from wanted join ledger_accounts a using (holder_id, id)
    where (select count(*) from wanted) = cardinality($1) and ${ofOne('a')}
    order by a.holder_id, a.id
    for no key update of a`,
);

/** `place` null: this process has not seen it. */
type PlacedAccount = AccountRef & { readonly id: bigint; readonly place: string | null };

const PLACED = columns<PlacedAccount>(1, {
  holder_id: ['bigint', (ref) => ref.holderId],
  key: ['text', accountKey],
  place: ['tid', (ref) => ref.place],
});

// In the order given. One that is no longer where it was seen is locked by its key in the same turn.
const LOCK_PLACED_ACCOUNTS: Statement = {
  name: 'ledger_lock_placed_accounts',
  text: `
    select locked_id as id, locked_key as key, locked_balance as balance, locked_updated_at as updated_at, locked_place as place
    from lock_accounts(${PLACED.parameters})`,
};

/**
 * Locks the accounts, creating those that do not exist yet; by key. What is beside the wallets among them (debts, held money) is
 * locked after everything else, where it exists: so nobody waits for a wallet while holding a debt, and a posting sees a debt
 * that another one made while it waited for the wallet.
 */
export async function lockAccounts(tx: Tx, refs: Iterable<AccountRef>, at: Date): Promise<Map<string, LockedAccount>> {
  const byKey = new Map<string, AccountRef>();
  for (const ref of refs) {
    const first = isBesideWallet(ref) ? walletAvailable(ref.holderId, ref.currency) : ref;
    byKey.set(accountKey(first), first);
  }
  const wanted = [...byKey.values()];
  const beside = wanted.flatMap((ref) => (ref.kind === 'wallet_available' ? besideWallet(ref) : []));
  if (tx.isDistributed?.()) await createMissing(tx, wanted, at);
  const placed = await findPlaces(tx, wanted);
  // Sent together: the database begins the second statement when the first has its locks.
  const [found, lockedBeside] = await Promise.allSettled([selectLocked(tx, wanted, placed), lockBeside(tx, beside)]);
  // In this order: after a statement that failed the next one is told only that the transaction is over.
  if (found.status === 'rejected') throw found.reason;
  if (lockedBeside.status === 'rejected') throw lockedBeside.reason;
  const rows = found.value.length === wanted.length ? found.value : await createAndLock(tx, wanted, at);
  return new Map([...lockedAccounts(rows, byKey), ...lockedBeside.value]);
}

/** On several servers the accounts of one holder would be locked before it is seen that another's are missing. */
async function createMissing(tx: Tx, wanted: AccountRef[], at: Date): Promise<void> {
  const found = await tx.query(
    `select key from ${WANTED.rows} join ledger_accounts using (holder_id, key)`,
    WANTED.arrays(wanted),
  );
  if (found.length < wanted.length) await createAccounts(tx, wanted, at);
}

/** The first posting of a holder or a rail. What is beside wallets is locked already: a deadlock is possible here, and tried again. */
async function createAndLock(tx: Tx, wanted: AccountRef[], at: Date): Promise<LockedRow[]> {
  await createAccounts(tx, wanted, at);
  const rows = await selectLocked(tx, wanted, await findPlaces(tx, wanted));
  if (rows.length < wanted.length) throw new Error('a ledger account that was just created is missing');
  return rows;
}

type LockedRow = { id: bigint; key: string; balance: bigint; updated_at: Date; place: string | null };

function lockedAccounts(rows: LockedRow[], byKey: ReadonlyMap<string, AccountRef>): Map<string, LockedAccount> {
  return new Map(
    rows.map((row) => {
      const ref = byKey.get(row.key);
      if (!ref) throw new Error(`locked an account that was not asked for: ${row.key}`);
      const { id, balance, updated_at: updatedAt, place } = row;
      return [row.key, { id, ref, mayGoNegative: mayGoNegative(ref), updatedAt, place, balance }];
    }),
  );
}

const LOCK_BESIDE_ON_SERVERS = byHolder(
  'ledger_lock_beside',
  3,
  (ofOne) => `
    select a.id, a.key, a.balance, a.updated_at, null as place
    from ${WANTED.rows} join ledger_accounts a using (holder_id, key)
    where ${ofOne('a')} order by a.holder_id, a.id for no key update of a`,
);

/** Locks those that exist. Their wallets are locked already. */
async function lockBeside(tx: Tx, beside: AccountRef[]): Promise<Map<string, LockedAccount>> {
  if (beside.length === 0) return new Map();
  const rows = tx.isDistributed?.()
    ? await queryByHolder<LockedRow, AccountRef>(tx, LOCK_BESIDE_ON_SERVERS, WANTED, beside, ownerOf)
    : await lockPlaced(tx, placesOf(tx, beside));
  return lockedAccounts(rows, new Map(beside.map((ref) => [accountKey(ref), ref])));
}

/** Creates and locks accounts beside wallets that had none. The wallets are locked already. */
export async function createBeside(tx: Tx, beside: AccountRef[], at: Date): Promise<Map<string, LockedAccount>> {
  await createAccounts(tx, beside, at);
  return lockBeside(tx, beside);
}

/** None where one of them does not exist. */
async function selectLocked(tx: Tx, wanted: AccountRef[], placed: PlacedAccount[]): Promise<LockedRow[]> {
  // Those that this process has seen exist; otherwise nothing may be locked before it is known that all of them do.
  if (placed.length > 0 && placed.every(({ place }) => place !== null)) {
    const rows = await lockPlaced(tx, placed);
    // Seen, and gone: another database was put in the place of the one before.
    if (rows.length === wanted.length) return rows;
  }
  return await queryByHolder<LockedRow, AccountRef>(tx, LOCK_ACCOUNTS, WANTED, wanted, ownerOf);
}

function lockPlaced(tx: Tx, placed: readonly PlacedAccount[]): Promise<LockedRow[]> {
  return tx.query<LockedRow>(LOCK_PLACED_ACCOUNTS, PLACED.arrays(placed));
}

// Reads only: what it finds is locked where it was found, in its turn.
const FIND_ACCOUNTS: Statement = {
  name: 'ledger_find_accounts',
  text: `select a.id, a.key, a.place::text from ${WANTED.rows} cross join lateral (
      select a.id, a.key, a.ctid as place from ledger_accounts a where a.holder_id = input.holder_id and a.key = input.key limit 1
    ) as a`,
};

/**
 * Where the accounts are. Some that this process has not seen are looked up, so that the others need not be: a wallet with many
 * payments may be among them. None of them seen: they are as quickly locked by their keys. None at all on several servers.
 */
async function findPlaces(tx: Tx, wanted: readonly AccountRef[]): Promise<PlacedAccount[]> {
  if (tx.isDistributed?.()) return [];
  const placed = placesOf(tx, wanted);
  const unseen = placed.filter(({ place }) => place === null);
  if (unseen.length === 0 || unseen.length === placed.length) return placed;
  const rows = await tx.query<RowPlace & { key: string }>(FIND_ACCOUNTS, WANTED.arrays(unseen));
  const found = new Map(rows.map(({ key, id, place }) => [key, { id, place }]));
  return inLockOrder(placed.map((account) => ({ ...account, ...found.get(accountKey(account)) })));
}

/** As far as this process has seen them. */
function placesOf(tx: Tx, wanted: readonly AccountRef[]): PlacedAccount[] {
  return inLockOrder(
    wanted.map((ref) => {
      const { id = 0n, place = null } = tx.places?.find(accountKey(ref)) ?? {};
      return { ...ref, id, place };
    }),
  );
}

/** That of (holder, id). */
function inLockOrder(accounts: PlacedAccount[]): PlacedAccount[] {
  return accounts.sort((left, right) => compare(left.holderId, right.holderId) || compare(left.id, right.id));
}

function compare(left: bigint, right: bigint): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

const WALLETS = columns<WalletKey>(1, {
  holder_id: ['bigint', (wallet) => wallet.holderId],
  currency: 'text',
});

/** The wallets of these holders in these currencies, in the order asked; created with both their accounts when new. */
export async function ensureWallets(tx: Tx, wanted: readonly WalletKey[], at: Date): Promise<Wallet[]> {
  let known = await selectWallets(tx, wanted);
  if (wanted.some((wallet) => !known.has(walletKey(wallet)))) {
    await createAccounts(tx, wanted.flatMap(bothSides), at);
    known = await selectWallets(tx, wanted);
  }
  return wanted.map((wallet) => {
    const found = known.get(walletKey(wallet));
    if (!found) throw new Error(`the ${wallet.currency} wallet of holder ${wallet.holderId} was not created`);
    return found;
  });
}

const walletKey = (wallet: WalletKey) => `${wallet.holderId}:${wallet.currency}`;

function bothSides({ holderId, currency }: WalletKey): AccountRef[] {
  return [walletAvailable(holderId, currency), walletReserved(holderId, currency)];
}

type WalletRow = { wallet_account: number; holder_id: bigint; currency: string };

async function selectWallets(tx: Tx, wanted: readonly WalletKey[]) {
  const rows = await tx.query<WalletRow>(
    `select wallet_account, holder_id, currency from ${WALLETS.rows} join wallets using (holder_id, currency)`,
    WALLETS.arrays(wanted),
  );
  return walletsByKey(rows);
}

function walletsByKey(rows: WalletRow[]): Map<string, Wallet> {
  return new Map(
    rows.map((row) => {
      const wallet = { walletAccount: row.wallet_account, holderId: row.holder_id, currency: row.currency };
      return [walletKey(wallet), wallet];
    }),
  );
}

type NewAccount = AccountRef & { readonly walletAccount: number | null };

const ACCOUNTS = columns<NewAccount>(2, {
  holder_id: ['bigint', (ref) => ref.holderId],
  key: ['text', accountKey],
  kind: 'text',
  currency: 'text',
  rail: ['text', (ref) => (ref.kind === 'operator_clearing' || ref.kind === 'bank' ? ref.rail : null)],
  may_go_negative: ['boolean', mayGoNegative],
  wallet_account: ['bigint', (ref) => ref.walletAccount],
});

/**
 * Creates missing accounts, and the wallets they need with both their accounts. Sorted, so that two creators cannot deadlock.
 * Never ahead of the database: an account without transfers must not hold its first one back.
 */
async function createAccounts(tx: Tx, refs: AccountRef[], at: Date): Promise<void> {
  const wallets = refs.filter(isWallet);
  const numbers = wallets.length > 0 ? await createWallets(tx, wallets, at) : new Map<string, Wallet>();
  const accounts = [...refs, ...wallets.flatMap(bothSides)].map((ref): NewAccount => {
    const walletAccount = isWallet(ref) ? (numbers.get(walletKey(ref))?.walletAccount ?? null) : null;
    return { ...ref, walletAccount };
  });
  for (const own of inTurns(tx, accounts, ({ holderId }) => holderId))
    await tx.query(
      `insert into ledger_accounts (${ACCOUNTS.names}, updated_at)
       select distinct holder_id, key collate "C", kind, currency, rail, may_go_negative, wallet_account::int,
              least($1::timestamptz, now())
       from ${ACCOUNTS.rows}
       order by 1, 2
       on conflict do nothing`,
      [at, ...ACCOUNTS.arrays(own)],
    );
}

/** Only those that do not exist: a row that is refused would use up a number. */
async function createWallets(tx: Tx, wanted: readonly WalletKey[], at: Date): Promise<Map<string, Wallet>> {
  const known = await selectWallets(tx, wanted);
  const missing = wanted.filter((wallet) => !known.has(walletKey(wallet)));
  if (missing.length === 0) return known;
  const created: WalletRow[] = [];
  for (const own of inTurns(tx, missing, ({ holderId }) => holderId))
    created.push(
      ...(await tx.query<WalletRow>(
        `insert into wallets (${WALLETS.names}, created_at)
         select distinct ${WALLETS.names}, $3::timestamptz from ${WALLETS.rows}
         order by holder_id, currency
         on conflict do nothing
         returning wallet_account, holder_id, currency`,
        [...WALLETS.arrays(own), at],
      )),
    );
  const all = new Map([...known, ...walletsByKey(created)]);
  // Others are created by another transaction at the same moment.
  return missing.every((wallet) => all.has(walletKey(wallet))) ? all : selectWallets(tx, wanted);
}
