// pawaPay (Merchant API v2): one account for the mobile operators of ten countries. Ids are ours, a repeated id is ignored, and
// every deposit, payout and refund can be asked for by its id.

import type { Direction } from '../catalog/catalog.ts';
import { formatAmount } from '../platform/money.ts';
import type { RailConnection, RailDefinition } from './connection.ts';
import { createScrub, openExchange, replyOf } from './evidence.ts';
import type { Exchange } from './exchange.ts';
import { type PawapayId, RESOURCES, readCallbackBody, readStatus, readSubmission } from './pawapay-answers.ts';
import { checkAccount } from './pawapay-check.ts';
import { PROVIDERS } from './pawapay-codes.ts';
import { createKeyring } from './pawapay-keys.ts';
import { checkSignature, readSigner, signRequest } from './pawapay-signatures.ts';
import type {
  BalanceReply,
  CallbackReading,
  CallbackRequest,
  CollectCall,
  PayerStep,
  PayoutCall,
  QueryCall,
  Rail,
  RailCapabilities,
  RailMethod,
  RailReply,
  RefundCall,
} from './rail.ts';
import { currencyOf, field, objectsOf, readJson, signedMoneyOf, textOf } from './reading.ts';
import { type Asked, confirmRefusal } from './refusals.ts';
import { uuid4Of } from './wire-ids.ts';

const MAX_CALLBACK_BYTES = 64 * 1024;
/** A request of ours may still be in transit before. */
const NOT_FOUND_IS_FINAL_AFTER_MS = 15 * 60_000;
/** An accepted id is found a few seconds later. */
const FIRST_QUERY_AFTER_MS = 5_000;
const SHORTEST_MESSAGE = 4;
const LONGEST_MESSAGE = 22;

export const pawapayRail: RailDefinition = {
  name: 'pawapay',
  title: 'pawaPay',
  methods: Object.keys(PROVIDERS),
  hosts: { sandbox: 'https://api.sandbox.pawapay.io', production: 'https://api.pawapay.io' },
  simulatorPort: 4801,
  settings: [
    {
      name: 'api_token',
      label: 'API token',
      help: 'Dashboard, System configuration, API tokens. The sandbox and production have different ones.',
      kind: 'secret',
      isAccountKey: true,
      simulator: 'pawapay-simulator-token',
    },
    {
      name: 'signed_callbacks',
      label: 'Callbacks are signed',
      help: 'Yes if signed callbacks are switched on in the dashboard; a callback without signature is then refused.',
      kind: 'yes_no',
      initial: 'no',
      simulator: 'yes',
    },
    {
      name: 'signed_requests',
      label: 'Requests are signed',
      help: 'Yes if the dashboard accepts signed requests only.',
      kind: 'yes_no',
      initial: 'no',
    },
    {
      name: 'request_key_id',
      label: 'Id of our key',
      help: 'The key id that the dashboard shows beside the public key that you uploaded.',
      kind: 'text',
      optional: true,
      pattern: /^[\w:.-]{1,100}$/,
      patternHelp: 'letters, digits, ":", ".", "-" and "_"',
    },
    {
      name: 'request_key',
      label: 'Our private key',
      help: 'The private key (EC P-256 or P-384, or RSA) of the public key that you uploaded.',
      kind: 'pem',
      sealed: true,
      optional: true,
    },
    {
      name: 'signature_encoding',
      label: 'Form of our EC signatures',
      help: 'pawaPay takes DER; the standard says raw. Change it only if pawaPay tells you so.',
      kind: 'choice',
      choices: ['der', 'raw'],
      initial: 'der',
    },
  ],
  accountsOf: ({ api_token: token = '' }) => [token],
  open: openPawapay,
};

function openPawapay(connection: RailConnection): Rail {
  const { settings, clock } = connection;
  const scrub = createScrub(pawapayRail, connection);
  const operator = openExchange(connection, scrub);
  const headers = { authorization: `Bearer ${settings.api_token ?? ''}` };
  const get = (path: string) => operator.exchange({ method: 'GET', path, headers });
  const post = createPost(connection, (path, body, more) =>
    operator.exchange({ method: 'POST', path, body, headers: { ...headers, ...more } }),
  );
  const keyring = createKeyring(clock, () => get('/v2/public-key/http'));
  const requiresSignature = settings.signed_callbacks === 'yes';
  if (requiresSignature) keyring.refresh();

  async function submit(direction: Direction, call: CollectCall | PayoutCall): Promise<RailReply> {
    const id: PawapayId = { direction, uuid: uuid4Of(call.reference) };
    const answer = await post(RESOURCES[direction].path, paymentBody(id, call));
    const step = direction === 'collection' ? stepOf(call.method) : null;
    return confirmRefusal(replyTo(answer, readSubmission(answer, id, step)), () => ask(id));
  }

  async function ask(id: PawapayId): Promise<Asked> {
    const answer = await get(`${RESOURCES[id.direction].path}/${id.uuid}`);
    return { answer, reply: replyTo(answer, readStatus(answer, id)) };
  }

  async function query({ direction, reference }: QueryCall): Promise<RailReply> {
    return (await ask({ direction, uuid: uuid4Of(reference) })).reply;
  }

  async function refund(call: RefundCall): Promise<RailReply> {
    const id: PawapayId = { direction: 'refund', uuid: uuid4Of(call.reference) };
    const answer = await post(RESOURCES.refund.path, {
      refundId: id.uuid,
      depositId: uuid4Of(call.collection.reference),
      amount: wireAmount(call.amount),
      currency: call.currency,
      metadata: [{ ref: call.reference }],
    });
    return confirmRefusal(replyTo(answer, readSubmission(answer, id, null)), () => ask(id));
  }

  const replyTo = (answer: Exchange, observation: RailReply['observation']) =>
    replyOf(scrub, observation, answer.answered ? answer.body : '');

  return {
    name: connection.name,
    receiptsPerMethod: true,
    capabilitiesOf: (method, direction) => capabilitiesOf(connection, method, direction),
    verificationFor: (method) => (PROVIDERS[method.code]?.dial === undefined ? 'prompt' : 'shortcode'),
    collect: (call) => submit('collection', call),
    payout: (call) => submit('payout', call),
    query,
    refund,
    async cancel(call) {
      // Taken or refused, the end is read from the payout itself: the operator may have begun meanwhile.
      const path = `${RESOURCES[call.direction].path}/fail-enqueued/${uuid4Of(call.reference)}`;
      if (call.direction !== 'collection') await operator.exchange({ method: 'POST', path, headers });
      return query(call);
    },
    balance: async () => readBalances(await get('/v2/wallet-balances')),
    readCallback: (request) =>
      readCallback(
        request,
        () => {
          const signedFor = (host: string) =>
            keyring.check(() => checkSignature(request, [host], keyring.keys(), clock.millis()));
          const result = signedFor(new URL(connection.publicUrl).host);
          // Signed for the host that the request names: a proxy renamed us, or it was sent to another customer of pawaPay.
          return result === 'wrong' && signedFor(request.host) === 'valid' ? 'expired' : result;
        },
        { requiresSignature, isOurAddress: connection.addresses.read(request.path) !== null },
      ),
    check: () => checkAccount(connection, get, keyring),
    close: () => operator.close(),
  };
}

type Post = (path: string, body: object) => Promise<Exchange>;

/** Signs what is sent where the account wants that. */
function createPost(
  { settings, baseUrl, clock }: RailConnection,
  send: (path: string, body: string, headers: Record<string, string>) => Promise<Exchange>,
): Post {
  const encoding = settings.signature_encoding === 'raw' ? 'ieee-p1363' : 'der';
  const signer =
    settings.signed_requests === 'yes'
      ? readSigner(settings.request_key_id ?? '', settings.request_key ?? '', encoding)
      : null;
  const { host, pathname } = new URL(baseUrl);
  return (path, value) => {
    const body = JSON.stringify(value);
    if (signer === null) return send(path, body, { 'content-type': 'application/json' });
    const fullPath = `${pathname.replace(/\/$/, '')}${path}`;
    return send(path, body, signRequest(signer, { authority: host, path: fullPath, body, now: clock.now() }));
  };
}

function capabilitiesOf(
  { methods }: Pick<RailConnection, 'methods'>,
  method: RailMethod,
  direction: Direction,
): RailCapabilities | null {
  const provider = methods.includes(method.code) ? PROVIDERS[method.code] : undefined;
  if (provider === undefined) return null;
  return {
    idempotentSubmit: true,
    query: 'answers',
    firstQueryAfterMs: FIRST_QUERY_AFTER_MS,
    notFoundIsFinalAfterMs: NOT_FOUND_IS_FINAL_AFTER_MS,
    callsPerSecond: null,
    refunds: 'partial',
    sendsTokens: false,
    decimals: direction === 'collection' ? provider.deposit : provider.payout,
  };
}

function paymentBody({ direction, uuid }: PawapayId, call: CollectCall | PayoutCall): object {
  const message = customerMessage(call.merchantName);
  return {
    [RESOURCES[direction].id]: uuid,
    amount: wireAmount(call.amount),
    currency: call.currency,
    [direction === 'collection' ? 'payer' : 'recipient']: {
      type: 'MMO',
      accountDetails: { phoneNumber: call.msisdn, provider: call.method.code },
    },
    clientReferenceId: call.reference,
    ...(message === null ? {} : { customerMessage: message }),
    // Callbacks carry the metadata, but not the client's reference.
    metadata: [{ ref: call.reference }],
  };
}

/** Without zeros at the end: the pattern of the second version refuses them. */
function wireAmount(amount: bigint): string {
  const text = formatAmount(amount);
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

/** 4 to 22 letters, digits and blanks; null when too little is left of a name. */
function customerMessage(name: string): string | null {
  const plain = name
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .replace(/[^A-Za-z0-9]+/g, ' ')
    .trim()
    .slice(0, LONGEST_MESSAGE)
    .trim();
  return plain.length < SHORTEST_MESSAGE ? null : plain;
}

function stepOf(method: RailMethod): PayerStep {
  const code = PROVIDERS[method.code]?.dial;
  return code === undefined ? { kind: 'prompt', text: null } : { kind: 'dial', code, text: null };
}

function readBalances(answer: Exchange): BalanceReply {
  if (!answer.answered) return { error: answer.reason };
  const list = field(readJson(answer.body), 'balances');
  if (answer.status !== 200 || !Array.isArray(list)) return { error: `the operator answered ${answer.status}` };
  const balances = objectsOf(list).flatMap((row) => {
    const currency = currencyOf(row.currency);
    const available = signedMoneyOf(row.balance);
    const account = [textOf(row.country), textOf(row.provider)].filter((part) => part !== null).join(' ');
    return currency === null || available === null ? [] : [{ account, currency, available }];
  });
  return { balances };
}

function readCallback(
  request: CallbackRequest,
  check: () => ReturnType<typeof checkSignature>,
  { requiresSignature, isOurAddress }: { requiresSignature: boolean; isOurAddress: boolean },
): CallbackReading[] {
  if (request.body.length > MAX_CALLBACK_BYTES) return [{ kind: 'rejected', reason: 'the callback is too large' }];
  const signature = check();
  const body = request.body.toString('utf8');
  // pawaPay signs for all its customers with one key, and a customer chooses addresses and ids. Only the address that was given
  // to pawaPay alone shows that a message is about our account.
  if (signature === 'valid') return [readCallbackBody(body, isOurAddress ? 'proof' : 'hint')];
  // A repeat may carry the signature of the first delivery: it is pawaPay's, but could be played back by anybody.
  if (signature === 'expired' || !requiresSignature) return [readCallbackBody(body, 'hint')];
  // Not answered with 200, so that pawaPay sends it again, when the new key is known.
  if (signature === 'unknown_key') return [{ kind: 'rejected', reason: 'the key of the signature is not known yet' }];
  const reason = signature === 'unsigned' ? 'the callback is not signed' : 'the signature is wrong';
  return [{ kind: 'rejected', reason }];
}
