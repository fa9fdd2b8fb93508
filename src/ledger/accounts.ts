// The rows behind the chart: wallets and ledger accounts are made when they are first needed, and locked in one
// order by everybody. Balances themselves are moved by ledger.ts alone.

import type { Statement, Tx } from '../platform/db.ts';
import { type AccountRef, accountKey, mayGoNegative, walletAvailable, walletOf, walletReserved } from './chart.ts';

export type Wallet = { readonly walletAccount: number; readonly holderId: bigint; readonly currency: string };

/** An account whose row this transaction holds; `balance` and `updatedAt` are certain until it ends. */
export type LockedAccount = {
  readonly id: bigint;
  readonly ref: AccountRef;
  readonly mayGoNegative: boolean;
  readonly updatedAt: Date;
  balance: bigint;
};

// Locks in the order of id, so two batches over the same accounts wait for each other instead of deadlocking. When an
// account does not exist yet nothing is locked: whoever makes accounts must hold no lock that another may wait for.
const LOCK_ACCOUNTS: Statement = {
  name: 'ledger_lock_accounts',
  text: `
    select id, key, balance, updated_at
    from ledger_accounts
    where key = any($1::text[])
      and (select count(*) from ledger_accounts where key = any($1::text[])) = cardinality($1::text[])
    order by id
    for no key update`,
};

/** Locks the accounts, making those that do not exist yet. By key. */
export async function lockAccounts(tx: Tx, refs: Iterable<AccountRef>, at: Date): Promise<Map<string, LockedAccount>> {
  const wanted = new Map<string, AccountRef>();
  for (const ref of refs) wanted.set(accountKey(ref), ref);
  const keys = [...wanted.keys()];
  let rows = await selectLocked(tx, keys);
  if (rows.length < keys.length) {
    await createAccounts(tx, [...wanted.values()], at);
    rows = await selectLocked(tx, keys);
  }
  const locked = new Map<string, LockedAccount>();
  for (const row of rows) {
    const ref = wanted.get(row.key);
    if (!ref) throw new Error(`locked an account that was not asked for: ${row.key}`);
    locked.set(row.key, {
      id: row.id,
      ref,
      mayGoNegative: mayGoNegative(ref),
      updatedAt: row.updated_at,
      balance: row.balance,
    });
  }
  if (locked.size < keys.length) throw new Error('a ledger account that was just made is not there');
  return locked;
}

function selectLocked(tx: Tx, keys: string[]) {
  return tx.query<{ id: bigint; key: string; balance: bigint; updated_at: Date }>(LOCK_ACCOUNTS, [keys]);
}

/** The wallets of these holders in these currencies, in the order asked; made with both their accounts when new. */
export async function ensureWallets(
  tx: Tx,
  wanted: readonly { holderId: bigint; currency: string }[],
  at: Date,
): Promise<Wallet[]> {
  let known = await selectWallets(tx, wanted);
  if (wanted.some((wallet) => !known.has(walletKey(wallet)))) {
    await createAccounts(
      tx,
      wanted.flatMap(({ holderId, currency }) => [
        walletAvailable(holderId, currency),
        walletReserved(holderId, currency),
      ]),
      at,
    );
    known = await selectWallets(tx, wanted);
  }
  return wanted.map((wallet) => {
    const found = known.get(walletKey(wallet));
    if (!found) throw new Error(`the ${wallet.currency} wallet of holder ${wallet.holderId} was not made`);
    return found;
  });
}

const walletKey = (wallet: { holderId: bigint; currency: string }) => `${wallet.holderId}:${wallet.currency}`;

async function selectWallets(tx: Tx, wanted: readonly { holderId: bigint; currency: string }[]) {
  const rows = await tx.query<{ wallet_account: number; holder_id: bigint; currency: string }>(
    `select wallet_account, holder_id, currency
     from unnest($1::bigint[], $2::text[]) as wanted (holder_id, currency)
     join wallets using (holder_id, currency)`,
    [wanted.map((wallet) => wallet.holderId), wanted.map((wallet) => wallet.currency)],
  );
  return new Map<string, Wallet>(
    rows.map((row) => {
      const wallet = { walletAccount: row.wallet_account, holderId: row.holder_id, currency: row.currency };
      return [walletKey(wallet), wallet];
    }),
  );
}

/** Makes the missing ones among these accounts, and the wallets they need with both their sides. Sorted, so that makers queue up. */
async function createAccounts(tx: Tx, refs: AccountRef[], at: Date): Promise<void> {
  const wallets = refs.map(walletOf).filter((wallet) => wallet !== null);
  if (wallets.length > 0)
    // The anti-join keeps a wallet that exists from using up a number.
    await tx.query(
      `insert into wallets (holder_id, currency, created_at)
       select distinct holder_id, currency, $3::timestamptz
       from unnest($1::bigint[], $2::text[]) as wanted (holder_id, currency)
       where not exists (select from wallets w where w.holder_id = wanted.holder_id and w.currency = wanted.currency)
       order by holder_id, currency
       on conflict do nothing`,
      [wallets.map((wallet) => wallet.holderId), wallets.map((wallet) => wallet.currency), at],
    );
  const accounts = [
    ...refs.filter((ref) => walletOf(ref) === null),
    ...wallets.flatMap(({ holderId, currency }) => [
      walletAvailable(holderId, currency),
      walletReserved(holderId, currency),
    ]),
  ];
  await tx.query(
    `insert into ledger_accounts (key, kind, currency, may_go_negative, wallet_account, updated_at)
     select distinct wanted.key collate "C", kind, wanted.currency, may_go_negative, wallet_account, $6::timestamptz
     from unnest($1::text[], $2::text[], $3::text[], $4::boolean[], $5::bigint[])
       as wanted (key, kind, currency, may_go_negative, holder_id)
     left join wallets using (holder_id, currency)
     where not exists (select from ledger_accounts a where a.key = wanted.key)
     order by 1
     on conflict do nothing`,
    [
      accounts.map(accountKey),
      accounts.map((account) => account.kind),
      accounts.map((account) => account.currency),
      accounts.map(mayGoNegative),
      accounts.map((account) => walletOf(account)?.holderId ?? null),
      at,
    ],
  );
}
