// Sonatel (Orange Senegal): the payer scans a QR code or opens the app, or dials for a code and gives it to us; payouts are
// cash-ins. Everything is found again by our reference. Neither a payment by code nor a cash-in can be repeated safely.

import { constants, createPublicKey, publicEncrypt } from 'node:crypto';
import type { FailureCode } from '../catalog/failures.ts';
import type { RailConnection, RailDefinition } from './connection.ts';
import { replyOf } from './evidence.ts';
import type { Exchange } from './exchange.ts';
import { nationalNumberOf, type OrangeApi, openOrangeApi, readOrange } from './orange-calls.ts';
import type {
  BalanceReply,
  CodeCall,
  CollectCall,
  ConnectionCheck,
  Observation,
  PayoutCall,
  PrepareReply,
  QueryCall,
  Rail,
  RailCapabilities,
  RailReply,
  StatementPart,
  StatementSpan,
} from './rail.ts';
import { field, firstOf, momentOf, moneyOf, objectsOf, proseOf, readJson, signedMoneyOf, textOf } from './reading.ts';
import { isOpenStatus, readSonatelCallback, readStatus } from './sonatel-messages.ts';
import { compactOf } from './wire-ids.ts';
import { jsonNumberOf } from './wire-money.ts';

const HOSTS = {
  sandbox: 'https://api.sandbox.orange-sonatel.com',
  production: 'https://api.orange-sonatel.com',
} as const;
const QR_SECONDS = 900;
/** How long a payer can give us a code. */
const CODE_MS = QR_SECONDS * 1000;
/** `fromDateTime` is a strict bound, and clocks differ. */
const QUERY_MARGIN_MS = 120_000;
/** The list lags behind: what could be paid until this long ago, and is not in it, was not paid. */
const LIST_IS_COMPLETE_AFTER_MS = 3_600_000;
/** Rows of one part of a statement. */
const STATEMENT_ROWS = 200;
const DIAL_FOR_CODE = '#144#391*PIN#';
/** The public key for the PIN was revoked: fetch it anew. */
const REVOKED_KEY = '4003';

const CAPABILITIES: RailCapabilities = {
  idempotentSubmit: false,
  query: 'answers',
  firstQueryAfterMs: 10_000,
  // An empty list is not "never": the QR code may still be paid.
  notFoundIsFinalAfterMs: null,
  callsPerSecond: null,
  refunds: 'none',
  sendsTokens: false,
  decimals: 0,
};

export function openSonatel(definition: RailDefinition, given: RailConnection): Rail {
  const { environment, settings } = given;
  const connection = environment === 'simulator' ? given : { ...given, baseUrl: HOSTS[environment] };
  const { client_id: id = '', client_secret: secret = '' } = settings;
  const form = { client_id: id, client_secret: secret };
  const api = openOrangeApi(definition, connection, { path: '/oauth/v1/token', form, basic: false });
  const byCode = settings.collect_with === 'code';
  const paysOut = Boolean(settings.channel_number && settings.channel_pin);

  return {
    name: connection.name,
    payoutAccount: 'retailer',
    capabilitiesOf: (method, direction) =>
      connection.methods.includes(method.code) && (direction === 'collection' || paysOut) ? CAPABILITIES : null,
    // The payer scans, opens the app or dials; nothing comes to the phone before.
    verificationFor: () => 'instructions',
    async prepare(call, direction) {
      // Nothing to store before a cash-in; a code is only asked for.
      if (direction === 'payout' || byCode) return { prepared: {} };
      return makeQrCode(api, call as CollectCall);
    },
    async collect(call) {
      const step = byCode ? CODE_STEP : qrStep(call.prepared ?? {});
      const railReference = call.prepared?.qr_id;
      return replyOf(api.scrub, { state: 'pending', step, ...(railReference ? { railReference } : {}) }, '');
    },
    submitCode: (call) => payWithCode(api, call),
    payout: (call) => cashIn(api, call, null),
    query: (call) => query(api, call),
    balance: () => balance(api),
    fetchStatement: (span, part) => listTransactions(api, span, part),
    readCallback: (request) => readSonatelCallback(connection, request),
    check: () => check(api, paysOut),
    close: () => api.close(),
  };
}

const CODE_STEP = { kind: 'code', text: null, dial: DIAL_FOR_CODE } as const;

// QR code

async function makeQrCode(api: OrangeApi, call: CollectCall): Promise<PrepareReply> {
  const reference = compactOf(call.reference);
  const answer = await api.call({
    method: 'POST',
    path: '/api/eWallet/v4/qrcode',
    headers: { 'x-callback-url': api.connection.addresses.url('qr', call.reference) },
    body: {
      amount: moneyObject(call.amount, call.currency),
      code: api.connection.settings.merchant_code,
      name: call.merchantName.slice(0, 40),
      reference,
      metadata: { ref: reference },
      validity: QR_SECONDS,
      callbackSuccessUrl: call.returnUrl,
      callbackCancelUrl: call.returnUrl,
      isSingleUse: true,
    },
  });
  const said = answer.answered && answer.status < 300 ? readJson(answer.body) : null;
  const id = textOf(field(said, 'qrId'));
  const link = textOf(firstOf(said, 'shortLink', 'deepLink'));
  if (id !== null && link !== null)
    return {
      prepared: {
        qr_id: id,
        link,
        om: textOf(field(said, 'deepLinks', 'OM')) ?? '',
        maxit: textOf(field(said, 'deepLinks', 'MAXIT')) ?? '',
        expires_at: new Date(api.connection.clock.millis() + QR_SECONDS * 1000).toISOString(),
      },
    };
  // A code that nobody saw cannot be paid: a refusal is final.
  return readOrange(api, answer, (body, status) => readProblem(body, status, COLLECTION_CODES));
}

function qrStep(prepared: Readonly<Record<string, string>>) {
  const links = [
    { name: 'Orange Money', url: prepared.om ?? '' },
    { name: 'Max it', url: prepared.maxit ?? '' },
  ].filter(({ url }) => url !== '');
  const expiresAt = prepared.expires_at ? new Date(prepared.expires_at) : null;
  return { kind: 'qr', content: prepared.link ?? '', links, expiresAt } as const;
}

// The payer's code

/** Answered at once. After a lost answer no second code is taken: the step is gone, and the list of payments tells. */
async function payWithCode(api: OrangeApi, call: CodeCall): Promise<RailReply> {
  // Nothing is sent: the list is read as complete an hour after the last moment for a code.
  if (api.connection.clock.millis() > call.submittedAt.getTime() + CODE_MS)
    return replyOf(api.scrub, notPaid('The code came too late.'), '');
  const answer = await api.call({
    method: 'POST',
    path: '/api/eWallet/v1/payments/onestep',
    body: {
      customer: { idType: 'MSISDN', id: nationalNumberOf(call.msisdn), otp: call.code },
      partner: { idType: 'CODE', id: api.connection.settings.merchant_code },
      amount: moneyObject(call.amount, call.currency),
      reference: compactOf(call.reference),
      metadata: {},
    },
  });
  const reply = readOrange(api, answer, (said, status) =>
    status < 300 ? readPayment(said) : readProblem(said, status, CODE_CODES),
  );
  if (reply.observation.state !== 'unknown') return reply;
  return { ...reply, observation: { state: 'pending', step: { kind: 'prompt', text: null } } };
}

function readPayment(said: unknown): Observation {
  const receipt = textOf(field(said, 'transactionId'));
  return readStatus(field(said, 'status'), receipt, {}, proseOf(field(said, 'description')));
}

// Payouts

async function cashIn(api: OrangeApi, call: PayoutCall, refused: string | null): Promise<RailReply> {
  const { settings } = api.connection;
  const pin = await encryptPin(api);
  if ('error' in pin) return readOrange(api, pin.error, (_, status) => KEY_REFUSED(status));
  const answer = await api.call({
    method: 'POST',
    path: '/api/eWallet/v1/cashins',
    body: {
      partner: { idType: 'MSISDN', id: settings.channel_number, encryptedPinCode: pin.encrypted },
      customer: { idType: 'MSISDN', id: nationalNumberOf(call.msisdn) },
      amount: moneyObject(call.amount, call.currency),
      reference: compactOf(call.reference),
      receiveNotification: true,
    },
  });
  // The key changed between the two calls: nothing was paid, and the new key is tried once.
  const problem = answer.answered ? textOf(field(readJson(answer.body), 'code')) : null;
  if (refused === null && problem === REVOKED_KEY) return cashIn(api, call, REVOKED_KEY);
  return readOrange(api, answer, (said, status) =>
    status < 300 ? readPayment(said) : readProblem(said, status, PAYOUT_CODES),
  );
}

/** Before the cash-in itself: nothing was paid. */
const KEY_REFUSED = (status: number): Observation =>
  status >= 400 && status < 500
    ? { state: 'failed', failureCode: 'OPERATOR_UNAVAILABLE', rawCode: String(status), message: 'Sonatel gave no key.' }
    : { state: 'unknown', reason: 'Sonatel gave no key' };

async function encryptPin(api: OrangeApi): Promise<{ encrypted: string } | { error: Exchange }> {
  const answer = await api.call({ method: 'GET', path: '/api/account/v1/publicKeys' });
  const key = answer.answered && answer.status === 200 ? field(readJson(answer.body), 'key') : null;
  if (typeof key !== 'string' || !/^[A-Za-z0-9+/=\s-]{64,4096}$/.test(key)) return { error: answer };
  const pem = key.includes('BEGIN') ? key : `-----BEGIN PUBLIC KEY-----\n${key}\n-----END PUBLIC KEY-----`;
  const pin = Buffer.from(api.connection.settings.channel_pin ?? '');
  try {
    const encrypted = publicEncrypt({ key: createPublicKey(pem), padding: constants.RSA_PKCS1_PADDING }, pin);
    return { encrypted: encrypted.toString('base64') };
  } catch {
    return { error: answer };
  }
}

// Questions

/** Several rows may carry one reference, because failed tries stay: a success among them wins. */
async function query(api: OrangeApi, call: QueryCall): Promise<RailReply> {
  const reference = compactOf(call.reference);
  const qrEndsAt = Date.parse(call.prepared?.expires_at ?? '');
  const madeAt = Math.min(call.submittedAt.getTime(), Number.isNaN(qrEndsAt) ? Infinity : qrEndsAt - QR_SECONDS * 1000);
  const from = new Date(madeAt - QUERY_MARGIN_MS).toISOString();
  const search = new URLSearchParams({ reference, size: '50', fromDateTime: from });
  const answer = await api.call({ method: 'GET', path: `/api/eWallet/v1/transactions?${search.toString()}` });
  return readOrange(api, answer, (said, status) => {
    if (status !== 200 || !Array.isArray(said)) return { state: 'unknown', reason: `Sonatel answered ${status}` };
    const listed = objectsOf(said);
    // Asked by reference: a row without one may be ours, and then nothing is known.
    if (listed.some((each) => textOf(each.reference) === null))
      return { state: 'unknown', reason: 'Sonatel listed a payment without its reference', answered: true };
    const rows = listed.filter((each) => each.reference === reference);
    const row =
      rows.find(({ status: word }) => word === 'SUCCESS') ??
      rows.find(({ status: word }) => isOpenStatus(word)) ??
      rows[0];
    const now = api.connection.clock.millis();
    // Told again: the gateway may have stopped between the code and the word of it to the payer.
    const open: Observation | null =
      qrEndsAt > now && call.prepared !== null ? { state: 'pending', step: qrStep(call.prepared) } : null;
    if (row === undefined && open !== null) return open;
    if (row === undefined)
      return now > payableUntil(call) + LIST_IS_COMPLETE_AFTER_MS
        ? notPaid('The payer did not pay in time.')
        : { state: 'unknown', reason: 'Sonatel has no payment with this reference yet', answered: true };
    const observation = readRow(row);
    // The payer can try again until the QR code ends.
    return observation.state === 'failed' && open !== null ? open : observation;
  });
}

/** Until when a collection can be paid by its QR code, or by a code of the payer. A payout may be listed at any time. */
function payableUntil({ direction, prepared, submittedAt }: QueryCall): number {
  if (direction !== 'collection' || prepared === null) return Infinity;
  return prepared.expires_at === undefined ? submittedAt.getTime() + CODE_MS : Date.parse(prepared.expires_at);
}

const notPaid = (message: string): Observation => ({
  state: 'failed',
  failureCode: 'PROMPT_EXPIRED',
  rawCode: 'NOT_PAID',
  message,
});

function readRow(row: Record<string, unknown>): Observation {
  const amount = moneyOf(field(row, 'amount', 'value'));
  const currency = textOf(field(row, 'amount', 'unit'));
  const money = amount !== null && currency !== null ? { amount, currency } : null;
  if (row.status === 'SUCCESS' && money === null) return { state: 'unknown', reason: 'a success without an amount' };
  return readStatus(row.status, textOf(row.transactionId), money ?? {}, '');
}

// Errors, balance

const COLLECTION_CODES: Readonly<Record<string, FailureCode>> = {
  '10': 'OPERATOR_UNAVAILABLE',
  '24': 'REJECTED_BY_OPERATOR',
  '2000': 'PAYER_NOT_FOUND',
  '2001': 'PAYER_NOT_FOUND',
  '2013': 'PAYER_BLOCKED',
  '2020': 'INSUFFICIENT_FUNDS',
  '2021': 'PAYER_LIMIT_REACHED',
  '2022': 'PAYER_LIMIT_REACHED',
  '2041': 'REJECTED_BY_OPERATOR',
  '4004': 'PROMPT_EXPIRED',
  '4099': 'REJECTED_BY_OPERATOR',
};

/** A code that was used already is refused as a bad request: it may have been used by this very payment. */
const { '4099': _badRequest, '24': _refused, ...CODE_CODES } = COLLECTION_CODES;

/** A cash-in that arrived twice may be refused the second time in the same way, after the first was paid. */
const PAYOUT_CODES: Readonly<Record<string, FailureCode>> = {
  ...CODE_CODES,
  '2000': 'RECIPIENT_NOT_FOUND',
  '2001': 'RECIPIENT_NOT_FOUND',
  '2020': 'FLOAT_INSUFFICIENT',
  [REVOKED_KEY]: 'OPERATOR_UNAVAILABLE',
};

/** application/problem+json. A code that we do not know ends nothing. */
function readProblem(said: unknown, status: number, codes: Readonly<Record<string, FailureCode>>): Observation {
  const rawCode = textOf(field(said, 'code')) ?? '';
  const failureCode = codes[rawCode];
  if (status >= 400 && status < 500 && failureCode)
    return { state: 'failed', failureCode, rawCode, message: proseOf(field(said, 'detail') ?? field(said, 'title')) };
  return { state: 'unknown', reason: `Sonatel answered ${status} ${rawCode}`.trim() };
}

async function balance(api: OrangeApi): Promise<BalanceReply> {
  const answer = await api.call({ method: 'GET', path: '/api/eWallet/v1/account/retailer/balance' });
  const said = answer.answered && answer.status === 200 ? readJson(answer.body) : null;
  const available = signedMoneyOf(firstOf(said, 'value') ?? field(said, 'amount', 'value'));
  const currency = textOf(firstOf(said, 'unit') ?? field(said, 'amount', 'unit'));
  if (available === null || currency === null)
    return { error: answer.answered ? `Sonatel answered ${answer.status}` : answer.reason };
  return { balances: [{ account: 'retailer', currency, available }] };
}

/** The list begins after a moment and has no end, so what comes after the span is left out. A part is named by its moment. */
async function listTransactions(api: OrangeApi, span: StatementSpan, part: string | null): Promise<StatementPart> {
  const after = part ?? new Date(span.from.getTime() - 1).toISOString();
  const path = `/api/eWallet/v1/transactions?fromDateTime=${encodeURIComponent(after)}&size=${STATEMENT_ROWS}`;
  const answer = await api.call({ method: 'GET', path });
  const rows = answer.answered && answer.status === 200 ? readJson(answer.body) : null;
  if (!Array.isArray(rows)) return { error: answer.answered ? `Sonatel answered ${answer.status}` : answer.reason };
  const timed = objectsOf(rows).map((record) => ({
    record,
    at: momentOf(firstOf(record, 'createdAt', 'requestDate')),
  }));
  // One without a time is kept: its reader says what is wrong with it.
  const inSpan = timed.filter(({ at }) => at === null || (at >= span.from && at < span.to));
  const times = timed.flatMap(({ at }) => (at === null ? [] : [at.getTime()]));
  const last = Math.max(...times, 0);
  const isLast = rows.length < STATEMENT_ROWS || last >= span.to.getTime() || last <= Date.parse(after);
  return { records: inSpan.map(({ record }) => record), next: isLast ? null : new Date(last).toISOString() };
}

async function check(api: OrangeApi, paysOut: boolean): Promise<ConnectionCheck[]> {
  const reply = await balance(api);
  return [
    { name: 'token and balance', problem: 'error' in reply ? `${reply.error}. Check the client ID and secret.` : null },
    {
      name: 'payouts',
      problem: paysOut ? null : 'There is no channel number or no PIN: this connection cannot pay out.',
    },
  ];
}

const moneyObject = (amount: bigint, currency: string) => ({ unit: currency, value: jsonNumberOf(amount) });
