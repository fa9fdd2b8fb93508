// M-PESA Express (STK push): a prompt on the payer's phone, its callback, and the query by CheckoutRequestID.

import { randomInt } from 'node:crypto';
import type { CustomerPayments } from './daraja-c2b.ts';
import {
  answerError,
  answerWrongField,
  createEndpoint,
  type Daraja,
  type Endpoint,
  type Fields,
  oneOf,
  optional,
  PHONE,
  SHORT_CODE,
  TIMESTAMP,
  text,
  URL_FIELD,
  WHOLE_AMOUNT,
} from './daraja-gateway.ts';
import { CURRENCY, type MpesaTransaction, nairobiTime } from './daraja-records.ts';
import { afterTime, DONE, deliver, MAXIMUM_AMOUNT, moneyNumber, REFUSALS, takePlannedEnd } from './daraja-results.ts';
import type { SimulatorAnswer, SimulatorRequest, SimulatorRoute } from './frame.ts';
import { readMoney, writeMoney } from './money.ts';
import { type Decision, decisionOf, type Phones } from './phones.ts';

type Result = { code: number | string; description: string };

const RESULTS = {
  sameAmount: { code: 17, description: 'The transaction is rule limited.' },
  cancelled: { code: 1032, description: 'Request cancelled by user' },
  unreachable: { code: 1037, description: 'DS timeout user cannot be reached.' },
  processing: { code: 4999, description: 'The transaction is still under processing' },
} as const;

/** What the payer's decision means; a prompt that is ignored ends by the clock. */
const RESULT_OF: Readonly<Record<Exclude<Decision, 'approve' | 'ignore'>, Result>> = {
  cancel: RESULTS.cancelled,
  wrong_pin: REFUSALS.initiator,
  no_money: REFUSALS.noMoney,
  not_found: RESULTS.unreachable,
  limit_reached: REFUSALS.dailyLimit,
};

type Push = {
  merchantRequestId: string;
  checkoutRequestId: string;
  callbackUrl: string;
  collection: MpesaTransaction;
  /** `late`: every query says that the payer could not be reached, and the money moves all the same. */
  state: 'open' | 'late' | 'ended';
  result: Result;
  /** The end that was planned for it, whatever the payer does. */
  plannedEnd: Result | null;
  isLate: boolean;
};

export function createExpressRoutes(daraja: Daraja, payments: CustomerPayments): SimulatorRoute[] {
  const pushes = new Map<string, Push>();
  const prompts = createPrompts(daraja, payments);

  function open(fields: Fields, request: SimulatorRequest): SimulatorAnswer {
    const refusal = findWrongMerchant(daraja, fields) ?? findWrongPhone(fields, prompts);
    if (refusal !== null) return refusal;
    const push = newPush(daraja, fields);
    pushes.set(push.checkoutRequestId, push);
    prompts.begin(push, findEarlyEnd(daraja, fields, request, push));
    return {
      status: 200,
      body: {
        MerchantRequestID: push.merchantRequestId,
        CheckoutRequestID: push.checkoutRequestId,
        ResponseCode: '0',
        ResponseDescription: 'Success. Request accepted for processing',
        CustomerMessage: 'Success. Request accepted for processing',
      },
    };
  }

  return [createEndpoint(daraja, pushEndpoint(open)), createEndpoint(daraja, queryEndpoint(daraja, pushes))];
}

interface Prompts {
  isOpen(msisdn: string): boolean;
  /** Rings the phone, unless the push ends early. */
  begin(push: Push, earlyEnd: Result | null): void;
}

function createPrompts(daraja: Daraja, payments: CustomerPayments): Prompts {
  const { context, options, records } = daraja;
  const open = new Set<string>();
  const paidAt = new Map<string, number>();

  function end(push: Push, result: Result): void {
    push.state = 'ended';
    push.result = result;
    open.delete(push.collection.msisdn);
    if (result.code === 0) {
      succeed(push);
    } else {
      records.decline(push.collection);
      deliver(daraja, push.callbackUrl, writeCallback(daraja, push));
    }
  }

  function succeed(push: Push): void {
    records.complete(push.collection);
    paidAt.set(`${push.collection.msisdn} ${push.collection.amount}`, context.now());
    sendForged(daraja, push)
      .then(() => deliver(daraja, push.callbackUrl, writeCallback(daraja, push, writeItems(daraja, push))))
      .catch(() => undefined);
    payments.confirm(push.collection);
  }

  /** The same phone paid the same amount a moment ago. */
  function isRuleLimited({ collection: { msisdn, amount } }: Push): boolean {
    const paid = paidAt.get(`${msisdn} ${amount}`);
    return paid !== undefined && context.now() < paid + options.ms('sameAmountSeconds');
  }

  function approve(push: Push): void {
    const result = push.plannedEnd ?? (isRuleLimited(push) ? RESULTS.sameAmount : DONE);
    if (result === DONE && push.isLate) {
      push.state = 'late';
      open.delete(push.collection.msisdn);
      afterTime(context, options.ms('lateSeconds'), () => end(push, DONE));
    } else {
      end(push, result);
    }
  }

  function ring(push: Push): void {
    const { id } = context.phones.ring(writePrompt(daraja, push), (decision) => {
      if (decision === 'approve') approve(push);
      else if (decision !== 'ignore') end(push, push.plannedEnd ?? RESULT_OF[decision]);
    });
    const expire = () => {
      context.phones.close(id);
      end(push, push.plannedEnd ?? RESULTS.unreachable);
    };
    afterTime(context, options.ms('promptSeconds'), expire, () => push.state === 'open');
  }

  return {
    isOpen: (msisdn) => open.has(msisdn),
    begin(push, earlyEnd) {
      open.add(push.collection.msisdn);
      if (earlyEnd === null) ring(push);
      else context.after(options.ms('resultSeconds'), () => end(push, earlyEnd));
    },
  };
}

function writePrompt({ options }: Daraja, { collection }: Push): Parameters<Phones['ring']>[0] {
  const { msisdn, shortCode, merchantId } = collection;
  const amount = writeMoney(collection.amount);
  const text = `Do you want to pay KES ${amount} to ${options.account.organisationName} (${shortCode}) for ${merchantId}?`;
  return { msisdn, text, amount, currency: CURRENCY, kind: 'pin' };
}

const MERCHANT = { BusinessShortCode: SHORT_CODE, Password: text(1, 1_000), Timestamp: TIMESTAMP };
const COMMON = { product: 'express', invalidToken: '404.001.03' } as const;

function pushEndpoint(handle: Endpoint['handle']): Endpoint {
  return {
    ...COMMON,
    path: '/mpesa/stkpush/v1/processrequest',
    operation: 'collect',
    fields: {
      ...MERCHANT,
      TransactionType: oneOf('CustomerPayBillOnline', 'CustomerBuyGoodsOnline'),
      Amount: WHOLE_AMOUNT,
      PartyA: PHONE,
      PartyB: SHORT_CODE,
      PhoneNumber: PHONE,
      CallBackURL: URL_FIELD,
      AccountReference: text(1, 12),
      TransactionDesc: optional(text(0, 13)),
    },
    handle,
  };
}

function queryEndpoint(daraja: Daraja, pushes: ReadonlyMap<string, Push>): Endpoint {
  const { quirks } = daraja;
  return {
    ...COMMON,
    path: '/mpesa/stkpushquery/v1/query',
    operation: 'query',
    fields: { ...MERCHANT, CheckoutRequestID: text(1, 100) },
    handle(fields) {
      const refusal = findWrongMerchant(daraja, fields);
      if (refusal !== null) return refusal;
      const push = pushes.get(fields.CheckoutRequestID ?? '');
      if (!push) {
        if (!quirks.take('missing_500')) return answerWrongField('CheckoutRequestID');
        return answerError(500, '500.001.1001', 'The transaction does not exist');
      }
      if (push.state === 'late') return answerQuery(push, RESULTS.unreachable);
      if (push.state === 'open') {
        if (quirks.take('early_1037')) return answerQuery(push, RESULTS.unreachable);
        if (quirks.take('pending_4999')) return answerQuery(push, RESULTS.processing);
        return answerError(500, '500.001.1001', 'The transaction is being processed');
      }
      const isContradicted = push.result.code === 0 && quirks.take('query_contradicts');
      return answerQuery(push, isContradicted ? RESULTS.cancelled : push.result);
    },
  };
}

/** The code is a text here, and a number in the callback; there is no receipt and no amount. */
function answerQuery(push: Push, { code, description }: Result): SimulatorAnswer {
  return {
    status: 200,
    body: {
      ResponseCode: '0',
      ResponseDescription: 'The service request has been accepted successfully',
      MerchantRequestID: push.merchantRequestId,
      CheckoutRequestID: push.checkoutRequestId,
      ResultCode: String(code),
      ResultDesc: description,
    },
  };
}

function findWrongMerchant({ options }: Daraja, fields: Fields): SimulatorAnswer | null {
  const { shortCode, storeNumber, passkey } = options.account;
  const { BusinessShortCode = '', Password, Timestamp } = fields;
  if (![shortCode, storeNumber].includes(BusinessShortCode)) {
    return answerError(500, '500.001.1001', 'Merchant does not exist');
  }
  const password = Buffer.from(`${BusinessShortCode}${passkey}${Timestamp}`).toString('base64');
  return Password === password ? null : answerError(500, '500.001.1001', '[MerchantValidate] - Wrong credentials');
}

function findWrongPhone({ PhoneNumber = '' }: Fields, prompts: Prompts): SimulatorAnswer | null {
  if (decisionOf(PhoneNumber) === 'not_found') return answerWrongField('PhoneNumber');
  if (!prompts.isOpen(PhoneNumber)) return null;
  const locked = 'Unable to lock subscriber, a transaction is already in process for the current subscriber';
  return answerError(500, '500.001.1001', locked);
}

function newPush(daraja: Daraja, fields: Fields): Push {
  const { context, records } = daraja;
  const [, year, month, rest] = /^(\d{4})(\d\d)(\d{8})$/.exec(nairobiTime(context.now())) ?? [];
  const day = `${rest?.slice(0, 2)}${month}${year}${rest?.slice(2)}`;
  return {
    merchantRequestId: records.newRequestId(),
    checkoutRequestId: `ws_CO_${day}${randomInt(100_000_000_000, 281_000_000_000)}`,
    callbackUrl: fields.CallBackURL ?? '',
    collection: records.begin({
      kind: 'collection',
      merchantId: fields.AccountReference ?? '',
      channel: fields.TransactionType === 'CustomerPayBillOnline' ? 'Pay Bill' : 'Buy Goods',
      shortCode: fields.PartyB ?? '',
      msisdn: fields.PhoneNumber ?? '',
      amount: readMoney(fields.Amount ?? '') ?? 0n,
    }),
    state: 'open',
    result: RESULTS.processing,
    plannedEnd: takePlannedEnd(daraja, 'collect'),
    isLate: context.takeFault('late_success', 'collect'),
  };
}

/** Prompts that are accepted and then never reach the payer. */
function findEarlyEnd({ options }: Daraja, fields: Fields, { json }: SimulatorRequest, push: Push): Result | null {
  const { shortCode, storeNumber, tillNumber, textPhones } = options.account;
  const isText = typeof json?.PhoneNumber === 'string' || typeof json?.PartyA === 'string';
  const pair = `${fields.TransactionType} ${fields.BusinessShortCode} ${fields.PartyB}`;
  const pairs = [
    `CustomerPayBillOnline ${shortCode} ${shortCode}`,
    `CustomerBuyGoodsOnline ${storeNumber} ${tillNumber}`,
  ];
  if (!pairs.includes(pair)) return REFUSALS.product;
  if (push.collection.amount > MAXIMUM_AMOUNT) return REFUSALS.tooMuch;
  return isText && textPhones === 'unreachable' ? RESULTS.unreachable : null;
}

function writeCallback({ quirks }: Daraja, push: Push, items?: object[]): object {
  const { merchantRequestId, checkoutRequestId, result } = push;
  return {
    Body: {
      stkCallback: {
        MerchantRequestID: merchantRequestId,
        CheckoutRequestID: checkoutRequestId,
        ResultCode: quirks.take('text_codes', 'collect') ? String(result.code) : result.code,
        ResultDesc: result.description,
        ...(items && { CallbackMetadata: { Item: items } }),
      },
    },
  };
}

/** Safaricom has shown this list with and without the balance, and the balance without a value. */
function writeItems({ quirks, records }: Daraja, { collection }: Push, amount = collection.amount): object[] {
  const { receipt, finalisedAt, msisdn } = collection;
  const balance = quirks.take('balance_without_value')
    ? [{ Name: 'Balance' }]
    : quirks.take('balance_with_value')
      ? [{ Name: 'Balance', Value: moneyNumber(records.available()) }]
      : [];
  const isMasked = quirks.take('masked_phone') !== null;
  return [
    { Name: 'Amount', Value: moneyNumber(amount) },
    { Name: 'MpesaReceiptNumber', Value: receipt },
    ...balance,
    { Name: 'TransactionDate', Value: Number(nairobiTime(finalisedAt ?? 0)) },
    { Name: 'PhoneNumber', Value: isMasked ? `${msisdn.slice(0, 4)}*****${msisdn.slice(-3)}` : Number(msisdn) },
  ];
}

/** Somebody who knows the address tells a lie before the operator tells the truth. */
async function sendForged(daraja: Daraja, push: Push): Promise<void> {
  const { context, quirks, records } = daraja;
  const url = push.callbackUrl;
  if (quirks.take('forged_amount')) {
    await context.send({
      url,
      body: writeCallback(daraja, push, writeItems(daraja, push, push.collection.amount * 10n)),
    });
  }
  if (quirks.take('foreign_callback')) {
    const foreign = {
      ...push,
      merchantRequestId: records.newRequestId(),
      checkoutRequestId: `${push.checkoutRequestId}1`,
    };
    await context.send({ url, body: writeCallback(daraja, foreign, writeItems(daraja, foreign)) });
  }
}
