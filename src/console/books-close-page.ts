// The close of a day: what the statement and our ledger add up to, what explains the difference, and the person who signs it.

import type { FastifyReply } from 'fastify';
import { openCalendar } from '../books/calendar.ts';
import type { CloseBlock } from '../books/close-figures.ts';
import {
  type Close,
  describeDay,
  findClose,
  type PreparedClose,
  prepareClose,
  reopenClose,
  signClose,
} from '../books/closes.ts';
import { bookFeesOfDay } from '../books/effects.ts';
import { reconcile } from '../books/matching.ts';
import { Problem } from '../platform/errors.ts';
import { withColon } from '../platform/french-spaces.ts';
import { type Html, type HtmlValue, html } from '../platform/html.ts';
import { formatAmount } from '../platform/money.ts';
import { readTypedAmount } from '../platform/typed-amounts.ts';
import { facts, sum, tag } from '../ui/components.ts';
import {
  BOOKS_PATH,
  BOOKS_STYLE,
  type BooksDay,
  booksBreadcrumbs,
  closePath,
  dayText,
  difference,
  helpLink,
  linkButton,
  requireBooksDay,
} from './books-components.ts';
import { timeTag } from './components.ts';
import { fieldOf, type MemberRequest, money, queryOf } from './console-request.ts';
import { errorBox, form, postButton } from './form-components.ts';
import { redirect, renderPage } from './layout.ts';
import { type ConsoleRoute, forAdmin } from './route.ts';

const MAX_REASON = 500;
const MIN_REASON = 3;

export const booksCloseRoutes: ConsoleRoute[] = [
  forAdmin('GET', '/admin/books/close', (request) => closePage(request)),
  forAdmin('POST', '/admin/books/close/compare', compare),
  forAdmin('POST', '/admin/books/close/fees', bookFees),
  forAdmin('POST', '/admin/books/close/sign', sign, { confirm: true }),
  forAdmin('POST', '/admin/books/close/reopen', reopen, { confirm: true }),
];

/** The balance that a person reads at the operator; text that is no amount is an error of its field. */
function typedBalance(request: MemberRequest, currency: string): { balance?: bigint; error?: string } {
  const text = fieldOf(request, 'balance', 40) || queryOf(request, 'balance', 40);
  if (text === '') return {};
  const read = readTypedAmount(text, request.language, { currency, zero: true });
  return read.ok ? { balance: read.amount } : { error: read.sentence };
}

async function closePage(request: MemberRequest, problem?: string): Promise<FastifyReply> {
  const { ctx, t } = request;
  const day = await requireBooksDay(request);
  const typed = typedBalance(request, day.currency);
  const figures = await describeDay(ctx, ctx.db, { ...day, balance: typed.balance });
  const close = await findClose(ctx.db, day);
  const message = problem ?? typed.error;
  const { connection, currency } = day;
  const account = new URLSearchParams({ connection, currency }).toString();
  return renderPage(request, {
    title: t.books.closeTitle(dayText(request, day.day)),
    lead: html`${connection} · ${currency}. ${helpLink(request)}`,
    breadcrumbs: booksBreadcrumbs(request, t.books.toClose, [
      dayText(request, day.day),
      `${BOOKS_PATH}?day=${day.day}`,
    ]),
    badge: close
      ? tag('success', t.books.statuses.signed)
      : tag('warning', figures.blocks.length === 0 ? t.books.statuses.ready : t.books.statuses.waiting),
    active: 'books',
    styles: [BOOKS_STYLE],
    ...(message ? { status: 400 } : {}),
    actions: html`
      ${linkButton(`/console/admin/rails/${connection}/statements`, 'upload', t.books.importStatement)}
      ${linkButton(`${BOOKS_PATH}/closes?${account}`, 'list', t.books.toCloses)}
    `,
    body: html`
      ${message && errorBox(request, undefined, message)}
      <div class="columns">
        ${statementCard(request, figures)}
        ${ledgerCard(request, figures)}
      </div>
      ${close ? signedCard(request, close) : openCard(request, day, figures, typed.balance)}
    `,
  });
}

function statementCard(request: MemberRequest, figures: PreparedClose): Html {
  const { t } = request;
  const { currency, linesIn, linesOut, fees, openingTheirs, closingTheirs, balanceSource, lines, lateLines } = figures;
  const shown = (amount: bigint | null): HtmlValue =>
    amount === null ? t.books.notKnown : money(request, amount, currency);
  const source = balanceSource === null ? '' : ` (${t.books.balanceSources[balanceSource]})`;
  return html`
    <section class="card">
      <h2>${t.books.statementSum}</h2>
      ${sum([
        [t.books.opening, shown(openingTheirs)],
        [t.books.moneyIn, `+${money(request, linesIn, currency)}`],
        [t.books.moneyOut, `−${money(request, linesOut, currency)}`],
        [t.books.fees, `−${money(request, fees, currency)}`],
        [`${t.books.closing}${source}`, shown(closingTheirs)],
      ])}
      <p class="muted">${withColon(request, t.books.lines)} ${lines}${lateLines > 0 && `, ${t.books.lateLines(lateLines)}`}</p>
    </section>
  `;
}

function ledgerCard(request: MemberRequest, figures: PreparedClose): Html {
  const { t } = request;
  const { connection, currency, day, openingOurs, closingOurs, items, unexplained, linesIn, linesOut, fees } = figures;
  const moved = linesIn - linesOut - fees - (closingOurs - openingOurs);
  const kinds: Record<string, string> = t.books.kinds;
  const groups = [...Map.groupBy(items, ({ kind, break_id: id }) => (id === null ? '' : kind))];
  const label = (kind: string, count: number): HtmlValue => {
    if (kind === '') return t.books.feesOtherDay;
    const query = new URLSearchParams({ connection, currency, day, kind, status: 'all' }).toString();
    return html`<a href="${BOOKS_PATH}/breaks?${query}">${count} × ${kinds[kind] ?? kind}</a>`;
  };
  return html`
    <section class="card">
      <h2>${t.books.ledgerSum}</h2>
      ${sum([
        [t.books.opening, money(request, openingOurs, currency)],
        [t.books.moved, difference(request, closingOurs - openingOurs, currency)],
        [t.books.closing, money(request, closingOurs, currency)],
      ])}
      <h3>${t.books.differenceOfDay}</h3>
      <p class="muted">${t.books.differenceHint}</p>
      ${sum([
        [t.books.difference, difference(request, moved, currency)],
        ...groups.map(([kind, own]): [HtmlValue, HtmlValue] => [
          label(kind, own.length),
          difference(
            request,
            own.reduce((total, item) => total + item.difference, 0n),
            currency,
          ),
        ]),
        [t.books.unexplained, difference(request, unexplained, currency)],
      ])}
    </section>
  `;
}

function signedCard(request: MemberRequest, close: Close): Html {
  const { t } = request;
  const { connection, currency, day } = close;
  return html`
    <section class="card">
      ${facts([
        [t.books.signer, html`<bdi>${close.signed_by}</bdi> · ${timeTag(request, close.signed_at)}`],
        [t.books.hash, html`<code class="wrap">${close.hash.toString('hex')}</code>`],
      ])}
      <details>
        <summary>${t.books.reopen}…</summary>
        <p>${t.books.reopenText}</p>
        ${form(request, {
          action: '/admin/books/close/reopen',
          hidden: { connection, currency, day },
          fields: [
            {
              name: 'reason',
              label: t.books.reopenReason,
              required: true,
              attributes: html`minlength="${MIN_REASON}" maxlength="${MAX_REASON}"`,
            },
          ],
          submit: t.books.reopen,
          variant: 'danger',
        })}
      </details>
    </section>
  `;
}

function openCard(request: MemberRequest, day: BooksDay, figures: PreparedClose, balance: bigint | undefined): Html {
  const { t } = request;
  const { connection, currency } = day;
  const hidden = { connection, currency, day: day.day };
  const typed = { ...hidden, ...(balance === undefined ? {} : { balance: formatAmount(balance) }) };
  const canSign = figures.blocks.length === 0;
  const hasFees = figures.blocks.some(({ code }) => code === 'fees_not_booked');
  return html`
    <section class="card" id="sign">
      ${
        canSign
          ? html`<p class="box success">${t.books.evens}</p>`
          : html`
            <h2>${t.books.notReady}</h2>
            <ul>${figures.blocks.map((block) => html`<li>${blockText(request, block, currency)}</li>`)}</ul>
          `
      }
      <p class="muted">${t.books.compareText}</p>
      <div class="actions">
        ${postButton(request, '/admin/books/close/compare', t.books.compare, { variant: 'secondary', hidden: typed })}
        ${hasFees && postButton(request, '/admin/books/close/fees', t.books.bookFees, { hidden })}
      </div>
      ${hasFees && html`<p class="muted">${t.books.bookFeesText}</p>`}
      ${form(request, {
        action: '/admin/books/close',
        method: 'get',
        className: 'day-form',
        hidden,
        fields: [
          {
            name: 'balance',
            label: `${t.books.balanceField} (${currency})`,
            hint: t.books.balanceHint,
            value: balance === undefined ? '' : formatAmount(balance),
            attributes: html`inputmode="decimal" autocomplete="off"`,
          },
        ],
        submit: t.books.useBalance,
        variant: 'secondary',
      })}
      ${canSign && signForm(request, typed)}
    </section>
  `;
}

function signForm(request: MemberRequest, hidden: Record<string, string>): Html {
  const { t } = request;
  return html`
    <p>${t.books.signText}</p>
    ${form(request, {
      action: '/admin/books/close/sign',
      hidden,
      submit: t.books.sign,
    })}
  `;
}

function blockText(request: MemberRequest, block: CloseBlock, currency: string): string {
  const { blocks } = request.t.books;
  switch (block.code) {
    case 'closed_already':
    case 'out_of_order':
      return blocks[block.code](dayText(request, block.next));
    case 'fees_not_booked':
      return blocks.fees_not_booked(block.lines);
    case 'does_not_add_up':
      return blocks.does_not_add_up(money(request, block.to, currency), money(request, block.stated, currency));
    case 'unexplained':
      return blocks.unexplained(money(request, block.amount, currency));
    default:
      return blocks[block.code];
  }
}

/** A day that is over is compared as a whole; of another one only what its statement reaches. */
async function compare(request: MemberRequest): Promise<FastifyReply> {
  const { ctx, t } = request;
  const day = await requireBooksDay(request);
  const { balance, error: wrong } = typedBalance(request, day.currency);
  if (wrong) return closePage(request);
  const span = (await openCalendar(ctx.db, day.connection)).spanOf(day.day);
  try {
    if (ctx.clock.now() >= span.to) await prepareClose(ctx, { ...day, balance });
    else await reconcile(ctx, { connection: day.connection, ...span });
  } catch (error) {
    if (error instanceof Problem && error.code === 'not_found') return closePage(request, t.books.noStatement);
    throw error;
  }
  const typed = balance === undefined ? '' : `&balance=${formatAmount(balance)}`;
  return redirect(request, `/console${closePath(day)}${typed}`, 'dayCompared');
}

async function bookFees(request: MemberRequest): Promise<FastifyReply> {
  const { ctx, actor, t } = request;
  const day = await requireBooksDay(request);
  try {
    await bookFeesOfDay(ctx, actor, day);
  } catch (error) {
    if (error instanceof Problem && error.code === 'invalid_params')
      return closePage(request, t.books.foreignStatement);
    throw error;
  }
  return redirect(request, `/console${closePath(day)}`, 'feesBooked');
}

async function sign(request: MemberRequest): Promise<FastifyReply> {
  const { ctx, actor, t } = request;
  const day = await requireBooksDay(request);
  const { balance, error: wrong } = typedBalance(request, day.currency);
  if (wrong) return closePage(request);
  try {
    await signClose(ctx, actor, { ...day, balance });
  } catch (error) {
    // The page says what keeps it from being signed, in the person's language.
    if (error instanceof Problem && error.code === 'invalid_params') return closePage(request, t.books.notReady);
    if (error instanceof Problem && error.code === 'not_found') return closePage(request, t.books.noStatement);
    throw error;
  }
  return redirect(request, `/console${closePath(day)}`, 'dayClosed');
}

async function reopen(request: MemberRequest): Promise<FastifyReply> {
  const { ctx, actor, t } = request;
  const day = await requireBooksDay(request);
  const reason = fieldOf(request, 'reason', MAX_REASON);
  if (reason.length < MIN_REASON) return closePage(request, t.books.reasonMissing);
  await reopenClose(ctx, actor, day, reason);
  return redirect(request, `/console${closePath(day)}`, 'dayReopened');
}
