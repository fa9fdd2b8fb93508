// Recomputes the ledger from its transfers and reports every difference: balances, running balances, the hash chain, the
// sum per currency, the wallets. It reads page by page from one snapshot, so it can run beside traffic and over millions
// of transfers; memory grows with the number of accounts, not of transfers. It can start after any head and go on after any
// block: what was compared up to there is trusted, and the balances of the accounts there are read from their transfers.

import { columns } from '../platform/columns.ts';
import type { Context } from '../platform/context.ts';
import type { Reader } from '../platform/db.ts';
import { formatAmount } from '../platform/money.ts';
import { byHolder, queryByHolder } from '../platform/one-holder.ts';
import { findHead, type Head, type KnownHead } from './chain.ts';
import { BEGINNING, type ChainCounts, type ChainPlace, placeAfter } from './chain-links.ts';
import { walkChain } from './chain-walk.ts';
import { type AccountKind, accountKey, storedAccount } from './chart.ts';
import type { LedgerDifference, ReportDifference } from './differences.ts';
import { checkKnownHeads } from './head-walk.ts';

const PIECE = 5_000;
/** Differences reported in full; more are only counted. */
const MAX_DIFFERENCES = 200;
/** Accounts with contradictions that a paused run keeps. */
const MAX_ODD = 200;

export type Verification = {
  readonly ok: boolean;
  readonly checked: {
    transfers: number;
    accounts: number;
    wallets: number;
    currencies: number;
    blocks: number;
    heads: number;
    /** Transfers that are in no block yet. */
    unsealed: number;
    /** The newest head. Kept elsewhere and given as `knownHeads` later, it proves that the past was not rewritten. */
    head: KnownHead | null;
  };
  readonly differences: LedgerDifference[];
  readonly differencesInAll: number;
  /** False: it was paused after a block, and the balances were not compared. */
  readonly complete: boolean;
};

type VerifyLedgerOptions = {
  onProgress?: (transfers: number) => void;
  knownHeads?: readonly KnownHead[];
  /** What this head covers is trusted; without it everything is compared. */
  after?: Head;
  /** Goes on from here: what `onBlock` was called with. */
  from?: PausedAt;
  /** Called when all transfers up to the end of a block were compared. Returning false pauses there. */
  onBlock?: (at: PausedAt & { transfers: number } & Found) => Promise<boolean>;
};

/** A place after a block, and the accounts whose transfers contradict each other up to there. */
export type PausedAt = { readonly place: ChainPlace; readonly odd: readonly OddAccount[] };
type OddAccount = { readonly id: string; readonly sum: bigint; readonly derived: bigint | null };

type Found = Pick<Verification, 'differences' | 'differencesInAll'>;

export async function verifyLedger(ctx: Pick<Context, 'db'>, options: VerifyLedgerOptions = {}): Promise<Verification> {
  const differences: LedgerDifference[] = [];
  let differencesInAll = 0;
  const report: ReportDifference = (difference) => {
    differencesInAll++;
    if (differences.length < MAX_DIFFERENCES) differences.push(difference);
  };
  const { complete, ...checked } = await ctx.db.snapshot((reader) =>
    verifySnapshot(reader, options, report, () => ({ differences, differencesInAll })),
  );
  return { ok: differencesInAll === 0, checked, differences, differencesInAll, complete };
}

async function verifySnapshot(
  reader: Reader,
  options: VerifyLedgerOptions,
  report: ReportDifference,
  found: () => Found,
): Promise<Verification['checked'] & { complete: boolean }> {
  const books: Books = { accounts: new Map(), odd: new Set() };
  const { after } = options;
  const place = options.from?.place ?? (after ? await placeAfter(reader, after) : BEGINNING);
  await readAccounts(reader, books, place);
  for (const { id, ...state } of options.from?.odd ?? []) markOdd(books, id, state);
  const counts: ChainCounts = { blocks: 0, heads: 0, unsealed: 0, head: null };
  let transfers = 0;
  for await (const step of walkChain(reader, { place, idsAfter: after?.last_id ?? null }, counts, report)) {
    if ('place' in step) {
      // Everything of the block is reported by now: a run that goes on here reports nothing twice.
      const paused = { place: step.place, odd: listOdd(books) };
      if (options.onBlock && !(await options.onBlock({ ...paused, transfers, ...found() })))
        return { ...counts, head: null, transfers, accounts: 0, wallets: 0, currencies: 0, complete: false };
      continue;
    }
    for (const line of step.lines) checkTransfer(books, parseLine(line), report);
    transfers += step.lines.length;
    if (step.lines.length > 0) options.onProgress?.(transfers);
  }
  await checkKnownHeads(reader, options.knownHeads ?? [], report);
  checkBalances(books, report);
  const currencies = await checkCurrencies(reader, report);
  const wallets = await checkWallets(reader, report);
  options.onProgress?.(transfers);
  return { transfers, accounts: books.accounts.size, wallets, currencies, ...counts, complete: true };
}

type Line = {
  id: bigint;
  holder: string;
  debit: string;
  credit: string;
  amount: bigint;
  currency: string;
  kind: string;
  transactionId: string;
  debitBalance: bigint;
  creditBalance: bigint;
};

/** The values are read from the text that is hashed, so both are checked at once. */
function parseLine(line: string): Line {
  const fields = line.split('|');
  const field = (index: number) => fields[index] ?? '';
  return {
    id: BigInt(field(0)),
    holder: field(2),
    debit: field(3),
    credit: field(4),
    amount: BigInt(field(5)),
    currency: field(6),
    kind: field(7),
    transactionId: field(8),
    debitBalance: BigInt(field(10)),
    creditBalance: BigInt(field(11)),
  };
}

/** One account, as its transfers up to now state it. */
type Book = {
  readonly holder: string;
  readonly key: string;
  /** What it should be; null where checkWallets compares it. */
  readonly expectedKey: string | null;
  readonly currency: string;
  readonly mayGoNegative: boolean;
  readonly stored: bigint;
  sum: bigint;
  /** The balance after the last transfer, as that transfer states it. */
  stated: bigint;
  /** Set when that transfer contradicts the ones before: the balance by those. */
  derived: bigint | null;
  lastTransfer: bigint | null;
};
/** By id; `odd` are those whose transfers contradict each other. */
type Books = { readonly accounts: Map<string, Book>; readonly odd: Set<string> };

function listOdd({ accounts, odd }: Books): OddAccount[] {
  return [...odd].slice(0, MAX_ODD).map((id) => {
    const { sum = 0n, derived = null } = accounts.get(id) ?? {};
    return { id, sum, derived };
  });
}

function markOdd({ accounts, odd }: Books, id: string, state: Pick<Book, 'sum' | 'derived'>): void {
  const book = accounts.get(id);
  if (!book) return;
  Object.assign(book, state);
  odd.add(id);
}

/** The balance of the account `input` after its newest transfer before the place, whether debit or credit. */
const balanceBefore = (ofOne: string) => `coalesce((
  select balance from (
    (select id, posted_at, position, debit_balance as balance from ledger_transfers
     where ${ofOne} and holder_id = input.holder_id and debit_account = input.id
       and (position <= input.position or (position is null and id <= input.past))
     order by posted_at desc, position desc nulls last, id desc limit 1)
    union all
    (select id, posted_at, position, credit_balance from ledger_transfers
     where ${ofOne} and holder_id = input.holder_id and credit_account = input.id
       and (position <= input.position or (position is null and id <= input.past))
     order by posted_at desc, position desc nulls last, id desc limit 1)
  ) as newest order by posted_at desc, position desc nulls last, id desc limit 1), 0)`;

type PlacedAccount = { id: bigint; holder_id: bigint; position: bigint; past: bigint };
const PLACED = columns<PlacedAccount>(1, { id: 'bigint', holder_id: 'bigint', position: 'bigint', past: 'bigint' });
const BALANCES_BEFORE = byHolder(
  'ledger_balances_before',
  5,
  (ofOne) => `
  select input.id, ${balanceBefore(ofOne('ledger_transfers'))} as balance
  from ${PLACED.rows}`,
);

/** Of every wallet. */
const MUST_EXIST: readonly AccountKind[] = ['wallet_available', 'wallet_reserved'];

type AccountRow = {
  holder_id: bigint;
  id: bigint;
  key: string;
  kind: AccountKind;
  rail: string | null;
  currency: string;
  may_go_negative: boolean;
  balance: bigint;
  sealed: bigint;
};

async function readAccounts(reader: Reader, books: Books, place: ChainPlace): Promise<void> {
  const balancesBefore =
    place === BEGINNING ? () => Promise.resolve(new Map<bigint, bigint>()) : await balanceReader(reader, place);
  let after = { holder: -1n, id: 0n };
  for (;;) {
    const rows = await reader.query<AccountRow>(
      `select a.holder_id, a.id, key, kind, rail, currency, may_go_negative, balance, coalesce(s.position, 0) as sealed
       from ledger_accounts a left join ledger_sealed s using (holder_id)
       where (a.holder_id, a.id) > ($1, $2) order by a.holder_id, a.id limit $3`,
      [after.holder, after.id, PIECE],
    );
    const before = await balancesBefore(rows);
    for (const row of rows)
      books.accounts.set(String(row.id), {
        holder: String(row.holder_id),
        key: row.key,
        expectedKey: MUST_EXIST.includes(row.kind) ? null : accountKey(storedAccount(row)),
        currency: row.currency,
        mayGoNegative: row.may_go_negative,
        stored: row.balance,
        sum: before.get(row.id) ?? 0n,
        stated: before.get(row.id) ?? 0n,
        derived: null,
        lastTransfer: null,
      });
    const last = rows.at(-1);
    if (!last || rows.length < PIECE) return;
    after = { holder: last.holder_id, id: last.id };
  }
}

/**
 * Reads what accounts held at a place, by their transfers. A holder stood there where its first block after the place begins; if
 * it has none, everything of it that is sealed is before the place.
 */
async function balanceReader(reader: Reader, place: ChainPlace) {
  const past = place.past === 0n ? null : await findHead(reader, place.past);
  const moved = await reader.query<{ holder_id: bigint; position: bigint }>(
    `select part.holder_id, min(part.after_position) as position
     from unnest($1::bigint[]) with ordinality as start (number, place)
     join ledger_partition_blocks b on b.partition = start.place - 1 and b.number > start.number
     cross join lateral unnest(b.holders, b.after_positions) as part (holder_id, after_position)
     group by part.holder_id`,
    [place.blocks],
  );
  const positions = new Map(moved.map((row) => [row.holder_id, row.position]));
  return async (accounts: AccountRow[]): Promise<Map<bigint, bigint>> => {
    const placed = accounts.map(({ id, holder_id, sealed }) => ({
      id,
      holder_id,
      position: positions.get(holder_id) ?? sealed,
      past: past?.last_id ?? 0n,
    }));
    const rows = await queryByHolder<{ id: bigint; balance: bigint }, PlacedAccount>(
      reader,
      BALANCES_BEFORE,
      PLACED,
      placed,
      ({ holder_id }) => holder_id,
    );
    return new Map(rows.map(({ id, balance }) => [id, balance]));
  };
}

function checkTransfer(books: Books, transfer: Line, report: ReportDifference): void {
  const where = `transfer ${transfer.id}`;
  if (transfer.amount <= 0n)
    report({
      what: 'transfer',
      where,
      expected: 'an amount above zero',
      found: formatAmount(transfer.amount),
      sentence: `Transfer ${transfer.id} moves ${formatAmount(transfer.amount)} ${transfer.currency}; a transfer moves more than nothing.`,
    });
  checkSide(books, transfer, transfer.debit, -transfer.amount, transfer.debitBalance, report);
  checkSide(books, transfer, transfer.credit, transfer.amount, transfer.creditBalance, report);
}

function checkSide(
  books: Books,
  transfer: Line,
  id: string,
  change: bigint,
  stated: bigint,
  report: ReportDifference,
): void {
  const where = `transfer ${transfer.id}`;
  const named = `Transfer ${transfer.id} (${transfer.kind} of ${transfer.transactionId})`;
  const book = books.accounts.get(id);
  if (!book) {
    const sentence = `${named} names account ${id}, which does not exist.`;
    report({ what: 'transfer', where, expected: `account ${id}`, found: 'no such account', sentence });
    return;
  }
  if (book.holder !== transfer.holder)
    report({
      what: 'transfer',
      where,
      expected: `holder ${transfer.holder}`,
      found: `holder ${book.holder}`,
      sentence: `${named} is of holder ${transfer.holder}, but account ${book.key} belongs to holder ${book.holder}.`,
    });
  if (book.currency !== transfer.currency)
    report({
      what: 'transfer',
      where,
      expected: book.currency,
      found: transfer.currency,
      sentence: `${named} is in ${transfer.currency}, but account ${book.key} is in ${book.currency}.`,
    });
  const follows = book.stated + change === stated || (book.derived !== null && book.derived + change === stated);
  if (!follows) {
    const before = book.lastTransfer === null ? 'before its first transfer' : `after transfer ${book.lastTransfer}`;
    report({
      what: 'transfer',
      where,
      expected: formatAmount(book.stated + change),
      found: formatAmount(stated),
      sentence:
        `${named} says that account ${book.key} held ${formatAmount(stated)} after it. ` +
        `The account held ${formatAmount(book.stated)} ${before}, and this transfer moves ${formatAmount(change)}, ` +
        `which makes ${formatAmount(book.stated + change)}: ` +
        'this transfer was edited, or one between the two was removed or added.',
    });
  } else if (stated < 0n && !book.mayGoNegative) {
    const sentence = `${named} leaves account ${book.key} at ${formatAmount(stated)}; it may not go below zero.`;
    report({ what: 'transfer', where, expected: 'zero or more', found: formatAmount(stated), sentence });
  }
  book.derived = follows ? null : book.stated + change;
  book.stated = stated;
  book.sum += change;
  book.lastTransfer = transfer.id;
  if (book.sum !== book.stated || book.derived !== null) books.odd.add(id);
  else books.odd.delete(id);
}

function checkBalances(books: Books, report: ReportDifference): void {
  for (const book of books.accounts.values()) {
    const where = `account ${book.key}`;
    if (book.expectedKey !== null && book.key !== book.expectedKey)
      report({
        what: 'account',
        where,
        expected: book.expectedKey,
        found: book.key,
        sentence:
          `Account ${book.key} of holder ${book.holder} should have the key ${book.expectedKey}: ` +
          'the next posting would open that account anew, and leave the money of this one behind.',
      });
    if (book.stored !== book.sum)
      report({
        what: 'balance',
        where,
        expected: formatAmount(book.sum),
        found: formatAmount(book.stored),
        sentence:
          `Account ${book.key} holds ${formatAmount(book.stored)} ${book.currency}, ` +
          `but its transfers add up to ${formatAmount(book.sum)}.`,
      });
    else if (book.stated !== book.sum)
      // The sums agree, so the last transfer states a wrong balance (reported above) or a removed pair cancelled out.
      report({
        what: 'balance',
        where,
        expected: formatAmount(book.sum),
        found: formatAmount(book.stated),
        sentence:
          `Account ${book.key} holds ${formatAmount(book.sum)} ${book.currency}, ` +
          `but its last transfer ${book.lastTransfer} says ${formatAmount(book.stated)}.`,
      });
    if (book.stored < 0n && !book.mayGoNegative) {
      const sentence = `Account ${book.key} holds ${formatAmount(book.stored)} ${book.currency}; it may not go below zero.`;
      report({ what: 'balance', where, expected: 'zero or more', found: formatAmount(book.stored), sentence });
    }
  }
}

async function checkCurrencies(reader: Reader, report: ReportDifference): Promise<number> {
  const rows = await reader.query<{ currency: string; sum: string }>(
    'select currency, sum(balance)::text as sum from ledger_accounts group by currency order by currency',
  );
  for (const { currency, sum } of rows)
    if (sum !== '0') {
      const found = formatAmount(BigInt(sum));
      const sentence = `All accounts in ${currency} together hold ${found}; every transfer takes what it gives, so they must hold 0.`;
      report({ what: 'currency', where: currency, expected: '0', found, sentence });
    }
  return rows.length;
}

/** Every wallet has its two accounts, under the holder's and the currency's own key, and every account of a wallet its wallet. */
async function checkWallets(reader: Reader, report: ReportDifference): Promise<number> {
  const rows = await reader.query<{ wallet_account: number; expected: string; found: string | null }>(
    `select w.wallet_account, format('wallet:%s:%s:%s', w.holder_id, w.currency, side.name) as expected, a.key as found
     from wallets w
     cross join (values ('wallet_available', 'available'), ('wallet_reserved', 'reserved')) as side (kind, name)
     left join ledger_accounts a
       on a.holder_id = w.holder_id and a.wallet_account = w.wallet_account and a.kind = side.kind
     where a.key is distinct from format('wallet:%s:%s:%s', w.holder_id, w.currency, side.name)
       or a.currency is distinct from w.currency
     order by 1, 2 limit $1`,
    [MAX_DIFFERENCES],
  );
  for (const row of rows) {
    const found = row.found ?? 'no account';
    const sentence = `Wallet ${row.wallet_account} should have the account ${row.expected}; there is ${found}.`;
    report({ what: 'wallet', where: `wallet ${row.wallet_account}`, expected: row.expected, found, sentence });
  }
  const strays = await reader.query<{ key: string; wallet_account: number; currency: string }>(
    `select key, wallet_account, currency from ledger_accounts a
     where wallet_account is not null and not exists (
       select from wallets w
       where w.holder_id = a.holder_id and w.wallet_account = a.wallet_account and w.currency = a.currency)
     order by holder_id, id limit $1`,
    [MAX_DIFFERENCES],
  );
  for (const { key, wallet_account: wallet, currency } of strays) {
    const sentence = `Account ${key} belongs to wallet ${wallet}, which does not exist in ${currency}.`;
    report({ what: 'wallet', where: `wallet ${wallet}`, expected: 'a wallet', found: 'none', sentence });
  }
  const [count] = await reader.query<{ wallets: number }>('select count(*)::int as wallets from wallets');
  return count?.wallets ?? 0;
}
