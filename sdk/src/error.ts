// The one error of the client: what the gateway refused, or why no answer could be had. Programs go by `code`.

import type { ProblemCode } from './types.ts';

/** What can go wrong on this side of the wire. */
export type ClientCode =
  /** No answer: the name does not resolve, the connection was refused or broke. */
  | 'network_error'
  /** No answer within `timeoutMs`. */
  | 'timeout'
  /** Your `signal` was aborted. */
  | 'aborted'
  /** The answer is not one of the gateway: perhaps a proxy spoke. */
  | 'invalid_response'
  /** `waitFor` gave up; the transaction is still undecided. */
  | 'wait_timed_out'
  | 'webhook_body_parsed'
  | 'webhook_headers_missing'
  | 'webhook_timestamp_out_of_range'
  | 'webhook_signature_mismatch';

/** Newer gateways may refuse for reasons this version does not know. */
export type ErrorCode = ProblemCode | ClientCode | (string & Record<never, never>);

/** How an answer came, beside what it said. */
export type LastResponse = {
  status: number;
  /** Name it when you ask the operator of the gateway for help. */
  requestId: string | null;
  /** Names in lower case. */
  headers: Record<string, string>;
  /** The key under which a create was sent. */
  idempotencyKey: string | null;
  /** The gateway answered as it did the first time: nothing was created anew. */
  replayed: boolean;
  /** How many requests it took. */
  attempts: number;
};

export type ErrorDetails = {
  code: ErrorCode;
  retryable?: boolean;
  docs?: string | null;
  fields?: Record<string, string[]>;
  debug?: Record<string, unknown>;
  idempotencyKey?: string | null;
  lastResponse?: LastResponse | null;
  cause?: unknown;
};

export class SimbiError extends Error {
  readonly code: ErrorCode;
  /** Of HTTP; null when there was no answer. */
  readonly status: number | null;
  readonly requestId: string | null;
  /** Whether the same call may work later. For creates: with the same `idempotencyKey`. */
  readonly retryable: boolean;
  /** The page about this code. */
  readonly docs: string | null;
  /** Field → what is wrong with it, in sentences. */
  readonly fields: Record<string, string[]>;
  /** What the sandbox adds, for instance the canonical text it built. */
  readonly debug: Record<string, unknown> | null;
  readonly idempotencyKey: string | null;
  readonly lastResponse: LastResponse | null;

  constructor(message: string, details: ErrorDetails) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'SimbiError';
    this.code = details.code;
    this.status = details.lastResponse?.status ?? null;
    this.requestId = details.lastResponse?.requestId ?? null;
    this.retryable = details.retryable ?? false;
    this.docs = details.docs ?? null;
    this.fields = details.fields ?? {};
    this.debug = details.debug ?? null;
    this.idempotencyKey = details.idempotencyKey ?? null;
    this.lastResponse = details.lastResponse ?? null;
  }
}
