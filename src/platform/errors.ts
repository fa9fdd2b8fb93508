// Every error of the API: one class and one table. /docs/errors shows the table, so each entry has a cause and a fix.

type ProblemKind = { status: number; message: string; cause: string; fix: string };

export const PROBLEMS = {
  invalid_json: {
    status: 400,
    message: 'The request body is not acceptable JSON.',
    cause:
      'The body is empty, malformed, not UTF-8, nested too deeply, has too many members or a repeated key, ' +
      'or contains a number with more digits than a double keeps.',
    fix: 'Serialise the body once with a JSON library and send those bytes. The message names the position of the first error.',
  },
  invalid_envelope: {
    status: 400,
    message: 'The envelope is not complete.',
    cause: 'One of client_id, sender, timestamp, salt, signature, params is missing or has the wrong type.',
    fix:
      'Send all six members: four strings, timestamp as an integer of Unix seconds, params as an object. ' +
      '`errors` names the member.',
  },
  integration_not_found: {
    status: 403,
    message: 'Entity integration record not found',
    cause: 'No active integration has this client_id.',
    fix: 'Copy client_id from the console; check that the integration was not revoked.',
  },
  client_mismatch: {
    status: 403,
    message: 'Client id not matched',
    cause: 'sender is not exactly the title of the integration that client_id names.',
    fix: 'Copy the title of the integration exactly, with capitals and spaces.',
  },
  address_not_allowed: {
    status: 403,
    message: 'Request was not verified.',
    cause: 'The integration or its key has an address allow-list and the request came from another address.',
    fix: 'Add the address of your server to the allow-list of the integration and of the key, or send from a listed address.',
  },
  timestamp_out_of_range: {
    status: 403,
    message: 'Request was not verified.',
    cause:
      'timestamp is too far from the clock of the server, into the past or the future, or it is from before the gateway was restored.',
    fix: 'Use the current Unix time in seconds (not milliseconds) and synchronise the clock of your machine (NTP).',
  },
  signature_mismatch: {
    status: 403,
    message: 'Request was not verified.',
    cause: 'The signature is not the HMAC-SHA256 of the canonical body under a live secret of the integration.',
    fix:
      'Compare with docs/signing; `simbi sign --explain` prints each step. ' +
      'In sandbox mode the response contains the canonical string that the server built.',
  },
  signature_reused: {
    status: 403,
    message: 'Request was not verified.',
    cause: 'This exact signature was already used. Each signature works once, on reads too.',
    fix: 'Sign again with a new salt or timestamp. To retry safely, use the same Idempotency-Key with a new signature.',
  },
  scope_missing: {
    status: 403,
    message: 'This key does not have the scope that the operation needs.',
    cause: 'The request was signed with an API key, or a token of a key, whose scopes do not include this operation.',
    fix: 'Use a key with the scope that the message names, or make one in the console. docs/keys lists the scope of each operation.',
  },
  account_not_found: {
    status: 400,
    message: 'User not found',
    cause: 'The account holder of the integration is closed.',
    fix: 'Contact the administrators of the gateway.',
  },
  account_suspended: {
    status: 400,
    message: 'Service user not found',
    cause: 'The account holder of the integration is suspended.',
    fix: 'Contact the administrators of the gateway.',
  },
  invalid_params: {
    status: 400,
    message: 'The parameters are not valid.',
    cause: 'At least one member of params (or of the query) is missing, malformed or out of range.',
    fix: '`errors` maps each field to what is wrong with it.',
  },
  country_not_found: {
    status: 400,
    message: 'Country was not found',
    cause: 'country_id is not in the countries table of this operation.',
    fix: 'Use an id from GET /api/v3/countries; payment links and collections have different tables.',
  },
  country_not_supported: {
    status: 400,
    message: 'Transaction was not created!',
    cause: 'Collections through the API are marked "Not Supported" for this country.',
    fix: 'Use a payment link for payers in this country.',
  },
  operator_unavailable: {
    status: 503,
    message: 'Transaction was not created!',
    cause: 'The mobile-money operator is not answering, so the gateway does not start new payments with it.',
    fix: 'Try again after the time in Retry-After, or offer the payer another method. Nothing was created.',
  },
  transaction_not_found: {
    status: 404,
    message: 'Transaction was not created!',
    cause: 'No transaction of your account has this reference (and type).',
    fix: 'Use the `ref` from the response to the collection.',
  },
  verification_failed: {
    status: 400,
    message: 'The verification token is wrong.',
    cause: 'The six-digit token does not match the one sent by SMS, or the transaction is not waiting for a token.',
    fix: 'Ask the customer to read the newest SMS. Five wrong tokens fail the transaction.',
  },
  operator_asked_first: {
    status: 409,
    message: 'The gateway was restored from a backup. It is asking the operator about this payment first.',
    cause: 'After a restore, nothing is decided about an open payment before its operator has answered.',
    fix: 'Try again in a minute. If the operator already knows the payment, its status shows that.',
  },
  payouts_stopped: {
    status: 503,
    message: 'Payouts, refunds and settlements are stopped.',
    cause:
      'The database of the gateway is older than what the gateway knows of it, and an administrator must look first.',
    fix: 'Nothing was created. Collections go on. Try again after the time in Retry-After, or ask the administrator.',
  },
  limit_reached: {
    status: 400,
    message: 'Transaction was not created!',
    cause: 'The account has a limit of what it may collect, pay out or refund in a day, and this would be more.',
    fix: '`errors` names the limit and when it is free again. An owner sees the limits in Settings; an administrator can raise them.',
  },
  number_blocked: {
    status: 400,
    message: 'Transaction was not created!',
    cause: 'The phone number is on the list of blocked numbers, of the account or of the whole gateway.',
    fix: 'Use another number, or ask an owner of the account or an administrator to take it off the list.',
  },
  number_limited: {
    status: 429,
    message: 'This phone number has had too many payment requests. Nothing was sent to it.',
    cause:
      'A number gets at most three prompts that wait for an answer in ten minutes, ten unpaid ones in a day, and twenty wrong ' +
      'tokens in a day, from all businesses together. The administrator of the gateway can change these limits.',
    fix: 'Ask the customer to answer the prompts on the phone, or wait for the seconds in Retry-After.',
  },
  resend_too_soon: {
    status: 429,
    message: 'A token was sent less than 30 seconds ago.',
    cause: 'A verification token can be sent again at most once in 30 seconds.',
    fix: 'Wait for the seconds in Retry-After.',
  },
  idempotency_conflict: {
    status: 409,
    message: 'This Idempotency-Key was used with other params.',
    cause: 'The same Idempotency-Key came with different params within 24 hours.',
    fix: 'Use a new key for a new operation; repeat the same params to get the first answer again.',
  },
  payment_link_not_found: {
    status: 404,
    message: 'Payment link was not found.',
    cause: 'No payment link has this id.',
    fix: 'Use the `id` or `payment_link` from the response that created the link.',
  },
  event_not_found: {
    status: 404,
    message: 'Event was not found.',
    cause: 'No event of your account has this id, or it is older than 90 days.',
    fix: 'List the events with GET /api/v3/events.',
  },
  decision_overtaken: {
    status: 409,
    message: 'The situation has changed. Nothing was decided.',
    cause: 'The operator has answered, the case is closed, or somebody else has decided.',
    fix: 'Open the case again and look at it as it is now.',
  },
  refund_not_possible: {
    status: 400,
    message: 'Refund was not created!',
    cause: 'The collection is not successful, or the operator cannot give this amount back.',
    fix: 'Refund successful collections only. `errors` says what is possible, for instance as_payout.',
  },
  refund_too_large: {
    status: 400,
    message: 'Refund was not created!',
    cause: 'All refunds of a collection together may not be more than was collected.',
    fix: 'Leave out amount to refund what is left, or ask for a smaller one. `errors` names what is left.',
  },
  overdraft: {
    status: 409,
    message: 'The wallet balance is too low.',
    cause: 'The amount and its fee are more than the available balance. A refund in parts does not return the fee.',
    fix: 'Pay out or refund less, or wait for collections to arrive.',
  },
  payout_file_repeated: {
    status: 409,
    message: 'These rows were already ordered.',
    cause: 'A file of payouts with the same rows was ordered before, under this or another name.',
    fix: 'To pay everyone again, change a column, such as the invoice number or the detail.',
  },
  payouts_repeated: {
    status: 409,
    message: 'Some of these payouts were ordered before.',
    cause: 'The same number was paid the same amount in the last seven days, or twice in one file.',
    fix: 'Compare them with the earlier payouts, then confirm that they are meant.',
  },
  holder_not_empty: {
    status: 409,
    message: 'The holder cannot be closed.',
    cause: 'A wallet, a reserve, a debt or a settlement under way is not zero, or a transaction or a dispute is open.',
    fix: 'Pay the wallets out, settle the debts, end the disputes and wait for what is open. The message lists them.',
  },
  credentials_not_verified: {
    status: 401,
    message: 'Credentials were not verified.',
    cause: 'client_id and secret_key do not match, or the integration is not active.',
    fix: 'Copy client_id from the console. A lost secret cannot be shown again: rotate it.',
  },
  unauthenticated: {
    status: 401,
    message: 'Unauthenticated.',
    cause: 'The bearer token is missing, expired, revoked or malformed, or the secret that made it has ended.',
    fix: 'Get a token from POST /api/integration/get-token and send it as `Authorization: Bearer <token>`.',
  },
  forbidden: {
    status: 403,
    message: 'This is not allowed.',
    cause: 'Your role or your token does not allow this.',
    fix: 'Ask the owner of the account for the role you need.',
  },
  not_found: {
    status: 404,
    message: 'There is nothing at this address.',
    cause: 'The path does not exist.',
    fix: 'See /docs for every path.',
  },
  method_not_allowed: {
    status: 405,
    message: 'This path does not allow that method.',
    cause: 'The path exists, but not for this HTTP method.',
    fix: 'Use a method from the Allow header.',
  },
  not_acceptable_request: {
    status: 400,
    message: 'The request is not acceptable HTTP.',
    cause:
      'The request line, a header or the framing of the body is malformed. ' +
      'The status is 431 where the headers are too large, and 417 where `Expect` asks for what we do not do.',
    fix: 'Use an HTTP client library, and send at most 16 kB of headers.',
  },
  body_too_large: {
    status: 413,
    message: 'The request body is too large.',
    cause: 'Bodies are limited to 64 kB, and to 3 MiB when a payment link is created.',
    fix: 'Send less; a logo may be at most 2 MiB before base64.',
  },
  unsupported_media_type: {
    status: 415,
    message: 'Send the body as application/json in UTF-8, uncompressed.',
    cause: 'The Content-Type is not application/json in UTF-8, or the body is compressed.',
    fix: 'Set `Content-Type: application/json` and send the body uncompressed.',
  },
  request_timeout: {
    status: 408,
    message: 'The request took too long to arrive.',
    cause: 'The headers or the body did not arrive in time.',
    fix: 'Send the whole request at once.',
  },
  rate_limited: {
    status: 429,
    message: 'Too many requests.',
    cause: 'More requests than the limit of your integration or address allows.',
    fix: 'Wait for the seconds in Retry-After; spread requests over time.',
  },
  overloaded: {
    status: 503,
    message: 'The service is busy. Nothing was done.',
    cause: 'More requests are waiting than the gateway can finish in time, or the database took too long.',
    fix: 'Try again after the seconds in Retry-After, with the same Idempotency-Key and a new signature.',
  },
  database_unavailable: {
    status: 503,
    message: 'The service is not available at the moment. Nothing was done.',
    cause: 'The database does not respond.',
    fix: 'Try again after the seconds in Retry-After, with the same Idempotency-Key and a new signature.',
  },
  clock_skewed: {
    status: 503,
    message: 'The clock of this server is wrong, so it moves no money. Nothing was done.',
    cause: 'The clock of the machine and the clock of the database are more than 30 seconds apart.',
    fix: 'Try again after the seconds in Retry-After. Administrators: synchronise the clocks with NTP; GET /readyz shows the difference.',
  },
  not_ready: {
    status: 503,
    message: 'The service is not ready.',
    cause: 'GET /readyz found that the database does not respond, migrations are missing, or clocks differ.',
    fix: '`errors` names each problem; `simbi doctor` prints a fix for it.',
  },
  outcome_unknown: {
    status: 503,
    message: 'The outcome is not known. Ask again with the same Idempotency-Key.',
    cause:
      'The database, its standby or the connection to it failed during a commit, or after a part of the request was done.',
    fix: 'Repeat the request with the same Idempotency-Key and a new signature. The response says what happened; nothing is done twice.',
  },
  internal: {
    status: 500,
    message: 'Something went wrong on our side.',
    cause: 'An error in the gateway.',
    fix: 'Report the request_id to the administrators of the gateway.',
  },
} as const satisfies Record<string, ProblemKind>;

export type ProblemCode = keyof typeof PROBLEMS;

/** What the specification answers for a suspended account; it writes "Service" where the brand stands. */
export function suspendedMessage({ brandName }: { brandName: string }): string {
  return `${brandName} user not found`;
}

/** Field name → sentences about it. */
export type FieldErrors = Record<string, string[]>;

export type ProblemDetails = {
  /** Replaces the table's message where the specification gives the operation its own. */
  message?: string;
  /** Replaces the table's status, for the same reason. */
  status?: number;
  errors?: FieldErrors;
  retryAfterSeconds?: number;
  headers?: Record<string, string>;
  /** More members of the response body, for example `debug` in sandbox mode. */
  extra?: Record<string, unknown>;
};

/** An error that the caller can fix or wait out. Anything else that is thrown is a bug of the gateway. */
export class Problem extends Error {
  readonly code: ProblemCode;
  readonly status: number;
  readonly details: ProblemDetails;

  constructor(code: ProblemCode, details: ProblemDetails = {}) {
    // Strangers cause these by the hundred, and nobody reads where they came from. The stack takes a tenth of such an answer.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(details.message ?? PROBLEMS[code].message);
    Error.stackTraceLimit = stackTraceLimit;
    this.name = 'Problem';
    this.code = code;
    this.status = details.status ?? PROBLEMS[code].status;
    this.details = details;
  }
}

/** One field is wrong, and this is what the person or the program that sent it is told. */
export function wrongField(field: string, sentence: string): Problem {
  return new Problem('invalid_params', { message: sentence, errors: { [field]: [sentence] } });
}

/** Collects the errors of all fields, so that one response names all of them. */
export function collectFieldErrors(): {
  errors: FieldErrors;
  add: (field: string, sentence: string) => void;
  any: () => boolean;
} {
  const errors: FieldErrors = {};
  return {
    errors,
    add: (field, sentence) => {
      errors[field] = [...(errors[field] ?? []), sentence];
    },
    any: () => Object.keys(errors).length > 0,
  };
}
