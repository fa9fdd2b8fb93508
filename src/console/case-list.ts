// The list of open cases as holders and admins see it: how many there are, a filter by kind, both orders, and pages.

import { type CaseFilter, countOpenCases, listOpenCases } from '../payments/case-list.ts';
import type { Case } from '../payments/cases.ts';
import type { CaseKind } from '../payments/states.ts';
import { type Html, html } from '../platform/html.ts';
import { publicId, uuidFromPublicId } from '../platform/ids.ts';
import { emptyState } from '../ui/components.ts';
import { pager } from './components.ts';
import { type MemberRequest, queryOf } from './console-request.ts';
import { formField } from './form-components.ts';

const PAGE_CASES = 50;

type CaseList = {
  cases: Case[];
  /** The list around the cards of these cases. */
  show(cards: readonly Html[]): Html;
};

/** The page that the query asks for. Without a holder: the cases of all of them. */
export async function readCaseList(request: MemberRequest, path: string, holderId?: bigint): Promise<CaseList> {
  const { ctx, t } = request;
  const kinds = Object.keys(t.cases.kinds) as CaseKind[];
  const kind = kinds.find((each) => each === queryOf(request, 'kind'));
  const oldestFirst = queryOf(request, 'order') === 'oldest';
  const filter: CaseFilter = { holderId, kind };
  const [rows, counts] = await Promise.all([
    listOpenCases(ctx.db, filter, {
      after: uuidFromPublicId('case', queryOf(request, 'after')),
      oldestFirst,
      limit: PAGE_CASES + 1,
    }),
    countOpenCases(ctx.db, holderId),
  ]);
  const cases = rows.slice(0, PAGE_CASES);
  const last = cases.at(-1);
  const query = new URLSearchParams({ ...(kind ? { kind } : {}), ...(oldestFirst ? { order: 'oldest' } : {}) });
  if (rows.length > PAGE_CASES && last) query.set('after', publicId('case', last.id));
  const next = query.has('after') ? `${path}?${query.toString()}` : null;
  return {
    cases,
    show: (cards) => html`
      ${counts.size > 0 && filterForm(request, path, counts, kind, oldestFirst)}
      ${cards.length === 0 ? emptyState(t.cases.none, t.cases.noneText) : cards}
      ${pager(request, next, null, oldestFirst ? t.newer : t.older)}
    `,
  };
}

function filterForm(
  { t }: MemberRequest,
  path: string,
  counts: ReadonlyMap<CaseKind, number>,
  kind: CaseKind | undefined,
  oldestFirst: boolean,
): Html {
  let all = 0;
  for (const count of counts.values()) all += count;
  const kinds = [...counts].map(([each, count]) => [each, `${t.cases.kinds[each]} (${count})`] as const);
  return html`
    <form class="card" action="${path}">
      <div class="field-row">
        ${formField({
          type: 'select',
          name: 'kind',
          label: t.cases.kind,
          value: kind ?? '',
          choices: [['', `${t.all} (${all})`], ...kinds],
        })}
        ${formField({
          type: 'select',
          name: 'order',
          label: t.cases.order,
          value: oldestFirst ? 'oldest' : '',
          choices: [
            ['', t.cases.newestFirst],
            ['oldest', t.cases.oldestFirst],
          ],
        })}
      </div>
      <p><button>${t.transactions.apply}</button></p>
    </form>
  `;
}
