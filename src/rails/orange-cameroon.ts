// Orange Cameroon: a token for one payment is fetched and stored first, then the payment is made with it and the payer gets a
// prompt. One token pays once, so that a lost answer can be asked about and nothing is paid twice.

import type { FailureCode } from '../catalog/failures.ts';
import { formatAmount } from '../platform/money.ts';
import type { RailConnection, RailDefinition } from './connection.ts';
import { unaskedReply } from './evidence.ts';
import { nationalNumberOf, type OrangeApi, openOrangeApi, readOrange } from './orange-calls.ts';
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
import { field, moneyOf, proseOf, readJson, textOf } from './reading.ts';

const BASE = '/omcoreapis/1.0.2/mp';
const HOSTS = { sandbox: 'https://api-s1.orange.cm', production: 'https://api-s1.orange.cm' } as const;
/** orderId has at most 20 characters; the payment is found by its token. */
const ORDER_LETTERS = 20;
/** An EXPIRED of a token that was just used is not believed at once. */
const EXPIRY_IS_FINAL_AFTER_MS = 10 * 60_000;

const CAPABILITIES: RailCapabilities = {
  idempotentSubmit: true,
  query: 'answers',
  firstQueryAfterMs: 10_000,
  notFoundIsFinalAfterMs: null,
  callsPerSecond: null,
  refunds: 'none',
  sendsTokens: false,
  decimals: 0,
};

export function openOrangeCameroon(definition: RailDefinition, given: RailConnection): Rail {
  const { environment, settings } = given;
  const connection = environment === 'simulator' ? given : { ...given, baseUrl: HOSTS[environment] };
  const user = Buffer.from(`${settings.api_user ?? ''}:${settings.api_password ?? ''}`).toString('base64');
  const api = openOrangeApi(
    definition,
    connection,
    { path: '/token', form: {}, basic: true },
    { 'x-auth-token': user },
  );

  return {
    name: connection.name,
    capabilitiesOf: (method, direction) =>
      direction === 'collection' && connection.methods.includes(method.code) ? CAPABILITIES : null,
    verificationFor: (method) => method.verification,
    prepare: () => getPayToken(api),
    collect: (call) => pay(api, call),
    payout: async () => unaskedReply('this interface of Orange pays nothing out'),
    query: (call) => query(api, call),
    readCallback: (request) => readCallback(connection, request),
    check: () => check(api),
    close: () => api.close(),
  };
}

async function getPayToken(api: OrangeApi): Promise<PrepareReply> {
  const answer = await api.call({ method: 'POST', path: `${BASE}/init`, body: '' });
  const said = answer.answered && answer.status === 200 ? readJson(answer.body) : null;
  const payToken = textOf(field(said, 'data', 'payToken'));
  if (payToken !== null) return { prepared: { pay_token: payToken } };
  return readOrange(api, answer, (_, status) => ({ state: 'unknown', reason: `Orange gave no pay token (${status})` }));
}

async function pay(api: OrangeApi, call: CollectCall): Promise<RailReply> {
  const payToken = call.prepared?.pay_token;
  if (!payToken) return unaskedReply('there is no pay token');
  const { settings, addresses } = api.connection;
  const answer = await api.call({
    method: 'POST',
    path: `${BASE}/pay`,
    body: {
      notifUrl: addresses.url('prompt', call.reference),
      channelUserMsisdn: settings.channel_number,
      amount: formatAmount(call.amount),
      subscriberMsisdn: nationalNumberOf(call.msisdn),
      pin: settings.channel_pin,
      orderId: orderIdOf(call.reference),
      description: call.merchantName.slice(0, 40),
      payToken,
    },
  });
  return readOrange(api, answer, (said, status) => {
    if (textOf(field(said, 'data', 'payToken')) === payToken) return readStatus(said, call, null);
    // Refused at the gate: keys are wrong, and no payer was asked.
    if (status === 401 || status === 403)
      return {
        state: 'failed',
        failureCode: 'OPERATOR_UNAVAILABLE',
        rawCode: String(status),
        message: messageOf(said),
      };
    return { state: 'unknown', reason: `Orange answered ${status}` };
  });
}

async function query(api: OrangeApi, call: QueryCall): Promise<RailReply> {
  const payToken = call.prepared?.pay_token ?? call.railReference;
  if (!payToken) return unaskedReply('there is no pay token to ask about');
  const answer = await api.call({ method: 'GET', path: `${BASE}/paymentstatus/${encodeURIComponent(payToken)}` });
  const openForMs = api.connection.clock.millis() - call.submittedAt.getTime();
  return readOrange(api, answer, (said, status) =>
    textOf(field(said, 'data', 'payToken')) === payToken
      ? readStatus(said, call, openForMs)
      : { state: 'unknown', reason: `Orange answered ${status}` },
  );
}

/** Decided by `data.status` alone; the list of words is open, and a word that we do not know ends nothing. */
function readStatus(
  said: unknown,
  { reference, currency }: { reference: string; currency: string },
  openForMs: number | null,
): Observation {
  const data = field(said, 'data');
  const order = textOf(field(data, 'txnmode'));
  if (order !== null && order !== orderIdOf(reference)) return { state: 'unknown', reason: 'it is another order' };
  const railReference = textOf(field(data, 'payToken')) ?? undefined;
  switch (field(data, 'status')) {
    case 'INITIATED':
    case 'PENDING':
      return { state: 'pending', ...(railReference === undefined ? {} : { railReference }) };
    case 'SUCCESSFULL':
    case 'SUCCESSFUL': {
      const amount = moneyOf(field(data, 'amount'));
      if (amount === null) return { state: 'unknown', reason: 'a success without an amount' };
      return { state: 'succeeded', receipt: textOf(field(data, 'txnid')), amount, currency };
    }
    case 'FAILED':
      return readFailure(said);
    case 'CANCELLED':
      return { state: 'failed', failureCode: 'PAYER_CANCELLED', rawCode: 'CANCELLED', message: messageOf(said) };
    case 'EXPIRED':
      if (openForMs === null || openForMs < EXPIRY_IS_FINAL_AFTER_MS)
        return { state: 'unknown', reason: 'Orange says that it expired; it is asked again', answered: true };
      return { state: 'failed', failureCode: 'PROMPT_EXPIRED', rawCode: 'EXPIRED', message: messageOf(said) };
    default:
      return { state: 'unknown', reason: 'Orange sent an unknown status' };
  }
}

const REASONS: Readonly<Record<string, FailureCode>> = { '60019': 'INSUFFICIENT_FUNDS' };

function readFailure(said: unknown): Observation {
  const data = field(said, 'data');
  const codes = ['confirmtxnstatus', 'inittxnstatus'].map((name) => textOf(field(data, name)));
  const rawCode = codes.find((code) => code !== null && code !== '200') ?? '';
  return { state: 'failed', failureCode: REASONS[rawCode] ?? 'UNSPECIFIED', rawCode, message: messageOf(said) };
}

/** Not signed and nowhere described: a reason to ask. */
function readCallback({ addresses }: RailConnection, { path }: CallbackRequest): CallbackReading[] {
  const reference = addresses.read(path)?.reference;
  return reference ? [{ kind: 'hint', reference }] : [{ kind: 'rejected', reason: 'not an address of ours' }];
}

async function check(api: OrangeApi): Promise<ConnectionCheck[]> {
  const reply = await getPayToken(api);
  const { channel_number: number, channel_pin: pin } = api.connection.settings;
  return [
    {
      name: 'token',
      problem: 'prepared' in reply ? null : 'Orange gave no pay token. Check the four keys and the API user.',
    },
    { name: 'channel', problem: number && pin ? null : 'The channel number or its PIN is missing.' },
  ];
}

const orderIdOf = (reference: string) => reference.slice(-ORDER_LETTERS);
const messageOf = (said: unknown) => proseOf(field(said, 'data', 'inittxnmessage') ?? field(said, 'message'));
