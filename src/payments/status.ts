// Status of one transaction (v2 and v3) and the holder's balances. Reads: the signature is spent once the answer is known.

import { type OperationMessages, type SignedRequest, spendOrRefuse } from '../holders/envelope.ts';
import { balancesOf } from '../ledger/ledger.ts';
import { isoMicroseconds } from '../platform/clock.ts';
import type { Reader } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { amountToNumber } from '../platform/money.ts';
import type { JsonObject } from '../platform/strict-json.ts';
import type { PaymentsContext } from './context.ts';
import type { PaymentEngine } from './engine.ts';
import { balanceParams } from './params.ts';
import { wireDirection } from './record.ts';
import { isFinal } from './states.ts';
import { findTransaction, idFromRef, type Transaction } from './transactions.ts';

/** How long reading an open transaction may wait for the operator's answer. */
const REFRESH_PATIENCE_MS = 300;

export function statusMessages(brand: string): OperationMessages {
  return {
    badParams: 'Transaction was not created!',
    integrationNotFound: 'Entity integration record not found',
    clientMismatch: 'Client id not matched',
    notVerified: 'Request was not verified.',
    accountClosed: `${brand} user not found`,
    accountSuspended: `${brand} user not found`,
  };
}

export const BALANCE_MESSAGES: OperationMessages = {
  badParams: 'Balance was not retrieved.',
  integrationNotFound: 'Entity integration record not found',
  clientMismatch: 'Client id not matched',
  // The specification writes two full stops here.
  notVerified: 'Request was not verified..',
  accountClosed: 'User not found.',
  accountSuspended: 'User not found.',
};

/** The transaction with this ref (and type), with the operator's latest answer if that takes at most 300 ms. */
export async function readStatus(
  ctx: PaymentsContext,
  engine: PaymentEngine,
  messages: OperationMessages,
  request: SignedRequest,
  { id, type }: { id: string; type?: 'payin' | 'payout' | null },
): Promise<Transaction> {
  const transaction = await findFresh(ctx, engine, request.integration.holderId, id);
  // A refund has an operation of its own.
  if (!transaction || transaction.direction === 'refund' || (type && wireDirection(transaction.direction) !== type))
    throw new Problem('transaction_not_found', { message: messages.badParams });
  await spendOrRefuse(ctx, messages, request);
  return transaction;
}

/** A transaction of this holder. If it is open, the operator is queried first. */
export async function findFresh(
  ctx: PaymentsContext,
  engine: PaymentEngine,
  holderId: bigint,
  ref: string,
): Promise<Transaction | null> {
  const id = idFromRef(ref);
  if (id === null) return null;
  const transaction = await findTransaction(ctx.db, holderId, id);
  if (!transaction || isFinal(transaction.status)) return transaction;
  await engine.refresh(transaction, REFRESH_PATIENCE_MS);
  return findTransaction(ctx.db, holderId, id);
}

export async function readBalances(ctx: PaymentsContext, request: SignedRequest): Promise<JsonObject[]> {
  const { wallet_account: walletAccount, currency } = balanceParams.require(request.params, {
    message: BALANCE_MESSAGES.badParams,
  });
  const entries = await listBalances(ctx.db, request.integration.holderId, {
    ...(typeof walletAccount === 'number' ? { walletAccount } : {}),
    ...(currency ? { currency } : {}),
  });
  await spendOrRefuse(ctx, BALANCE_MESSAGES, request);
  return entries;
}

/** The wallets of the balance operation. `pending` is the amount of open collections. */
export async function listBalances(
  reader: Reader,
  holderId: bigint,
  filter: { walletAccount?: number; currency?: string },
): Promise<JsonObject[]> {
  const [wallets, pending] = await Promise.all([balancesOf(reader, holderId, filter), pendingOf(reader, holderId)]);
  return wallets.map((wallet) => ({
    wallet_account: wallet.walletAccount,
    currency: wallet.currency,
    balance: amountToNumber(wallet.balance),
    available: amountToNumber(wallet.available),
    pending: amountToNumber(pending.get(wallet.currency) ?? 0n),
    // The contract has no field of its own for held money: like what is reserved, it is the holder's and cannot be used now.
    reserved: amountToNumber(wallet.reserved + wallet.held),
    updated_at: isoMicroseconds(wallet.updatedAt),
  }));
}

/** Amount of open collections, by currency. Open transactions are those with a job. */
export async function pendingOf(reader: Reader, holderId: bigint): Promise<Map<string, bigint>> {
  const rows = await reader.query<{ currency: string; pending: bigint }>(
    {
      name: 'pending_of_wallets',
      text: `select t.currency, sum(t.amount - t.fee)::bigint as pending
     from payment_jobs j join transactions t on t.holder_id = j.holder_id and t.id = j.transaction_id
     where j.holder_id = $1 and t.direction = 'collection' group by t.currency`,
    },
    [holderId],
  );
  return new Map(rows.map((row) => [row.currency, row.pending]));
}
