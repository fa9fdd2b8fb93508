// The contract of a connector ("rail"): the calls of the gateway to an operator, and their results. One file per rail
// implements it for one connection (an account at the operator), registry.ts lists it, contract.test.ts checks it. Four laws:
//  1. Operators give evidence, not exceptions. A call returns an observation whatever the operator does: time-outs,
//     resets, 5xx, redirects, garbage, unknown codes and oversized answers are `unknown`, and unknown is never `failed`.
//  2. Idempotent by our reference. Submitting a reference twice moves money at most once; where the operator cannot promise
//     that, `idempotentSubmit` is false and the gateway submits once.
//  3. Bounded. A call reads at most MAX_ANSWER_BYTES within its time limit and follows no redirect.
//  4. No secret leaves. `raw` is evidence that people read: it is scrubbed before it is returned (evidence.ts).

import type { Direction, Method, VerificationStyle } from '../catalog/catalog.ts';
import type { FailureCode } from '../catalog/failures.ts';

export const CALL_TIMEOUT_MS = 15_000;
export const MAX_ANSWER_BYTES = 256 * 1024;
/** How much of an operator's answer is kept as evidence. */
export const MAX_RAW_CHARACTERS = 4_096;

/** The fields of a payment method that a rail uses. */
export type RailMethod = Pick<Method, 'code' | 'name' | 'type' | 'verification' | 'shortCode' | 'country' | 'currency'>;

/** Which way money moves. A refund that an operator only knows as a payout is a payout. */
export type MoneyDirection = Direction | 'refund';

/** Where the payer has to send the money (till, pay bill, bank transfer), and until when. */
export type PayInstructions = {
  payTo: { kind: 'till' | 'paybill' | 'bank_account'; number: string; name: string; bank: string | null };
  /** What the payer types as account or reference; incoming payments are matched by it. */
  accountReference: string;
  expiresAt: Date;
};

/** What the payer has to do next. Checkout, API and test phone show it. `text`: the operator's own words, if it sent any. */
export type PayerStep =
  /** A prompt appears on the phone. */
  | { kind: 'prompt'; text: string | null }
  /** The payer dials a code to get the prompt. */
  | { kind: 'dial'; code: string; text: string | null }
  /** The operator gives the payer a code, and the payer gives it to us (`submitCode`). `dial`: for it; PIN stands for the payer's own. */
  | { kind: 'code'; text: string | null; dial?: string }
  /** The payer confirms on a page of the operator, or in its app. */
  | { kind: 'redirect' | 'deep_link'; url: string; expiresAt: Date | null }
  /** The payer scans a code with the operator's app; on the phone itself, one of the links opens the app. */
  | { kind: 'qr'; content: string; links: readonly { name: string; url: string }[]; expiresAt: Date | null }
  | ({ kind: 'transfer' } & PayInstructions);

/** What one answer of an operator reports about one transaction. */
export type Observation =
  | { state: 'pending'; railReference?: string; step?: PayerStep }
  /** `receipt` null: the operator tells it later. A second success with the receipt is then learned, not a contradiction. */
  | { state: 'succeeded'; receipt: string | null; railReference?: string; amount?: bigint; currency?: string }
  /**
   * The operator declined. PROMPT_EXPIRED means the payer was never charged: the transaction becomes `expired`. `notTaken`, in the
   * answer to a submit only: the operator did not keep the reference, so the same one can be sent again.
   */
  | {
      state: 'failed';
      failureCode: FailureCode;
      rawCode: string;
      message: string;
      railReference?: string;
      notTaken?: true;
    }
  /** Succeeded, then reversed by the operator. `amount` is that of the transaction; what refunds have left goes back. */
  | { state: 'reversed'; receipt: string | null; rawCode: string; message: string; amount?: bigint; currency?: string }
  /**
   * Nothing is known. `definitelyNotFound`: the operator itself answered a query that it never received the reference; only
   * that allows another submit. `asked`: the operator took the question and answers by callback. `answered`: the operator is well
   * and gave an answer that tells no end yet; without it, the answer counts as none.
   */
  | { state: 'unknown'; reason: string; definitelyNotFound?: boolean; asked?: true; answered?: true };

/**
 * `raw` is the operator's answer, cut to MAX_RAW_CHARACTERS and scrubbed; it is kept as evidence. `notCalled`: nobody was asked, so
 * it says nothing about the health of the operator.
 */
export type RailReply = { observation: Observation; raw: string; notCalled?: true };

/** What `prepare` got from the operator (a token, a recipient's id). It is committed before money moves. */
export type Prepared = Readonly<Record<string, string>>;

export type PayoutCall = {
  /** Ours: TX_… of a collection or payout, RF_… of a refund that is sent as a payout. */
  reference: string;
  method: RailMethod;
  /** Digits with the dial code; an account number for bank methods. */
  msisdn: string;
  amount: bigint;
  currency: string;
  /** The name of the business, as the payer's prompt shows it. */
  merchantName: string;
  /** The recipient's name where the gateway knows it. Some operators require one. */
  recipientName: string | null;
  /** What `prepare` returned for this transaction; null where the rail has no `prepare`. */
  prepared: Prepared | null;
};

export type CollectCall = Omit<PayoutCall, 'recipientName'> & {
  /** The payer entered a token that we sent to the phone (`otp`). */
  verified: boolean;
  /** The page that the payer comes back to after a redirect. */
  returnUrl: string;
};

export type QueryCall = {
  reference: string;
  direction: MoneyDirection;
  method: RailMethod;
  /** The operator's own reference and receipt, if it told them. */
  railReference: string | null;
  receipt: string | null;
  prepared: Prepared | null;
  /** The payer's or recipient's number, where the transaction has one. */
  msisdn?: string;
  amount: bigint;
  currency: string;
  /** When it was sent. An early "no" of a query can still become a "yes". */
  submittedAt: Date;
  /** Those of these receipts that belong to other payments of this connection, where a list has several that fit. */
  usedReceipts?: (receipts: readonly string[]) => Promise<ReadonlySet<string>>;
};

/** Gives money of a collection back to its payer. A collection may be refunded several times, in parts. */
export type RefundCall = {
  /** The refund's own (RF_…). Sent again, it names the same refund; another refund has another reference. */
  reference: string;
  /** What is given back from: our reference (TX_…), the operator's own, the receipt, and all that was collected. */
  collection: { reference: string; railReference: string | null; receipt: string | null; amount: bigint };
  method: RailMethod;
  msisdn: string;
  /** What is given back now: all of the collection, or a part if `refunds` is `partial`. */
  amount: bigint;
  currency: string;
  merchantName: string;
};

/** The code that the operator gave to the payer (`step` was `code`). */
export type CodeCall = Omit<QueryCall, 'direction' | 'receipt'> & { msisdn: string; code: string };

export type NameCall = { msisdn: string; method: RailMethod };
export type TokenCall = { msisdn: string; text: string; method: RailMethod };
export type TokenReply = { sent: boolean; raw: string };
/** A short text to the payer of a collection that succeeded: our reference, the operator's own, and what to say. */
export type PayerTextCall = {
  reference: string;
  railReference: string | null;
  method: RailMethod;
  msisdn: string;
  text: string;
};
/** `refused`: the operator did not send it. `unknown`: it may have. It is not sent again in either case. */
export type PayerTextReply = { state: 'sent' | 'refused' | 'unknown'; raw: string };
/** Either what the next call needs, or how it ended: `failed` (nothing was sent, nothing will be) or `unknown` (try again). */
export type PrepareReply = { prepared: Prepared } | RailReply;

/** `asked`: the answer comes by callback, as a reading `balance`. */
export type BalanceReply = { balances: readonly OperatorBalance[] } | { asked: true } | { error: string };
/** `account`: the operator's name for it where there are several, such as "Utility Account". */
export type OperatorBalance = { account: string; currency: string; available: bigint };

/** From one moment, inclusive, to another, exclusive. */
export type StatementSpan = { from: Date; to: Date };
/**
 * A part of a statement: the records as the operator wrote them, which a reader of books/readers knows. `next`: the next part is asked
 * for with it; null: this was the last.
 */
export type StatementPart = { records: readonly object[]; next: string | null } | { error: string };

/** A request of an operator to /operators/<connection>/…, as received. Header names are in lower case. */
export type CallbackRequest = {
  method: string;
  /** As the operator addressed us, lower case, with a port that is not the default one. */
  host: string;
  /** With the query, percent-encoded as received. */
  path: string;
  /** The address that the request came from, behind our own proxies; null where it is not known. */
  remoteAddress: string | null;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  body: Buffer;
};

/**
 * What an operator callback contains. One request may carry several; then `part` is the text about this one, and what is kept as
 * its evidence. Without it nothing is kept, because the whole request may be about payments of other accounts.
 */
export type CallbackReading =
  /** Authenticated by the operator: applied. `direction` tells which way money moved where we do not know the reference. */
  | { kind: 'proof'; reference: string; direction: MoneyDirection; observation: Observation; part?: string }
  /**
   * Not signed, but it came to the address that only the operator was given for this transaction, from its ranges. Applied when
   * ids and amount are those we stored and the connection allows it; confirmed by a query where one answers. `isAnswer`: it came
   * to the address of a question that we asked (`by_callback`). No better word can be had, so it counts at every connection.
   */
  | {
      kind: 'matched';
      reference: string;
      direction: MoneyDirection;
      observation: Observation;
      isAnswer?: true;
      part?: string;
    }
  /** Not authenticated: only a reason to query the operator. */
  | { kind: 'hint'; reference: string; part?: string }
  /** Authenticated: the payer, or the payer's bank, asks the operator for the money of a collection back. */
  | { kind: 'dispute'; reference: string; notice: DisputeNotice; part?: string }
  /** Money that a payer sent (`transfer`), matched by account reference, amount and currency. */
  | {
      kind: 'payment_received';
      accountReference: string;
      amount: bigint;
      currency: string;
      receipt: string;
      payer: string | null;
      part?: string;
    }
  /** A payer is about to send money, and the operator asks whether we take it. Nothing has moved. */
  | { kind: 'validation'; accountReference: string; amount: bigint; currency: string; payer: string | null }
  | { kind: 'balance'; balances: readonly OperatorBalance[] }
  /** The operator's own message about nothing that we keep, such as a progress report. */
  | { kind: 'nothing'; reason: string }
  /** Nothing to apply. `authenticated`: it is the operator's, but a value in it cannot be right. */
  | { kind: 'rejected'; reason: string; authenticated?: true };

export type DisputeNotice = {
  /** The operator's own number of the dispute. */
  id: string;
  /** lost: and the operator has taken the money back. ended: in whichever way; people read what it means. */
  state: 'open' | 'lost' | 'ended';
  /** Of the dispute; null: all of the collection. */
  amount: bigint | null;
  currency: string | null;
  /** What the payer says. */
  reason: string;
  /** What this notice says, in a sentence that is kept with the dispute. */
  message: string;
  /** Until when evidence can be given. */
  answerBy: Date | null;
};

/** What the gateway made of a callback; `answerCallback` says it in the operator's words. */
export type CallbackDecision =
  | { kind: 'kept' }
  | { kind: 'rejected' }
  /** The answers to `validation`. `reference` of the transaction that is expected. */
  | { kind: 'take_payment'; reference: string }
  | { kind: 'refuse_payment'; reason: 'unknown_account' | 'wrong_amount' | 'not_now' };

export type CallbackAnswer = { status: number; body: string; contentType: string };

/** What a connection can do for one method in one direction. */
export type RailCapabilities = {
  /** The operator refuses a known reference. If not, a submit is never repeated, even after not-found. */
  readonly idempotentSubmit: boolean;
  /**
   * answers: a query tells. by_callback: a query is only taken, the answer comes by callback. none: nobody can be asked;
   * only callbacks, statements and people end it.
   */
  readonly query: 'answers' | 'by_callback' | 'none';
  /** The same for a refund of a collection, where that differs. */
  readonly refundQuery?: 'answers' | 'by_callback' | 'none';
  /** The operator knows a new transaction only after this long. */
  readonly firstQueryAfterMs: number;
  /** `definitelyNotFound` is final this long after a submit; before, the request may still be in transit. Null: never. */
  readonly notFoundIsFinalAfterMs: number | null;
  /** How many calls of this kind the operator takes; null: no limit that we know of. */
  readonly callsPerSecond: number | null;
  /** Of collections. whole: only all of it at once. partial: any part, several times, up to what was collected. */
  readonly refunds: 'none' | 'whole' | 'partial';
  /** The operator sends our one-time tokens by SMS. */
  readonly sendsTokens: boolean;
  /** Of collections: the operator sends the payer a text of ours about the payment (`sendPayerText`). */
  readonly textsPayers?: true;
  /** Decimals that the operator takes; fewer than the currency's are refused before anything is sent. */
  readonly decimals: 0 | 2;
};

/** One line of `simbi rail test`. `problem` says in words what is missing. */
export type ConnectionCheck = { name: string; problem: string | null };

/** A rail opened for one connection. */
export interface Rail {
  /** The connection's name: the last part of /operators/<name>, and the owner of its clearing account. */
  readonly name: string;
  /** Several operators are behind it, and receipts are their own: the same one can come from two methods. */
  readonly receiptsPerMethod?: true;
  /** The account of `balance` that payouts are paid from; absent: the only one. */
  readonly payoutAccount?: string;
  /** Null: this connection cannot do this. */
  capabilitiesOf(method: RailMethod, direction: Direction): RailCapabilities | null;
  /** How this payer confirms this payment: the method's own style unless the rail has another for it. */
  verificationFor(method: RailMethod, msisdn: string): VerificationStyle;
  /**
   * The account reference under which the operator also reports a collection as money received (`payment_received`); null: it
   * does not. It is stored before the call, because that report may come before the answer. Pure.
   */
  accountReferenceOf?(call: Pick<CollectCall, 'reference' | 'method' | 'msisdn'>): string | null;
  /** Calls that an operator wants before the one that moves money. What it returns is committed first. */
  prepare?(call: CollectCall | PayoutCall, direction: Direction): Promise<PrepareReply>;
  collect(call: CollectCall): Promise<RailReply>;
  payout(call: PayoutCall): Promise<RailReply>;
  query(call: QueryCall): Promise<RailReply>;
  /**
   * Present unless `refunds` is always `none`. The answer is about the refund, never about its collection, which stays
   * `succeeded`: `pending`, `succeeded` with the receipt of the refund itself (not of the collection), `failed` (nothing was
   * given back, nothing will be), or `unknown`. More than was collected and not yet given back is `failed`.
   */
  refund?(call: RefundCall): Promise<RailReply>;
  /** Hands over the payer's code. A wrong code is `pending` with the step `code` again. */
  submitCode?(call: CodeCall): Promise<RailReply>;
  /** Stops a payout or refund that the operator has not begun. The answer is about the transaction. */
  cancel?(call: QueryCall): Promise<RailReply>;
  balance?(): Promise<BalanceReply>;
  /** What moved at the operator in a span of time, part by part; `part` null: the first. Where the operator has such a list. */
  fetchStatement?(span: StatementSpan, part: string | null): Promise<StatementPart>;
  /** The name that a number is registered under, where the operator tells it. Never throws; null if unknown or late. */
  lookUpName?(call: NameCall): Promise<string | null>;
  /** Present when `sendsTokens`. A token that may not have arrived is sent again. */
  sendToken?(call: TokenCall): Promise<TokenReply>;
  /** Present where `textsPayers`. Never throws, and says nothing about the payment. */
  sendPayerText?(call: PayerTextCall): Promise<PayerTextReply>;
  /** Verifies and reads a callback. Pure apart from the rail's keys: it never throws and makes no network call. */
  readCallback(request: CallbackRequest): CallbackReading[];
  /** The answer in the operator's form; without it 200 {"success":true}, or 401 for what was rejected. */
  answerCallback?(request: CallbackRequest, decision: CallbackDecision): CallbackAnswer;
  /** Gets a token, says what is missing, and registers addresses with the operator where it wants that, unless it only looks. */
  check(onlyLook?: 'only_look'): Promise<ConnectionCheck[]>;
  close(): Promise<void>;
}
