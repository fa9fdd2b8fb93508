// The contract of a connector ("rail"): what the gateway asks of an operator, and what it gets back. One file
// a rail implements it, registry.ts names it, contract.test.ts proves it. Three laws:
//  1. Operators give evidence, not exceptions. A call answers an observation whatever the far side does; time-outs,
//     resets, 5xx, redirects, garbage and oversized answers are `unknown`, and unknown is never `failed`.
//  2. Idempotent by our reference. Submitting one reference twice moves money at most once.
//  3. Bounded. At most MAX_ANSWER_BYTES are read, within CALL_TIMEOUT_MS in all; no redirect is followed.

import type { Direction, Method } from '../catalog/catalog.ts';
import type { FailureCode } from '../catalog/failures.ts';

export const CALL_TIMEOUT_MS = 15_000;
export const MAX_ANSWER_BYTES = 256 * 1024;
/** How much of an operator's own words is kept as evidence. */
export const MAX_RAW_CHARACTERS = 4_096;

/** What a rail needs to know of a payment method. */
export type RailMethod = Pick<Method, 'code' | 'name' | 'type' | 'verification' | 'shortCode'>;
export type VerificationStyle = Method['verification'];

/** Where the payer sends the money himself (till, pay bill, bank transfer), and until when. */
export type PayInstructions = {
  payTo: { kind: 'till' | 'paybill' | 'bank_account'; number: string; name: string; bank: string | null };
  /** What the payer types as account or reference; incoming payments are matched by it. */
  accountReference: string;
  expiresAt: Date;
};

/** What one answer of an operator says about one transaction. */
export type Observation =
  | { state: 'pending'; railReference?: string; instructions?: PayInstructions }
  | { state: 'succeeded'; receipt: string | null; railReference?: string; amount?: bigint; currency?: string }
  /** The operator's own no. PROMPT_EXPIRED means the payer was never charged: the transaction becomes `expired`. */
  | { state: 'failed'; failureCode: FailureCode; rawCode: string; message: string }
  /** Succeeded once, and given back since. */
  | { state: 'reversed'; receipt: string | null; rawCode: string; message: string; amount?: bigint; currency?: string }
  /**
   * We learned nothing. `definitelyNotFound` is the one exception: the operator answered a query, in its own
   * words, that it never saw the reference. That alone allows another submit of it.
   */
  | { state: 'unknown'; reason: string; definitelyNotFound?: boolean };

/** `raw` is the operator's own text, cut to MAX_RAW_CHARACTERS and free of secrets: it is kept as evidence. */
export type RailReply = { observation: Observation; raw: string };

export type CollectCall = {
  reference: string;
  method: RailMethod;
  /** Digits with the dial code. */
  msisdn: string;
  amount: bigint;
  currency: string;
  /** Who asks, as the payer's prompt shows it: the business' name. */
  label: string;
  /** The payer already proved possession of the phone by a token that we sent and checked (`otp`). */
  verified: boolean;
};

export type PayoutCall = Omit<CollectCall, 'verified'>;

export type QueryCall = {
  reference: string;
  direction: Direction;
  method: RailMethod;
  /** What the operator called it when it accepted, if that answer reached us. */
  railReference: string | null;
};

export type RefundCall = {
  /** The collection that is given back, whole. Idempotent: a collection is given back at most once. */
  reference: string;
  method: RailMethod;
  railReference: string | null;
  amount: bigint;
  currency: string;
};

export type TokenCall = { msisdn: string; text: string; method: RailMethod };

export type TokenReply = { sent: boolean; raw: string };

/** An operator's call to /operators/<rail>, as it was received. Header names are in lower case. */
export type CallbackRequest = {
  path: string;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  body: Buffer;
};

/** What a callback is worth. One request may carry several. */
export type CallbackReading =
  /** Authenticated by the operator: to be applied as it is. */
  | { kind: 'proof'; reference: string; observation: Observation }
  /** Not authenticated: a reason to ask the operator, nothing more. */
  | { kind: 'hint'; reference: string }
  /** Money came in by itself (`instructions`). It is matched by account reference, amount and currency. */
  | {
      kind: 'payment_received';
      accountReference: string;
      amount: bigint;
      currency: string;
      receipt: string;
      payer: string | null;
    }
  | { kind: 'rejected'; reason: string };

export type RailCapabilities = {
  readonly collections: boolean;
  readonly payouts: boolean;
  readonly refunds: boolean;
  /** It can send our one-time tokens by SMS. */
  readonly sendsTokens: boolean;
  /** The operator itself refuses a reference it knows. Without that a submit is never repeated, even after not-found. */
  readonly idempotentSubmit: boolean;
  /** `definitelyNotFound` can be believed this long after a submit; before, the request may still be on its way. */
  readonly notFoundIsFinalAfterMs: number;
};

export interface Rail {
  readonly name: string;
  readonly capabilities: RailCapabilities;
  /** How this payer will confirm this payment: the method's own style, unless the rail knows better. */
  verificationFor(method: RailMethod, msisdn: string): VerificationStyle;
  collect(call: CollectCall): Promise<RailReply>;
  payout(call: PayoutCall): Promise<RailReply>;
  query(call: QueryCall): Promise<RailReply>;
  /** Present when `capabilities.refunds`. `failed` here means: not given back; the collection stands as it was. */
  refund?(call: RefundCall): Promise<RailReply>;
  /** Present when `capabilities.sendsTokens`. A token that may not have arrived is simply sent again. */
  sendToken?(call: TokenCall): Promise<TokenReply>;
  /** Pure, apart from the rail's keys: verifies and reads. It never throws and never asks the network. */
  readCallback(request: CallbackRequest): CallbackReading[];
  close(): Promise<void>;
}
