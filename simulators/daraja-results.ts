// B2C, status, reversal and balance answer in two parts: an acknowledgement at once, and later a Result at the ResultURL.

import { type Daraja, type Fields, readCredential } from './daraja-gateway.ts';
import type { Operation } from './faults.ts';
import type { SimulatorAnswer, SimulatorContext } from './frame.ts';
import { writeMoney } from './money.ts';

/** A code of M-PESA and its text; `parameters` only when it was done. */
export type Outcome = {
  code: number | string;
  description: string;
  transactionId: string;
  parameters?: Parameter[];
};

export type Parameter = { Key: string; Value?: unknown };

export const DONE = { code: 0, description: 'The service request is processed successfully.' };

/** Codes that mean the same for every kind of request. */
export const REFUSALS = {
  noMoney: { code: 1, description: 'The balance is insufficient for the transaction.' },
  tooMuch: { code: 3, description: 'Declined due to limit rule: greater than the maximum transaction amount.' },
  dailyLimit: { code: 4, description: 'Declined due to limit rule: would exceed the daily transfer limit.' },
  maximumBalance: { code: 8, description: 'Declined due to limit rule: would exceed the maximum balance.' },
  initiator: { code: 2001, description: 'The initiator information is invalid.' },
  product: { code: 2028, description: 'The request is not permitted according to product assignment.' },
  notRegistered: {
    code: 2040,
    description: 'Credit Party customer type (Unregistered or Registered Customer) is invalid.',
  },
} as const;

const CLOCK_MS = 50;

/** No document has it. */
export const UNKNOWN_CODE = { code: 7_777, description: 'The request could not be completed at this stage.' };

/** The largest amount of one transaction: 250,000 shillings. */
export const MAXIMUM_AMOUNT = 250_000_00n;

export type Request = {
  operation: Operation;
  fields: Fields;
  /** Comes back to QueueTimeOutURL as it was sent, with the SecurityCredential in it. */
  sent: object;
  originatorConversationId: string;
  conversationId: string;
  /** What the acknowledgement says instead of originatorConversationId. */
  acknowledgedId?: string;
  /** The part of M-PESA's own address in ReferenceData; absent when the result names the Occasion. */
  resultPath?: string;
  /** Does what was asked for, when M-PESA comes to it. */
  perform(): Outcome;
  /** Called when M-PESA will never come to it. */
  dropped?(): void;
};

/** Acknowledges a request and plans its result. */
export function acknowledge(daraja: Daraja, request: Request): SimulatorAnswer {
  const { context, options, quirks } = daraja;
  const { operation, fields, sent } = request;
  const answer = (ResponseCode: string, ResponseDescription: string): SimulatorAnswer => ({
    status: 200,
    body: {
      ConversationID: request.conversationId,
      OriginatorConversationID: request.acknowledgedId ?? request.originatorConversationId,
      ResponseCode,
      ResponseDescription,
    },
  });
  if (quirks.take('refused_ack', operation)) {
    request.dropped?.();
    return answer('1', 'Rejected');
  }
  const isDropped = quirks.take('queue_timeout', operation) !== null;
  const isLate = !isDropped && context.takeFault('late_success', operation);
  if (isDropped) request.dropped?.();
  context.after(options.ms('resultSeconds'), () => {
    if (!isDropped && !isLate) {
      sendResult(daraja, request);
      return;
    }
    deliver(daraja, fields.QueueTimeOutURL ?? '', sent);
    if (isLate) afterTime(context, options.ms('lateSeconds'), () => sendResult(daraja, request));
  });
  return answer('0', 'Accept the service request successfully.');
}

function sendResult(daraja: Daraja, request: Request): void {
  const { quirks } = daraja;
  const { operation, fields } = request;
  const outcome = request.perform();
  if (quirks.take('text_codes', operation)) outcome.code = String(outcome.code);
  const ResultURL = fields.ResultURL ?? '';
  const final = { Result: writeResult(daraja, request, outcome) };
  if (!quirks.take('result_type_1_first', operation)) {
    deliver(daraja, ResultURL, final);
    return;
  }
  const { code, transactionId } = outcome;
  const first = writeResult(daraja, request, {
    code: typeof code === 'string' ? '0' : 0,
    description: 'The service request is waiting for further messages.',
    transactionId,
  });
  void daraja.context
    .send({ url: ResultURL, body: { Result: { ...first, ResultType: 1 } } })
    .then(() => deliver(daraja, ResultURL, final));
}

function writeResult({ quirks }: Daraja, request: Request, outcome: Outcome): object {
  const { fields, operation, resultPath } = request;
  const reference =
    resultPath === undefined
      ? { Key: 'Occasion', ...(fields.Occasion && { Value: fields.Occasion }) }
      : { Key: 'QueueTimeoutURL', Value: `https://internalsandbox.safaricom.co.ke/mpesa/${resultPath}/v1/submit` };
  return {
    ResultType: typeof outcome.code === 'string' && /^\d+$/.test(outcome.code) ? '0' : 0,
    ResultCode: outcome.code,
    ResultDesc: outcome.description,
    OriginatorConversationID: request.originatorConversationId,
    ConversationID: request.conversationId,
    TransactionID: outcome.transactionId,
    ...(outcome.parameters && { ResultParameters: { ResultParameter: outcome.parameters } }),
    ReferenceData: { ReferenceItem: quirks.take('reference_list', operation) ? [reference] : reference },
  };
}

/** Sends a callback, again and again as far as `callbackTries` says, until it is answered with 2xx. */
export function deliver({ context, options }: Daraja, url: string, body: object): void {
  const again = (triesLeft: number) =>
    void context.send({
      url,
      body,
      answered(answer) {
        const isTaken = answer !== null && answer.status >= 200 && answer.status < 300;
        if (!isTaken && triesLeft > 1) context.after(options.ms('callbackRetrySeconds'), () => again(triesLeft - 1));
      },
    });
  again(Number(options.account.callbackTries));
}

/**
 * Runs the work when the simulator's clock has gone so far, which a test may run ahead, unless it is no longer wanted. It looks
 * at the clock again and again: one long timer would keep a simulator busy after the payer decided.
 */
export function afterTime(context: SimulatorContext, ms: number, work: () => void, isWanted = () => true): void {
  const dueAt = context.now() + ms;
  const wait = () =>
    context.after(Math.min(CLOCK_MS, ms), () => {
      if (!isWanted()) return;
      if (context.now() < dueAt) wait();
      else work();
    });
  wait();
}

/** What is wrong with the API user of a request; null when nothing is. */
export function findWrongInitiator({ options }: Daraja, name: string, credential: string): 'name' | 'password' | null {
  if (name !== options.account.initiatorName) return 'name';
  return readCredential(options, credential) === options.account.initiatorPassword ? null : 'password';
}

/** How this request ends without money, when that was planned; null: as it comes. */
export function takePlannedEnd({ context, quirks }: Daraja, operation: Operation): typeof UNKNOWN_CODE | null {
  if (context.takeFault('unknown_code', operation)) return UNKNOWN_CODE;
  const planned = quirks.take('end_with', operation);
  if (planned === null) return null;
  const code = planned.code ?? '';
  return { code: (/^\d+$/.test(code) ? Number(code) : code) as number, description: `Ended with code ${code}.` };
}

/** A JSON number with two decimals, such as 1.00: what the documents show, and what no JavaScript number can be. */
export function moneyNumber(hundredths: bigint): object {
  return (JSON as unknown as { rawJSON(text: string): object }).rawJSON(writeMoney(hundredths));
}

/** "300" or "233.8": a text without zeros at its end. */
export function plainMoney(hundredths: bigint): string {
  return writeMoney(hundredths).replace(/\.?0+$/, '');
}

/** The id of a request that moved no money ends in zeros; it is the receipt of nothing. */
export function emptyTransactionId(receipt: string): string {
  return `${receipt.slice(0, 3)}0000000`;
}
