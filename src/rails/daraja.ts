// Safaricom M-PESA in Kenya, by its Daraja API: prompts (M-PESA Express), payments to a till or pay bill (C2B), payouts (B2C) and
// reversals. Prompts have no id of ours and are sent once; everything but the query of a prompt is answered by callback.

import { formatAmount } from '../platform/money.ts';
import type { RailDefinition } from './connection.ts';
import { type DarajaTopic, FORBIDDEN_IN_ADDRESSES } from './daraja-addresses.ts';
import { answerDarajaCallback, DARAJA_CURRENCY, readDarajaCallback } from './daraja-callbacks.ts';
import { checkDaraja } from './daraja-check.ts';
import {
  type DarajaCall,
  darajaFailure,
  PROMPT_FAILURES,
  readDarajaError,
  readRefusal,
  STILL_PROCESSING,
} from './daraja-codes.ts';
import { findPayment, type PulledPayment, pullStatement } from './daraja-pull.ts';
import { accountReferenceOf, maskedNumberOf, promptReferenceOf, typedReferenceOf } from './daraja-references.ts';
import { type DarajaAnswer, type DarajaSession, openDarajaSession } from './daraja-session.ts';
import { DARAJA_SETTINGS, type DarajaAccount, readDarajaAccount } from './daraja-settings.ts';
import { unaskedReply } from './evidence.ts';
import type { Exchange } from './exchange.ts';
import type {
  BalanceReply,
  CollectCall,
  Observation,
  PayerStep,
  PayoutCall,
  QueryCall,
  Rail,
  RailCapabilities,
  RailMethod,
  RailReply,
  RefundCall,
  StatementSpan,
} from './rail.ts';
import { field, isObject, readJson, textOf } from './reading.ts';

const PROMPT = 'MPESA_KEN';
const TILL = 'MPESA_TILL_KEN';
const PAYBILL = 'MPESA_PAYBILL_KEN';

/** How long a payer has to pay to a till or pay bill, and how long a confirmation may then take. */
const TRANSFER_MS = 3_600_000;
const CONFIRMATION_MS = 15 * 60_000;
/** A query can say "cancelled" or "not reached" while the prompt is still open and is paid afterwards. */
const PROMPT_OPEN_MS = 90_000;
const WHOLE_UNIT = 100n;
/** Safaricom's sandbox takes a few calls a minute. */
const SANDBOX_CALLS_PER_SECOND = 0.2;
/** Type of an organisation's short code, of a till, and of the receiver of a reversal. */
const SHORTCODE_TYPE = '4';
const TILL_TYPE = '2';
const REVERSAL_TYPE = '11';
/** Of a phone number, behind 254. */
const NATIONAL_DIGITS = 9;
/** A confirmation comes within seconds; one that was lost is looked up after this. */
const LOOK_UP_AFTER_MS = 5 * 60_000;

const ASKED: Observation = { state: 'unknown', reason: 'the operator answers by callback', asked: true };

export const darajaRail: RailDefinition = {
  name: 'daraja',
  title: 'M-PESA Kenya (Safaricom Daraja)',
  methods: [PROMPT, TILL, PAYBILL],
  settings: DARAJA_SETTINGS,
  hosts: { sandbox: 'https://sandbox.safaricom.co.ke', production: 'https://api.safaricom.co.ke' },
  simulatorPort: 4802,
  forbiddenInAddresses: FORBIDDEN_IN_ADDRESSES,
  oneLiveToken: true,
  accountsOf: (settings) => numbersPaidTo(readDarajaAccount({ settings })),
  paysFrom: (settings) => readDarajaAccount({ settings }).payoutShortcode,
  open(connection): Rail {
    const session = openDarajaSession({ settings: DARAJA_SETTINGS }, connection);
    const { account, addresses } = session;
    return {
      name: connection.name,
      payoutAccount: 'Utility Account',
      capabilitiesOf: (method, direction) =>
        connection.methods.includes(method.code) ? capabilitiesOf(session, method.code, direction) : null,
      verificationFor: (method) => method.verification,
      accountReferenceOf: (call) => confirmedReference(account, call),
      collect: (call) => (call.method.code === PROMPT ? prompt(session, call) : expectTransfer(session, call)),
      payout: (call) => payOut(session, call),
      query: (call) => query(session, call),
      refund: (call) => reverse(session, call),
      balance: () => askBalance(session),
      ...(account.pullNumber === null
        ? {}
        : {
            fetchStatement: (span: StatementSpan, part: string | null) =>
              pullStatement(session, receivers(session, [PROMPT, TILL, PAYBILL]), span, part),
          }),
      readCallback: (request) => readDarajaCallback(addresses, account, request),
      answerCallback: (request, decision) => answerDarajaCallback(addresses, request, decision),
      check: (onlyLook) =>
        checkDaraja(session, {
          prompts: PROMPT,
          numbers: onlyLook ? [] : receivers(session, [TILL, PAYBILL]),
          pulled: onlyLook ? [] : receivers(session, [PROMPT, TILL, PAYBILL]),
        }),
      close: () => session.close(),
    };
  },
};

function capabilitiesOf(session: DarajaSession, method: string, direction: string): RailCapabilities | null {
  const { account, connection } = session;
  const capabilities: RailCapabilities = {
    idempotentSubmit: false,
    query: 'answers',
    refundQuery: 'by_callback',
    firstQueryAfterMs: 10_000,
    // A query never says that a prompt or payout is not known.
    notFoundIsFinalAfterMs: null,
    callsPerSecond: connection.environment === 'sandbox' ? SANDBOX_CALLS_PER_SECOND : null,
    refunds: account.initiator === null ? 'none' : 'whole',
    sendsTokens: false,
    decimals: 0,
  };
  if (direction === 'payout') {
    const canPay = method === PROMPT && account.initiator !== null && account.payoutShortcode !== null;
    if (!canPay) return null;
    return {
      ...capabilities,
      idempotentSubmit: true,
      query: 'by_callback',
      firstQueryAfterMs: 30_000,
      refunds: 'none',
    };
  }
  if (method === PROMPT) return account.passkey === null || receiverOf(account, method) === null ? null : capabilities;
  if (receiverOf(account, method) === null) return null;
  // Nothing is sent: the payer is shown where to pay. Without the list only the end of that time has to be noticed.
  const firstQueryAfterMs = account.pullNumber === null ? TRANSFER_MS + CONFIRMATION_MS : LOOK_UP_AFTER_MS;
  return { ...capabilities, idempotentSubmit: true, firstQueryAfterMs };
}

/** The short code or till that a collection by this method is paid to. */
function receiverOf({ shortcode, promptsToTill, till, paybill }: DarajaAccount, method: string): string | null {
  if (method === TILL) return till;
  if (method === PAYBILL) return paybill;
  return promptsToTill ? till : shortcode;
}

const isTill = ({ promptsToTill }: DarajaAccount, method: string) =>
  method === TILL || (method === PROMPT && promptsToTill);

/** Safaricom confirms what is paid to a number at one address. The store of tills is no such number: it may have several. */
function numbersPaidTo({ shortcode, promptsToTill, paybill, till }: DarajaAccount): string[] {
  return [promptsToTill ? null : shortcode, paybill, till].filter((number) => number !== null);
}

/** The numbers that the connection collects to by these methods. */
function receivers({ account, connection }: DarajaSession, methods: readonly string[]): string[] {
  const served = methods.filter((method) => connection.methods.includes(method));
  return [...new Set(served.map((method) => receiverOf(account, method)))].filter((number) => number !== null);
}

async function prompt(session: DarajaSession, call: CollectCall): Promise<RailReply> {
  const { account, addresses } = session;
  const refused = notSendable(call.amount);
  if (refused !== null) return { observation: refused, raw: '' };
  const sent = await session.post('/mpesa/stkpush/v1/processrequest', {
    BusinessShortCode: Number(account.shortcode),
    ...session.password(),
    TransactionType: account.promptsToTill ? 'CustomerBuyGoodsOnline' : 'CustomerPayBillOnline',
    Amount: formatAmount(call.amount),
    // As numbers: sent as text, production accepts the request and then cannot reach the payer.
    PartyA: Number(call.msisdn),
    PartyB: Number(receiverOf(account, PROMPT)),
    PhoneNumber: Number(call.msisdn),
    CallBackURL: addresses.url('prompt', call.reference),
    AccountReference: promptReferenceOf(call.reference),
    TransactionDesc: 'Payment',
  });
  const railReference = textOf(field(acceptance(sent.answer), 'CheckoutRequestID'));
  return railReference === null
    ? refusalOf(session, sent, 'collection')
    : session.reply({ state: 'pending', railReference, step: { kind: 'prompt', text: null } }, sent.answer);
}

/** Prompts are also confirmed as payments. Of a till the operator confirms no reference, only the number that pays. */
function confirmedReference(
  { promptsToTill }: DarajaAccount,
  { reference, method, msisdn }: Pick<CollectCall, 'reference' | 'method' | 'msisdn'>,
): string | null {
  if (method.code !== PROMPT) return null;
  return promptsToTill ? maskedNumberOf(msisdn) || null : promptReferenceOf(reference);
}

/** Less than a shilling cannot be moved. */
function notSendable(amount: bigint): Observation | null {
  if (amount % WHOLE_UNIT === 0n) return null;
  const message = 'M-PESA moves whole shillings only.';
  return { state: 'failed', failureCode: 'AMOUNT_OUT_OF_RANGE', rawCode: 'NOT_WHOLE', message };
}

/** The body of an answer that accepts a request. Accepted is not paid. */
function acceptance(answer: Exchange): Record<string, unknown> | null {
  if (!answer.answered || answer.status !== 200) return null;
  const body = readJson(answer.body);
  return isObject(body) && textOf(body.ResponseCode) === '0' ? body : null;
}

/** How a submit ended that was not accepted. Only a refusal that comes before everything else is a failure. */
function refusalOf(session: DarajaSession, { answer, sent }: DarajaAnswer, call: DarajaCall): RailReply {
  if (sent) return session.reply(readRefusal(answer, call), answer);
  const message = 'The operator gave no access token, so nothing was sent.';
  return session.reply({ state: 'failed', failureCode: 'OPERATOR_UNAVAILABLE', rawCode: 'NO_TOKEN', message }, answer);
}

/** Till and pay bill: nothing is sent. The payer pays from the phone's own menu, and Safaricom confirms. */
async function expectTransfer(session: DarajaSession, call: CollectCall): Promise<RailReply> {
  const step = transferStep(session, call, call.merchantName, session.connection.clock.now());
  if (step === null) {
    const message = 'This connection has no number for this method.';
    const observation: Observation = {
      state: 'failed',
      failureCode: 'REJECTED_BY_OPERATOR',
      rawCode: 'NO_NUMBER',
      message,
    };
    return { observation, raw: '' };
  }
  return { observation: { state: 'pending', step }, raw: '' };
}

type Expected = { reference: string; method: RailMethod; msisdn?: string };

function transferStep({ account }: DarajaSession, call: Expected, name: string, from: Date): PayerStep | null {
  const number = receiverOf(account, call.method.code);
  if (number === null) return null;
  const isToTill = call.method.code === TILL;
  return {
    kind: 'transfer',
    payTo: { kind: isToTill ? 'till' : 'paybill', number, name: account.businessName ?? name, bank: null },
    // A till asks the payer for no reference: the payment is told by the number that pays.
    accountReference: isToTill ? maskedNumberOf(call.msisdn ?? '') : typedReferenceOf(call.reference),
    expiresAt: new Date(from.getTime() + TRANSFER_MS),
  };
}

async function payOut(session: DarajaSession, call: PayoutCall): Promise<RailReply> {
  const { account, addresses } = session;
  const signed = signature(session);
  const refused = notSendable(call.amount) ?? (signed === null ? NO_INITIATOR : null);
  if (refused !== null || signed === null) return { observation: refused ?? NO_INITIATOR, raw: '' };
  const sent = await session.post('/mpesa/b2c/v3/paymentrequest', {
    OriginatorConversationID: call.reference,
    InitiatorName: signed.Initiator,
    SecurityCredential: signed.SecurityCredential,
    CommandID: account.payoutCommand,
    Amount: formatAmount(call.amount),
    PartyA: account.payoutShortcode,
    PartyB: call.msisdn,
    Remarks: 'Payout',
    QueueTimeOutURL: addresses.url('timeout', call.reference),
    ResultURL: addresses.url('payout', call.reference),
    // Spelt like this by Safaricom.
    Occassion: call.reference,
  });
  const accepted = acceptance(sent.answer);
  const railReference = textOf(field(accepted, 'ConversationID'));
  const isOurs = (textOf(field(accepted, 'OriginatorConversationID')) ?? call.reference) === call.reference;
  if (accepted === null || !isOurs) return refusalOf(session, sent, 'payout');
  return session.reply({ state: 'pending', ...(railReference === null ? {} : { railReference }) }, sent.answer);
}

const NO_INITIATOR: Observation = {
  state: 'failed',
  failureCode: 'REJECTED_BY_OPERATOR',
  rawCode: 'NO_INITIATOR',
  message: 'The initiator or the certificate of this connection is missing or cannot be used.',
};

function signature(session: DarajaSession): { Initiator: string; SecurityCredential: string } | null {
  const [initiator, credential] = [session.account.initiator, session.credential()];
  return initiator === null || credential === null
    ? null
    : { Initiator: initiator.name, SecurityCredential: credential };
}

/** A reversal takes back a whole payment, named by its receipt. A second one of the same payment is refused by the operator. */
async function reverse(session: DarajaSession, call: RefundCall): Promise<RailReply> {
  const { account, addresses } = session;
  const { receipt, amount } = call.collection;
  const signed = signature(session);
  if (signed === null) return { observation: NO_INITIATOR, raw: '' };
  if (receipt === null) return notReversible('NO_RECEIPT', 'The receipt of this payment is not known yet.');
  if (call.amount !== amount) return notReversible('NOT_WHOLE', 'M-PESA reverses whole payments only.');
  const sent = await session.post('/mpesa/reversal/v1/request', {
    ...signed,
    CommandID: 'TransactionReversal',
    TransactionID: receipt,
    Amount: formatAmount(call.amount),
    ReceiverParty: receiverOf(account, call.method.code) ?? account.shortcode,
    // Spelt like this by Safaricom.
    RecieverIdentifierType: REVERSAL_TYPE,
    ResultURL: addresses.url('reversal', call.reference),
    QueueTimeOutURL: addresses.url('timeout', call.reference),
    Remarks: 'Refund',
    Occasion: '',
  });
  const accepted = acceptance(sent.answer);
  if (accepted === null) return refusalOf(session, sent, 'refund');
  // No id of ours goes in: this one names the reversal in a later question.
  const railReference = textOf(field(accepted, 'OriginatorConversationID'));
  return session.reply({ state: 'pending', ...(railReference === null ? {} : { railReference }) }, sent.answer);
}

function notReversible(rawCode: string, message: string): RailReply {
  return { observation: { state: 'failed', failureCode: 'REJECTED_BY_OPERATOR', rawCode, message }, raw: '' };
}

async function query(session: DarajaSession, call: QueryCall): Promise<RailReply> {
  const { account } = session;
  switch (call.direction) {
    case 'collection':
      return call.method.code === PROMPT ? queryPrompt(session, call) : queryTransfer(session, call);
    case 'payout':
      return askStatus(session, call, 'payout-status', {
        ...(call.receipt === null ? {} : { TransactionID: call.receipt }),
        // Safaricom's pages spell it both ways.
        OriginalConversationID: call.reference,
        OriginatorConversationID: call.reference,
        PartyA: account.payoutShortcode ?? account.shortcode,
        IdentifierType: SHORTCODE_TYPE,
      });
    case 'refund': {
      const { receipt, railReference: id } = call;
      if (receipt === null && id === null) return unaskedReply('the operator gave no id for the reversal');
      return askStatus(session, call, 'reversal-status', {
        ...(receipt === null
          ? { OriginalConversationID: id, OriginatorConversationID: id }
          : { TransactionID: receipt }),
        ...partyOf(account, call.method.code),
      });
    }
  }
}

const partyOf = (account: DarajaAccount, method: string) => ({
  PartyA: receiverOf(account, method) ?? account.shortcode,
  IdentifierType: isTill(account, method) ? TILL_TYPE : SHORTCODE_TYPE,
});

/** Transaction Status: the answer comes to an address of its own. */
async function askStatus(
  session: DarajaSession,
  { reference }: QueryCall,
  topic: DarajaTopic,
  about: object,
): Promise<RailReply> {
  const signed = signature(session);
  if (signed === null) return unaskedReply('the connection has no initiator to ask with');
  const { answer } = await session.post('/mpesa/transactionstatus/v1/query', {
    ...signed,
    CommandID: 'TransactionStatusQuery',
    ...about,
    ResultURL: session.addresses.url(topic, reference),
    QueueTimeOutURL: session.addresses.url('late', reference),
    Remarks: 'Status',
    Occasion: 'Status',
  });
  return session.reply(acceptance(answer) === null ? unknownOf(answer) : ASKED, answer);
}

/** Whatever a question is answered, it says nothing about the payment. */
const unknownOf = (answer: Exchange): Observation => ({ state: 'unknown', reason: unknownReason(answer) });

function unknownReason(answer: Exchange): string {
  if (!answer.answered) return answer.reason;
  const error = readDarajaError(answer);
  const said = error === null ? '' : ` (${`${error.code} ${error.message}`.trim()})`;
  return `the operator answered ${answer.status}${said}`;
}

async function queryPrompt(session: DarajaSession, call: QueryCall): Promise<RailReply> {
  const { account, connection } = session;
  const { railReference } = call;
  // The answer to the submit was lost. A payment can be found in the list; that it is not there proves nothing.
  if (railReference === null) {
    // To a till it has no reference, and another payment of the payer could be taken for it.
    const listed = account.promptsToTill ? null : await lookUp(session, call);
    return listed?.reply ?? unaskedReply('the operator gave no id for the prompt');
  }
  const { answer } = await session.post('/mpesa/stkpushquery/v1/query', {
    BusinessShortCode: account.shortcode,
    ...session.password(),
    CheckoutRequestID: railReference,
  });
  const openForMs = connection.clock.millis() - call.submittedAt.getTime();
  const observation = readPromptState(answer, railReference, openForMs < PROMPT_OPEN_MS);
  if (observation.state !== 'succeeded' || call.receipt !== null) return session.reply(observation, answer);
  // A query tells no receipt. It comes with the callback, or is in the list of payments.
  const listed = await lookUp(session, call);
  return listed.isFound ? listed.reply : session.reply(observation, answer);
}

type Listed = { isFound: true; reply: RailReply } | { isFound: false; reply: RailReply | null };

/** The payment in the list of the Pull API. Not found without a reply: it is not in the list, or there is no list. */
async function lookUp(session: DarajaSession, call: QueryCall): Promise<Listed> {
  const { account } = session;
  const shortcode = receiverOf(account, call.method.code);
  if (account.pullNumber === null || shortcode === null) return { isFound: false, reply: null };
  const { amount, submittedAt: from, railReference, usedReceipts } = call;
  const isMeant = meantBy(account, call);
  const { payment, answer } = await findPayment(session, { shortcode, amount, from, isMeant, usedReceipts });
  if (payment === null) {
    const reply = answer === null ? null : session.reply(unknownOf(answer), answer);
    return { isFound: false, reply };
  }
  const observation: Observation = { state: 'succeeded', receipt: payment.receipt, amount, currency: DARAJA_CURRENCY };
  const named = railReference === null ? observation : { ...observation, railReference };
  return { isFound: true, reply: session.reply(named, payment.raw) };
}

/** A payment to a till has no reference: it is told by the number that paid. */
function meantBy(
  account: DarajaAccount,
  { method, reference, msisdn }: QueryCall,
): (payment: PulledPayment) => boolean {
  const national = msisdn?.slice(-NATIONAL_DIGITS) ?? '';
  if (isTill(account, method.code))
    return ({ payer }) => national.length === NATIONAL_DIGITS && payer.slice(-NATIONAL_DIGITS) === national;
  const expected = method.code === PROMPT ? promptReferenceOf(reference) : typedReferenceOf(reference);
  return ({ written }) => accountReferenceOf({ BillRefNumber: written }).reference === expected;
}

function readPromptState(answer: Exchange, railReference: string, mayStillBePaid: boolean): Observation {
  const error = readDarajaError(answer);
  const isProcessing = error?.code === '500.001.1001' && /transaction is being processed/i.test(error.message);
  if (isProcessing) return { state: 'pending', railReference };
  const body = acceptance(answer);
  if (body === null) return unknownOf(answer);
  if ((textOf(body.CheckoutRequestID) ?? railReference) !== railReference)
    return { state: 'unknown', reason: 'the answer is about another prompt' };
  const code = textOf(body.ResultCode);
  if (code === null || code === STILL_PROCESSING) return { state: 'pending', railReference };
  // The receipt comes with the callback.
  if (code === '0') return { state: 'succeeded', receipt: null, railReference };
  const failure = darajaFailure(PROMPT_FAILURES, code, body.ResultDesc);
  if (failure === null) return { state: 'unknown', reason: `the operator sent the unknown code ${code}` };
  return mayStillBePaid ? { state: 'pending', railReference } : failure;
}

/** Only the list of payments can be asked. Money that arrives after the end is still found by its reference. */
async function queryTransfer(session: DarajaSession, call: QueryCall): Promise<RailReply> {
  const { account, connection } = session;
  if (call.receipt !== null)
    return askStatus(session, call, 'payment-status', {
      TransactionID: call.receipt,
      ...partyOf(account, call.method.code),
    });
  const listed = await lookUp(session, call);
  if (listed.reply !== null) return listed.reply;
  const isOver = connection.clock.millis() >= call.submittedAt.getTime() + TRANSFER_MS + CONFIRMATION_MS;
  if (!isOver) {
    // Told again: the gateway may have stopped before it stored where the payer has to pay.
    const step = transferStep(session, call, receiverOf(account, call.method.code) ?? '', call.submittedAt);
    return { observation: { state: 'pending', ...(step === null ? {} : { step }) }, raw: '' };
  }
  const message = 'No payment arrived in the time that the payer had.';
  return { observation: { state: 'failed', failureCode: 'PROMPT_EXPIRED', rawCode: 'NOT_PAID', message }, raw: '' };
}

async function askBalance(session: DarajaSession): Promise<BalanceReply> {
  const { account, addresses } = session;
  const signed = signature(session);
  if (signed === null) return { error: 'the connection has no initiator to ask with' };
  const { answer } = await session.post('/mpesa/accountbalance/v1/query', {
    ...signed,
    CommandID: 'AccountBalance',
    PartyA: account.payoutShortcode ?? account.shortcode,
    IdentifierType: SHORTCODE_TYPE,
    Remarks: 'Balance',
    QueueTimeOutURL: addresses.url('late', null),
    ResultURL: addresses.url('balance', null),
  });
  if (acceptance(answer) !== null) return { asked: true };
  return { error: session.scrub(unknownReason(answer)) };
}
