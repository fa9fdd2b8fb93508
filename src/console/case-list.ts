// The list of open reviews (cases) as holders and admins see it: how many of each kind, both orders, a row each, and pages.

import { formatNumber } from '../catalog/phone.ts';
import { type CaseFilter, countOpenCases, listOpenCases } from '../payments/case-list.ts';
import type { Case } from '../payments/cases.ts';
import type { CaseKind } from '../payments/states.ts';
import { readTransactions, type Transaction } from '../payments/transactions.ts';
import { type Html, type HtmlValue, html } from '../platform/html.ts';
import { publicId, uuidFromPublicId } from '../platform/ids.ts';
import { type Choice, type Column, chips, dataTable, emptyState, segments, who } from '../ui/components.ts';
import { pager, timeTag } from './components.ts';
import { type MemberRequest, money, queryOf } from './console-request.ts';

const PAGE_CASES = 50;

type CaseListOptions = {
  /** Without one: the cases of all holders. */
  holderId?: bigint;
  /** A further column, for admins: whose case it is. */
  holderOf?: (cases: readonly Case[]) => Promise<(each: Case) => HtmlValue>;
};

/** What the query asks for. */
type CaseQuery = { kind: CaseKind | undefined; oldestFirst: boolean };

/** The page that the query asks for. `path` is the address of the list; cases are below it. */
export async function caseList(request: MemberRequest, path: string, options: CaseListOptions = {}): Promise<Html> {
  const { ctx, t } = request;
  const kinds = Object.keys(t.cases.kinds) as CaseKind[];
  const query: CaseQuery = {
    kind: kinds.find((each) => each === queryOf(request, 'kind')),
    oldestFirst: queryOf(request, 'order') === 'oldest',
  };
  const filter: CaseFilter = { holderId: options.holderId, kind: query.kind };
  const [rows, counts] = await Promise.all([
    listOpenCases(ctx.db, filter, {
      after: uuidFromPublicId('case', queryOf(request, 'after')),
      oldestFirst: query.oldestFirst,
      limit: PAGE_CASES + 1,
    }),
    countOpenCases(ctx.db, options.holderId),
  ]);
  const cases = rows.slice(0, PAGE_CASES);
  const last = rows.length > PAGE_CASES ? cases.at(-1) : undefined;
  const next = last ? addressOf(path, query, { after: publicId('case', last.id) }) : null;
  return html`
    ${counts.size > 0 && filters(request, path, counts, query)}
    ${
      cases.length === 0
        ? query.kind !== undefined && counts.size > 0
          ? emptyState(t.transactions.noMatch, t.transactions.noMatchText, false, 'circle-check')
          : emptyState(t.cases.none, t.cases.noneText, false, 'circle-check')
        : await caseTable(request, path, cases, options)
    }
    ${pager(request, next, null, query.oldestFirst ? t.newer : t.older)}
  `;
}

function addressOf(path: string, { kind, oldestFirst }: CaseQuery, more: Record<string, string> = {}): string {
  const query = new URLSearchParams({
    ...(kind === undefined ? {} : { kind }),
    ...(oldestFirst ? { order: 'oldest' } : {}),
    ...more,
  }).toString();
  return query === '' ? path : `${path}?${query}`;
}

function filters(
  { t }: MemberRequest,
  path: string,
  counts: ReadonlyMap<CaseKind, number>,
  { kind, oldestFirst }: CaseQuery,
): Html {
  let all = 0;
  for (const count of counts.values()) all += count;
  const choice = (each: CaseKind | undefined, label: string, count: number): Choice => ({
    label,
    href: addressOf(path, { kind: each, oldestFirst }),
    current: kind === each,
    count,
  });
  const order = (oldest: boolean, label: string): Choice => ({
    label,
    href: addressOf(path, { kind, oldestFirst: oldest }),
    current: oldestFirst === oldest,
  });
  return html`
    ${chips(t.cases.kind, [
      choice(undefined, t.all, all),
      ...[...counts].map(([each, count]) => choice(each, t.cases.kinds[each], count)),
    ])}
    <p>${segments(t.cases.order, [order(false, t.cases.newestFirst), order(true, t.cases.oldestFirst)])}</p>
  `;
}

async function caseTable(
  request: MemberRequest,
  path: string,
  cases: readonly Case[],
  { holderOf }: CaseListOptions,
): Promise<Html> {
  const { ctx, t } = request;
  const ids = cases.flatMap(({ transaction_id: id }) => id ?? []);
  const transactions = new Map((await readTransactions(ctx.db, ids)).map((each) => [each.id, each]));
  const holder = await holderOf?.(cases);
  const columns: Column[] = [
    { label: t.cases.review, phone: 'main' },
    { label: t.cases.payment },
    ...(holder ? [{ label: t.admin.holder }] : []),
    { label: t.cases.money.open, right: true, phone: 'amount' },
    { label: t.cases.opened, phone: 'status' },
  ];
  return dataTable(
    t.menu.cases,
    columns,
    cases.map((each) => [
      who(t.cases.kinds[each.kind], t.cases.advice[each.kind], { href: `${path}/${publicId('case', each.id)}` }),
      paymentCell(request, transactions.get(each.transaction_id ?? '')),
      ...(holder ? [holder(each)] : []),
      each.amount !== null &&
        html`<span class="amount">${money(request, each.amount - each.settled, each.currency ?? '')}</span>`,
      timeTag(request, each.opened_at),
    ]),
  );
}

function paymentCell(request: MemberRequest, transaction: Transaction | undefined): Html | false {
  if (!transaction) return false;
  const person = transaction.payee ?? (transaction.msisdn === null ? '' : formatNumber(transaction.msisdn));
  return html`
    ${money(request, transaction.amount, transaction.currency)}
    <span class="muted"><bdi>${person}</bdi></span>
  `;
}
