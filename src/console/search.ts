// The search box: a reference, a link, a case, an event or a request by its id; else transactions by phone number, by the
// holder's own reference, or by text.

import type { FastifyReply } from 'fastify';
import { listDeliveries } from '../callbacks/resend.ts';
import { findHolderLink, linkId } from '../links/links.ts';
import { findCase } from '../payments/cases.ts';
import { listTransactions, type TransactionPage } from '../payments/listing.ts';
import { findTransaction, idFromRef, refOf } from '../payments/transactions.ts';
import { Problem } from '../platform/errors.ts';
import { type Html, html } from '../platform/html.ts';
import { publicId, uuidFromPublicId } from '../platform/ids.ts';
import { emptyState } from '../ui/components.ts';
import { timeTag } from './components.ts';
import { type HolderRequest, queryOf } from './console-request.ts';
import { redirect, renderPage } from './layout.ts';
import { type ConsoleRoute, EVERYONE, forRoles } from './route.ts';
import { transactionTable } from './transaction-table.ts';

const MAX_ROWS = 50;
const MAX_CHARACTERS = 128;
/** A shorter text would match almost everything. */
const MIN_TEXT_CHARACTERS = 3;

export const searchRoutes: ConsoleRoute[] = [forRoles(EVERYONE, 'GET', '/search', search)];

async function search(request: HolderRequest): Promise<FastifyReply> {
  const { t } = request;
  const q = queryOf(request, 'q', MAX_CHARACTERS);
  const address = await findById(request, q);
  if (address) return redirect(request, address);
  const pages = await findTransactions(request, q);
  const byId = new Map(pages.flatMap((page) => page.rows).map((row) => [row.id, row]));
  const rows = [...byId.values()].sort((left, right) => (left.id < right.id ? 1 : -1)).slice(0, MAX_ROWS);
  const searchedBackTo = pages.find((page) => page.lookedBackTo)?.lookedBackTo;
  return renderPage(request, {
    title: t.searchTitle(q),
    active: 'transactions',
    body: html`
      ${rows.length > 0 ? transactionTable(request, rows) : emptyState(t.searchNone, t.searchNoneText)}
      ${searchedBackTo && searchFurther(request, q, searchedBackTo)}
    `,
  });
}

async function findTransactions({ ctx, holder }: HolderRequest, q: string): Promise<TransactionPage[]> {
  if (q === '') return [];
  const digits = q.replace(/[\s()+.-]/g, '');
  const filters = [{ reference: q }, ...(/^\d{9,15}$/.test(digits) ? [{ numbers: [digits] }] : [])];
  const pages = await Promise.all(
    filters.map((filter) => listTransactions(ctx.db, holder.id, filter, { limit: MAX_ROWS })),
  );
  // No index covers the text search, so it runs only when the indexed ones found nothing.
  if (pages.every((page) => page.rows.length === 0) && q.length >= MIN_TEXT_CHARACTERS) {
    const text = /^\d+$/.test(digits) ? digits : q;
    pages.push(await listTransactions(ctx.db, holder.id, { text }, { limit: MAX_ROWS }));
  }
  return pages;
}

function searchFurther(request: HolderRequest, q: string, searchedBackTo: Date): Html {
  const { t } = request;
  const query = new URLSearchParams({ text: q }).toString();
  return html`
    <p class="muted">
      ${t.transactions.searchedBackTo} ${timeTag(request, searchedBackTo)} ·${' '}
      <a href="/console/transactions?${query}">${t.transactions.searchFurther}</a>
    </p>
  `;
}

/** The page of the thing whose id this is. */
async function findById(request: HolderRequest, q: string): Promise<string | null> {
  const { ctx, holder } = request;
  const id = idFromRef(q);
  if (id && (await findTransaction(ctx.db, holder.id, id))) return `/console/transactions/${refOf({ id })}`;
  const link = uuidFromPublicId('pl', q);
  if (link) {
    const found = await findHolderLink(ctx.db, holder.id, link);
    if (found) return `/console/links/${linkId(found)}`;
  }
  const caseId = uuidFromPublicId('case', q);
  if (caseId && (await findCase(ctx.db, caseId))?.holder_id === holder.id)
    return `/console/cases/${publicId('case', caseId)}`;
  if (uuidFromPublicId('evt', q)) {
    const ref = await findTransactionOfEvent(request, q);
    if (ref) return `/console/transactions/${ref}`;
  }
  if (uuidFromPublicId('req', q)) return `/console/requests?id=${encodeURIComponent(q)}`;
  return null;
}

async function findTransactionOfEvent({ ctx, holder }: HolderRequest, eventId: string): Promise<string | null> {
  try {
    const [delivery] = await listDeliveries(ctx.db, holder.id, { eventId, limit: 1 });
    return delivery?.transactionRef ?? null;
  } catch (error) {
    // An unknown event is no result, not an error of the search.
    if (error instanceof Problem) return null;
    throw error;
  }
}
