// The contract of a connector ("rail"): the calls of the gateway to an operator, and their results. One file
// per rail implements it, registry.ts lists it, contract.test.ts checks it. Three laws:
//  1. Operators give evidence, not exceptions. A call returns an observation whatever the operator does: time-outs,
//     resets, 5xx, redirects, garbage and oversized answers are `unknown`, and unknown is never `failed`.
//  2. Idempotent by our reference. Submitting a reference twice moves money at most once.
//  3. Bounded. A call reads at most MAX_ANSWER_BYTES within CALL_TIMEOUT_MS and follows no redirect.

import type { Direction, Method, VerificationStyle } from '../catalog/catalog.ts';
import type { FailureCode } from '../catalog/failures.ts';

export const CALL_TIMEOUT_MS = 15_000;
export const MAX_ANSWER_BYTES = 256 * 1024;
/** How much of an operator's answer is kept as evidence. */
export const MAX_RAW_CHARACTERS = 4_096;

/** The fields of a payment method that a rail uses. */
export type RailMethod = Pick<Method, 'code' | 'name' | 'type' | 'verification' | 'shortCode'>;

/** Where the payer has to send the money (till, pay bill, bank transfer), and until when. */
export type PayInstructions = {
  payTo: { kind: 'till' | 'paybill' | 'bank_account'; number: string; name: string; bank: string | null };
  /** What the payer types as account or reference; incoming payments are matched by it. */
  accountReference: string;
  expiresAt: Date;
};

/** What one answer of an operator reports about one transaction. */
export type Observation =
  | { state: 'pending'; railReference?: string; instructions?: PayInstructions }
  | { state: 'succeeded'; receipt: string | null; railReference?: string; amount?: bigint; currency?: string }
  /** The operator declined. PROMPT_EXPIRED means the payer was never charged: the transaction becomes `expired`. */
  | { state: 'failed'; failureCode: FailureCode; rawCode: string; message: string }
  /** Succeeded, then reversed by the operator. `amount` is that of the transaction; what refunds have left goes back. */
  | { state: 'reversed'; receipt: string | null; rawCode: string; message: string; amount?: bigint; currency?: string }
  /**
   * Nothing is known. The one exception is `definitelyNotFound`: the operator itself answered a query that it never
   * received the reference. Only that allows another submit of it.
   */
  | { state: 'unknown'; reason: string; definitelyNotFound?: boolean };

/** `raw` is the operator's answer, cut to MAX_RAW_CHARACTERS and without secrets; it is kept as evidence. */
export type RailReply = { observation: Observation; raw: string };

export type CollectCall = {
  reference: string;
  method: RailMethod;
  /** Digits with the dial code. */
  msisdn: string;
  amount: bigint;
  currency: string;
  /** The name of the business, as the payer's prompt shows it. */
  merchantName: string;
  /** The payer entered a token that we sent to the phone (`otp`). */
  verified: boolean;
};

export type PayoutCall = Omit<CollectCall, 'verified'>;

export type QueryCall = {
  /** Ours: TX_… of a collection or payout, RF_… of a refund. */
  reference: string;
  direction: Direction | 'refund';
  method: RailMethod;
  /** The operator's own reference, if its answer to the submit arrived. */
  railReference: string | null;
};

/** Gives money of a collection back to its payer. A collection may be refunded several times, in parts. */
export type RefundCall = {
  /** The refund's own (RF_…). Sent again, it names the same refund; another refund has another reference. */
  reference: string;
  /** What is given back from: our reference (TX_…), the operator's own, the receipt, and all that was collected. */
  collection: { reference: string; railReference: string | null; receipt: string | null; amount: bigint };
  method: RailMethod;
  msisdn: string;
  /** What is given back now: all of the collection, or a part if `capabilities.refunds` is `partial`. */
  amount: bigint;
  currency: string;
  merchantName: string;
};

export type NameCall = { msisdn: string; method: RailMethod };

export type TokenCall = { msisdn: string; text: string; method: RailMethod };

export type TokenReply = { sent: boolean; raw: string };

/** A request of an operator to /operators/<rail>, as received. Header names are in lower case. */
export type CallbackRequest = {
  path: string;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  body: Buffer;
};

/**
 * What an operator callback contains. One request may carry several; then `part` is the text about this one, and what is kept as
 * its evidence. Without it nothing is kept, because the whole request may be about payments of other accounts.
 */
export type CallbackReading =
  /** Authenticated: the observation is applied. `direction` tells which way money moved where we do not know the reference. */
  | { kind: 'proof'; reference: string; direction: Direction | 'refund'; observation: Observation; part?: string }
  /** Not authenticated: only a reason to query the operator. */
  | { kind: 'hint'; reference: string; part?: string }
  /** Money that a payer sent (`instructions`), matched by account reference, amount and currency. */
  | {
      kind: 'payment_received';
      accountReference: string;
      amount: bigint;
      currency: string;
      receipt: string;
      payer: string | null;
      part?: string;
    }
  /** Nothing to apply. `authenticated`: it is the operator's, but a value in it cannot be right. */
  | { kind: 'rejected'; reason: string; authenticated?: true };

export type RailCapabilities = {
  readonly collections: boolean;
  readonly payouts: boolean;
  /** whole: only all of a collection at once. partial: any part, several times, up to what was collected. */
  readonly refunds: 'none' | 'whole' | 'partial';
  /** The operator sends our one-time tokens by SMS. */
  readonly sendsTokens: boolean;
  /** The operator refuses a known reference. If not, a submit is never repeated, even after not-found. */
  readonly idempotentSubmit: boolean;
  /** `definitelyNotFound` is final this long after a submit; before, the request may still be in transit. */
  readonly notFoundIsFinalAfterMs: number;
};

export interface Rail {
  readonly name: string;
  readonly capabilities: RailCapabilities;
  /** How this payer confirms this payment: the method's own style unless the rail has another for the number. */
  verificationFor(method: RailMethod, msisdn: string): VerificationStyle;
  collect(call: CollectCall): Promise<RailReply>;
  payout(call: PayoutCall): Promise<RailReply>;
  query(call: QueryCall): Promise<RailReply>;
  /**
   * Present unless `capabilities.refunds` is `none`. The answer is about the refund, never about its collection, which stays
   * `succeeded`: `pending`, `succeeded` with the receipt of the refund itself (not of the collection), `failed` (nothing was
   * given back, nothing will be), or `unknown`. More than was collected and not yet given back is `failed`.
   */
  refund?(call: RefundCall): Promise<RailReply>;
  /** The name that a number is registered under, where the operator tells it. Never throws; null if unknown or late. */
  lookUpName?(call: NameCall): Promise<string | null>;
  /** Present when `capabilities.sendsTokens`. A token that may not have arrived is sent again. */
  sendToken?(call: TokenCall): Promise<TokenReply>;
  /** Verifies and reads a callback. Pure apart from the rail's keys: it never throws and makes no network call. */
  readCallback(request: CallbackRequest): CallbackReading[];
  close(): Promise<void>;
}
