// One break: what the operator says beside what we have, why they were not brought together, and what can be decided about it.

import type { FastifyReply } from 'fastify';
import { proposalsOfBreak, waitingProposals } from '../books/break-proposals.ts';
import { type BreakLine, type BreakSides, readSides } from '../books/break-sides.ts';
import { type Break, findBreak } from '../books/breaks.ts';
import type { Case } from '../payments/cases.ts';
import { refOf, type Transaction } from '../payments/transactions.ts';
import { Problem } from '../platform/errors.ts';
import { type Html, type HtmlValue, html } from '../platform/html.ts';
import { isUuid, publicId } from '../platform/ids.ts';
import { dataTable, facts, tag } from '../ui/components.ts';
import { BOOKS_PATH, BOOKS_STYLE, booksBreadcrumbs, dayText, difference } from './books-components.ts';
import { proposalTable } from './books-proposals-page.ts';
import { proposeForm } from './break-proposal-form.ts';
import { resolutionText, resolvedBy } from './breaks-page.ts';
import { statusTag, timeTag } from './components.ts';
import { type MemberRequest, money, paramOf } from './console-request.ts';
import { renderPage } from './layout.ts';
import { methodName } from './names.ts';
import { type ConsoleRoute, forAdmin } from './route.ts';

const MAX_RAW_SHOWN = 2_000;

export const breakPageRoutes: ConsoleRoute[] = [forAdmin('GET', '/admin/books/breaks/:id', breakPage)];

async function breakPage(request: MemberRequest): Promise<FastifyReply> {
  const { ctx, t } = request;
  const id = paramOf(request, 'id');
  const each = isUuid(id) ? await findBreak(ctx.db, id) : null;
  if (!each) throw new Problem('not_found');
  const sides = await readSides(ctx.db, each);
  const proposals = await proposalsOfBreak(ctx.db, each.id);
  return renderPage(request, {
    title: t.books.kinds[each.kind],
    lead: t.books.why[each.kind],
    breadcrumbs: booksBreadcrumbs(request, each.connection, [t.books.breaks, `${BOOKS_PATH}/breaks`]),
    badge: tag(each.status === 'open' ? 'warning' : 'success', t.books.breakStatuses[each.status]),
    active: 'books',
    styles: [BOOKS_STYLE],
    body: html`
      <section class="card">${breakFacts(request, each)}</section>
      <div class="columns">
        ${theirSide(request, sides.lines)}
        ${ourSide(request, sides)}
      </div>
      <section class="card" id="propose">${await decisionPart(request, each)}</section>
      ${
        proposals.length > 0 &&
        html`
          <section>
            <h2>${t.books.decisions}</h2>
            ${proposalTable(request, proposals)}
          </section>
        `
      }
    `,
  });
}

function breakFacts(request: MemberRequest, each: Break): Html {
  const { t } = request;
  const sum = (amount: bigint | null): HtmlValue => amount !== null && money(request, amount, each.currency);
  return facts([
    [t.books.account, `${each.connection} · ${each.currency}`],
    [t.books.day, dayText(request, each.day)],
    [t.books.counterDay, each.counter_day !== null && dayText(request, each.counter_day)],
    [each.kind === 'fee' ? t.books.expectedFee : t.books.expected, sum(each.expected)],
    [t.books.found, sum(each.found)],
    [t.books.difference, difference(request, each.difference, each.currency)],
    [t.books.opened, timeTag(request, each.opened_at)],
    [t.books.resolved, resolvedBy(request, each)],
    [t.books.resolution, each.resolution !== null && html`<bdi>${resolutionText(request, each)}</bdi>`],
  ]);
}

function theirSide(request: MemberRequest, lines: readonly BreakLine[]): Html {
  const { t } = request;
  return html`
    <section class="card">
      <h2>${t.books.theirSide}</h2>
      ${lines.length === 0 ? html`<p>${t.books.noLine}</p>` : lines.map((line) => lineFacts(request, line))}
    </section>
  `;
}

function lineFacts(request: MemberRequest, line: BreakLine): Html {
  const { books, statements } = request.t;
  const rules: Record<string, string> = books.rules;
  const sum = (amount: bigint | null): HtmlValue => amount !== null && money(request, amount, line.currency);
  const file = `/console/admin/rails/${line.connection}/statements/${line.fileId}`;
  return html`
    ${facts([
      [request.t.amount, html`<b>${sum(line.gross)}</b>`],
      [
        statements.kind,
        `${statements.kinds[line.kind]}, ${line.direction === 'in' ? statements.into : statements.out}, ${statements.states[line.state]}`,
      ],
      [statements.fee, sum(line.fee)],
      [statements.receipt, line.receipt && html`<code>${line.receipt}</code>`],
      [statements.reference, line.reference && html`<code class="wrap">${line.reference}</code>`],
      [statements.number, line.msisdn && html`<bdi>${line.msisdn}</bdi>`],
      [request.t.time, timeTag(request, line.occurredAt)],
      [books.countsOn, html`${dayText(request, line.day)}${line.late && ` (${books.lateLine})`}`],
      [books.balance, sum(line.balance)],
      [books.matchedBy, rules[line.rule ?? 'none'] ?? ''],
      [books.file, html`<a href="${file}">${books.line(line.lineNumber, line.fileName)}</a>`],
    ])}
    <details${line.isNamed && html` open`}>
      <summary>${books.raw}</summary>
      <pre tabindex="0" aria-label="${books.raw}">${line.raw.slice(0, MAX_RAW_SHOWN)}</pre>
    </details>
  `;
}

function ourSide(request: MemberRequest, { transaction, held, moves }: BreakSides): Html {
  const { t } = request;
  return html`
    <section class="card">
      <h2>${t.books.ourSide}</h2>
      ${transaction && transactionFacts(request, transaction)}
      ${held && heldFacts(request, held)}
      ${!transaction && !held && html`<p>${t.books.nothingWithUs}</p>`}
      ${
        moves.length === 0
          ? (transaction || held) && html`<p class="muted">${t.books.noMoves}</p>`
          : html`
            <h3>${t.books.moves}</h3>
            ${dataTable(
              t.books.moves,
              [
                { label: t.books.moves, phone: 'main' },
                { label: t.amount, right: true, phone: 'amount' },
                { label: t.time, phone: 'status' },
              ],
              moves.map((move) => [
                html`<code>${move.kind}</code>`,
                difference(request, move.amount, move.currency),
                timeTag(request, move.postedAt),
              ]),
            )}
          `
      }
    </section>
  `;
}

function transactionFacts(request: MemberRequest, transaction: Transaction): Html {
  const { t } = request;
  return facts([
    [t.amount, html`<b>${money(request, transaction.amount, transaction.currency)}</b>`],
    [t.state, statusTag(request, transaction.status, transaction.direction)],
    [t.transactions.type, `${t.directions[transaction.direction]}, ${methodName(request, transaction.method)}`],
    [t.transaction.receipt, transaction.receipt && html`<code>${transaction.receipt}</code>`],
    [
      t.transaction.operatorReference,
      transaction.rail_reference && html`<code class="wrap">${transaction.rail_reference}</code>`,
    ],
    [t.statements.number, transaction.msisdn && html`<bdi>${transaction.msisdn}</bdi>`],
    [t.created, timeTag(request, transaction.created_at)],
    [t.admin.holder, html`<a href="/console/admin/holders/${transaction.holder_id}">${transaction.holder_id}</a>`],
    [t.reference, html`<code class="wrap">${refOf(transaction)}</code>`],
  ]);
}

function heldFacts(request: MemberRequest, held: Case): Html {
  const { t } = request;
  return html`
    <p>${t.books.suspenseCase}${held.amount !== null && html`: <b>${money(request, held.amount, held.currency ?? '')}</b>`}.</p>
    <p><a href="/console/admin/cases/${publicId('case', held.id)}">${t.books.openCase}</a></p>
  `;
}

/** The form, or why there is none. */
async function decisionPart(request: MemberRequest, each: Break): Promise<Html> {
  const { ctx, t } = request;
  if (each.status !== 'open') return html`<p>${t.books.resolvedAlready}</p>`;
  const proposal = (await waitingProposals(ctx.db, [each.id])).get(each.id);
  if (proposal === undefined) return proposeForm(request, [each]);
  return html`<p>${t.books.waitsIn} <a href="${BOOKS_PATH}/proposals/${proposal}">${t.books.openProposal}</a></p>`;
}
