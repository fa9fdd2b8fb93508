// Paystack: charges by mobile money and bank transfer, transfers, refunds, webhooks.
//
// Actions: register_callback, roll_key, plan_charge, plan_transfer, plan_refund, plan_webhook, send_event, bank_transfer, dispute,
// remind_dispute, resolve_dispute, reverse, settle, top_up. Each is described where it is defined.

import type { Operation } from './faults.ts';
import type { CreateSimulator, SimulatorAction, SimulatorAnswer, SimulatorRequest, SimulatorRoute } from './frame.ts';
import { readMoney } from './money.ts';
import {
  createPaystackAccount,
  PAYSTACK_CURRENCIES,
  PAYSTACK_INTEGRATION,
  type PaystackAccount,
} from './paystack-account.ts';
import { transactionData } from './paystack-bodies.ts';
import type { PaystackCharge } from './paystack-charge-life.ts';
import {
  createPaystackCharges,
  PAYSTACK_CHARGE_OUTCOMES,
  type PaystackChargeOutcome,
  type PaystackCharges,
} from './paystack-charges.ts';
import { createPaystackDisputes, type PaystackDisputes } from './paystack-disputes.ts';
import {
  createPaystackRefunds,
  PAYSTACK_REFUND_OUTCOMES,
  type PaystackRefundOutcome,
  type PaystackRefunds,
} from './paystack-refunds.ts';
import {
  createPaystackTransfers,
  PAYSTACK_TRANSFER_OUTCOMES,
  type PaystackTransferOutcome,
  type PaystackTransfers,
} from './paystack-transfers.ts';
import { accepted, paystackText, paystackTime, refused, writeSubunits } from './paystack-wire.ts';

export const PAYSTACK_SIMULATOR_SETTINGS: Record<string, string> = {
  /** A key that begins with sk_live_ makes it live. */
  secretKey: 'sk_test_simulator',
  companyName: 'Simulated Shop',
  webhookUrl: '',
  /** The currency of requests that name none. */
  defaultCurrency: 'NGN',
  /** How many units of the wire make one franc: 100 or 1; the sources disagree. */
  xofFactor: '100',
  /** The specification does not list XOF for refunds. */
  xofRefunds: 'false',
  /** What the payer's phone shows as a code, and that of Orange. */
  otp: '123456',
  orangeOtp: '1234',
  otpForTransfers: 'false',
  transferOtp: '928783',
  otpSeconds: '1800',
  /** Asked before every transfer where it is set. */
  approvalUrl: '',
  starterBusiness: 'false',
  /** 400 or 404; the sources disagree. */
  duplicateTransferStatus: '400',
  /** 400, 404 or 200: the answer of verify for a reference that it does not know. */
  notFoundStatus: '400',
  /** What verify says of a prompt that nobody answered: failed or abandoned. */
  silence: 'failed',
  reversalPendingStatus: 'reversal pending',
  gatewayResponseCode: 'true',
  /** object or string. */
  metadataForm: 'object',
  verifyLagMs: '0',
  refundListLagMs: '0',
  processingMs: '5',
  promptSeconds: '60',
  lateSuccessSeconds: '1200',
  /** How long after its success a planned transfer is reversed. */
  reversalSeconds: '3600',
  webhookRetrySeconds: '180',
  webhookRetryHourSeconds: '3600',
};

export const createPaystackSimulator: CreateSimulator = (context, given) => {
  const settings = { ...PAYSTACK_SIMULATOR_SETTINGS, ...given };
  const account = createPaystackAccount(context, settings);
  const charges = createPaystackCharges(account);
  const transfers = createPaystackTransfers(account);
  const refunds = createPaystackRefunds(account, charges);
  const disputes = createPaystackDisputes(account, (charge) => refunds.restOf(charge));
  const settlements: PaystackSettlement[] = [];

  function checkKey({ headers }: SimulatorRequest, operation: Operation): SimulatorAnswer | null {
    const isRight = headers.authorization === `Bearer ${account.secretKey}`;
    if (isRight && !context.takeFault('token_ended', operation)) return null;
    const nextStep = 'Ensure that you provide the correct authorization key for the request';
    return refused('Invalid key', 'invalid_Key', 401, nextStep);
  }
  const guarded = (route: SimulatorRoute): SimulatorRoute => ({
    ...route,
    handle: async (request) => checkKey(request, route.operation) ?? route.handle(request),
  });

  const routes = [
    ...charges.routes,
    ...transfers.routes,
    ...refunds.routes,
    ...disputes.routes,
    ...balanceRoutes(account),
    transactionList(account, charges),
    ...settlementRoutes(account, settlements),
  ];
  return {
    routes: [...routes.map(guarded), paymentPage],
    notFound: () => refused('Invalid request: there is nothing at this address', 'unknown', 404),
    actions: {
      ...createPlans(charges, transfers, refunds),
      ...createActions({ account, charges, transfers, disputes, settlements }),
    },
  };
};

/** Where open_url sends the payer; the phone decides. */
const paymentPage: SimulatorRoute = {
  method: 'GET',
  path: '/pay/:reference',
  operation: 'other',
  handle: () => ({ status: 200, headers: { 'content-type': 'text/html' }, body: '<html><body>Pay</body></html>' }),
};

function balanceRoutes(account: PaystackAccount): SimulatorRoute[] {
  return [
    {
      method: 'GET',
      path: '/balance',
      operation: 'balance',
      handle: () =>
        accepted(
          'Balances retrieved',
          PAYSTACK_CURRENCIES.map((currency) => ({
            currency,
            balance: writeSubunits(account.available(currency), currency, account.settings),
          })),
        ),
    },
    {
      method: 'GET',
      path: '/balance/ledger',
      operation: 'other',
      handle: ({ query }) => paged('Balance ledger retrieved', [...account.ledger()], query),
    },
  ];
}

/** Filters by status and by the time of creation, as far as they are given. */
function transactionList(account: PaystackAccount, charges: PaystackCharges): SimulatorRoute {
  return {
    method: 'GET',
    path: '/transaction',
    operation: 'query',
    handle({ query }) {
      const from = Date.parse(query.get('from') ?? '1970-01-01');
      const to = Date.parse(query.get('to') ?? '2100-01-01');
      const status = query.get('status');
      const found = charges
        .list()
        .filter((charge) => charge.createdAt >= from && charge.createdAt <= to)
        .filter((charge) => status === null || charge.status === status);
      return paged(
        'Transactions retrieved',
        found.toReversed().map((charge) => transactionData(account, charge)),
        query,
      );
    },
  };
}

type PaystackSettlement = { id: number; currency: string; charges: PaystackCharge[]; createdAt: number };

function settlementRoutes(account: PaystackAccount, settlements: PaystackSettlement[]): SimulatorRoute[] {
  const { settings } = account;
  const dataOf = ({ id, currency, charges, createdAt }: PaystackSettlement) => {
    const total = writeSubunits(
      charges.reduce((sum, { amount }) => sum + amount, 0n),
      currency,
      settings,
    );
    return {
      id,
      domain: account.domain(),
      status: 'success',
      currency,
      integration: PAYSTACK_INTEGRATION,
      total_amount: total,
      effective_amount: total,
      total_fees: 0,
      total_processed: total,
      deductions: null,
      settlement_date: paystackTime(createdAt),
      settled_by: null,
      createdAt: paystackTime(createdAt),
      updatedAt: paystackTime(createdAt),
    };
  };
  return [
    {
      method: 'GET',
      path: '/settlement',
      operation: 'other',
      handle: ({ query }) => paged('Settlements retrieved', settlements.map(dataOf), query),
    },
    {
      method: 'GET',
      path: '/settlement/:id/transactions',
      operation: 'other',
      handle: ({ params, query }) => {
        const found = settlements.find(({ id }) => String(id) === params.id);
        if (!found) return refused('Settlement not found', 'settlement_not_found', 404);
        const rows = found.charges.map((charge) => transactionData(account, charge));
        return paged('Transactions retrieved', rows, query);
      },
    },
  ];
}

function paged(message: string, rows: object[], query: URLSearchParams): SimulatorAnswer {
  const perPage = Number(query.get('perPage') ?? 50);
  const page = Number(query.get('page') ?? 1);
  const meta = { total: rows.length, skipped: 0, perPage, page, pageCount: Math.ceil(rows.length / perPage) };
  return accepted(message, rows.slice((page - 1) * perPage, page * perPage), { meta });
}

const DONE: SimulatorAnswer = { status: 200, body: { done: true } };
const REFUSED: SimulatorAnswer = { status: 400, body: { done: false } };

/** {outcome}: what happens to the next charge, transfer or refund. */
function createPlans(
  charges: PaystackCharges,
  transfers: PaystackTransfers,
  refunds: PaystackRefunds,
): Record<string, SimulatorAction> {
  const plan =
    <T extends string>(outcomes: readonly T[], add: (outcome: T) => void): SimulatorAction =>
    ({ outcome }) => {
      const known = outcomes.find((each) => each === outcome);
      if (known === undefined) return REFUSED;
      add(known);
      return DONE;
    };
  return {
    plan_charge: plan<PaystackChargeOutcome>(PAYSTACK_CHARGE_OUTCOMES, (outcome) => charges.plan(outcome)),
    plan_transfer: plan<PaystackTransferOutcome>(PAYSTACK_TRANSFER_OUTCOMES, (outcome) => transfers.plan(outcome)),
    plan_refund: plan<PaystackRefundOutcome>(PAYSTACK_REFUND_OUTCOMES, (outcome) => refunds.plan(outcome)),
  };
}

type ActionParts = {
  account: PaystackAccount;
  charges: PaystackCharges;
  transfers: PaystackTransfers;
  disputes: PaystackDisputes;
  settlements: PaystackSettlement[];
};

/** All by our reference. */
function createDisputeActions(charges: PaystackCharges, disputes: PaystackDisputes): Record<string, SimulatorAction> {
  const about = (id: unknown, act: (charge: PaystackCharge) => boolean): SimulatorAnswer => {
    const charge = charges.find(paystackText(id));
    return charge && act(charge) ? DONE : REFUSED;
  };
  return {
    /** {id, amount?, message?}: the payer's bank asks for the money of a paid charge back. */
    dispute: ({ id, amount, message }) =>
      about(id, (charge) => disputes.open(charge, readMoney(paystackText(amount)), paystackText(message) || null)),
    /** {id, moreDays?} */
    remind_dispute: ({ id, moreDays }) =>
      about(id, (charge) => disputes.remind(charge, Number(moreDays ?? 0) * 86_400_000)),
    /** {id, resolution}: merchant-accepted takes the money back, declined leaves it. */
    resolve_dispute: ({ id, resolution }) =>
      about(id, (charge) => disputes.resolve(charge, resolution === 'declined' ? 'declined' : 'merchant-accepted')),
  };
}

function createActions(parts: ActionParts): Record<string, SimulatorAction> {
  const { account, charges, transfers, disputes, settlements } = parts;
  return {
    /** {url} */
    register_callback({ url }) {
      account.webhookUrl = paystackText(url);
      return DONE;
    },
    /** {secretKey}: for the API and for webhooks, at once. */
    roll_key({ secretKey }) {
      account.secretKey = paystackText(secretKey);
      return DONE;
    },
    /** {times?}: the next webhooks have a signature that does not fit. */
    plan_webhook({ times }) {
      account.wrongSignatures += Number(times ?? 1);
      return DONE;
    },
    /** {event, data}: any event, signed. */
    send_event({ event, data }) {
      account.notify(paystackText(event), data as object);
      return DONE;
    },
    /** {account_number, amount, sender_name?}: somebody sends money to an account that a charge gave. */
    bank_transfer({ account_number, amount, sender_name }) {
      const sum = readMoney(paystackText(amount));
      if (sum === null) return REFUSED;
      const sender = paystackText(sender_name) || 'ANN ABELL';
      return charges.receiveTransfer(paystackText(account_number), sum, sender) ? DONE : REFUSED;
    },
    ...createDisputeActions(charges, disputes),
    /** {id}: a successful transfer comes back, or a paid charge is lost to a chargeback; by our reference. */
    reverse({ id }) {
      const charge = charges.find(paystackText(id));
      const isDone = charge
        ? disputes.open(charge) && disputes.resolve(charge, 'merchant-accepted')
        : transfers.reverse(paystackText(id));
      return isDone ? DONE : REFUSED;
    },
    /** {currency}: settles every paid charge that is in no settlement yet. */
    settle({ currency }) {
      const settled = new Set(settlements.flatMap((settlement) => settlement.charges));
      const due = charges
        .list()
        .filter((charge) => charge.currency === currency && charge.paidAt !== undefined && !settled.has(charge));
      const { context, ids } = account;
      const settlement = { id: ids.number(), currency: paystackText(currency), charges: due, createdAt: context.now() };
      settlements.unshift(settlement);
      return { status: 200, body: { id: settlement.id } };
    },
    /** {currency, amount} */
    top_up({ currency, amount }) {
      const sum = readMoney(paystackText(amount));
      if (sum === null) return REFUSED;
      account.topUp(paystackText(currency), sum);
      return DONE;
    },
  };
}
