// What the search box finds: transactions by number, reference, receipt, amount or name; links, files, integrations, people of the
// team, callbacks, requests and cases; pages and actions. Each search is by an index or over a limited number of rows.

import { listDeliveries } from '../callbacks/resend.ts';
import { possiblePrefixes } from '../catalog/phone-search.ts';
import { findReceipt } from '../checkout/receipt-codes.ts';
import { listHolders } from '../holders/holders.ts';
import { listIntegrations } from '../holders/integrations.ts';
import { listTeam } from '../holders/members.ts';
import { findHolderLink, linkId } from '../links/links.ts';
import { findLinksByName } from '../links/listing.ts';
import { findCase } from '../payments/cases.ts';
import { listTransactions, type TransactionPage } from '../payments/listing.ts';
import { findPayoutFile } from '../payments/payout-orders.ts';
import {
  findByNumberPrefix,
  findByOperatorReceipt,
  findByOwnReference,
  findByPartOfRef,
  findPayoutFiles,
} from '../payments/search.ts';
import { findTransaction, idFromRef, refOf, type Transaction } from '../payments/transactions.ts';
import { Problem } from '../platform/errors.ts';
import { publicId, uuidFromPublicId } from '../platform/ids.ts';
import { readTypedAmount } from '../platform/typed-amounts.ts';
import { type HolderRequest, money } from './console-request.ts';
import { findPages, type PageHit } from './search-pages.ts';

/** A shorter text would match almost everything. */
const MIN_TEXT_CHARACTERS = 3;
const MAX_AMOUNT_DIGITS = 9;

/** A result that is neither a transaction nor a page. */
export type OtherHit = { title: string; second: string; href: string; icon: string };

export type SearchResults = {
  pages: PageHit[];
  transactions: Transaction[];
  others: OtherHit[];
  /** How far back the rows were searched that no index has; null when all of them were. */
  lookedBackTo: Date | null;
};

export async function searchAll(request: HolderRequest, q: string, limit: number): Promise<SearchResults> {
  const pages = findPages(request, q, limit);
  if (q === '') return { pages: [], transactions: [], others: [], lookedBackTo: null };
  const [found, others] = await Promise.all([findIndexed(request, q, limit), findOthers(request, q, limit)]);
  const scanned = await scanNewest(request, q, limit, found.length === 0);
  const byId = new Map([...found, ...scanned.flatMap((page) => page.rows)].map((row) => [row.id, row]));
  return {
    pages,
    transactions: [...byId.values()].slice(0, limit),
    others: others.slice(0, limit),
    lookedBackTo: scanned.find((page) => page.lookedBackTo)?.lookedBackTo ?? null,
  };
}

async function findIndexed(request: HolderRequest, q: string, limit: number): Promise<Transaction[]> {
  const { ctx, holder } = request;
  const prefixes = possiblePrefixes(q, ctx.catalog.countries.values());
  const found = await Promise.all([
    findByReceiptCode(request, q),
    findByOperatorReceipt(ctx.db, holder.id, q, ctx.rails.names()),
    findByOwnReference(ctx.db, holder.id, q, limit),
    findByPartOfRef(ctx.db, holder.id, q, limit),
    findByNumberPrefix(ctx.db, holder.id, prefixes, limit),
  ]);
  return found.flat();
}

/** The code on a payer's receipt. Its check digits tell a typing error without a query. */
async function findByReceiptCode({ ctx, holder }: HolderRequest, q: string): Promise<Transaction[]> {
  const id = await findReceipt(ctx, ctx.db, q);
  const row = id === null ? null : await findTransaction(ctx.db, holder.id, id);
  return row ? [row] : [];
}

/** Amounts, names and parts of numbers are in no index: the newest rows are compared. */
async function scanNewest(
  request: HolderRequest,
  q: string,
  limit: number,
  nothingFound: boolean,
): Promise<TransactionPage[]> {
  const { ctx, holder } = request;
  const amounts = amountsOf(request, q);
  const digits = q.replace(/[\s()+.-]/g, '');
  const text = /^\d+$/.test(digits) ? digits.replace(/^0/, '') : q;
  const filters = [
    ...amounts.map(({ amount, currency }) => ({ min: amount, max: amount, currency })),
    // What an index knows is what was meant; texts are only compared when there is nothing else.
    ...(nothingFound && text.length >= MIN_TEXT_CHARACTERS ? [{ text }] : []),
  ];
  return Promise.all(filters.map((filter) => listTransactions(ctx.db, holder.id, filter, { limit })));
}

/** "2500", "2,500", "KES 2 500". A comma or point before three digits separates thousands here: nothing is paid by a search. */
function amountsOf({ ctx, language }: HolderRequest, q: string): { amount: bigint; currency: string | undefined }[] {
  const currencies = [...new Set([...ctx.catalog.methods.values()].map((method) => method.currency))];
  const label = /\p{Letter}/u.test(q);
  const plain = q.replace(/(\d)[.,](?=\d{3}(?!\d))/g, '$1');
  if (/^\D*0\d/.test(plain) || plain.replace(/\D/g, '').length > MAX_AMOUNT_DIGITS) return [];
  const read = (currency?: string) => readTypedAmount(plain, language, currency === undefined ? {} : { currency });
  if (!label) {
    const result = read();
    return result.ok ? [{ amount: result.amount, currency: undefined }] : [];
  }
  return currencies.flatMap((currency) => {
    const result = read(currency);
    return result.ok ? [{ amount: result.amount, currency }] : [];
  });
}

async function findOthers(request: HolderRequest, q: string, limit: number): Promise<OtherHit[]> {
  if (q.length < MIN_TEXT_CHARACTERS) return [];
  const { ctx, holder, session } = request;
  const [team, integrations, links, files, merchants] = await Promise.all([
    listTeam(ctx.db, holder.id),
    listIntegrations(ctx.db, holder.id),
    findLinksByName(ctx.db, holder.id, q, limit),
    findPayoutFiles(ctx.db, holder.id, q, limit),
    // Staff look for merchants too, whose rows the database of their own holder does not show.
    session.member.is_admin ? listHolders((ctx.process ?? ctx).db, { search: q, limit }) : [],
  ]);
  const { t } = request;
  const wanted = q.toLowerCase();
  const has = (...texts: string[]) => texts.some((text) => text.toLowerCase().includes(wanted));
  return [
    ...integrations
      .filter((each) => has(each.clientId, each.title))
      .map((each) =>
        hit(each.title, `${t.find.integration} · ${each.clientId}`, `/console/integrations/${each.clientId}`, 'plug'),
      ),
    ...team
      .filter((each) => has(each.email, each.name))
      .map((each) =>
        hit(each.name, `${t.find.member} · ${each.email} · ${t.roles[each.role]}`, '/console/team', 'user'),
      ),
    ...links.map((link) => {
      const amount = link.amount === null ? t.links.openAmount : money(request, link.amount, link.currency);
      const name = link.item_name ?? link.business_name ?? linkId(link);
      return hit(name, `${t.find.link} · ${amount}`, `/console/links/${linkId(link)}`, 'link');
    }),
    ...merchants.map((each) =>
      hit(
        each.name,
        `${t.admin.holder} · ${t.admin.states[each.status]}`,
        `/console/admin/holders/${each.id}`,
        'store',
      ),
    ),
    ...files.map((file) => hit(file.name, `${t.find.file} · ${file.payouts}`, filePath(file.id), 'file-text')),
  ];
}

function hit(title: string, second: string, href: string, icon: string): OtherHit {
  return { title, second, href, icon };
}

function filePath(id: string): string {
  return `/console/payouts/files/${publicId('bat', id)}`;
}

/** The page of the thing whose whole id this is. */
export async function findById(request: HolderRequest, q: string): Promise<OtherHit | null> {
  const { ctx, holder, t } = request;
  const id = idFromRef(q);
  if (id && (await findTransaction(ctx.db, holder.id, id)))
    return hit(refOf({ id }), t.find.payments, `/console/transactions/${refOf({ id })}`, 'arrow-up-down');
  const link = uuidFromPublicId('pl', q);
  const foundLink = link && (await findHolderLink(ctx.db, holder.id, link));
  if (foundLink) return hit(q, t.find.link, `/console/links/${linkId(foundLink)}`, 'link');
  const caseId = uuidFromPublicId('case', q);
  if (caseId && (await findCase(ctx.db, caseId))?.holder_id === holder.id)
    return hit(q, t.find.case, `/console/cases/${publicId('case', caseId)}`, 'flag');
  const file = uuidFromPublicId('bat', q);
  if (file && (await findPayoutFile(ctx.db, holder.id, file))) return hit(q, t.find.file, filePath(file), 'file-text');
  if (uuidFromPublicId('evt', q)) {
    const ref = await findTransactionOfEvent(request, q);
    if (ref) return hit(q, t.find.event, `/console/transactions/${ref}`, 'bell');
  }
  if (uuidFromPublicId('req', q))
    return hit(q, t.find.request, `/console/requests?id=${encodeURIComponent(q)}`, 'list');
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
