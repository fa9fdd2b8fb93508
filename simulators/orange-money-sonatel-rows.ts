// Transactions of the simulated Sonatel API: what a payment or cash-in leaves behind, and how it can be asked about.

import type { SimulatorRequest, SimulatorRoute } from './frame.ts';
import { type SonatelAccess, sonatelProblem } from './orange-money-sonatel-access.ts';
import type { SonatelWebhook } from './orange-money-sonatel-webhook.ts';
import type { OrangeTools } from './orange-money-web.ts';

export const SONATEL_CURRENCY = 'XOF';

/** A try to pay, or a cash-in. Several may have one reference. */
export type SonatelRow = {
  kind: 'collection' | 'payout';
  transactionId: string;
  reference: string;
  msisdn: string;
  amount: bigint;
  metadata: object;
  channel: 'API' | 'MAXIT';
  paymentMethod: 'QRCODE' | 'OTP' | 'CASHIN';
  status: 'INITIATED' | 'SUCCESS' | 'FAILED' | 'CANCELLED' | 'ON_HOLD';
  createdAt: number;
};

export type SonatelRows = OrangeTools & { access: SonatelAccess; webhook: SonatelWebhook; rows: SonatelRow[] };

type NewRow = Pick<SonatelRow, 'kind' | 'reference' | 'msisdn' | 'amount' | 'metadata' | 'paymentMethod'>;

export function newSonatelRow(
  state: SonatelRows,
  { kind, reference, msisdn, amount, metadata, paymentMethod }: NewRow,
): SonatelRow {
  const transactionId = state.receipts.next(kind === 'payout' ? 'CI' : 'MP');
  const channel = paymentMethod === 'QRCODE' ? 'MAXIT' : 'API';
  const createdAt = state.context.now();
  const about = { kind, transactionId, reference, msisdn, amount, metadata, paymentMethod };
  return { ...about, channel, status: 'INITIATED', createdAt };
}

export function settleSonatelRow(
  state: SonatelRows,
  row: SonatelRow,
  status: 'SUCCESS' | 'FAILED' | 'CANCELLED',
  callbackUrl: string | null,
): void {
  row.status = status;
  if (status === 'SUCCESS') {
    const { kind, reference: id, transactionId: receipt, msisdn, amount } = row;
    state.context.book.enter({ kind, id, receipt, msisdn, amount, currency: SONATEL_CURRENCY });
  }
  if (row.kind === 'collection') state.webhook.send(writeSonatelEvent(state, row), callbackUrl);
}

const writeAmount = (amount: bigint) => ({ value: Number(amount / 100n), unit: SONATEL_CURRENCY });

export function writeSonatelEvent({ settings }: SonatelRows, row: SonatelRow): object {
  const { reference, msisdn, transactionId, paymentMethod, metadata, status, channel } = row;
  return {
    amount: writeAmount(row.amount),
    partner: { idType: 'CODE', id: settings.sonatelMerchantCode },
    customer: { idType: 'MSISDN', id: msisdn },
    reference,
    type: 'MERCHANT_PAYMENT',
    channel,
    transactionId,
    paymentMethod,
    metadata,
    status,
  };
}

export function sonatelQueryRoutes(state: SonatelRows): SimulatorRoute[] {
  const { context, settings, access, rows } = state;
  const statusOf = (row: SonatelRow) => (context.takeFault('unknown_code', 'query') ? 'ON_HOLD' : row.status);
  /** A row can be seen a while after it was made. */
  const visible = () =>
    rows.filter((row) => context.now() >= row.createdAt + Number(settings.sonatelLagSeconds) * 1000);
  return [
    {
      method: 'GET',
      path: '/api/eWallet/v1/transactions/:id/status',
      operation: 'query',
      handle(request) {
        access.enter(request, 'query');
        const row = visible().find(({ transactionId }) => transactionId === request.params.id);
        if (!row) throw sonatelProblem(404, '4099', 'There is no such transaction');
        return { status: 200, body: { status: statusOf(row) } };
      },
    },
    {
      method: 'GET',
      path: '/api/eWallet/v1/transactions',
      operation: 'query',
      handle(request) {
        access.enter(request, 'query');
        const found = visible().filter((row) => isAskedFor(row, request));
        const size = Number(request.query.get('size') ?? 20);
        return { status: 200, body: found.slice(0, size).map((row) => writeRow(state, row, statusOf(row))) };
      },
    },
  ];
}

/** The filter by type finds nothing, and the time is a strict bound: both are as they were met. */
function isAskedFor(row: SonatelRow, { query }: SimulatorRequest): boolean {
  const reference = query.get('reference');
  const from = query.get('fromDateTime');
  if (query.has('type')) return false;
  if (reference !== null && row.reference !== reference) return false;
  return from === null || row.createdAt > Date.parse(from);
}

function writeRow(state: SonatelRows, row: SonatelRow, status: string): object {
  const { settings } = state;
  const date = new Date(row.createdAt).toISOString();
  const isPayout = row.kind === 'payout';
  return {
    amount: writeAmount(row.amount),
    requestDate: date,
    reference: row.reference,
    metadata: row.metadata,
    receiveNotification: false,
    partner: isPayout
      ? { idType: 'MSISDN', id: settings.sonatelRetailerMsisdn }
      : { idType: 'CODE', id: settings.sonatelMerchantCode },
    customer: { idType: 'MSISDN', id: row.msisdn },
    type: isPayout ? 'CASHIN' : 'MERCHANT_PAYMENT',
    transactionId: row.transactionId,
    createdAt: date,
    updatedAt: date,
    channel: row.channel,
    status,
  };
}

export function sonatelBalanceRoute({ access, float }: SonatelRows): SimulatorRoute {
  return {
    method: 'GET',
    path: '/api/eWallet/v1/account/retailer/balance',
    operation: 'balance',
    handle(request) {
      access.enter(request, 'balance');
      return { status: 200, body: writeAmount(float.of(SONATEL_CURRENCY)) };
    },
  };
}
