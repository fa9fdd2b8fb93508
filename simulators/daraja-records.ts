// What M-PESA remembers: its transactions, its numbers and its clock, which shows Nairobi time.

import { randomBytes, randomInt } from 'node:crypto';
import type { MovementKind } from './book.ts';
import type { SimulatorContext } from './frame.ts';

export const CURRENCY = 'KES';

const NAIROBI_AHEAD_MS = 3 * 60 * 60 * 1000;
const LETTERS_AND_DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';
const DAYS = '0123456789ABCDEFGHIJKLMNOPQRSTUV';
/** The year whose receipts begin with A. */
const FIRST_YEAR = 2006;

export type MpesaTransaction = {
  kind: 'collection' | 'payout' | 'refund';
  /** What the merchant sent: AccountReference, BillRefNumber, OriginatorConversationID or, of a refund, the receipt. */
  merchantId: string;
  originatorConversationId: string;
  conversationId: string;
  channel: 'Pay Bill' | 'Buy Goods' | 'B2C' | 'Reversal';
  shortCode: string;
  msisdn: string;
  amount: bigint;
  state: 'Initiated' | 'Completed' | 'Declined';
  receipt: string | null;
  initiatedAt: number;
  finalisedAt: number | null;
  isReversed: boolean;
};

export type NewTransaction = Pick<
  MpesaTransaction,
  'kind' | 'merchantId' | 'channel' | 'shortCode' | 'msisdn' | 'amount'
> & { originatorConversationId?: string; conversationId?: string };

export interface Records {
  begin(transaction: NewTransaction): MpesaTransaction;
  /** Money moves now. */
  complete(transaction: MpesaTransaction, receipt?: string): void;
  decline(transaction: MpesaTransaction): void;
  /** M-PESA never heard of it. */
  forget(transaction: MpesaTransaction): void;
  /** The operator takes back a collection or gives back a payout, without asking the merchant. */
  takeBack(transaction: MpesaTransaction): void;
  byReceipt(receipt: string): MpesaTransaction | undefined;
  byConversation(id: string): MpesaTransaction | undefined;
  all(): Iterable<MpesaTransaction>;
  /** What the merchant can pay out. */
  available(): bigint;
  topUp(amount: bigint): void;
  newReceipt(): string;
  newConversationId(): string;
  /** "29115-34620561-1": the gateway's own number of a request. */
  newRequestId(): string;
}

export function createRecords(context: SimulatorContext): Records {
  const { book } = context;
  const now = () => context.now();
  const transactions: MpesaTransaction[] = [];
  const receipts = new Map<string, MpesaTransaction>();
  const conversations = new Map<string, MpesaTransaction>();
  let toppedUp = 0n;

  function newReceipt(): string {
    const receipt = `${receiptDay(now())}${Array.from({ length: 7 }, () => LETTERS_AND_DIGITS[randomInt(36)]).join('')}`;
    return receipts.has(receipt) ? newReceipt() : receipt;
  }

  const newConversationId = () => `AG_${nairobiTime(now()).slice(0, 8)}_${randomBytes(10).toString('hex')}`;
  const newRequestId = () => `${randomInt(1_000, 100_000)}-${randomInt(10_000_000, 1_000_000_000)}-${randomInt(1, 10)}`;

  function enter(transaction: MpesaTransaction, kind: MovementKind, receipt: string): void {
    const { merchantId, msisdn, amount } = transaction;
    book.enter({ kind, id: merchantId, receipt, msisdn, amount, currency: CURRENCY });
  }

  return {
    begin(given) {
      const transaction: MpesaTransaction = {
        originatorConversationId: newRequestId(),
        conversationId: newConversationId(),
        ...given,
        state: 'Initiated',
        receipt: null,
        initiatedAt: now(),
        finalisedAt: null,
        isReversed: false,
      };
      transactions.push(transaction);
      conversations.set(transaction.originatorConversationId, transaction);
      conversations.set(transaction.conversationId, transaction);
      return transaction;
    },
    complete(transaction, receipt = newReceipt()) {
      Object.assign(transaction, { state: 'Completed', receipt, finalisedAt: now() });
      receipts.set(receipt, transaction);
      enter(transaction, transaction.kind, receipt);
    },
    decline: (transaction) => void Object.assign(transaction, { state: 'Declined', finalisedAt: now() }),
    forget({ originatorConversationId, conversationId }) {
      conversations.delete(originatorConversationId);
      conversations.delete(conversationId);
    },
    takeBack(transaction) {
      transaction.isReversed = true;
      enter(transaction, transaction.kind === 'collection' ? 'collection_reversed' : 'payout_returned', newReceipt());
    },
    byReceipt: (receipt) => receipts.get(receipt),
    byConversation: (id) => conversations.get(id),
    all: () => transactions,
    available: () => book.balance(CURRENCY) + toppedUp,
    topUp(amount) {
      toppedUp += amount;
    },
    newReceipt,
    newConversationId,
    newRequestId,
  };
}

/** "20260105091500", in Nairobi. */
export function nairobiTime(ms: number): string {
  return new Date(ms + NAIROBI_AHEAD_MS).toISOString().replace(/\D/g, '').slice(0, 14);
}

/** "06.07.2024 22:48:52", as the results of payouts have it. */
export function nairobiDateAndTime(ms: number): string {
  const [, year, month, day, hours, minutes, seconds] = /^(....)(..)(..)(..)(..)(..)$/.exec(nairobiTime(ms)) ?? [];
  return `${day}.${month}.${year} ${hours}:${minutes}:${seconds}`;
}

/** Milliseconds of "2020-08-04 08:36:00" in Nairobi; NaN when it is not a time. */
export function readNairobiTime(text: string): number {
  return /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(text) ? Date.parse(`${text.replace(' ', 'T')}+03:00`) : Number.NaN;
}

/** The first three characters of a receipt are its day: SG6 is 6 July 2024. */
function receiptDay(ms: number): string {
  const day = new Date(ms + NAIROBI_AHEAD_MS);
  const year = LETTERS_AND_DIGITS[(day.getUTCFullYear() - FIRST_YEAR) % 26] ?? '';
  return `${year}${LETTERS_AND_DIGITS[day.getUTCMonth()] ?? ''}${DAYS[day.getUTCDate()] ?? ''}`;
}
