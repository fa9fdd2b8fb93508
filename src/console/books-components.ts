// What the pages of the books have in common: which account and day they are about, days, differences, and the way back.

import { type BooksAccount, listBooksAccounts } from '../books/day-picture.ts';
import { DAY_MS } from '../platform/clock.ts';
import { Problem } from '../platform/errors.ts';
import { type Html, type HtmlValue, html, styleFile } from '../platform/html.ts';
import { dateLocale } from '../platform/locales.ts';
import { isCalendarDay } from '../platform/time-zones.ts';
import { breadcrumbs } from '../ui/components.ts';
import { icon } from '../ui/icons.ts';
import { type ConsoleRequest, fieldOf, type MemberRequest, money, queryOf } from './console-request.ts';

export const BOOKS_STYLE = styleFile(new URL('./books.css', import.meta.url));
export const BOOKS_PATH = '/console/admin/books';

/** "14 Nov 2026". */
export function dayText({ language }: ConsoleRequest, day: string): string {
  const format = new Intl.DateTimeFormat(dateLocale(language), {
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    timeZone: 'UTC',
  });
  return format.format(new Date(`${day}T00:00:00Z`));
}

export function ageText({ ctx, t }: ConsoleRequest, since: Date): string {
  return t.books.age(Math.max(0, Math.floor((ctx.clock.millis() - since.getTime()) / DAY_MS)));
}

/** A difference with its sign. Zero is quiet. */
export function difference(request: ConsoleRequest, amount: bigint, currency: string): Html {
  if (amount === 0n) return html`<span class="muted">${money(request, 0n, currency)}</span>`;
  const sign = amount > 0n ? '+' : '−';
  return html`<span class="amount">${sign}${money(request, amount > 0n ? amount : -amount, currency)}</span>`;
}

export function booksBreadcrumbs(
  { t }: ConsoleRequest,
  here: HtmlValue,
  ...parents: readonly (readonly [text: string, href: string])[]
): Html {
  return breadcrumbs(t.transaction.breadcrumbs, [[t.menu.books, BOOKS_PATH], ...parents], here);
}

export function linkButton(href: string, iconName: string, label: string, options: { download?: true } = {}): Html {
  return html`
    <a class="button button-secondary" href="${href}"${options.download && html` download`}>${icon(iconName)}${label}</a>
  `;
}

export function helpLink({ t }: ConsoleRequest): Html {
  return html`<a href="/docs/daily-close">${t.books.help}</a>`;
}

export type BooksDay = BooksAccount & { day: string };

/** The account that the address or the form names. One that never moved money is not found. */
export async function requireAccount(request: MemberRequest): Promise<BooksAccount> {
  const given = (name: string) => fieldOf(request, name, 60) || queryOf(request, name, 60);
  const [connection, currency] = [given('connection'), given('currency')];
  const account = (await listBooksAccounts(request.ctx.db)).find(
    (each) => each.connection === connection && each.currency === currency,
  );
  if (!account) throw new Problem('not_found');
  return account;
}

export async function requireBooksDay(request: MemberRequest): Promise<BooksDay> {
  const day = fieldOf(request, 'day', 10) || queryOf(request, 'day', 10);
  if (!isCalendarDay(day)) throw new Problem('not_found');
  return { ...(await requireAccount(request)), day };
}

/** Below /console. */
export function closePath({ connection, currency, day }: BooksDay): string {
  return `/admin/books/close?${new URLSearchParams({ connection, currency, day }).toString()}`;
}
