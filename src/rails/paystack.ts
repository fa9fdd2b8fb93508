// Paystack: mobile money in Ghana, Kenya and Côte d'Ivoire, bank transfers in Nigeria and Kenya. References are ours, webhooks
// are signed, and what failed is learned by asking only.

import type { Direction } from '../catalog/catalog.ts';
import type { RailConnection, RailDefinition } from './connection.ts';
import { createScrub, openExchange, replyOf } from './evidence.ts';
import type { Exchange } from './exchange.ts';
import { readEnvelope } from './paystack-answers.ts';
import { type ChargeContext, chargeBody, chargeReference, readCharge, readTransaction } from './paystack-charges.ts';
import { checkPaystack, readPaystackBalances } from './paystack-check.ts';
import { createAmounts, METHODS, nationalNumber } from './paystack-methods.ts';
import { isChargedBack, queryRefund, type RefundContext, sendRefund, sumOwnRefunds } from './paystack-refunds.ts';
import { listPaystackTransactions } from './paystack-statement.ts';
import {
  bankCodeOf,
  readRecipient,
  readTransferQuery,
  readTransferStart,
  recipientBody,
  transferReference,
} from './paystack-transfers.ts';
import { readWebhook } from './paystack-webhooks.ts';
import type {
  NameCall,
  Observation,
  PayoutCall,
  PrepareReply,
  QueryCall,
  Rail,
  RailCapabilities,
  RailMethod,
  RailReply,
} from './rail.ts';
import { field, proseOf, textOf } from './reading.ts';
import { type Asked, confirmRefusal } from './refusals.ts';

/** Paystack wants to be asked about a charge ten seconds later, not sooner. */
const FIRST_QUERY_AFTER_MS = 10_000;
/** Verify can lag behind a charge. */
const COLLECTION_NOT_FOUND_IS_FINAL_AFTER_MS = 60_000;
const PAYOUT_NOT_FOUND_IS_FINAL_AFTER_MS = 5 * 60_000;
/** A person waits for the name, and can do without it. */
const NAME_TIMEOUT_MS = 2_000;
const DEFAULT_TRANSFER_MINUTES = 30;

export const paystackRail: RailDefinition = {
  name: 'paystack',
  title: 'Paystack',
  methods: Object.keys(METHODS),
  // Test and live are told apart by the key.
  hosts: { sandbox: 'https://api.paystack.co', production: 'https://api.paystack.co' },
  simulatorPort: 4804,
  settings: [
    {
      name: 'secret_key',
      label: 'Secret key',
      help: 'Dashboard, Settings, API keys and webhooks: sk_test_… for the sandbox, sk_live_… for production.',
      kind: 'secret',
      isAccountKey: true,
      simulator: 'sk_test_simulator',
      pattern: /^sk_(?:test|live)_\w+$/,
      patternHelp: 'sk_test_… or sk_live_…',
    },
    {
      name: 'previous_secret_key',
      label: 'Secret key before the last change',
      help: 'After you rolled the key: the old one, so that webhooks on their way are still accepted. Remove it after a day.',
      kind: 'secret',
      optional: true,
    },
    {
      name: 'payer_email_domain',
      label: 'Domain of payer e-mails',
      help: 'Paystack wants an e-mail for each payer; we make <number>@<domain>. Without it: payer.<your public host>.',
      kind: 'text',
      optional: true,
      simulator: 'payer.example.com',
      pattern: /^[a-z0-9-]+(?:\.[a-z0-9-]+)+$/,
      patternHelp: 'a domain such as payer.example.com',
    },
    {
      name: 'transfer_minutes',
      label: 'Minutes to pay by transfer',
      help: 'How long a payer may send money to the account or pay bill that was shown.',
      kind: 'text',
      initial: String(DEFAULT_TRANSFER_MINUTES),
      pattern: /^(?:1[5-9]|[2-9]\d|[1-9]\d{2}|1[0-3]\d{2}|14[0-3]\d|1440)$/,
      patternHelp: 'a whole number from 15 to 1440',
    },
    {
      name: 'kenyan_numbers',
      label: 'Form of Kenyan numbers',
      help: 'How charges name a Kenyan phone: +254… (plus) or 254… (digits). Change it if Paystack refuses numbers.',
      kind: 'choice',
      choices: ['plus', 'digits'],
      initial: 'plus',
    },
    {
      name: 'till_number',
      label: 'Till number',
      help: 'Your M-PESA till at Paystack. Without it the method MPESA_TILL_KEN is not offered.',
      kind: 'text',
      namesAccount: true,
      optional: true,
      simulator: '1234567',
      pattern: /^\d{5,10}$/,
      patternHelp: '5 to 10 digits',
    },
    {
      name: 'nigerian_bank_code',
      label: 'Bank of Nigerian payouts',
      help: 'The code (GET /bank) of the bank that payouts go to, such as a wallet whose accounts are phone numbers. Without it: none.',
      kind: 'text',
      optional: true,
      simulator: '999992',
      pattern: /^\w{2,12}$/,
      patternHelp: 'a bank code of Paystack',
    },
    {
      name: 'kenyan_bank_code',
      label: 'Bank of Kenyan payouts',
      help: 'The code (GET /bank) of the bank that Pesalink payouts go to. Without it there are none.',
      kind: 'text',
      optional: true,
      simulator: '68',
      pattern: /^\w{1,12}$/,
      patternHelp: 'a bank code of Paystack',
    },
    {
      name: 'xof_factor',
      label: 'Units of XOF',
      help: '100 if Paystack shows a test charge of the amount 10000 as 100 francs, 1 if as 10 000. Without it: no XOF.',
      kind: 'choice',
      choices: ['100', '1'],
      optional: true,
      simulator: '100',
    },
  ],
  accountsOf: ({ secret_key: key = '' }) => [key],
  open: openPaystack,
};

function openPaystack(connection: RailConnection): Rail {
  const { settings, clock, publicUrl } = connection;
  const scrub = createScrub(paystackRail, connection);
  const operator = openExchange(connection, scrub);
  const secretKey = settings.secret_key ?? '';
  const headers = { authorization: `Bearer ${secretKey}` };
  const get = (path: string, timeoutMs?: number) =>
    operator.exchange({ method: 'GET', path, headers, ...(timeoutMs === undefined ? {} : { timeoutMs }) });
  const post = (path: string, body: object) => operator.exchange({ method: 'POST', path, body, headers });
  const amounts = createAmounts(settings);
  const context: PaystackContext = {
    settings,
    publicUrl,
    amounts,
    mode: secretKey.startsWith('sk_live_') ? 'live' : 'test',
    transferMs: Number(settings.transfer_minutes ?? DEFAULT_TRANSFER_MINUTES) * 60_000,
    now: () => clock.now(),
    get,
    post,
  };
  const replyTo = (answer: Exchange, observation: Observation) =>
    replyOf(scrub, observation, answer.answered ? answer.body : '');

  const { prepare, payout } = createPayouts(connection, context, replyTo);

  return {
    name: connection.name,
    payoutAccount: 'balance',
    capabilitiesOf: (method, direction) => capabilitiesOf(connection, context, method, direction),
    verificationFor: (method) => (METHODS[method.code]?.pay === 'phone' ? 'prompt' : 'instructions'),
    prepare: (call, direction) =>
      direction === 'payout' ? prepare({ recipientName: null, ...call }) : Promise.resolve({ prepared: {} }),
    async collect(call) {
      const answer = await post('/charge', chargeBody(context, call));
      const reply = replyTo(answer, readCharge(context, answer, call));
      const query = {
        ...call,
        direction: 'collection' as const,
        railReference: null,
        receipt: null,
        submittedAt: clock.now(),
      };
      return isRefused(answer) ? confirmRefusal(reply, () => askCollection(context, query, replyTo)) : reply;
    },
    payout,
    async query(call) {
      if (call.direction === 'collection') return (await askCollection(context, call, replyTo)).reply;
      if (call.direction === 'refund') {
        const { answer, observation } = await queryRefund(context, call);
        return replyTo(answer, observation);
      }
      return (await askTransfer(context, call.reference, replyTo)).reply;
    },
    async refund(call) {
      const { answer, observation } = await sendRefund(context, call);
      return replyTo(answer, observation);
    },
    async submitCode(call) {
      const answer = await post('/charge/submit_otp', { otp: call.code, reference: chargeReference(call.reference) });
      return replyTo(answer, readSubmittedCode(context, answer, call));
    },
    balance: async () => readPaystackBalances(amounts, await get('/balance')),
    fetchStatement: (span, part) => listPaystackTransactions(get, span, part),
    lookUpName: (call) => lookUpName(call, settings, (path) => get(path, NAME_TIMEOUT_MS)),
    readCallback: (request) =>
      readWebhook(context, [secretKey, settings.previous_secret_key ?? ''].filter(Boolean), request),
    check: () => checkPaystack(connection, context),
    close: () => operator.close(),
  };
}

type PaystackContext = ChargeContext & RefundContext;
type ReplyTo = (answer: Exchange, observation: Observation) => RailReply;

function createPayouts(connection: RailConnection, context: PaystackContext, replyTo: ReplyTo) {
  async function prepare(call: PayoutCall): Promise<PrepareReply> {
    const answer = await context.post('/transferrecipient', recipientBody(connection, call));
    const read = readRecipient(answer);
    return 'recipient' in read ? { prepared: read } : replyTo(answer, read);
  }

  async function payout(call: PayoutCall): Promise<RailReply> {
    // Without a stored recipient one is made now: that moves no money, and the same account gives the same recipient.
    const ready = call.prepared?.recipient ? { prepared: call.prepared } : await prepare(call);
    if (!('prepared' in ready)) return ready;
    const answer = await context.post('/transfer', {
      source: 'balance',
      amount: context.amounts.toWire(call.amount, call.currency),
      recipient: ready.prepared.recipient,
      reference: transferReference(call.reference),
      reason: call.merchantName,
      currency: call.currency,
    });
    const reply = replyTo(answer, readTransferStart(context, answer, call.reference));
    return isRefused(answer) ? confirmRefusal(reply, () => askTransfer(context, call.reference, replyTo)) : reply;
  }

  return { prepare, payout };
}

function capabilitiesOf(
  { methods, settings }: RailConnection,
  { amounts }: ChargeContext,
  method: RailMethod,
  direction: Direction,
): RailCapabilities | null {
  const known = methods.includes(method.code) ? METHODS[method.code] : undefined;
  if (known === undefined || !amounts.isKnown(method.currency)) return null;
  if (direction === 'payout' && bankCodeOf(method.code, settings) === null) return null;
  if (direction === 'collection' && known.pay === 'till' && !settings.till_number) return null;
  return {
    idempotentSubmit: true,
    query: 'answers',
    firstQueryAfterMs: FIRST_QUERY_AFTER_MS,
    notFoundIsFinalAfterMs:
      direction === 'collection' ? COLLECTION_NOT_FOUND_IS_FINAL_AFTER_MS : PAYOUT_NOT_FOUND_IS_FINAL_AFTER_MS,
    callsPerSecond: null,
    refunds: known.refunds,
    sendsTokens: false,
    decimals: method.currency === 'XOF' ? 0 : 2,
  };
}

/** Whether the operator refused the call itself; a charge that failed was taken and has ended. */
function isRefused(answer: Exchange): boolean {
  const envelope = readEnvelope(answer);
  return envelope?.isOk === false && field(envelope.data, 'status') === undefined;
}

async function askTransfer({ get, ...context }: PaystackContext, reference: string, replyTo: ReplyTo): Promise<Asked> {
  const answer = await get(`/transfer/verify/${encodeURIComponent(transferReference(reference))}`);
  return { answer, reply: replyTo(answer, readTransferQuery(context, answer, reference)) };
}

async function askCollection(context: PaystackContext, call: QueryCall, replyTo: ReplyTo): Promise<Asked> {
  const answer = await context.get(`/transaction/verify/${encodeURIComponent(chargeReference(call.reference))}`);
  const observation = readTransaction(context, answer, call);
  if (observation.state !== 'reversed') return { answer, reply: replyTo(answer, observation) };
  const id = textOf(field(readEnvelope(answer)?.data, 'id')) ?? '';
  return { answer, reply: replyTo(answer, await explainReversal(context, observation, id, call)) };
}

/**
 * A transaction reads `reversed` after our own refunds too; they have their own life, and the collection stays paid. Where they
 * give back a part only, the disputes tell whether the rest was charged back.
 */
async function explainReversal(
  context: PaystackContext,
  observation: Observation & { state: 'reversed' },
  id: string,
  call: QueryCall,
): Promise<Observation> {
  const refunded = await sumOwnRefunds(context, id, call);
  if (refunded === null) return { state: 'unknown', reason: 'the refunds of the payment cannot be read' };
  if (refunded === 0n) return observation;
  const { receipt, amount, currency } = observation;
  if (amount === undefined || refunded < amount) {
    const isTakenBack = await isChargedBack(context, id);
    if (isTakenBack === null) return { state: 'unknown', reason: 'the disputes of the payment cannot be read' };
    if (isTakenBack) return observation;
  }
  const money = amount === undefined || currency === undefined ? {} : { amount, currency };
  return { state: 'succeeded', receipt, railReference: id, ...money };
}

/** A wrong code is asked for again; the operator says `send_otp`, or refuses with a sentence about the code. */
function readSubmittedCode(
  context: ChargeContext,
  answer: Exchange,
  call: Pick<QueryCall, 'reference' | 'method'>,
): Observation {
  const envelope = readEnvelope(answer);
  const isRefused = envelope !== null && !envelope.isOk && field(envelope.data, 'status') === undefined;
  if (isRefused && envelope.httpStatus < 500 && /\b(?:otp|token|voucher|code)\b/i.test(envelope.message))
    return { state: 'pending', step: { kind: 'code', text: proseOf(envelope.message) || null } };
  // Refused was this call. The charge was taken before, and may have been paid with the same code.
  if (isRefused) return { state: 'unknown', reason: `the operator answered ${envelope.httpStatus}` };
  return readCharge(context, answer, call);
}

async function lookUpName(
  { msisdn, method }: NameCall,
  settings: RailConnection['settings'],
  get: (path: string) => Promise<Exchange>,
): Promise<string | null> {
  // Banks and Ghana's wallets are resolved; for other wallets nothing is known.
  const bankCode = method.country.iso === 'GH' ? bankCodeOf(method.code, settings) : null;
  if (bankCode === null) return null;
  const query = new URLSearchParams({ account_number: nationalNumber(msisdn, method.country), bank_code: bankCode });
  const envelope = readEnvelope(await get(`/bank/resolve?${query.toString()}`));
  return envelope?.isOk ? textOf(field(envelope.data, 'account_name')) : null;
}
