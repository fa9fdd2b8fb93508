// Payouts of the simulated Airtel Money. The answer itself says whether the money moved, except when it says that it does not
// know.

import { refusalOf } from './airtel-money-access.ts';
import { airtelAnswer, OK_RESULT } from './airtel-money-codes.ts';
import type { AirtelTools } from './airtel-money-collections.ts';
import type { SimulatorAction, SimulatorAnswer } from './frame.ts';
import { writeMoney } from './money.ts';
import { decisionOf } from './phones.ts';

export type AirtelPayout = {
  id: string;
  msisdn: string;
  amount: bigint;
  currency: string;
  status: 'TS' | 'TF' | 'TA' | 'TR';
  code: string;
  receipt: string | null;
};

export interface AirtelPayouts {
  has(id: string): boolean;
  pay(payout: Pick<AirtelPayout, 'id' | 'msisdn' | 'amount' | 'currency'>): SimulatorAnswer;
  enquire(id: string): SimulatorAnswer;
  actions: Record<string, SimulatorAction>;
}

/** `ambiguous`: how the next payouts that are answered with "ambiguous" really end, in this order. */
type State = AirtelTools & { payouts: Map<string, AirtelPayout>; ambiguous: boolean[] };

export function createAirtelPayouts(tools: AirtelTools): AirtelPayouts {
  const state: State = { ...tools, payouts: new Map(), ambiguous: [] };
  const { payouts } = state;
  return {
    has: (id) => payouts.has(id),
    pay: (asked) => pay(state, asked),
    enquire: (id) => enquire(state, payouts.get(id)),
    actions: {
      /** The next payout is answered with "ambiguous"; `paid` says whether the money moved. */
      ambiguous_payout: ({ paid }) => {
        state.ambiguous.push(paid === true);
        return { status: 200, body: { done: true } };
      },
      reverse: ({ id }) => {
        const payout = payouts.get(String(id));
        if (payout?.status !== 'TS') return { status: 404, body: '' };
        const { msisdn, amount, currency } = payout;
        const receipt = state.receipts.next('RV');
        payout.status = 'TR';
        state.context.book.enter({ kind: 'payout_returned', id: payout.id, receipt, msisdn, amount, currency });
        return { status: 200, body: { reversed: payout.id } };
      },
    },
  };
}

function pay(state: State, asked: Parameters<AirtelPayouts['pay']>[0]): SimulatorAnswer {
  const { context, settings, payouts } = state;
  const payout: AirtelPayout = { ...asked, status: 'TF', code: 'DP00900001005', receipt: null };
  payouts.set(asked.id, payout);
  const refusal = refusalAgainst(state, payout);
  if (refusal !== null) {
    payout.code = refusal.response_code;
    throw refusalOf(200, refusal);
  }
  const isPaid = state.ambiguous.shift();
  const isLate = isPaid === undefined && context.takeFault('late_success', 'payout');
  if (isPaid === undefined && !isLate) {
    move(state, payout);
    return writeSuccess(state, payout);
  }
  if (isPaid) move(state, payout);
  if (isLate) {
    payout.status = 'TA';
    payout.code = AMBIGUOUS.response_code;
    context.after(Number(settings.lateSeconds) * 1000, () => move(state, payout));
  }
  throw refusalOf(200, AMBIGUOUS);
}

const AMBIGUOUS = {
  response_code: 'DP00900001000',
  result_code: '521050',
  message: 'Transaction is still processing and in ambiguous state. Please do the transaction enquiry.',
};

function refusalAgainst({ context, float }: State, { msisdn, amount, currency }: AirtelPayout) {
  const decision = decisionOf(msisdn);
  if (decision === 'not_found') {
    return { response_code: 'DP00900001012', result_code: '521050', message: 'Mobile number entered is incorrect' };
  }
  if (decision === 'limit_reached') {
    return { response_code: 'DP00900001003', result_code: '521050', message: 'Maximum transaction limit reached' };
  }
  if (amount > float.of(currency)) {
    return { response_code: 'DP00900001007', result_code: '521050', message: 'Insufficient funds' };
  }
  if (context.takeFault('unknown_code', 'payout')) {
    return { response_code: 'DP00900001777', result_code: '521050', message: 'Wallet rule' };
  }
  return null;
}

function move(state: State, payout: AirtelPayout): void {
  const { id, msisdn, amount, currency } = payout;
  const receipt = state.receipts.next('CI');
  payout.status = 'TS';
  payout.code = 'DP00900001001';
  payout.receipt = receipt;
  state.context.book.enter({ kind: 'payout', id, receipt, msisdn, amount, currency });
}

/** The message holds the balance, as Airtel's does. */
function writeSuccess({ settings, float }: State, payout: AirtelPayout): SimulatorAnswer {
  const { amount, currency, msisdn, receipt, code } = payout;
  const balance = writeMoney(float.of(currency));
  const message = `You have sent ${currency} ${writeMoney(amount)} to ${msisdn}. Bal ${currency} ${balance}. TID: ${receipt}`;
  const status = { response_code: code, result_code: OK_RESULT, message, success: true };
  return airtelAnswer(settings.codeForm, status, { transaction: writePayout(payout) });
}

function writePayout({ id, receipt, status }: AirtelPayout): Record<string, string> {
  if (receipt === null) return { id, status };
  return { reference_id: receipt, airtel_money_id: `disbursement-${receipt.slice(-6)}-${id}`, id, status };
}

function enquire(state: State, payout: AirtelPayout | undefined): SimulatorAnswer {
  if (!payout) throw refusalOf(200, { response_code: 'DP00900001015', message: 'Transaction not found' });
  const { context, settings } = state;
  const isFailed = payout.status === 'TF';
  const shown = writePayout(payout);
  if (context.takeFault('unknown_code', 'query')) shown.status = 'TQ';
  const status = {
    response_code: payout.code,
    code: '200',
    success: !isFailed,
    ...(isFailed ? {} : { result_code: OK_RESULT }),
    message: isFailed ? 'FAILED' : 'SUCCESS',
  };
  return airtelAnswer(settings.codeForm, status, { transaction: shown });
}
