// Daraja, the API of Safaricom's M-PESA in Kenya: prompts (STK push), payments to a pay bill or a till, payouts (B2C),
// transaction status, reversal and balance. What a payer or the operator does alone is an action:
//   pay_bill {msisdn, amount, reference}   pay_till {msisdn, amount}
//   reverse {id}       the operator takes back a payment; the id is a receipt or the merchant's own
//   top_up {amount}    the merchant puts money on its Utility account
//   unregister {shortCode}   the merchant removes its C2B addresses on the portal
//   statement          what the portal gives: a CSV file of everything that moved
//   and each quirk by its name, see daraja-quirks.ts

import { type CustomerPayments, createCustomerPayments, type Payment } from './daraja-c2b.ts';
import { createExpressRoutes } from './daraja-express.ts';
import { answerError, createTokens, type Daraja } from './daraja-gateway.ts';
import { readOptions } from './daraja-options.ts';
import { createQuirks, type PlannedQuirk, QUIRKS } from './daraja-quirks.ts';
import { createRecords } from './daraja-records.ts';
import { createRequestRoutes } from './daraja-requests.ts';
import { printStatement } from './daraja-statement.ts';
import type { CreateSimulator, SimulatorAction, SimulatorAnswer, SimulatorRoute } from './frame.ts';
import { readMoney, writeMoney } from './money.ts';
import { decisionOf } from './phones.ts';

export { DARAJA_SIMULATOR_SETTINGS } from './daraja-options.ts';

const MAXIMUM_REFERENCE_LENGTH = 20;

export const createDarajaSimulator: CreateSimulator = (context, settings) => {
  const options = readOptions(settings);
  const quirks = createQuirks(() => context.random());
  const records = createRecords(context);
  const daraja: Daraja = { context, options, quirks, records, tokens: createTokens(context, options, quirks) };
  const payments = createCustomerPayments(daraja);
  const routes: SimulatorRoute[] = [
    {
      method: 'GET',
      path: '/oauth/v1/generate',
      operation: 'token',
      handle: (request) => daraja.tokens.issue(request),
    },
    ...createExpressRoutes(daraja, payments),
    ...payments.routes,
    ...createRequestRoutes(daraja),
  ];
  return {
    routes,
    notFound: ({ path }) =>
      routes.some((route) => route.path === path)
        ? answerError(405, '405.001', 'Method Not Allowed')
        : answerError(404, '404.001.01', 'Resource not found'),
    actions: {
      ...createActions(daraja, payments),
      ...createQuirkActions(daraja),
      statement: () => ({
        status: 200,
        body: printStatement(options.account.organisationName, context.book.entries()),
      }),
    },
  };
};

function createActions(daraja: Daraja, payments: CustomerPayments): Record<string, SimulatorAction> {
  const { options, records } = daraja;
  const { shortCode, tillNumber } = options.account;
  return {
    pay_bill: (body) => pay(payments, body, { channel: 'Pay Bill', shortCode, reference: textOf(body.reference) }),
    pay_till: (body) => pay(payments, body, { channel: 'Buy Goods', shortCode: tillNumber, reference: '' }),
    reverse({ id }) {
      const found = [...records.all()].find((each) => each.receipt === id || (each.merchantId === id && each.receipt));
      if (!found || found.kind === 'refund' || found.isReversed) return refuse('there is nothing to reverse');
      records.takeBack(found);
      return { status: 200, body: { reversed: found.receipt } };
    },
    top_up({ amount }) {
      const added = readMoney(String(amount));
      if (added === null) return refuse('amount must be an amount, such as "1000"');
      records.topUp(added);
      return { status: 200, body: { available: writeMoney(records.available()) } };
    },
    unregister: (body) => ({
      status: 200,
      body: { unregistered: payments.unregister(textOf(body.shortCode) || shortCode) },
    }),
  };
}

async function pay(
  payments: CustomerPayments,
  { msisdn, amount }: Record<string, unknown>,
  rest: Pick<Payment, 'channel' | 'shortCode' | 'reference'>,
): Promise<SimulatorAnswer> {
  const paid = readMoney(String(amount));
  if (typeof msisdn !== 'string' || !/^254\d{9}$/.test(msisdn)) return refuse('msisdn must be 254 and nine digits');
  if (paid === null || paid === 0n || paid % 100n !== 0n) return refuse('amount must be whole shillings');
  if (rest.reference.length > MAXIMUM_REFERENCE_LENGTH) return refuse('a reference has at most 20 characters');
  const decision = decisionOf(msisdn) ?? 'approve';
  if (decision !== 'approve') return { status: 200, body: { paid: false, reason: decision } };
  const end = await payments.pay({ ...rest, msisdn, amount: paid });
  if (end.isPaid) return { status: 200, body: { paid: true, receipt: end.receipt } };
  return { status: 200, body: { paid: false, reason: end.resultCode } };
}

function createQuirkActions({ quirks }: Daraja): Record<string, SimulatorAction> {
  const actions = QUIRKS.map((quirk): [string, SimulatorAction] => [
    quirk,
    (body) => {
      quirks.add({ ...(body as Omit<PlannedQuirk, 'quirk'>), quirk });
      return { status: 200, body: { planned: quirk } };
    },
  ]);
  return Object.fromEntries(actions);
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

function refuse(error: string): SimulatorAnswer {
  return { status: 400, body: { error } };
}
