// Payouts (B2C), transaction status, reversal and balance.

import {
  AMOUNT,
  answerError,
  answerWrongField,
  createEndpoint,
  type Daraja,
  DIGITS,
  type Endpoint,
  type FieldRule,
  type Fields,
  oneOf,
  optional,
  PHONE,
  SHORT_CODE,
  text,
  URL_FIELD,
  WHOLE_AMOUNT,
} from './daraja-gateway.ts';
import { type MpesaTransaction, nairobiDateAndTime, nairobiTime } from './daraja-records.ts';
import {
  acknowledge,
  DONE,
  emptyTransactionId,
  findWrongInitiator,
  MAXIMUM_AMOUNT,
  moneyNumber,
  type Outcome,
  type Parameter,
  plainMoney,
  REFUSALS,
  takePlannedEnd,
} from './daraja-results.ts';
import type { SimulatorAnswer, SimulatorRequest, SimulatorRoute } from './frame.ts';
import { readMoney, writeMoney } from './money.ts';
import { decisionOf } from './phones.ts';

/** The names behind phone numbers, in results and confirmations. */
export const CUSTOMER = { first: 'John', last: 'Doe' };

const RESULT_URLS = { ResultURL: URL_FIELD, QueueTimeOutURL: URL_FIELD };
const INITIATOR = { Initiator: text(1, 100), SecurityCredential: text(1, 1_000) };
const REMARKS = text(2, 100);

export function createRequestRoutes(daraja: Daraja): SimulatorRoute[] {
  const used = new Set<string>();
  return [
    createEndpoint(daraja, payoutEndpoint(daraja, 'v3', used, { OriginatorConversationID: text(1, 100) })),
    createEndpoint(daraja, payoutEndpoint(daraja, 'v1', used, {})),
    createEndpoint(daraja, statusEndpoint(daraja)),
    createEndpoint(daraja, reversalEndpoint(daraja)),
    createEndpoint(daraja, balanceEndpoint(daraja)),
  ];
}

function payoutEndpoint(
  daraja: Daraja,
  version: 'v1' | 'v3',
  used: Set<string>,
  idField: Record<string, FieldRule>,
): Endpoint {
  const isAllowed = daraja.options.account.payoutVersions.split(',').includes(version);
  return {
    path: `/mpesa/b2c/${version}/paymentrequest`,
    operation: 'payout',
    product: 'b2c',
    invalidToken: '401.002.01',
    fields: {
      ...idField,
      InitiatorName: INITIATOR.Initiator,
      SecurityCredential: INITIATOR.SecurityCredential,
      CommandID: oneOf('BusinessPayment', 'SalaryPayment', 'PromotionPayment'),
      Amount: AMOUNT,
      PartyA: SHORT_CODE,
      PartyB: PHONE,
      Remarks: REMARKS,
      ...RESULT_URLS,
      // sic
      Occassion: optional(text(0, 100)),
    },
    handle: (fields, request) =>
      isAllowed
        ? acceptPayout(daraja, used, fields, request)
        : answerError(403, '403.002.1001', 'The short code is not allowed to use this version'),
  };
}

function acceptPayout(daraja: Daraja, used: Set<string>, fields: Fields, { json }: SimulatorRequest): SimulatorAnswer {
  const { records } = daraja;
  const originatorConversationId = fields.OriginatorConversationID ?? records.newRequestId();
  if (used.has(originatorConversationId)) {
    return answerError(500, '500.002.1001', 'Duplicate OriginatorConversationID.');
  }
  used.add(originatorConversationId);
  const plannedEnd = takePlannedEnd(daraja, 'payout');
  const conversationId = records.newConversationId();
  const payout = records.begin({
    kind: 'payout',
    merchantId: originatorConversationId,
    originatorConversationId,
    conversationId,
    channel: 'B2C',
    shortCode: fields.PartyA ?? '',
    msisdn: fields.PartyB ?? '',
    amount: readMoney(fields.Amount ?? '') ?? 0n,
  });
  return acknowledge(daraja, {
    operation: 'payout',
    fields,
    sent: json ?? {},
    originatorConversationId,
    conversationId,
    resultPath: 'b2cresults',
    dropped: () => records.forget(payout),
    perform() {
      const refusal = findPayoutRefusal(daraja, fields, payout) ?? plannedEnd;
      if (refusal !== null) {
        records.decline(payout);
        return { ...refusal, transactionId: records.newReceipt() };
      }
      records.complete(payout);
      return { ...DONE, transactionId: payout.receipt ?? '', parameters: payoutParameters(daraja, payout) };
    },
  });
}

function findPayoutRefusal(daraja: Daraja, fields: Fields, { amount, msisdn }: MpesaTransaction) {
  const { options, records } = daraja;
  if (findWrongInitiator(daraja, fields.InitiatorName ?? '', fields.SecurityCredential ?? ''))
    return REFUSALS.initiator;
  if (fields.PartyA !== options.account.b2cShortCode) return REFUSALS.product;
  if (amount > MAXIMUM_AMOUNT) return REFUSALS.tooMuch;
  if (decisionOf(msisdn) === 'not_found') return REFUSALS.notRegistered;
  if (decisionOf(msisdn) === 'limit_reached') return REFUSALS.maximumBalance;
  return amount > records.available() ? REFUSALS.noMoney : null;
}

function payoutParameters({ records }: Daraja, payout: MpesaTransaction): Parameter[] {
  const isWhole = payout.amount % 100n === 0n;
  return [
    { Key: 'TransactionAmount', Value: isWhole ? Number(payout.amount / 100n) : moneyNumber(payout.amount) },
    { Key: 'TransactionReceipt', Value: payout.receipt },
    { Key: 'ReceiverPartyPublicName', Value: customerName(payout.msisdn).toUpperCase() },
    { Key: 'TransactionCompletedDateTime', Value: nairobiDateAndTime(payout.finalisedAt ?? 0) },
    { Key: 'B2CUtilityAccountAvailableFunds', Value: moneyNumber(records.available()) },
    { Key: 'B2CWorkingAccountAvailableFunds', Value: moneyNumber(0n) },
    { Key: 'B2CRecipientIsRegisteredCustomer', Value: 'Y' },
    { Key: 'B2CChargesPaidAccountAvailableFunds', Value: moneyNumber(0n) },
  ];
}

function statusEndpoint(daraja: Daraja): Endpoint {
  const { records, quirks } = daraja;
  return {
    path: '/mpesa/transactionstatus/v1/query',
    operation: 'query',
    product: 'status',
    invalidToken: '400.003.01',
    fields: {
      ...INITIATOR,
      CommandID: oneOf('TransactionStatusQuery'),
      TransactionID: optional(text(0, 20)),
      OriginalConversationID: optional(text(0, 100)),
      // The older name of the same field.
      OriginatorConversationID: optional(text(0, 100)),
      PartyA: DIGITS,
      IdentifierType: oneOf('1', '2', '4'),
      ...RESULT_URLS,
      Remarks: REMARKS,
      Occasion: optional(text(0, 100)),
    },
    handle(fields, { json }) {
      const conversation = fields.OriginalConversationID || fields.OriginatorConversationID || '';
      if (!fields.TransactionID && !conversation) return answerWrongField('TransactionID');
      return acknowledge(daraja, {
        operation: 'query',
        fields,
        sent: json ?? {},
        originatorConversationId: records.newRequestId(),
        conversationId: records.newConversationId(),
        ...(conversation && quirks.take('status_echoes_id') && { acknowledgedId: conversation }),
        perform: () => findStatus(daraja, fields, conversation),
      });
    },
  };
}

function findStatus(daraja: Daraja, fields: Fields, conversation: string): Outcome {
  const { records, quirks } = daraja;
  const transactionId = emptyTransactionId(records.newReceipt());
  const failure = quirks.take('status_fails');
  if (failure) {
    return { code: failure.code ?? 'SFC_IC0003', description: 'The operator does not exist.', transactionId };
  }
  if (findWrongInitiator(daraja, fields.Initiator ?? '', fields.SecurityCredential ?? '')) {
    return { ...REFUSALS.initiator, transactionId };
  }
  const found = records.byReceipt(fields.TransactionID ?? '') ?? records.byConversation(conversation);
  // M-PESA has no clear answer for what it does not know.
  if (!found) return { code: 25, description: 'The format of parameter null is invalid.', transactionId };
  return { ...DONE, transactionId, parameters: statusParameters(daraja, found) };
}

function statusParameters({ options }: Daraja, found: MpesaTransaction): Parameter[] {
  const business = `${found.shortCode} - ${options.account.organisationName}`;
  const isPayout = found.kind === 'payout';
  const parties =
    found.kind === 'collection' ? [customerName(found.msisdn), business] : [business, customerName(found.msisdn)];
  const reasons = {
    'Pay Bill': 'Pay Bill Online',
    'Buy Goods': 'Merchant Payment Online',
    B2C: 'Business Payment to Customer via API',
    Reversal: 'Transaction Reversal via API',
  };
  return [
    // Both parties have the same key, as in Safaricom's own sample.
    { Key: 'DebitPartyName', Value: parties[0] },
    { Key: 'DebitPartyName', Value: parties[1] },
    { Key: 'OriginatorConversationID', Value: found.originatorConversationId },
    { Key: 'InitiatedTime', Value: nairobiTime(found.initiatedAt) },
    { Key: 'DebitAccountType', Value: found.kind === 'collection' ? 'MMF Account For Customer' : 'Utility Account' },
    isPayout ? { Key: 'DebitPartyCharges', Value: 'Fee For B2C Payment|KES|0.00' } : { Key: 'DebitPartyCharges' },
    { Key: 'TransactionReason' },
    { Key: 'ReasonType', Value: reasons[found.channel] },
    { Key: 'TransactionStatus', Value: found.state },
    { Key: 'FinalisedTime', ...(found.finalisedAt !== null && { Value: nairobiTime(found.finalisedAt) }) },
    { Key: 'Amount', Value: plainMoney(found.amount) },
    { Key: 'ConversationID', Value: found.conversationId },
    { Key: 'ReceiptNo', ...(found.receipt !== null && { Value: found.receipt }) },
  ];
}

function reversalEndpoint(daraja: Daraja): Endpoint {
  const { records } = daraja;
  return {
    path: '/mpesa/reversal/v1/request',
    operation: 'refund',
    product: 'reversal',
    invalidToken: '404.001.03',
    fields: {
      ...INITIATOR,
      CommandID: oneOf('TransactionReversal'),
      TransactionID: text(1, 20),
      Amount: WHOLE_AMOUNT,
      ReceiverParty: SHORT_CODE,
      // sic
      RecieverIdentifierType: oneOf('11'),
      ...RESULT_URLS,
      Remarks: REMARKS,
      Occasion: optional(text(0, 100)),
    },
    handle(fields, { json }) {
      const original = records.byReceipt(fields.TransactionID ?? '');
      const amount = readMoney(fields.Amount ?? '') ?? 0n;
      // No document allows a part of a payment.
      if (original?.kind === 'collection' && original.amount !== amount) return answerWrongField('Amount');
      const plannedEnd = takePlannedEnd(daraja, 'refund');
      const ids = { originatorConversationId: records.newRequestId(), conversationId: records.newConversationId() };
      return acknowledge(daraja, {
        operation: 'refund',
        fields,
        sent: json ?? {},
        ...ids,
        resultPath: 'reversalresults',
        perform: () => reverse(daraja, fields, ids, plannedEnd),
      });
    },
  };
}

function reverse(
  daraja: Daraja,
  fields: Fields,
  ids: { originatorConversationId: string; conversationId: string },
  plannedEnd: { code: number | string; description: string } | null,
): Outcome {
  const { records } = daraja;
  const transactionId = emptyTransactionId(records.newReceipt());
  const refuse = (refusal: { code: number | string; description: string }): Outcome => ({ ...refusal, transactionId });
  if (findWrongInitiator(daraja, fields.Initiator ?? '', fields.SecurityCredential ?? '')) {
    return refuse(REFUSALS.initiator);
  }
  const original = records.byReceipt(fields.TransactionID ?? '');
  if (original?.kind !== 'collection') {
    return refuse({ code: 'R000002', description: 'The OriginalTransactionID is invalid.' });
  }
  if (original.isReversed)
    return refuse({ code: 'R000001', description: 'The transaction has already been reversed.' });
  if (!daraja.options.isOwn(fields.ReceiverParty)) return refuse(REFUSALS.product);
  if (plannedEnd !== null) return refuse(plannedEnd);
  if (original.amount > records.available()) return refuse(REFUSALS.noMoney);
  const { shortCode, msisdn, amount } = original;
  const merchantId = fields.TransactionID ?? '';
  const refund = records.begin({ kind: 'refund', merchantId, ...ids, channel: 'Reversal', shortCode, msisdn, amount });
  records.complete(refund);
  original.isReversed = true;
  return { ...DONE, transactionId: refund.receipt ?? '', parameters: reversalParameters(daraja, original, refund) };
}

function reversalParameters({ options, records }: Daraja, original: MpesaTransaction, refund: MpesaTransaction) {
  return [
    { Key: 'DebitAccountBalance', Value: writeAccount('Utility Account', records.available()) },
    { Key: 'Amount', Value: moneyNumber(refund.amount) },
    { Key: 'TransCompletedTime', Value: Number(nairobiTime(refund.finalisedAt ?? 0)) },
    { Key: 'OriginalTransactionID', Value: original.receipt },
    { Key: 'Charge', Value: moneyNumber(0n) },
    { Key: 'CreditPartyPublicName', Value: customerName(refund.msisdn) },
    { Key: 'DebitPartyPublicName', Value: `${refund.shortCode} - ${options.account.organisationName}` },
  ];
}

function balanceEndpoint(daraja: Daraja): Endpoint {
  const { context, options, records } = daraja;
  return {
    path: '/mpesa/accountbalance/v1/query',
    operation: 'balance',
    product: 'balance',
    invalidToken: '401.002.01',
    fields: {
      ...INITIATOR,
      CommandID: oneOf('AccountBalance'),
      PartyA: SHORT_CODE,
      IdentifierType: oneOf('2', '4'),
      Remarks: REMARKS,
      ...RESULT_URLS,
    },
    handle: (fields, { json }) =>
      acknowledge(daraja, {
        operation: 'balance',
        fields,
        sent: json ?? {},
        originatorConversationId: records.newRequestId(),
        conversationId: records.newConversationId(),
        resultPath: 'abresults',
        perform() {
          const transactionId = emptyTransactionId(records.newReceipt());
          const wrong = findWrongInitiator(daraja, fields.Initiator ?? '', fields.SecurityCredential ?? '');
          if (wrong === 'name') return { code: 20, description: 'Unresolved initiator.', transactionId };
          if (wrong === 'password')
            return { code: 18, description: 'Initiator credential check failure.', transactionId };
          if (!options.isOwn(fields.PartyA))
            return { code: 24, description: 'Unresolved primary party.', transactionId };
          return {
            code: '0',
            description: DONE.description,
            transactionId,
            parameters: [
              { Key: 'AccountBalance', Value: writeAccounts(records.available()) },
              { Key: 'BOCompletedTime', Value: Number(nairobiTime(context.now())) },
            ],
          };
        },
      }),
  };
}

/** Everything is on the Utility account: C2B fills it, B2C draws on it. */
function writeAccounts(available: bigint): string {
  return [
    writeAccount('Working Account', 0n),
    writeAccount('Float Account', 0n),
    writeAccount('Utility Account', available),
    writeAccount('Charges Paid Account', 0n),
    writeAccount('Organization Settlement Account', 0n),
  ].join('&');
}

/** name | currency | current | available | reserved | uncleared */
function writeAccount(name: string, amount: bigint): string {
  return `${name}|KES|${writeMoney(amount)}|${writeMoney(amount)}|0.00|0.00`;
}

function customerName(msisdn: string): string {
  return `${msisdn} - ${CUSTOMER.first} ${CUSTOMER.last}`;
}
