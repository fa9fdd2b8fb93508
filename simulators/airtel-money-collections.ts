// Collections and refunds of the simulated Airtel Money: the push, the enquiry, the callback to the one registered address.

import { createHmac } from 'node:crypto';
import { refusalOf } from './airtel-money-access.ts';
import { type AirtelMeaning, airtelAnswer, airtelCode, OK_RESULT } from './airtel-money-codes.ts';
import type { SimulatorAction, SimulatorAnswer, SimulatorContext } from './frame.ts';
import type { MerchantFloat } from './merchant-float.ts';
import { writeMoney } from './money.ts';
import type { OperatorReceipts } from './operator-receipts.ts';
import { askPayer } from './payer-prompt.ts';
import type { Decision } from './phones.ts';

export type AirtelTools = {
  context: SimulatorContext;
  settings: Readonly<Record<string, string>>;
  float: MerchantFloat;
  receipts: OperatorReceipts;
};

export type AirtelCollection = {
  /** transaction.id of the merchant. */
  id: string;
  reference: string;
  msisdn: string;
  amount: bigint;
  currency: string;
  status: 'TIP' | 'TS' | 'TF' | 'TE' | 'TA' | 'TR';
  code: string;
  airtelMoneyId: string | null;
  createdAt: number;
  /** The refund's own id, once one was asked for. */
  refundId: string | null;
  isRefunded: boolean;
};

export interface AirtelCollections {
  has(id: string): boolean;
  /** Sends the prompt. The answer says only that it was sent. */
  push(collection: Pick<AirtelCollection, 'id' | 'reference' | 'msisdn' | 'amount' | 'currency'>): SimulatorAnswer;
  enquire(id: string): SimulatorAnswer;
  refund(airtelMoneyId: string): SimulatorAnswer;
  /** Rows of the transaction summary, between two times. */
  summarise(from: number, to: number): object[];
  actions: Record<string, SimulatorAction>;
}

type State = AirtelTools & { collections: Map<string, AirtelCollection>; callbackUrl: string };

export function createAirtelCollections(tools: AirtelTools): AirtelCollections {
  const state: State = { ...tools, collections: new Map(), callbackUrl: tools.settings.callbackUrl ?? '' };
  const { collections } = state;
  return {
    has: (id) => collections.has(id),
    push: (asked) => push(state, asked),
    enquire: (id) => enquire(state, collections.get(id)),
    refund: (airtelMoneyId) => refund(state, airtelMoneyId),
    summarise: (from, to) =>
      [...collections.values()].filter(({ createdAt }) => createdAt >= from && createdAt <= to).flatMap(writeRows),
    actions: createActions(state),
  };
}

const codeOf = ({ settings }: State, meaning: AirtelMeaning) => airtelCode(settings.codeTable, meaning);

function push(state: State, asked: Parameters<AirtelCollections['push']>[0]): SimulatorAnswer {
  const { context, settings, collections } = state;
  const collection: AirtelCollection = {
    ...asked,
    status: 'TIP',
    code: codeOf(state, 'pending'),
    airtelMoneyId: null,
    createdAt: context.now(),
    refundId: null,
    isRefunded: false,
  };
  collections.set(asked.id, collection);
  if (settings.callbackIntermediate === 'yes') report(state, collection, 'TIP');
  const prompt = {
    msisdn: asked.msisdn,
    text: `Airtel Money: ${asked.reference}. Enter your PIN to pay.`,
    amount: writeMoney(asked.amount),
    currency: asked.currency,
    kind: 'pin' as const,
  };
  askPayer(context, prompt, Number(settings.promptSeconds), (decision) => decide(state, collection, decision));
  // The code is that of "in process" in the table that most copies have.
  const status = { response_code: 'DP00800001006', result_code: OK_RESULT, message: 'Success.', success: true };
  return airtelAnswer(settings.codeForm, status, { transaction: { id: asked.id, status: 'Success.' } });
}

function decide(state: State, collection: AirtelCollection, decision: Decision): void {
  const { context, settings } = state;
  if (decision === 'ignore') {
    const status = settings.expiredStatus === 'TF' ? 'TF' : 'TE';
    const hasOwnCode = status === 'TF' && settings.codeTable !== 'zambia';
    fail(state, collection, status, hasOwnCode ? 'DP00800001005' : codeOf(state, 'ignore'));
  } else if (decision !== 'approve') {
    fail(state, collection, 'TF', codeOf(state, decision));
  } else if (context.takeFault('unknown_code', 'collect')) {
    fail(state, collection, 'TF', 'DP00800001777');
  } else if (context.takeFault('late_success', 'collect')) {
    collection.status = settings.lateStatus === 'TIP' ? 'TIP' : 'TA';
    collection.code = codeOf(state, collection.status === 'TIP' ? 'pending' : 'ambiguous');
    context.after(Number(settings.lateSuccessSeconds) * 1000, () => succeed(state, collection));
  } else succeed(state, collection);
}

function succeed(state: State, collection: AirtelCollection): void {
  const { id, msisdn, amount, currency } = collection;
  const receipt = state.receipts.next('MP');
  collection.status = 'TS';
  collection.code = codeOf(state, 'success');
  collection.airtelMoneyId = receipt;
  state.context.book.enter({ kind: 'collection', id, receipt, msisdn, amount, currency });
  report(state, collection, 'TS');
}

function fail(state: State, collection: AirtelCollection, status: 'TF' | 'TE', code: string): void {
  collection.status = status;
  collection.code = code;
  // Seen on failures too, so that an id proves nothing.
  if (state.settings.failedReceipt === 'yes') collection.airtelMoneyId = state.receipts.next('MP');
  report(state, collection, 'TF');
}

const MESSAGES: Readonly<Record<AirtelCollection['status'], string>> = {
  TIP: 'Transaction in process.',
  TS: 'Transaction success.',
  TF: 'Transaction failed.',
  TE: 'Transaction expired.',
  TA: 'Transaction ambiguous.',
  TR: 'Transaction reversed.',
};

function enquire(state: State, collection: AirtelCollection | undefined): SimulatorAnswer {
  const { context, settings } = state;
  if (!collection) {
    const message = 'No transaction found with the given transaction id';
    throw refusalOf(200, { response_code: codeOf(state, 'unknown'), result_code: 'ESB000045', message });
  }
  const { id, status, code, airtelMoneyId } = collection;
  const isFailed = status === 'TF' || status === 'TE';
  // Airtel's own sample shows a paid transaction with success false and the code of "in process".
  const contradicts = status === 'TS' && settings.paidEnquiry === 'contradictory';
  const transaction = {
    ...(airtelMoneyId === null ? {} : { airtel_money_id: airtelMoneyId }),
    id,
    message: MESSAGES[status],
    // A word that no document has, once; the payment itself goes on as before.
    status: context.takeFault('unknown_code', 'query') ? 'TQ' : status,
  };
  return airtelAnswer(
    settings.codeForm,
    {
      response_code: contradicts ? 'DP00800001006' : code,
      code: '200',
      success: !isFailed && !contradicts,
      ...(isFailed ? {} : { result_code: OK_RESULT }),
      message: isFailed ? 'FAILED' : 'SUCCESS',
    },
    { transaction },
  );
}

/** The whole amount, once, by Airtel's own id. The answer says "in process": the money goes back a moment later. */
function refund(state: State, airtelMoneyId: string): SimulatorAnswer {
  const { context, settings, collections, float, receipts } = state;
  const paid = [...collections.values()].find((each) => each.airtelMoneyId === airtelMoneyId);
  if (!paid) {
    throw refusalOf(200, { response_code: codeOf(state, 'unknown'), result_code: 'ESB000045', message: 'Not found' });
  }
  if (paid.status !== 'TS' || paid.refundId !== null) {
    throw refusalOf(200, {
      response_code: 'DP00800001009',
      result_code: 'ESB000011',
      message: 'Refund is not possible',
    });
  }
  if (paid.amount > float.of(paid.currency)) {
    throw refusalOf(200, {
      response_code: codeOf(state, 'no_money'),
      result_code: 'ESB000011',
      message: 'User has insufficient balance to complete the transaction',
    });
  }
  if (context.takeFault('unknown_code', 'refund')) {
    throw refusalOf(200, { response_code: 'DP00800001777', message: 'Refund rule' });
  }
  const refundId = receipts.next('CI');
  paid.refundId = refundId;
  const isLate = context.takeFault('late_success', 'refund');
  context.after(Number(isLate ? settings.lateSuccessSeconds : settings.refundSeconds) * 1000, () => {
    const { id, msisdn, amount, currency } = paid;
    context.book.enter({ kind: 'refund', id, receipt: refundId, msisdn, amount, currency });
    paid.isRefunded = true;
    if (settings.refundedStatus === 'TR') paid.status = 'TR';
  });
  const status = { response_code: 'DP00800001006', result_code: OK_RESULT, message: 'SUCCESS', success: true };
  return airtelAnswer(settings.codeForm, status, { transaction: { airtel_money_id: refundId, status: 'SUCCESS' } });
}

/** A callback is sent once; no document says that it is repeated. */
function report(state: State, collection: AirtelCollection, status_code: string, key?: string): void {
  const { context, settings, callbackUrl } = state;
  if (callbackUrl === '') return;
  const { id, amount, currency, airtelMoneyId } = collection;
  const message = `${status_code === 'TS' ? 'Paid' : 'Not paid'} ${currency} ${writeMoney(amount)}`;
  const transaction = { id, message, status_code, airtel_money_id: airtelMoneyId ?? '' };
  const isSpaced = settings.callbackSpacing === 'spaced';
  const inner = isSpaced ? JSON.stringify(transaction, null, 2) : JSON.stringify(transaction);
  const hash = hashOf(settings.callbackHash, inner, transaction, key ?? settings.callbackKey ?? '');
  if (isSpaced) {
    const tail = hash === null ? '' : `, "hash": ${JSON.stringify(hash)}`;
    void context.send({ url: callbackUrl, body: `{"transaction": ${inner}${tail}}` });
  } else void context.send({ url: callbackUrl, body: { transaction, ...(hash === null ? {} : { hash }) } });
}

/** Documents disagree on what is hashed: the transaction as it is sent, its compact form, or the object around it. */
function hashOf(form: string | undefined, inner: string, transaction: object, key: string): string | null {
  if (form === 'none') return null;
  const compact = JSON.stringify(form === 'wrapped' ? { transaction } : transaction);
  return createHmac('sha256', key)
    .update(form === 'transaction' ? inner : compact)
    .digest('base64');
}

/** The row of a collection and, when it was refunded, that of the refund. */
function writeRows(collection: AirtelCollection): object[] {
  const { id, msisdn, amount, currency, airtelMoneyId, refundId, isRefunded, createdAt, status, reference } =
    collection;
  const row = (type: string, airtel_money_id: string | null, reference_number: string, state: string) => ({
    charges: { service: 0 },
    payee: { currency, name: 'Merchant' },
    payer: { currency, msisdn },
    service: { type },
    transaction: {
      airtel_money_id: airtel_money_id ?? '',
      amount: writeMoney(amount),
      created_at: createdAt,
      id,
      reference_number,
      status: state,
    },
  });
  const rows = [row('MERCHANT_PAYMENT', airtelMoneyId, reference, status)];
  return refundId === null ? rows : [...rows, row('REFUND', refundId, airtelMoneyId ?? '', isRefunded ? 'TS' : 'TIP')];
}

function createActions(state: State): Record<string, SimulatorAction> {
  return {
    /** The address for callbacks, as it is set in the portal. */
    register_callback: ({ url }) => {
      state.callbackUrl = typeof url === 'string' ? url : '';
      return { status: 200, body: { done: true } };
    },
    reverse: ({ id }) => {
      const collection = state.collections.get(String(id));
      if (collection?.status !== 'TS') return { status: 404, body: '' };
      const { msisdn, amount, currency } = collection;
      const receipt = state.receipts.next('RV');
      collection.status = 'TR';
      state.context.book.enter({ kind: 'collection_reversed', id: collection.id, receipt, msisdn, amount, currency });
      return { status: 200, body: { reversed: collection.id } };
    },
    /** A stranger says that the payment succeeded; the hash is made with another key. */
    forge: ({ id }) => {
      const collection = state.collections.get(String(id));
      if (!collection) return { status: 404, body: '' };
      report(state, collection, 'TS', 'the key of a stranger');
      return { status: 200, body: { forged: collection.id } };
    },
  };
}
