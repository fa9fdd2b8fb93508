// The list of breaks, to work through by keyboard or without a script: filters, pages, a file, and the selection that leads to one
// proposal for many.

import type { FastifyReply } from 'fastify';
import { MAX_PROPOSED_BREAKS, waitingProposals } from '../books/break-proposals.ts';
import { type Break, BY_ITSELF, EVENED, EXPLAINED, listBreaks, readBreaks, WITHDRAWN } from '../books/breaks.ts';
import { listBooksAccounts } from '../books/day-picture.ts';
import { refOf } from '../payments/transactions.ts';
import type { CsvRow } from '../platform/csv.ts';
import { type Html, html, scriptFile } from '../platform/html.ts';
import { isUuid } from '../platform/ids.ts';
import { formatAmount } from '../platform/money.ts';
import { type Column, dataTable, emptyState, status } from '../ui/components.ts';
import {
  ageText,
  BOOKS_PATH,
  BOOKS_STYLE,
  booksBreadcrumbs,
  dayText,
  difference,
  linkButton,
} from './books-components.ts';
import { breakFilterForm, eachBreak, filterQueryOf, readBreakFilter } from './break-filter.ts';
import { proposeForm } from './break-proposal-form.ts';
import { pager, timeTag } from './components.ts';
import { type MemberRequest, money, queryOf } from './console-request.ts';
import { csvTime, sendCsv } from './csv-export.ts';
import { renderPage } from './layout.ts';
import { type ConsoleRoute, forAdmin } from './route.ts';

const PAGE_ROWS = 25;
const EXPORT_ROWS = 500;
const SHOWN_SELECTED = 50;
const ROW_KEYS = scriptFile(new URL('./row-keys.js', import.meta.url));
const BREAK_KEYS = scriptFile(new URL('./break-keys.js', import.meta.url));

export const breaksRoutes: ConsoleRoute[] = [
  forAdmin('GET', '/admin/books/breaks', listPage),
  forAdmin('GET', '/admin/books/breaks.csv', exportBreaks),
  forAdmin('GET', '/admin/books/decide', decidePage),
];

async function listPage(request: MemberRequest): Promise<FastifyReply> {
  const { ctx, t } = request;
  const filter = readBreakFilter(request);
  const rows = await listBreaks(ctx.db, filter, PAGE_ROWS + 1);
  const breaks = rows.slice(0, PAGE_ROWS);
  const last = rows.length > PAGE_ROWS ? breaks.at(-1) : undefined;
  const connections = [...new Set((await listBooksAccounts(ctx.db)).map((each) => each.connection))];
  const path = `${BOOKS_PATH}/breaks`;
  return renderPage(request, {
    title: t.books.breaks,
    lead: t.books.breaksLead,
    breadcrumbs: booksBreadcrumbs(request, t.books.breaks),
    active: 'books',
    styles: [BOOKS_STYLE],
    scripts: [ROW_KEYS, BREAK_KEYS],
    actions: linkButton(`${path}.csv?${filterQueryOf(request)}`, 'download', t.books.export, { download: true }),
    body: html`
      ${breakFilterForm(request, connections)}
      ${
        breaks.length === 0
          ? emptyState(t.books.noBreaks, t.books.noBreaksText, false, 'circle-check')
          : await selectionForm(request, breaks)
      }
      ${pager(request, last ? `${path}?${filterQueryOf(request, { after: last.id })}` : null, null, t.newer)}
    `,
  });
}

/** A form that changes nothing: it leads to the page on which the selected breaks are decided about. */
async function selectionForm(request: MemberRequest, breaks: readonly Break[]): Promise<Html> {
  const { ctx, t } = request;
  const all = await countOpen(request);
  const waiting = await waitingProposals(
    ctx.db,
    breaks.map(({ id }) => id),
  );
  const isSelectable = (each: Break) => each.status === 'open' && !waiting.has(each.id);
  return html`
    <form action="${BOOKS_PATH}/decide">
      ${breakTable(request, breaks, { waiting, selects: isSelectable })}
      <div class="list-foot">
        ${breaks.some(isSelectable) && html`<button id="decide">${t.books.decideSelected}</button>`}
        ${
          all > 1 &&
          html`<a href="${BOOKS_PATH}/decide?${filterQueryOf(request, { all: 'yes' })}">${t.books.decideAll(all)}</a>`
        }
        ${keysHelp(request)}
      </div>
    </form>
  `;
}

/** Open breaks of the filter that wait in no proposal, as many as one proposal takes. */
async function openOfFilter(request: MemberRequest): Promise<Break[]> {
  const { ctx } = request;
  const filter = { ...readBreakFilter(request), status: 'open' as const, after: undefined };
  const breaks = await listBreaks(ctx.db, filter, MAX_PROPOSED_BREAKS);
  const waiting = await waitingProposals(
    ctx.db,
    breaks.map(({ id }) => id),
  );
  return breaks.filter(({ id }) => !waiting.has(id));
}

async function countOpen(request: MemberRequest): Promise<number> {
  return readBreakFilter(request).status === 'resolved' ? 0 : (await openOfFilter(request)).length;
}

type TableOptions = { waiting?: ReadonlyMap<string, string>; selects?: (each: Break) => boolean };

/** `selects`: which rows have a box to tick. */
export function breakTable(request: MemberRequest, breaks: readonly Break[], options: TableOptions = {}): Html {
  const { t } = request;
  const columns: Column[] = [
    { label: t.books.break, phone: 'main' },
    { label: t.books.day },
    { label: t.books.expected, right: true },
    { label: t.books.found, right: true },
    { label: t.books.difference, right: true, phone: 'amount' },
    { label: t.state, phone: 'status' },
  ];
  const sum = (each: Break, amount: bigint | null) => amount !== null && money(request, amount, each.currency);
  return dataTable(
    t.books.breaks,
    columns,
    breaks.map((each) => [
      breakCell(request, each, options.selects),
      dayText(request, each.day),
      sum(each, each.expected),
      sum(each, each.found),
      difference(request, each.difference, each.currency),
      breakStatus(request, each, options.waiting?.has(each.id) ?? false),
    ]),
  );
}

/** Rows without a box keep its place, where others have one. */
function breakCell(request: MemberRequest, each: Break, selects: TableOptions['selects']): Html {
  const { t } = request;
  const label = t.books.kinds[each.kind];
  return html`
    <div class="break-cell">
      ${
        selects?.(each) &&
        html`
          <label class="pick">
            <input type="checkbox" name="id" value="${each.id}" aria-label="${t.books.select(`${label}, ${each.connection}`)}">
          </label>
        `
      }
      ${selects && !selects(each) && html`<span class="pick"></span>`}
      <div class="who"><div>
        <b><a class="row-link" href="${BOOKS_PATH}/breaks/${each.id}">${label}</a></b>
        <span class="muted">${each.connection}<span class="phone-only"> · ${dayText(request, each.day)}</span></span>
      </div></div>
    </div>
  `;
}

function breakStatus(request: MemberRequest, each: Break, isWaiting: boolean): Html {
  const { t } = request;
  if (each.status === 'resolved') return status('success', t.books.breakStatuses.resolved);
  if (isWaiting) return status('warning', t.books.proposalStatuses.proposed);
  return status('warning', ageText(request, each.opened_at));
}

function keysHelp({ t }: MemberRequest): Html {
  return html`
    <details id="keys" class="wide-keys">
      <summary>${t.books.keysTitle}</summary>
      <dl class="keys-list">
        ${Object.entries(t.books.keys).map(([key, meaning]) => html`<dt><kbd>${key}</kbd></dt><dd>${meaning}</dd>`)}
      </dl>
    </details>
  `;
}

/** The selected breaks, or all of the filter, and what can be proposed about them. */
async function decidePage(request: MemberRequest): Promise<FastifyReply> {
  const { t } = request;
  const breaks = queryOf(request, 'all') === 'yes' ? await openOfFilter(request) : await selectedBreaks(request);
  return renderPage(request, {
    title: t.books.selectedTitle(breaks.length),
    breadcrumbs: booksBreadcrumbs(request, t.books.propose, [t.books.breaks, `${BOOKS_PATH}/breaks`]),
    active: 'books',
    styles: [BOOKS_STYLE],
    ...(breaks.length === 0 ? { status: 400 } : {}),
    body:
      breaks.length === 0
        ? emptyState(
            t.books.nothingSelected,
            t.books.noProposalsText,
            linkButton(`${BOOKS_PATH}/breaks`, 'list', t.books.breaks),
          )
        : html`
          <section class="card">${await proposeForm(request, breaks)}</section>
          ${breaks.length > SHOWN_SELECTED && html`<p class="muted">${t.books.firstOf(SHOWN_SELECTED, breaks.length)}</p>`}
          ${breakTable(request, breaks.slice(0, SHOWN_SELECTED))}
        `,
  });
}

/** Each box that was ticked is a value of its own under the same name. */
async function selectedBreaks({ ctx, raw }: MemberRequest): Promise<Break[]> {
  const { id } = raw.query as Record<string, unknown>;
  const ids = (Array.isArray(id) ? id : [id]).filter(
    (each): each is string => typeof each === 'string' && isUuid(each),
  );
  const breaks = await readBreaks(ctx.db, ids.slice(0, MAX_PROPOSED_BREAKS));
  return breaks.filter((each) => each.status === 'open');
}

const EXPORT_COLUMNS =
  'id,connection,currency,day,counter_day,kind,status,ledger,statement,difference,transaction,opened_at,resolved_at,resolved_by,resolution';

async function exportBreaks(request: MemberRequest): Promise<FastifyReply> {
  return sendCsv(request, 'breaks', EXPORT_COLUMNS.split(','), csvRows(request));
}

async function* csvRows(request: MemberRequest): AsyncGenerator<CsvRow[]> {
  const sum = (amount: bigint | null) => (amount === null ? null : formatAmount(amount));
  for await (const breaks of eachBreak(request, EXPORT_ROWS))
    yield breaks.map((each) => [
      each.id,
      each.connection,
      each.currency,
      each.day,
      each.counter_day,
      each.kind,
      each.status,
      sum(each.expected),
      sum(each.found),
      formatAmount(each.difference),
      each.transaction_id === null ? null : refOf({ id: each.transaction_id }),
      csvTime(each.opened_at),
      each.resolved_at && csvTime(each.resolved_at),
      each.resolved_by,
      each.resolution,
    ]);
}

/** Who ended the break, and when. */
export function resolvedBy(request: MemberRequest, each: Break): Html | false {
  if (each.resolved_at === null) return false;
  const by = each.resolved_by === BY_ITSELF ? request.t.books.byComparison : (each.resolved_by ?? '');
  return html`<bdi>${by}</bdi> · ${timeTag(request, each.resolved_at)}`;
}

/** The reason of a person as it is; those of the gateway itself in the reader's language. */
export function resolutionText({ t }: MemberRequest, { resolution }: Break): string | null {
  if (resolution === EXPLAINED) return t.books.explainedLater;
  if (resolution === WITHDRAWN) return t.books.statementWithdrawn;
  return resolution === EVENED ? t.books.bothDaysClosed : resolution;
}
