// What Safaricom sends to us. Nothing is signed: an address that only Safaricom was given, its published ranges and the ids in
// the message are all there is, so results are `matched`, and everything less is a hint.

import type { DarajaAddress, DarajaAddresses } from './daraja-addresses.ts';
import {
  ALREADY_REVERSED,
  type DarajaFailures,
  darajaFailure,
  PAYOUT_FAILURES,
  PROMPT_FAILURES,
  REVERSAL_FAILURES,
} from './daraja-codes.ts';
import { accountReferenceOf } from './daraja-references.ts';
import type { DarajaAccount } from './daraja-settings.ts';
import type {
  CallbackAnswer,
  CallbackDecision,
  CallbackReading,
  CallbackRequest,
  MoneyDirection,
  Observation,
  OperatorBalance,
} from './rail.ts';
import {
  currencyOf,
  field,
  isObject,
  moneyOf,
  objectsOf,
  proseOf,
  readJson,
  signedMoneyOf,
  textOf,
} from './reading.ts';

const MAX_CALLBACK_BYTES = 64 * 1024;
export const DARAJA_CURRENCY = 'KES';
const DONE = '0';
/** A receipt has ten capitals and digits. */
const RECEIPT = /^[A-Z0-9]{6,20}$/;
/** "The service request waits for further messages": not the end. */
const NOT_THE_LAST = '1';

/** The codes that refuse a payment before it is made. */
const REFUSALS: Record<(CallbackDecision & { kind: 'refuse_payment' })['reason'], string> = {
  unknown_account: 'C2B00012',
  wrong_amount: 'C2B00013',
  not_now: 'C2B00016',
};

type Message = Record<string, unknown>;

export function readDarajaCallback(
  addresses: DarajaAddresses,
  account: DarajaAccount,
  request: CallbackRequest,
): CallbackReading[] {
  if (request.method !== 'POST') return [{ kind: 'rejected', reason: 'the method is not POST' }];
  if (request.body.length > MAX_CALLBACK_BYTES) return [{ kind: 'rejected', reason: 'the callback is too large' }];
  const address = addresses.read(request.path);
  if (address === null) return [{ kind: 'rejected', reason: 'the address is none that we gave to the operator' }];
  return [readMessage(address, account, request)];
}

function readMessage(address: DarajaAddress, account: DarajaAccount, request: CallbackRequest): CallbackReading {
  const { topic, reference } = address;
  const isAllowed = account.allows(request.remoteAddress);
  if (topic === 'late') return { kind: 'nothing', reason: 'a question to the operator waited too long' };
  if (topic === 'confirmation' || topic === 'validation' || topic === 'balance') {
    if (!isAllowed) return unreadable('it came from an address that is not the operator’s');
    const message = readJson(request.body.toString('utf8'));
    if (!isObject(message)) return unreadable('the message is not JSON');
    return topic === 'balance' ? readBalances(message) : readTransfer(topic, account, message);
  }
  if (reference === null) return unreadable('the address names no transaction');
  // The message repeats our request with its credentials. Only the address is read.
  if (topic === 'timeout') return { kind: 'hint', reference };
  const status = STATUS_OF[topic];
  // The answer to a question is never a reason to ask: that would not end.
  if (!isAllowed && status !== undefined) return { kind: 'nothing', reason: 'it came from an unknown address' };
  if (!isAllowed) return { kind: 'hint', reference };
  const message = readJson(request.body.toString('utf8'));
  if (status !== undefined) return readStatus(status, reference, message);
  if (topic === 'prompt') return readPrompt(reference, message);
  return topic === 'payout' ? readPayout(reference, message) : readReversal(reference, message);
}

/** It came to an address of ours, but cannot be right. */
const unreadable = (reason: string): CallbackReading => ({ kind: 'rejected', reason, authenticated: true });

function readPrompt(reference: string, message: unknown): CallbackReading {
  const callback = field(message, 'Body', 'stkCallback');
  const railReference = textOf(field(callback, 'CheckoutRequestID'));
  const code = textOf(field(callback, 'ResultCode'));
  if (railReference === null || code === null) return unreadable('the message is not a result of a prompt');
  const items = objectsOf(field(callback, 'CallbackMetadata', 'Item'));
  const item = (name: string) => items.find(({ Name, Value }) => Name === name && Value !== undefined)?.Value;
  const observation =
    code === DONE
      ? successOf(item('MpesaReceiptNumber'), item('Amount'))
      : darajaFailure(PROMPT_FAILURES, code, field(callback, 'ResultDesc'));
  return matchedOrHint(reference, 'collection', observation, railReference);
}

/** A code that we do not know, or a success without receipt or amount, is a reason to ask. */
function matchedOrHint(
  reference: string,
  direction: MoneyDirection,
  observation: Observation | null,
  railReference: string | null,
): CallbackReading {
  if (observation === null) return { kind: 'hint', reference };
  const named =
    railReference !== null && observation.state !== 'unknown' && observation.state !== 'reversed'
      ? { ...observation, railReference }
      : observation;
  return { kind: 'matched', reference, direction, observation: named };
}

function successOf(receipt: unknown, amount: unknown): Observation | null {
  const [receiptText, money] = [receiptOf(receipt), moneyOf(amount)];
  if (receiptText === null || money === null) return null;
  return { state: 'succeeded', receipt: receiptText, amount: money, currency: DARAJA_CURRENCY };
}

function receiptOf(value: unknown): string | null {
  const text = textOf(value)?.toUpperCase() ?? '';
  return RECEIPT.test(text) ? text : null;
}

type Result = {
  code: string;
  description: string;
  isLast: boolean;
  conversation: string | null;
  originator: string | null;
  receipt: unknown;
  parameter(key: string): unknown;
};

/** The form of every asynchronous answer. A list of one is sometimes an object, and a key may stand in it twice. */
function readResult(message: unknown): Result | null {
  const result = field(message, 'Result');
  const code = textOf(field(result, 'ResultCode'));
  if (!isObject(result) || code === null) return null;
  const list = field(result, 'ResultParameters', 'ResultParameter');
  const parameters = isObject(list) ? [list] : objectsOf(list);
  return {
    code,
    description: proseOf(result.ResultDesc),
    isLast: textOf(result.ResultType) !== NOT_THE_LAST,
    conversation: textOf(result.ConversationID),
    originator: textOf(result.OriginatorConversationID),
    receipt: result.TransactionID,
    parameter: (key) => parameters.find(({ Key, Value }) => Key === key && Value !== undefined)?.Value,
  };
}

const NOT_A_RESULT = 'the message is not a result';
const WAITING: CallbackReading = { kind: 'nothing', reason: 'the operator announces another message' };
const ANOTHER_PAYMENT = 'the message is about another payment';

function readPayout(reference: string, message: unknown): CallbackReading {
  const result = readResult(message);
  if (result === null) return unreadable(NOT_A_RESULT);
  if (!result.isLast) return WAITING;
  if ((result.originator ?? reference) !== reference) return unreadable(ANOTHER_PAYMENT);
  const observation =
    result.code === DONE
      ? successOf(result.parameter('TransactionReceipt') ?? result.receipt, result.parameter('TransactionAmount'))
      : failureOf(result, PAYOUT_FAILURES);
  return matchedOrHint(reference, 'payout', observation, result.conversation);
}

function readReversal(reference: string, message: unknown): CallbackReading {
  const result = readResult(message);
  if (result === null) return unreadable(NOT_A_RESULT);
  if (!result.isLast) return WAITING;
  const observation =
    result.code === DONE ? successOf(result.receipt, result.parameter('Amount')) : failureOf(result, REVERSAL_FAILURES);
  // Reversed before, by an earlier request of ours or by hand: the receipt of that is not told.
  const done: Observation | null =
    result.code === ALREADY_REVERSED ? { state: 'succeeded', receipt: null } : observation;
  return matchedOrHint(reference, 'refund', done, result.code === ALREADY_REVERSED ? null : result.originator);
}

const failureOf = ({ code, description }: Result, failures: DarajaFailures) =>
  darajaFailure(failures, code, description);

const STATUS_OF: Partial<Record<DarajaAddress['topic'], MoneyDirection>> = {
  'payout-status': 'payout',
  'reversal-status': 'refund',
  'payment-status': 'collection',
};

const ENDED_UNPAID: ReadonlySet<string> = new Set(['Cancelled', 'Declined', 'Expired']);
const NOT_ENDED: ReadonlySet<string> = new Set(['Initiated', 'Authorized', 'Pending Authorized']);

/** The answer to Transaction Status. Its own code is about the question; the state of the payment is one of its parameters. */
function readStatus(direction: MoneyDirection, reference: string, message: unknown): CallbackReading {
  const result = readResult(message);
  if (result === null) return unreadable(NOT_A_RESULT);
  if (!result.isLast) return WAITING;
  if (result.code !== DONE)
    return { kind: 'nothing', reason: `the operator could not answer our question (${result.code})` };
  const originator = textOf(result.parameter('OriginatorConversationID'));
  if (direction === 'payout' && (originator ?? reference) !== reference) return unreadable(ANOTHER_PAYMENT);
  const status = textOf(result.parameter('TransactionStatus')) ?? '';
  const railReference = railReferenceOf(direction, textOf(result.parameter('ConversationID')), originator);
  if (NOT_ENDED.has(status)) return answerOf(reference, direction, { state: 'pending' }, railReference);
  const observation =
    status === 'Completed'
      ? successOf(result.parameter('ReceiptNo'), result.parameter('Amount'))
      : endedUnpaid(status, result.parameter('TransactionReason'));
  if (observation === null) return { kind: 'nothing', reason: 'the operator told no state that we know' };
  return answerOf(reference, direction, observation, railReference);
}

const answerOf = (...said: [string, MoneyDirection, Observation, string | null]): CallbackReading => {
  const reading = matchedOrHint(...said);
  return reading.kind === 'matched' ? { ...reading, isAnswer: true } : reading;
};

/** The id that we kept of a payout is the ConversationID, of a reversal the OriginatorConversationID. */
function railReferenceOf(direction: MoneyDirection, conversation: string | null, originator: string | null) {
  if (direction === 'payout') return conversation;
  return direction === 'refund' ? originator : null;
}

function endedUnpaid(status: string, reason: unknown): Observation | null {
  if (!ENDED_UNPAID.has(status)) return null;
  const message = proseOf(reason) || `The operator says: ${status}.`;
  return { state: 'failed', failureCode: 'REJECTED_BY_OPERATOR', rawCode: status, message };
}

function readBalances(message: Message): CallbackReading {
  const result = readResult(message);
  if (result === null) return unreadable(NOT_A_RESULT);
  if (!result.isLast) return WAITING;
  const text = result.parameter('AccountBalance');
  if (result.code !== DONE || typeof text !== 'string')
    return { kind: 'nothing', reason: `the operator did not tell the balance (${result.code})` };
  return { kind: 'balance', balances: text.split('&').flatMap(readAccount) };
}

/** "Utility Account|KES|228037.00|228037.00|0.00|0.00": name, currency, current, available, reserved, uncleared. */
function readAccount(text: string): OperatorBalance[] {
  const [name, currency, current, available] = text.split('|');
  const [account, code, money] = [textOf(name), currencyOf(currency), signedMoneyOf(available ?? current)];
  return account === null || code === null || money === null ? [] : [{ account, currency: code, available: money }];
}

/** C2B: a payer pays to the till or the pay bill, or asks to. */
function readTransfer(topic: 'confirmation' | 'validation', account: DarajaAccount, message: Message): CallbackReading {
  const amount = moneyOf(message.TransAmount);
  const shortcode = textOf(message.BusinessShortCode) ?? '';
  if (amount === null) return unreadable('the message has no amount');
  if (![account.shortcode, account.paybill, account.till].includes(shortcode))
    return unreadable('the message is about another short code');
  const { reference, isPrompt } = accountReferenceOf(message);
  const payment = { accountReference: reference, amount, currency: DARAJA_CURRENCY, payer: null };
  if (topic === 'confirmation') {
    const receipt = receiptOf(message.TransID);
    return receipt === null
      ? unreadable('the message has no receipt')
      : { kind: 'payment_received', ...payment, receipt };
  }
  // The payer answers a prompt of ours, and the operator asks all the same: it is taken.
  if (isPrompt) return { kind: 'nothing', reason: 'a payment by a prompt of ours' };
  return { kind: 'validation', ...payment };
}

const json = (status: number, body: object): CallbackAnswer => ({
  status,
  body: JSON.stringify(body),
  contentType: 'application/json',
});

/** Every value of a validation but 0 cancels the payment, and no valid answer leaves it to the operator: each case is said. */
export function answerDarajaCallback(
  addresses: DarajaAddresses,
  request: CallbackRequest,
  decision: CallbackDecision,
): CallbackAnswer {
  const address = addresses.read(request.path);
  if (address === null) return json(401, { ResultCode: 1, ResultDesc: 'Rejected' });
  if (address.topic !== 'validation') {
    if (decision.kind === 'rejected') return json(400, { ResultCode: 1, ResultDesc: 'Rejected' });
    return json(200, { ResultCode: 0, ResultDesc: address.topic === 'confirmation' ? 'Success' : 'Accepted' });
  }
  switch (decision.kind) {
    case 'take_payment':
      return json(200, { ResultCode: '0', ResultDesc: 'Accepted', ThirdPartyTransID: decision.reference });
    case 'kept':
      return json(200, { ResultCode: '0', ResultDesc: 'Accepted' });
    case 'refuse_payment':
      return json(200, { ResultCode: REFUSALS[decision.reason], ResultDesc: 'Rejected' });
    case 'rejected':
      return json(200, { ResultCode: REFUSALS.not_now, ResultDesc: 'Rejected' });
  }
}
