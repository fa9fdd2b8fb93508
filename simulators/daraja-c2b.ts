// Payers who pay a pay bill or a till by themselves: registered addresses, validation, confirmation, and the list of payments
// for merchants whose confirmation was lost (the Pull API).

import { createHash } from 'node:crypto';
import {
  answerError,
  answerWrongField,
  createEndpoint,
  type Daraja,
  DIGITS,
  type Endpoint,
  type Fields,
  hasForbiddenWord,
  oneOf,
  optional,
  PHONE,
  SHORT_CODE,
  text,
  URL_FIELD,
  WHOLE_AMOUNT,
} from './daraja-gateway.ts';
import { type MpesaTransaction, nairobiTime, readNairobiTime } from './daraja-records.ts';
import { CUSTOMER } from './daraja-requests.ts';
import { plainMoney } from './daraja-results.ts';
import type { SimulatorAnswer, SimulatorRoute } from './frame.ts';
import { readMoney, writeMoney } from './money.ts';

const PULL_WINDOW_MS = 48 * 60 * 60 * 1000;
const PULL_ROWS = 100;

type Registration = {
  shortCode: string;
  /** The API version decides how the payer's number is hidden. */
  version: 'v1' | 'v2';
  responseType: string;
  confirmationUrl: string;
  validationUrl: string;
};

export type Payment = {
  channel: 'Pay Bill' | 'Buy Goods';
  shortCode: string;
  msisdn: string;
  amount: bigint;
  reference: string;
};

export type PaymentEnd = { isPaid: true; receipt: string } | { isPaid: false; resultCode: string };

export interface CustomerPayments {
  routes: SimulatorRoute[];
  /** A payer pays; the merchant may refuse it. */
  pay(payment: Payment): Promise<PaymentEnd>;
  /** Tells the merchant about a collection, when it registered an address. Never repeated. */
  confirm(collection: MpesaTransaction, thirdPartyId?: string): void;
  /** What the merchant does on the portal, to register other addresses. */
  unregister(shortCode: string): boolean;
}

export function createCustomerPayments(daraja: Daraja): CustomerPayments {
  const { context, options, records } = daraja;
  const { storeNumber, tillNumber } = options.account;
  const registrations = new Map<string, Registration>();

  /** A till is registered by either of its two numbers. */
  function findRegistration(shortCode: string): Registration | undefined {
    const isTill = shortCode === tillNumber || shortCode === storeNumber;
    return isTill ? (registrations.get(tillNumber) ?? registrations.get(storeNumber)) : registrations.get(shortCode);
  }

  function confirm(collection: MpesaTransaction, thirdPartyId = ''): void {
    const registration = findRegistration(collection.shortCode);
    if (!registration) return;
    const { shortCode, msisdn, amount, merchantId } = collection;
    const channel = collection.channel as Payment['channel'];
    const reference = channel === 'Pay Bill' ? merchantId : '';
    const payment = { channel, shortCode, msisdn, amount, reference };
    void context.send({
      url: registration.confirmationUrl,
      body: {
        ...writePayment(daraja, registration, payment, collection.receipt ?? ''),
        OrgAccountBalance: writeMoney(records.available()),
        ThirdPartyTransID: thirdPartyId,
      },
    });
  }

  async function pay(payment: Payment): Promise<PaymentEnd> {
    const { channel, shortCode, msisdn, amount, reference } = payment;
    const receipt = records.newReceipt();
    const registration = findRegistration(shortCode);
    const isAsked = registration !== undefined && options.isOn('validation');
    const verdict = isAsked ? await validate(daraja, registration, payment, receipt) : { resultCode: '0' };
    if (verdict.resultCode !== '0') return { isPaid: false, resultCode: verdict.resultCode };
    const collection = records.begin({ kind: 'collection', merchantId: reference, channel, shortCode, msisdn, amount });
    records.complete(collection, receipt);
    confirm(collection, verdict.thirdPartyId);
    return { isPaid: true, receipt };
  }

  return {
    routes: [
      createEndpoint(daraja, registerEndpoint(daraja, registrations, 'v1')),
      createEndpoint(daraja, registerEndpoint(daraja, registrations, 'v2')),
      createEndpoint(daraja, simulateEndpoint(daraja, 'v1', pay)),
      createEndpoint(daraja, simulateEndpoint(daraja, 'v2', pay)),
      ...pullEndpoints(daraja).map((endpoint) => createEndpoint(daraja, endpoint)),
    ],
    pay,
    confirm,
    unregister: (shortCode) => registrations.delete(shortCode),
  };
}

/** The body of a validation, and of a confirmation but for two fields. */
function writePayment({ context, quirks }: Daraja, registration: Registration, payment: Payment, receipt: string) {
  return {
    TransactionType: payment.channel,
    TransID: receipt,
    TransTime: nairobiTime(context.now()),
    TransAmount: quirks.take('decimal_amount') ? writeMoney(payment.amount) : plainMoney(payment.amount),
    BusinessShortCode: registration.shortCode,
    BillRefNumber: payment.reference,
    InvoiceNumber: '',
    OrgAccountBalance: '',
    ThirdPartyTransID: '',
    MSISDN: hidePhone(registration.version, payment.msisdn),
    FirstName: CUSTOMER.first,
    MiddleName: '',
    LastName: CUSTOMER.last,
  };
}

/** Asks the merchant. Without an answer in time, `ResponseType` of the registration decides. */
function validate(daraja: Daraja, registration: Registration, payment: Payment, receipt: string): Promise<Verdict> {
  const { context, options } = daraja;
  return new Promise((decided) => {
    void context.send({
      url: registration.validationUrl,
      body: writePayment(daraja, registration, payment, receipt),
      timeoutMs: options.ms('validationSeconds'),
      answered: (answer) => decided(readVerdict(answer) ?? { resultCode: noAnswer(registration) }),
    });
  });
}

type Verdict = { resultCode: string; thirdPartyId?: string };

const noAnswer = ({ responseType }: Registration) => (responseType === 'Completed' ? '0' : 'NO_ANSWER');

/** Any ResultCode but 0 cancels, a missing one too; an error page is no answer. */
function readVerdict(answer: { status: number; text: string } | null): Verdict | null {
  if (answer === null || answer.status < 200 || answer.status > 299) return null;
  try {
    const { ResultCode, ThirdPartyTransID } = JSON.parse(answer.text) as Record<string, unknown>;
    const thirdPartyId = typeof ThirdPartyTransID === 'string' ? { thirdPartyId: ThirdPartyTransID } : {};
    return { resultCode: String(ResultCode), ...thirdPartyId };
  } catch {
    return null;
  }
}

/** Version 1 sends a hash, version 2 stars: the merchant never learns the number. */
function hidePhone(version: Registration['version'], msisdn: string): string {
  if (version === 'v1') return createHash('sha256').update(msisdn).digest('hex');
  return `${msisdn.slice(0, 5)}****${msisdn.slice(-3)}`;
}

function registerEndpoint(
  { options, records }: Daraja,
  registrations: Map<string, Registration>,
  version: Registration['version'],
): Endpoint {
  return {
    path: `/mpesa/c2b/${version}/registerurl`,
    operation: 'other',
    product: 'c2b',
    invalidToken: '404.001.03',
    fields: {
      ShortCode: SHORT_CODE,
      // Exactly so: in sentence case.
      ResponseType: oneOf('Completed', 'Cancelled'),
      ConfirmationURL: URL_FIELD,
      ValidationURL: URL_FIELD,
    },
    handle({ ShortCode = '', ResponseType = '', ConfirmationURL = '', ValidationURL = '' }) {
      if (!options.isOwn(ShortCode)) return answerWrongField('ShortCode');
      if (hasForbiddenWord(ConfirmationURL)) return answerWrongField('ConfirmationURL');
      if (hasForbiddenWord(ValidationURL)) return answerWrongField('ValidationURL');
      if (registrations.has(ShortCode)) return answerError(500, '500.003.1001', 'Urls are already registered');
      registrations.set(ShortCode, {
        shortCode: ShortCode,
        version,
        responseType: ResponseType,
        confirmationUrl: ConfirmationURL,
        validationUrl: ValidationURL,
      });
      return answerC2b(records.newRequestId(), 'success');
    },
  };
}

/** The operator's sandbox has no payers: the merchant asks for a payment to its own short code. */
function simulateEndpoint(
  { options, records }: Daraja,
  version: Registration['version'],
  pay: CustomerPayments['pay'],
): Endpoint {
  return {
    path: `/mpesa/c2b/${version}/simulate`,
    operation: 'other',
    product: 'c2b',
    invalidToken: '404.001.03',
    fields: {
      ShortCode: SHORT_CODE,
      CommandID: oneOf('CustomerPayBillOnline', 'CustomerBuyGoodsOnline'),
      Amount: WHOLE_AMOUNT,
      Msisdn: PHONE,
      BillRefNumber: optional(text(0, 20)),
    },
    handle({ ShortCode = '', CommandID, Amount = '', Msisdn = '', BillRefNumber = '' }) {
      if (!options.isOwn(ShortCode)) return answerWrongField('ShortCode');
      const isTill = CommandID === 'CustomerBuyGoodsOnline';
      void pay({
        channel: isTill ? 'Buy Goods' : 'Pay Bill',
        shortCode: ShortCode,
        msisdn: Msisdn,
        amount: readMoney(Amount) ?? 0n,
        reference: isTill ? '' : BillRefNumber,
      });
      return answerC2b(records.newRequestId(), 'Accept the service request successfully.');
    },
  };
}

function answerC2b(id: string, ResponseDescription: string): SimulatorAnswer {
  // The name of the first field is misspelt by Safaricom.
  return { status: 200, body: { OriginatorCoversationID: id, ResponseCode: '0', ResponseDescription } };
}

function pullEndpoints(daraja: Daraja): Endpoint[] {
  const { options, records } = daraja;
  const registered = new Set<string>();
  const common = { operation: 'other', product: 'pull', invalidToken: '404.001.03' } as const;
  const listing: Omit<Endpoint, 'method'> = {
    ...common,
    path: '/pulltransactions/v1/query',
    fields: { ShortCode: SHORT_CODE, StartDate: text(19, 19), EndDate: text(19, 19), OffSetValue: DIGITS },
    handle: (fields) => listPayments(daraja, registered, fields),
  };
  return [
    {
      ...common,
      path: '/pulltransactions/v1/register',
      fields: { ShortCode: SHORT_CODE, RequestType: oneOf('Pull'), NominatedNumber: PHONE, CallBackURL: URL_FIELD },
      handle({ ShortCode = '' }) {
        if (!options.isOwn(ShortCode)) return answerWrongField('ShortCode');
        const isNew = !registered.has(ShortCode);
        registered.add(ShortCode);
        const ResponseStatus = isNew ? '1000' : '1001';
        const ResponseDescription = isNew ? 'ShortCode registered successfully' : 'ShortCode already registered';
        return {
          status: 200,
          body: { ResponseRefID: records.newRequestId(), ResponseStatus, ShortCode, ResponseDescription },
        };
      },
    },
    // Documents disagree on the method.
    { ...listing, method: 'POST' },
    { ...listing, method: 'GET' },
  ];
}

function listPayments({ context, options, records }: Daraja, registered: Set<string>, fields: Fields): SimulatorAnswer {
  const { ShortCode = '', StartDate = '', EndDate = '', OffSetValue = '0' } = fields;
  const [start, end] = [readNairobiTime(StartDate), readNairobiTime(EndDate)];
  if (Number.isNaN(start)) return answerWrongField('StartDate');
  if (Number.isNaN(end)) return answerWrongField('EndDate');
  if (!registered.has(ShortCode)) return answerWrongField('ShortCode');
  const earliest = Math.max(start, context.now() - PULL_WINDOW_MS);
  const rows = Array.from(records.all())
    .filter(({ kind, state, shortCode }) => kind === 'collection' && state === 'Completed' && shortCode === ShortCode)
    .filter(({ finalisedAt }) => finalisedAt !== null && finalisedAt >= earliest && finalisedAt <= end)
    .slice(Number(OffSetValue), Number(OffSetValue) + PULL_ROWS)
    .map((collection) => ({
      transactionId: collection.receipt,
      trxDate: `${new Date(collection.finalisedAt ?? 0).toISOString().slice(0, 19)}Z`,
      msisdn: Number(collection.msisdn.slice(3)),
      sender: `${CUSTOMER.first} ${CUSTOMER.last}`,
      transactiontype: collection.channel === 'Pay Bill' ? 'c2b-pay-bill-debit' : 'c2b-buy-goods-debit',
      billreference: collection.merchantId,
      amount: plainMoney(collection.amount),
      organizationname: options.account.organisationName,
    }));
  const ResponseCode = rows.length > 0 ? '1000' : '1001';
  const ResponseMessage = rows.length > 0 ? 'Success' : 'No transactions found';
  return {
    status: 200,
    body: { ResponseRefID: records.newRequestId(), ResponseCode, ResponseMessage, Response: [rows] },
  };
}
