// How a request finds what it is about: the link of its address, and the attempt of its reference. Whoever knows both
// may see it; an attempt of another link is not there.

import type { FastifyReply, FastifyRequest } from 'fastify';
import { findLink, type PaymentLink } from '../links/links.ts';
import type { PaymentsContext } from '../payments/context.ts';
import { findTransaction, idFromRef, readTransactions, type Transaction } from '../payments/transactions.ts';
import { Problem } from '../platform/errors.ts';
import { isAttemptOf } from './link-attempts.ts';
import { type LinkView, viewLink } from './view.ts';

export type Params = { id: string; ref: string; code: string };
export type Query = Record<string, unknown>;

/** The link and its view; the payer's country as far as the address tells it. */
export async function openLink(
  ctx: PaymentsContext,
  request: FastifyRequest,
  reply: FastifyReply,
  country: number | null = Number((request.query as Query).country) || null,
): Promise<{ link: PaymentLink; view: LinkView }> {
  const link = await findLink(ctx.db, (request.params as Params).id);
  const view = link && (await viewLink(ctx, link, request, reply, country));
  if (!view) throw new Problem('payment_link_not_found');
  return { link, view };
}

export async function openTransaction(ctx: PaymentsContext, request: FastifyRequest): Promise<Transaction> {
  const { id, ref } = request.params as Params;
  const link = await findLink(ctx.db, id);
  const transaction = link && (await priorAttempt(ctx, link, ref));
  if (!transaction) throw new Problem('payment_link_not_found');
  return transaction;
}

export async function openAttempt(
  ctx: PaymentsContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<{ view: LinkView; transaction: Transaction }> {
  const transaction = await openTransaction(ctx, request);
  const { view } = await openLink(ctx, request, reply, transaction.country_id);
  return { view, transaction };
}

/** A transaction by its reference, if it is an attempt to pay this link. */
export async function priorAttempt(ctx: PaymentsContext, link: PaymentLink, ref: string): Promise<Transaction | null> {
  const id = idFromRef(ref);
  if (id === null || !(await isAttemptOf(ctx.db, link.id, id))) return null;
  return findTransaction(ctx.db, link.holder_id, id);
}

export async function paidAttempt(ctx: PaymentsContext, ids: string[]): Promise<Transaction | null> {
  const transactions = await readTransactions(ctx.db, ids);
  return transactions.find(({ status }) => status === 'success' || status === 'reversed') ?? null;
}
