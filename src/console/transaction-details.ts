// Everything that is known about one transaction, read together for its page.

import { type Delivery, listDeliveries } from '../callbacks/resend.ts';
import { findPayer, type Payer } from '../checkout/payers.ts';
import { findReceiptText, type ReceiptText } from '../checkout/receipt-texts.ts';
import { findActiveIntegration, type Integration, requireIntegration } from '../holders/integrations.ts';
import { type LoggedRequest, listRequests } from '../holders/request-log.ts';
import { type TransferLine, transfersOf } from '../ledger/reports.ts';
import { findHolderLink, type PaymentLink } from '../links/links.ts';
import { isEvidenceArchived } from '../payments/archived-rows.ts';
import { type Case, listCasesOf } from '../payments/cases.ts';
import { type EvidencePage, listEvidence } from '../payments/evidence.ts';
import { findPayoutOrder, type PayoutOrderRow } from '../payments/payout-orders.ts';
import { findRefundById, listRefundsOf, type Refund } from '../payments/refund-orders.ts';
import { findRefundable, type Refundable } from '../payments/refunds.ts';
import { findRetryFor, listRetriesOf, type Retry } from '../payments/retries.ts';
import { listNotes, type TransactionNote } from '../payments/transaction-notes.ts';
import { findTransaction, idFromRef, type Transaction } from '../payments/transactions.ts';
import { Problem } from '../platform/errors.ts';
import { type HolderRequest, paramOf, queryOf } from './console-request.ts';
import { teamNames } from './team-names.ts';

/** The API requests about a transaction that are shown: those logged within this time of its creation. */
const REQUEST_WINDOW_MS = 60_000;
/** The log's clock is read before the transaction is written. */
const REQUEST_LEAD_MS = 1_000;
const MAX_REQUESTS = 20;
const MAX_ID_DIGITS = 18;

export type TransactionDetails = {
  transaction: Transaction;
  requests: LoggedRequest[];
  evidence: EvidencePage;
  /** What operators reported was removed after it had been archived. */
  evidenceArchived: boolean;
  transfers: TransferLine[];
  deliveries: Delivery[];
  cases: Case[];
  /** Of a payout. */
  order: PayoutOrderRow | null;
  /** Of a refund. */
  refund: Refund | null;
  /** Of a collection: its refunds, and what can still be given back. */
  refunds: Refund[];
  refundable: Refundable | null;
  notes: TransactionNote[];
  /** The receipt by SMS of a collection. */
  receiptText: ReceiptText | null;
  /** Its retries, newest first, and what it is a retry of. */
  retries: Retry[];
  retryFor: Retry | null;
  /** The link that it was paid on, and who the payer said to be there. */
  link: PaymentLink | null;
  payer: Payer | null;
  /** The integration that it belongs to. */
  integration: Integration | null;
  /** Names of the team by e-mail address. */
  nameOf: (recorded: string) => string;
};

/** The transaction that the address names. */
export async function requireTransaction(request: HolderRequest): Promise<Transaction> {
  const id = idFromRef(paramOf(request, 'ref'));
  const transaction = id === null ? null : await findTransaction(request.ctx.db, request.holder.id, id);
  if (!transaction) throw new Problem('not_found', { message: request.t.transaction.notFound });
  return transaction;
}

/** The page of evidence that the query asks for; null: the newest. */
function readEvidenceId(request: HolderRequest): bigint | null {
  const text = queryOf(request, 'reports_before', MAX_ID_DIGITS);
  return /^\d+$/.test(text) ? BigInt(text) : null;
}

export async function readTransactionDetails(request: HolderRequest): Promise<TransactionDetails> {
  const { ctx, holder } = request;
  const transaction = await requireTransaction(request);
  const created = transaction.created_at.getTime();
  const logged = {
    since: new Date(created - REQUEST_LEAD_MS),
    before: new Date(created + REQUEST_WINDOW_MS),
    transactionId: transaction.id,
  };
  const { direction, id } = transaction;
  const [requests, evidence, transfers, deliveries, cases, order, refund, refunds, refundable] = await Promise.all([
    listRequests(ctx.db, holder.id, logged, MAX_REQUESTS),
    listEvidence(ctx.db, holder.id, id, readEvidenceId(request)),
    transfersOf(ctx.db, holder.id, id),
    listDeliveries(ctx.db, holder.id, { transactionId: id }),
    listCasesOf(ctx.db, holder.id, id),
    direction === 'payout' ? findPayoutOrder(ctx.db, holder.id, id) : null,
    direction === 'refund' ? findRefundById(ctx.db, holder.id, id) : null,
    direction === 'collection' ? listRefundsOf(ctx.db, holder.id, id) : [],
    findRefundable(ctx, ctx.db, transaction),
  ]);
  const around = await readAround(request, transaction);
  return {
    transaction,
    requests,
    evidence,
    evidenceArchived:
      evidence.older === null && (await isEvidenceArchived(ctx.db, id, evidence.entries, ctx.clock.now())),
    transfers,
    deliveries,
    cases,
    order,
    refund,
    refunds,
    refundable,
    ...around,
  };
}

type Around = Pick<
  TransactionDetails,
  'notes' | 'receiptText' | 'retries' | 'retryFor' | 'link' | 'payer' | 'integration' | 'nameOf'
>;

/** People, links and other transactions that this one has to do with. */
async function readAround(request: HolderRequest, transaction: Transaction): Promise<Around> {
  const { ctx, holder } = request;
  const { id, link_id: linkId, integration_id: integrationId } = transaction;
  const [notes, receiptText, retries, retryFor, link, payer, integration, nameOf] = await Promise.all([
    listNotes(ctx.db, holder.id, id),
    transaction.status === 'success' ? findReceiptText(ctx.db, holder.id, id) : null,
    listRetriesOf(ctx.db, holder.id, id),
    findRetryFor(ctx.db, holder.id, id),
    linkId === null ? null : findHolderLink(ctx.db, holder.id, linkId),
    linkId === null ? null : findPayer(ctx.db, holder.id, id),
    integrationId === null
      ? findActiveIntegration(ctx.db, holder.id)
      : requireIntegration(ctx.db, holder.id, integrationId),
    teamNames(request),
  ]);
  return { notes, receiptText, retries, retryFor, link, payer, integration, nameOf };
}
