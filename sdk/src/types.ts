// What goes over the wire, with the names of the wire. A test compiles these types against docs/openapi.json in both
// directions, so a member that appears, disappears or changes there must change here.

export type TransactionStatus = 'pending' | 'processing' | 'success' | 'failed' | 'expired' | 'reversed';
export type StatusCode = '100' | '102' | '200' | '400' | '408' | '205';
export type VerificationMethod = 'prompt' | 'shortcode' | 'otp' | 'instructions';
export type FailureCode =
  | 'INSUFFICIENT_FUNDS'
  | 'WRONG_PIN'
  | 'PAYER_CANCELLED'
  | 'PAYER_NOT_FOUND'
  | 'PAYER_LIMIT_REACHED'
  | 'PAYER_BLOCKED'
  | 'PROMPT_EXPIRED'
  | 'VERIFICATION_FAILED'
  | 'AMOUNT_OUT_OF_RANGE'
  | 'OPERATOR_UNAVAILABLE'
  | 'DUPLICATE_AT_OPERATOR'
  | 'RECIPIENT_NOT_FOUND'
  | 'FLOAT_INSUFFICIENT'
  | 'REJECTED_BY_OPERATOR'
  | 'UNSPECIFIED';

/** `amount` is a number or a decimal string such as "2500.50"; nothing is ever rounded. */
export type CollectionParams = {
  amount: number | string;
  /** International (with or without +) or national. */
  mobile: string;
  country_id: number;
  currency: string;
  /** By name or catalogue code. May be left out where the number identifies the operator. */
  payment_method_type?: string | null;
  callback_url?: string | null;
  third_party_reference_1?: string | null;
  third_party_reference_2?: string | null;
};

export type Collection = {
  /** Keep it: everything else is asked with it. */
  ref: string;
  status: TransactionStatus;
  amount: number;
  fee: number;
  currency: string;
  mobile: string;
  country_id: number;
  payment_method_type: string;
  third_party_reference_1: string | null;
  third_party_reference_2: string | null;
  verification: { method: VerificationMethod; instructions: string; expires_at: string };
};

/** A transaction as status v2 shows it. */
export type TransactionV2 = {
  amount: number;
  fee: number;
  currency: string;
  status: TransactionStatus;
  payee: string | null;
  invoice_no: string | null;
  mobile: string | null;
  account_number: string | null;
  ref: string;
  /** Of the wallet after this transaction; null until it has settled. */
  balance: number | null;
  transaction_detail: string;
  payment_channel: string;
  transaction_date: string;
  created_at: string;
  updated_at: string;
  callback_url: string | null;
};

/** A transaction as status v3 shows it. */
export type Transaction = TransactionV2 & {
  status_code: StatusCode;
  failureReason: { failureCode: FailureCode | null; failureMessage: string | null };
  third_party_reference_1: string | null;
  third_party_reference_2: string | null;
};

/** What the customer has to do next. Fields that do not apply are null. */
export type NextStep = {
  kind: 'prompt' | 'dial' | 'code' | 'redirect' | 'deep_link' | 'qr' | 'transfer';
  /** The operator's own words. */
  text: string | null;
  dial_code: string | null;
  url: string | null;
  qr_content: string | null;
  links: { name: string; url: string }[];
  pay_to: { kind: 'till' | 'paybill' | 'bank_account'; number: string; name: string; bank: string | null } | null;
  account_reference: string | null;
  expires_at: string | null;
};

/** A transaction as its status tells it. */
export type TransactionWithStep = Transaction & {
  /** Only where the operator said more than `verification.method` does. */
  next_step?: NextStep;
};

export type RefundParams = {
  /** The `ref` of a successful collection. */
  id: string;
  /** Left out: what is left of it. */
  amount?: number | string | null;
  reason?: string | null;
  callback_url?: string | null;
  third_party_reference_1?: string | null;
  third_party_reference_2?: string | null;
  /** Where the operator cannot refund: send the money to the payer as a payout. */
  as_payout?: boolean | null;
};

export type RefundStatus = 'pending' | 'processing' | 'success' | 'failed';

/** A refund as its creation answers it. */
export type Refund = {
  /** Begins with RF_. */
  ref: string;
  collection_ref: string;
  status: RefundStatus;
  /** What the payer gets back. */
  amount: number;
  /** The part of it that the gateway pays out of its fee; 0 if the refund failed. */
  fee_returned: number;
  currency: string;
  mobile: string | null;
  created_at: string;
};

/** A refund as its status and its events show it. */
export type RefundRecord = Refund & {
  status_code: StatusCode;
  reason: string | null;
  sent_as: 'refund' | 'payout';
  balance: number | null;
  failureReason: { failureCode: FailureCode | null; failureMessage: string | null };
  third_party_reference_1: string | null;
  third_party_reference_2: string | null;
  callback_url: string | null;
  updated_at: string;
};

export type LinkStatus = 'active' | 'paid' | 'expired' | 'disabled';

export type PaymentLinkParams = {
  country_id: number;
  currency: string;
  /** Left out: the payer types the amount. */
  amount?: number | string | null;
  business_name?: string | null;
  item_name?: string | null;
  callback_url?: string | null;
  redirection_url?: string | null;
  /** PNG, JPEG, WebP or GIF in base64, at most 2 MiB decoded. */
  logo?: string | null;
  currency_country_id?: number | null;
  first_name?: string | null;
  last_name?: string | null;
  email?: string | null;
  phone?: string | null;
  /** ISO 8601 with a zone. */
  expires_at?: string | null;
  /** Whether it stays open after a success; false when left out. */
  reusable?: boolean | null;
  /** Like #1a6b4f. */
  accent_colour?: string | null;
};

export type PaymentLink = {
  id: string;
  /** The address to open. */
  payment_link: string;
  /** A shorter address of the same page, for messages. */
  short_url: string;
  qr_url: string;
  business_name: string | null;
  item_name: string | null;
  amount: string | null;
  currency: string;
  country_id: number;
  currency_country_id: number | null;
  callback_url: string | null;
  redirection_url: string | null;
  logo_url: string | null;
  first_name: string | null;
  last_name: string | null;
  email: string | null;
  phone: string | null;
  status: LinkStatus;
  payments_count: number;
  expires_at: string | null;
  created_at: string;
  updated_at: string;
};

export type BalanceParams = { wallet_account?: number | null; currency?: string | null };

export type Balance = {
  wallet_account: number;
  currency: string;
  /** available + reserved. */
  balance: number;
  available: number;
  /** What open collections would bring. */
  pending: number;
  /** For open payouts and refunds, and what is held in reserve or for disputes. */
  reserved: number;
  updated_at: string;
};

/** Days such as 2026-03-01, in the time zone of the account; `to` is included. */
export type StatementParams = { currency: string; from: string; to: string };

/** What the wallet gained is `net` = `gross` + `fee`. What left it, and fees that were paid, are negative. */
export type StatementFigures = { gross: number; fee: number; net: number };

export type StatementLineKind =
  | 'collection'
  | 'collection_reversal'
  | 'refund'
  | 'payout'
  | 'payout_reversal'
  | 'settlement'
  | 'settlement_return'
  | 'credit'
  | 'credit_reversal'
  | 'debt'
  | 'debt_recovery'
  | 'reserve_hold'
  | 'reserve_release'
  | 'reserve_use'
  | 'dispute_hold'
  | 'dispute_won'
  | 'dispute_lost'
  | 'top_up'
  | 'other';

/** The figures of a wallet over a period: opening_balance + net = closing_balance. */
export type Statement = StatementFigures & {
  wallet_account: number;
  currency: string;
  from: string;
  to: string;
  time_zone: string;
  opening_balance: number;
  closing_balance: number;
  /** The part of closing_balance that belongs to payouts and refunds in progress. */
  reserved: number;
  lines: number;
  totals: (StatementFigures & { kind: StatementLineKind; count: number })[];
};

export type Token = { token: string; token_type: 'Bearer'; expires_at: string };

/** A live token, without its secret. */
export type ListedToken = {
  /** The number before the bar of the token. */
  id: number;
  /** Name of the key that it was made with. */
  key: string;
  secret_id: number;
  /** Whether it is the token of the request that lists them. */
  current: boolean;
  created_at: string;
  expires_at: string;
  last_used_at: string | null;
  address: string;
  last_address: string | null;
};

export type RevokedToken = { id: number; revoked_at: string };

export type PaymentMethod = {
  code: string;
  name: string;
  type: string;
  verification: VerificationMethod;
  decimals: number;
  minimum: string;
  maximum: string;
};

export type LinkCountry = {
  country_id: number;
  country: string;
  dial_code: string;
  currency: string;
  payment_method_types: string;
  methods: PaymentMethod[];
};

export type CollectionCountry = LinkCountry & { extra_column: string; supported: boolean };

/** Two different tables: ids of one do not hold in the other. */
export type Countries = { payment_links: LinkCountry[]; collections: CollectionCountry[] };

export type PreflightParams = {
  mobile: string;
  amount: number | string;
  currency: string;
  country_id?: number;
  payment_method_type?: string | null;
  direction?: 'collection' | 'payout';
};

export type Preflight = {
  direction: 'collection' | 'payout';
  would_be_accepted: boolean;
  /** Field → sentences; empty when accepted. */
  errors: { [field: string]: string[] };
  mobile: string | null;
  country_id: number | null;
  operator: { code: string; name: string; verification: string } | null;
  /** Whether the operator was predicted from the number's prefix. */
  predicted: boolean;
  decimals: number | null;
  limits: { minimum: string; maximum: string } | null;
  amount: number | null;
  fee: number | null;
};

/** The transaction at the time of the event. */
export type EventData = Transaction & {
  /** When a payment link was paid. */
  payment_link_id?: string;
  /** The success came after the collection had failed or expired. */
  late?: true;
};

/** The refund at the time of the event. */
export type RefundData = RefundRecord & {
  /** The success came after the refund had failed. */
  late?: true;
};

type EventOf<Type extends string, Data = EventData> = { id: string; type: Type; created_at: string; data: Data };

/** What a callback tells. Compare `type`, and TypeScript knows the rest. */
export type SimbiEvent =
  | EventOf<'collection.success'>
  | EventOf<'collection.failed'>
  | EventOf<'collection.expired'>
  | EventOf<'collection.reversed'>
  | EventOf<'payout.success'>
  | EventOf<'payout.failed'>
  | EventOf<'payout.reversed'>
  | EventOf<'payment_link.paid', EventData & { payment_link_id: string }>
  | EventOf<'refund.success', RefundData>
  | EventOf<'refund.failed', RefundData>;

export type EventType = SimbiEvent['type'];

/** Why the gateway refuses; each has a page at /docs/errors/<code>. */
export type ProblemCode =
  | 'invalid_json'
  | 'invalid_envelope'
  | 'integration_not_found'
  | 'client_mismatch'
  | 'address_not_allowed'
  | 'timestamp_out_of_range'
  | 'signature_mismatch'
  | 'signature_reused'
  | 'scope_missing'
  | 'account_not_found'
  | 'account_suspended'
  | 'invalid_params'
  | 'country_not_found'
  | 'country_not_supported'
  | 'operator_unavailable'
  | 'transaction_not_found'
  | 'verification_failed'
  | 'operator_asked_first'
  | 'payouts_stopped'
  | 'resend_too_soon'
  | 'idempotency_conflict'
  | 'payment_link_not_found'
  | 'event_not_found'
  | 'refund_not_possible'
  | 'refund_too_large'
  | 'decision_overtaken'
  | 'payout_file_repeated'
  | 'payouts_repeated'
  | 'holder_not_empty'
  | 'clock_skewed'
  | 'overdraft'
  | 'credentials_not_verified'
  | 'unauthenticated'
  | 'forbidden'
  | 'not_found'
  | 'method_not_allowed'
  | 'not_acceptable_request'
  | 'body_too_large'
  | 'unsupported_media_type'
  | 'request_timeout'
  | 'rate_limited'
  | 'limit_reached'
  | 'number_blocked'
  | 'number_limited'
  | 'overloaded'
  | 'database_unavailable'
  | 'not_ready'
  | 'outcome_unknown'
  | 'internal';
