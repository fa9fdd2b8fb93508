// The books of the gateway, for its finance officers: each account with an operator on one day, by our ledger and by its statement.

import type { FastifyReply } from 'fastify';
import { type AccountDay, type DayStatus, lastDayOver, listBooksAccounts, pictureOfDay } from '../books/day-picture.ts';
import { type Html, type HtmlValue, html } from '../platform/html.ts';
import { isCalendarDay } from '../platform/time-zones.ts';
import { dataTable, emptyState, status, type Tone } from '../ui/components.ts';
import { differenceChart } from './books-chart.ts';
import {
  ageText,
  BOOKS_PATH,
  BOOKS_STYLE,
  closePath,
  dayText,
  difference,
  helpLink,
  linkButton,
} from './books-components.ts';
import { waitingBreakProposals } from './books-proposals-page.ts';
import { type MemberRequest, money, queryOf } from './console-request.ts';
import { form } from './form-components.ts';
import { renderPage } from './layout.ts';
import { type ConsoleRoute, forAdmin } from './route.ts';

export const booksRoutes: ConsoleRoute[] = [forAdmin('GET', '/admin/books', booksPage)];

const TONES: Record<DayStatus, Tone> = {
  signed: 'success',
  ready: 'neutral',
  waiting: 'warning',
  no_statement: 'error',
  quiet: 'neutral',
};

async function booksPage(request: MemberRequest): Promise<FastifyReply> {
  const { ctx, t } = request;
  const accounts = await listBooksAccounts(ctx.db);
  const asked = queryOf(request, 'day', 10);
  const day = isCalendarDay(asked) ? asked : await lastDayOver(ctx, accounts);
  const pictures = await pictureOfDay(ctx, accounts, day);
  return renderPage(request, {
    title: t.menu.books,
    lead: html`${t.books.lead} ${helpLink(request)}`,
    active: 'books',
    styles: [BOOKS_STYLE],
    actions: html`
      ${linkButton(`${BOOKS_PATH}/breaks`, 'list', t.books.breaks)}
      ${linkButton(`${BOOKS_PATH}/proposals`, 'users', t.books.proposals)}
    `,
    body: html`
      ${form(request, {
        action: '/admin/books',
        method: 'get',
        className: 'day-form',
        fields: [{ name: 'day', label: t.books.day, type: 'date', value: day }],
        submit: t.books.show,
        variant: 'secondary',
      })}
      ${await waitingBreakProposals(request)}
      ${pictures.length === 0 && emptyState(t.books.none, t.books.noneText, false, 'scale')}
      ${pictures.map((each) => accountCard(request, each))}
    `,
  });
}

function accountCard(request: MemberRequest, picture: AccountDay): Html {
  const { t } = request;
  const { connection, currency, day, zone } = picture;
  const id = `${connection}-${currency}`;
  return html`
    <section class="card account-day" aria-labelledby="${id}">
      <div class="card-head">
        <h2 id="${id}">${connection} · ${currency}</h2>
        ${dayStatus(request, picture)}
      </div>
      ${figureTable(request, picture)}
      <div class="account-foot">
        <div>
          ${breakLine(request, picture)}
          <p class="muted">${t.books.zone(zone)}</p>
        </div>
        <figure>
          ${chart(request, picture)}
          <figcaption class="muted">${t.books.chart}</figcaption>
        </figure>
      </div>
      <div class="actions">
        ${linkButton(`/console/admin/rails/${connection}/statements`, 'upload', t.books.importStatement)}
        ${linkButton(`${BOOKS_PATH}/breaks?${new URLSearchParams({ connection, currency, day }).toString()}`, 'list', t.books.toBreaks)}
        ${linkButton(`/console${closePath({ connection, currency, day })}`, 'check', t.books.toClose)}
      </div>
    </section>
  `;
}

function dayStatus({ t }: MemberRequest, { status: state, close }: AccountDay): Html {
  return status(TONES[state], close ? t.books.signedBy(close.signed_by) : t.books.statuses[state]);
}

function figureTable(request: MemberRequest, picture: AccountDay): Html {
  const { t } = request;
  const { currency, figures, ledger, day } = picture;
  const sum = (amount: bigint | null): HtmlValue =>
    amount === null ? html`<span class="muted">${t.books.notKnown}</span>` : money(request, amount, currency);
  return html`
    ${dataTable(
      `${t.books.day} ${dayText(request, day)}`,
      [
        { label: t.books.side },
        { label: t.books.opening, right: true },
        { label: t.books.moneyIn, right: true },
        { label: t.books.moneyOut, right: true },
        { label: t.books.fees, right: true },
        { label: t.books.closing, right: true },
      ],
      [
        [
          t.books.ledger,
          sum(figures.openingOurs),
          sum(ledger.in),
          sum(ledger.out),
          sum(ledger.fees),
          sum(figures.closingOurs),
        ],
        [
          t.books.operator,
          sum(figures.openingTheirs),
          sum(figures.linesIn),
          sum(figures.linesOut),
          sum(figures.fees),
          sum(figures.closingTheirs),
        ],
      ],
    )}
    <p class="difference-line">
      <b>${t.books.differenceOfDay}</b>
      ${picture.difference === null ? t.books.notKnown : difference(request, picture.difference, currency)}
    </p>
  `;
}

function breakLine(request: MemberRequest, { breaks, otherBreaks, connection, currency, day }: AccountDay): Html {
  const { t } = request;
  const address = (more: Record<string, string>) =>
    `${BOOKS_PATH}/breaks?${new URLSearchParams({ connection, currency, ...more }).toString()}`;
  return html`
    ${
      breaks.length === 0
        ? html`<p>${t.books.noBreaksOfDay}</p>`
        : html`
          <ul class="break-kinds">
            ${breaks.map(
              (each) => html`
                <li>
                  <a href="${address({ day, kind: each.kind })}">${each.breaks} × ${t.books.kinds[each.kind]}</a>${' '}
                  <span class="muted">${t.books.oldest(ageText(request, each.oldest))}</span>
                </li>
              `,
            )}
          </ul>
        `
    }
    ${otherBreaks > 0 && html`<p><a href="${address({})}">${t.books.otherBreaks(otherBreaks)}</a></p>`}
  `;
}

function chart(request: MemberRequest, { differences, day, currency }: AccountDay): Html {
  const { t } = request;
  const sign = (amount: bigint) => (amount > 0n ? '+' : amount < 0n ? '−' : '');
  return differenceChart(
    differences.map((each) => ({
      title: t.books.chartDay(
        dayText(request, each.day),
        sign(each.difference) + money(request, each.difference < 0n ? -each.difference : each.difference, currency),
      ),
      difference: each.difference,
      isShown: each.day === day,
    })),
    t.books.chart,
  );
}
