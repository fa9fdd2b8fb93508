// The client: one object with an operation for each thing the gateway does. Params and answers have the names of the
// wire; signing, tokens, keys, retries and clocks are taken care of.

import { type ByCountry, withCountryId } from './countries.ts';
import { type LastResponse, SimbiError } from './error.ts';
import { randomHex } from './hmac.ts';
import { createList, type List } from './list.ts';
import {
  type Answer,
  abortedError,
  type Call,
  type CallOptions,
  createTransport,
  DEFAULT_TIMEOUT_MS,
  machine,
  type Runtime,
  type TokenSource,
  type Transport,
} from './transport.ts';
import type {
  Balance,
  BalanceParams,
  Collection,
  CollectionParams,
  Countries,
  LinkStatus,
  ListedToken,
  PaymentLink,
  PaymentLinkParams,
  Preflight,
  PreflightParams,
  Refund,
  RefundParams,
  RefundRecord,
  RevokedToken,
  SimbiEvent,
  Statement,
  StatementParams,
  Token,
  Transaction,
  TransactionV2,
  TransactionWithStep,
} from './types.ts';
import { type Webhooks, webhooks } from './webhooks.ts';

const KEY_BYTES = 16;
/** A token is renewed this long before it ends, so that none ends on the way. */
const TOKEN_MARGIN_MS = 60_000;
const PAGE_SIZE = 100;
const WAIT_MS = 120_000;
/** How long `waitFor` rests between two questions; the last one again and again. */
const WAIT_RESTS_MS = [500, 1_000, 2_000, 3_000, 5_000];
const MIN_QUESTION_MS = 1_000;
const ENDS: readonly string[] = ['success', 'failed', 'expired', 'reversed'];

export type ClientOptions = {
  /** Where the gateway is, for instance http://localhost:8080. */
  baseUrl: string;
  clientId: string;
  secretKey: string;
  /** The title of the integration, to the letter. */
  sender: string;
  /** Where tokens come from, when that is another host. */
  authUrl?: string;
  /** For one request; 30 seconds unless told. */
  timeoutMs?: number;
  /** How often what is safe is tried again; 2 unless told. */
  maxRetries?: number;
  /** For tests and unusual runtimes. */
  runtime?: Partial<Runtime>;
};

/** An answer. `lastResponse` is not enumerable: printing and comparing see the data only. */
export type WithResponse<T> = T & { readonly lastResponse: LastResponse };

/** A key of your own (an order number) makes a create repeatable across restarts of your program, for 24 hours. */
export type CreateOptions = CallOptions & { idempotencyKey?: string };

export type StatusOptions = CallOptions & {
  version?: 3;
  /** When given it must match. */
  type?: 'payin' | 'payout';
};

export type WaitOptions = {
  /** 2 minutes unless told. */
  timeoutMs?: number;
  signal?: AbortSignal;
};

export type Client = {
  collections: {
    /** Asks a customer's mobile wallet for money. Never charged twice, however often it is retried. */
    create(params: ByCountry<CollectionParams>, options?: CreateOptions): Promise<WithResponse<Collection>>;
    /** For `verification.method` "otp": the six digits that the customer read in the SMS. */
    verify(ref: string, token: string, options?: CallOptions): Promise<WithResponse<Transaction>>;
    /** Has the SMS sent again, at most once in 30 seconds. */
    resend(ref: string, options?: CallOptions): Promise<WithResponse<Transaction>>;
  };
  transactions: {
    get(ref: string, options: CallOptions & { version: 2 }): Promise<WithResponse<TransactionV2>>;
    get(ref: string, options?: StatusOptions): Promise<WithResponse<TransactionWithStep>>;
    /** Asks until the transaction has ended, well or badly: look at `status`. Gives up with `wait_timed_out`. */
    waitFor(ref: string, options?: WaitOptions): Promise<WithResponse<TransactionWithStep>>;
  };
  refunds: {
    /** Gives a successful collection back, whole or in parts. Never given back twice, however often it is retried. */
    create(params: RefundParams, options?: CreateOptions): Promise<WithResponse<Refund>>;
    get(ref: string, options?: CallOptions): Promise<WithResponse<RefundRecord>>;
  };
  paymentLinks: {
    create(params: ByCountry<PaymentLinkParams>, options?: CreateOptions): Promise<WithResponse<PaymentLink>>;
    /** Newest first. */
    list(filter?: CallOptions & { status?: LinkStatus; pageSize?: number }): List<PaymentLink>;
  };
  balances: { get(params?: BalanceParams, options?: CallOptions): Promise<WithResponse<Balance[]>> };
  /** Opening balance, totals by kind and closing balance of a wallet. */
  statements: { get(params: StatementParams, options?: CallOptions): Promise<WithResponse<Statement>> };
  tokens: {
    /** A bearer token, kept until shortly before its end. The client uses it by itself. */
    get(options?: CallOptions): Promise<Token>;
    /** Live tokens that were made with the same key, newest first. */
    list(options?: CallOptions & { pageSize?: number }): List<ListedToken>;
    /** Ends a token of the same key. */
    revoke(id: number, options?: CallOptions): Promise<WithResponse<RevokedToken>>;
  };
  countries(options?: CallOptions): Promise<WithResponse<Countries>>;
  /** What a payment would become. Creates nothing. */
  preflight(params: ByCountry<PreflightParams>, options?: CallOptions): Promise<WithResponse<Preflight>>;
  /** Every event in order, without gaps, up to now. Keep the id of the last one: it is `after` next time. */
  events: { list(from?: CallOptions & { after?: string; pageSize?: number }): List<SimbiEvent> };
  webhooks: Webhooks;
};

export function createClient(options: ClientOptions): Client {
  requireOptions(options);
  const runtime: Runtime = { ...machine, ...options.runtime };
  const baseUrl = options.baseUrl.replace(/\/+$/, '');
  const authUrl = (options.authUrl ?? baseUrl).replace(/\/+$/, '');
  const transport = createTransport({ ...options, baseUrl, authUrl, runtime });
  const tokens = createTokens(transport, runtime, options);
  const call = async <T extends object>(request: Call, settings?: CallOptions): Promise<WithResponse<T>> =>
    withResponse<T>(await transport.send(request, settings));
  const create = <T extends object>(path: string, params: object, settings: CreateOptions = {}) =>
    call<T>({ path, params, repeatable: false, idempotencyKey: settings.idempotencyKey || newKey() }, settings);

  function getTransaction(ref: string, options: CallOptions & { version: 2 }): Promise<WithResponse<TransactionV2>>;
  function getTransaction(ref: string, options?: StatusOptions): Promise<WithResponse<TransactionWithStep>>;
  function getTransaction(
    ref: string,
    settings: CallOptions & { version?: 2 | 3; type?: string } = {},
  ): Promise<WithResponse<TransactionV2>> {
    const path = `/api/v${settings.version ?? 3}/get-unified-transaction-status`;
    return call({ path, params: { id: ref, type: settings.type }, repeatable: true }, settings);
  }

  return {
    collections: {
      create: (params, settings) => create('/api/v3/service-unified-collections', withCountryId(params), settings),
      verify: (ref, token, settings) =>
        call(
          { path: '/api/v3/service-unified-collections/verify', params: { id: ref, token }, repeatable: false },
          settings,
        ),
      resend: (ref, settings) =>
        call({ path: '/api/v3/service-unified-collections/resend', params: { id: ref }, repeatable: false }, settings),
    },
    transactions: {
      get: getTransaction,
      waitFor: (ref, settings) =>
        waitFor(runtime, getTransaction, ref, options.timeoutMs ?? DEFAULT_TIMEOUT_MS, settings),
    },
    refunds: {
      create: (params, settings) => create('/api/v3/service-unified-refunds', params, settings),
      get: (ref, settings) =>
        call({ path: '/api/v3/get-unified-refund-status', params: { id: ref }, repeatable: true }, settings),
    },
    paymentLinks: {
      create: (params, settings) => create('/api/v3/payment-link-api/create', withCountryId(params), settings),
      list: (filter) => listLinks(transport, tokens.source, filter),
    },
    balances: {
      get: (params = {}, settings) => call({ path: '/api/v3/get-unified-balance', params, repeatable: true }, settings),
    },
    statements: {
      get: (query, settings) =>
        call({ path: '/api/v3/statements', query, token: tokens.source, repeatable: true }, settings),
    },
    tokens: {
      get: (settings) => tokens.get(settings),
      list: (settings) => listTokens(transport, tokens.source, settings),
      revoke: (id, settings) =>
        call({ path: `/api/v3/tokens/${id}`, method: 'DELETE', token: tokens.source, repeatable: false }, settings),
    },
    countries: (settings) => call({ path: '/api/v3/countries', token: tokens.source, repeatable: true }, settings),
    preflight: (params, settings) =>
      call(
        { path: '/api/v3/preflight', body: withCountryId(params), token: tokens.source, repeatable: true },
        settings,
      ),
    events: { list: (from) => listEvents(transport, tokens.source, from) },
    webhooks,
  };
}

function listEvents(
  transport: Transport,
  token: TokenSource,
  { after, pageSize = PAGE_SIZE, ...settings }: CallOptions & { after?: string; pageSize?: number } = {},
): List<SimbiEvent> {
  return createList(async (from) => {
    const query = { after: from, limit: pageSize };
    const { body } = await transport.send({ path: '/api/v3/events', query, token, repeatable: true }, settings);
    const items = body.data as SimbiEvent[];
    // An empty page is the end of the feed, for now.
    return { items, next: items.at(-1)?.id ?? null };
  }, after);
}

function listLinks(
  transport: Transport,
  token: TokenSource,
  { status, pageSize = PAGE_SIZE, ...settings }: CallOptions & { status?: LinkStatus; pageSize?: number } = {},
): List<PaymentLink> {
  return createList(async (cursor) => {
    const path = '/api/payment-link-api/list';
    const query = { limit: pageSize, cursor, status };
    const { body } = await transport.send({ path, query, token, repeatable: true }, settings);
    const meta = body.meta as { next_cursor: string | null } | undefined;
    return { items: body.data as PaymentLink[], next: meta?.next_cursor ?? null };
  });
}

function listTokens(
  transport: Transport,
  token: TokenSource,
  { pageSize = PAGE_SIZE, ...settings }: CallOptions & { pageSize?: number } = {},
): List<ListedToken> {
  return createList(async (cursor) => {
    const query = { limit: pageSize, cursor };
    const { body } = await transport.send({ path: '/api/v3/tokens', query, token, repeatable: true }, settings);
    const { next_cursor } = body.meta as { next_cursor: number | null };
    return { items: body.data as ListedToken[], next: next_cursor === null ? null : String(next_cursor) };
  });
}

function requireOptions(options: ClientOptions): void {
  for (const name of ['baseUrl', 'clientId', 'secretKey', 'sender'] as const)
    if (typeof options[name] !== 'string' || options[name] === '')
      throw new TypeError(`createClient needs ${name}: a first start of the sandbox writes it to data/demo.json.`);
  if (!/^https?:\/\//.test(options.baseUrl)) throw new TypeError('baseUrl must begin with http:// or https://.');
}

function newKey(): string {
  return randomHex(KEY_BYTES);
}

function withResponse<T extends object>({ body, response }: Answer): WithResponse<T> {
  const data = body.data as T;
  return Object.defineProperty(data, 'lastResponse', { value: response, enumerable: false }) as WithResponse<T>;
}

/** One token for all who ask, also while it is on its way. */
function createTokens(
  transport: Transport,
  runtime: Runtime,
  options: ClientOptions,
): { get(settings?: CallOptions): Promise<Token>; source: TokenSource } {
  let kept: Token | null = null;
  let onItsWay: Promise<Token> | null = null;

  async function ask(settings: CallOptions): Promise<Token> {
    const body = { client_id: options.clientId, secret_key: options.secretKey };
    const path = '/api/integration/get-token';
    const answer = await transport.send({ path, body, repeatable: true, onAuthUrl: true }, settings);
    kept = answer.body.data as Token;
    return kept;
  }

  function get(settings: CallOptions = {}): Promise<Token> {
    if (kept && Date.parse(kept.expires_at) - TOKEN_MARGIN_MS > runtime.now()) return Promise.resolve(kept);
    // The signal of one caller must not take the token from the others.
    const { signal: _, ...shared } = settings;
    onItsWay ??= ask(shared).finally(() => {
      onItsWay = null;
    });
    return onItsWay;
  }

  return {
    get,
    source: {
      get: async (settings) => (await get(settings)).token,
      forget: () => {
        kept = null;
      },
    },
  };
}

async function waitFor(
  runtime: Runtime,
  get: (ref: string, options: CallOptions) => Promise<WithResponse<TransactionWithStep>>,
  ref: string,
  requestTimeoutMs: number,
  { timeoutMs = WAIT_MS, signal }: WaitOptions = {},
): Promise<WithResponse<TransactionWithStep>> {
  const end = runtime.now() + timeoutMs;
  for (let asked = 0; ; asked++) {
    // One question may not outlast the waiting, and a gateway that is away for a moment is asked again like any other.
    const patience = Math.min(requestTimeoutMs, Math.max(end - runtime.now(), MIN_QUESTION_MS));
    const settings = { timeoutMs: patience, maxRetries: 0, ...(signal ? { signal } : {}) };
    const found = await get(ref, settings).catch((error: unknown) => {
      if (error instanceof SimbiError && error.retryable) return error;
      throw error;
    });
    if (!(found instanceof SimbiError) && ENDS.includes(found.status)) return found;
    const left = end - runtime.now();
    if (left <= 0) throw found instanceof SimbiError ? found : stillOpen(found, timeoutMs);
    const rest = WAIT_RESTS_MS[Math.min(asked, WAIT_RESTS_MS.length - 1)] ?? 0;
    await runtime.sleep(Math.min(rest * (0.75 + runtime.random() / 4), left), signal);
    if (signal?.aborted) throw abortedError({ path: 'waitFor' }, signal.reason);
  }
}

function stillOpen({ ref, status, lastResponse }: WithResponse<Transaction>, timeoutMs: number): SimbiError {
  return new SimbiError(
    `${ref} is still ${status} after ${timeoutMs} ms. That is not a failure: ask again, or wait for the callback.`,
    { code: 'wait_timed_out', retryable: true, lastResponse },
  );
}
