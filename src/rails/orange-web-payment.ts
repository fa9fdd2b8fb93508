// Orange's payment page: we get an address, the payer confirms there. Making the page moves no money, so it is prepared and
// stored first; a page whose address was lost can never be paid, and the next try makes another one.

import { base32Letters, randomName } from '../platform/ids.ts';
import type { RailConnection, RailDefinition } from './connection.ts';
import { evidenceOf, replyOf, unaskedReply } from './evidence.ts';
import { type OrangeApi, openOrangeApi, readOrange } from './orange-calls.ts';
import type {
  CallbackReading,
  CallbackRequest,
  CollectCall,
  ConnectionCheck,
  Observation,
  PrepareReply,
  QueryCall,
  Rail,
  RailCapabilities,
  RailReply,
} from './rail.ts';
import { field, proseOf, readJson, textOf } from './reading.ts';
import { compactOf } from './wire-ids.ts';
import { jsonNumberOf } from './wire-money.ts';

/** The currency of Orange's sandbox, whatever the country. */
const SANDBOX_CURRENCY = 'OUV';
/** order_id has at most 30 characters: a reference without underscore, and two that tell tries apart. */
const TRY_LETTERS = 2;

const CAPABILITIES: RailCapabilities = {
  idempotentSubmit: false,
  query: 'answers',
  firstQueryAfterMs: 15_000,
  notFoundIsFinalAfterMs: null,
  callsPerSecond: null,
  refunds: 'none',
  sendsTokens: false,
  decimals: 0,
};

export function openOrangeWebPayment(definition: RailDefinition, connection: RailConnection): Rail {
  const { environment, settings } = connection;
  const place = environment === 'sandbox' ? 'dev' : (settings.country_path ?? 'dev');
  const api = openOrangeApi(definition, connection, { path: '/oauth/v3/token', form: {}, basic: true });
  const base = `/orange-money-webpay/${place}/v1`;

  return {
    name: connection.name,
    capabilitiesOf: (method, direction) =>
      direction === 'collection' && connection.methods.includes(method.code) ? CAPABILITIES : null,
    // The payer confirms on Orange's page; nothing comes to the phone before.
    verificationFor: () => 'instructions',
    prepare: (call) => makePage(api, base, call as CollectCall),
    async collect({ prepared }) {
      const { pay_token: payToken, payment_url: url } = prepared ?? {};
      if (!payToken || !url) return unaskedReply('there is no payment page');
      return replyOf(api.scrub, { state: 'pending', railReference: payToken, step: pageStep(url) }, '');
    },
    payout: async () => unaskedReply('Orange Web Payment pays nothing out'),
    query: (call) => query(api, base, call),
    readCallback: (request) => readCallback(connection, request),
    check: () => check(connection, api, base),
    close: () => api.close(),
  };
}

async function makePage(api: OrangeApi, base: string, call: CollectCall): Promise<PrepareReply> {
  const { connection } = api;
  const orderId = `${compactOf(call.reference)}${randomName(TRY_LETTERS)}`;
  const answer = await api.call({
    method: 'POST',
    path: `${base}/webpayment`,
    body: {
      merchant_key: connection.settings.merchant_key,
      currency: connection.environment === 'sandbox' ? SANDBOX_CURRENCY : call.currency,
      order_id: orderId,
      amount: jsonNumberOf(call.amount),
      return_url: call.returnUrl,
      cancel_url: call.returnUrl,
      notif_url: connection.addresses.url('page', call.reference),
      lang: 'fr',
      reference: call.merchantName.slice(0, 30),
    },
  });
  const said = answer.answered ? readJson(answer.body) : null;
  const payToken = textOf(field(said, 'pay_token'));
  const url = textOf(field(said, 'payment_url'));
  if (answer.answered && answer.status === 201 && payToken !== null && url !== null && isPage(connection, url))
    return {
      prepared: {
        order_id: orderId,
        pay_token: payToken,
        notif_token: textOf(field(said, 'notif_token')) ?? '',
        payment_url: url,
      },
    };
  return readOrange(api, answer, (body, status) => {
    const message = proseOf(field(body, 'description') ?? field(body, 'message'));
    const rawCode = textOf(field(body, 'code')) ?? String(status);
    // No page, no payment: a refusal is final.
    if (status === 400) return { state: 'failed', failureCode: 'REJECTED_BY_OPERATOR', rawCode, message };
    if (status === 401 || status === 403)
      return { state: 'failed', failureCode: 'OPERATOR_UNAVAILABLE', rawCode, message };
    return { state: 'unknown', reason: `Orange answered ${status}` };
  });
}

/** A page that the payer is sent to; only a simulator's may do without TLS. */
const isPage = ({ environment }: RailConnection, url: string) =>
  url.startsWith('https://') || (environment === 'simulator' && url.startsWith('http://127.0.0.1:'));

const pageStep = (url: string) => ({ kind: 'redirect', url, expiresAt: null }) as const;

async function query(api: OrangeApi, base: string, call: QueryCall): Promise<RailReply> {
  const { order_id: orderId, pay_token: payToken } = call.prepared ?? {};
  if (!orderId || !payToken) return unaskedReply('there is no payment page to ask about');
  const body = { order_id: orderId, amount: jsonNumberOf(call.amount), pay_token: payToken };
  const answer = await api.call({ method: 'POST', path: `${base}/transactionstatus`, body });
  return readOrange(api, answer, (said, status) => {
    const isAbout = textOf(field(said, 'order_id')) === orderId;
    if (status >= 300 || !isAbout) return { state: 'unknown', reason: `Orange answered ${status}` };
    const observation = readStatus(said);
    // Told again: the gateway may have stopped between the page and the word of it to the payer.
    const url = call.prepared?.payment_url;
    return observation.state === 'pending' && url ? { ...observation, step: pageStep(url) } : observation;
  });
}

function readStatus(said: unknown): Observation {
  switch (field(said, 'status')) {
    case 'INITIATED':
    case 'PENDING':
      return { state: 'pending' };
    case 'SUCCESS':
      return { state: 'succeeded', receipt: textOf(field(said, 'txnid')) };
    case 'EXPIRED':
      return { state: 'failed', failureCode: 'PROMPT_EXPIRED', rawCode: 'EXPIRED', message: '' };
    case 'FAILED':
      return { state: 'failed', failureCode: 'UNSPECIFIED', rawCode: 'FAILED', message: '' };
    default:
      return { state: 'unknown', reason: 'Orange sent an unknown status' };
  }
}

/** Without amount and signature: a reason to ask. */
function readCallback({ addresses }: RailConnection, { path }: CallbackRequest): CallbackReading[] {
  const reference = addresses.read(path)?.reference;
  return reference ? [{ kind: 'hint', reference }] : [{ kind: 'rejected', reason: 'not an address of ours' }];
}

/** Orange has no harmless question; the status of a page that does not exist needs a token all the same. */
async function check(connection: RailConnection, api: OrangeApi, base: string): Promise<ConnectionCheck[]> {
  const body = { order_id: base32Letters(Buffer.alloc(8)), amount: 1, pay_token: 'none' };
  const answer = await api.call({ method: 'POST', path: `${base}/transactionstatus`, body });
  const refused = !answer.answered || answer.status === 401 || answer.status === 403;
  const said = answer.answered ? evidenceOf(api.scrub, answer.body).slice(0, 200) : answer.reason;
  return [
    { name: 'token', problem: refused ? `Orange gave no access: ${said}. Check the client ID and secret.` : null },
    {
      name: 'merchant key',
      problem: connection.settings.merchant_key ? null : 'There is no merchant key: Orange makes no page without it.',
    },
  ];
}
