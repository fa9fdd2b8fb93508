// The payer's language, and how money and times are written in it. The language of the address comes first, then the
// one chosen earlier (a cookie), the browser's, and the country's.

import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Country, Language } from '../catalog/catalog.ts';
import { formatAmount } from '../platform/money.ts';
import type { CheckoutMessages } from './messages.ts';
import { english } from './messages-en.ts';
import { french } from './messages-fr.ts';
import { portuguese } from './messages-pt.ts';
import { swahili } from './messages-sw.ts';

export const LANGUAGES: Readonly<Record<Language, { name: string; messages: CheckoutMessages }>> = {
  en: { name: 'English', messages: english },
  fr: { name: 'Français', messages: french },
  sw: { name: 'Kiswahili', messages: swahili },
  pt: { name: 'Português', messages: portuguese },
};

export const LANGUAGE_CODES: readonly Language[] = ['en', 'fr', 'sw', 'pt'];

const COOKIE_SECONDS = 365 * 24 * 3_600;
const MAX_HEADER_LENGTH = 500;

/** Countries keep one time each; the catalogue knows no others yet. */
const TIME_ZONES: Readonly<Record<string, string>> = {
  KE: 'Africa/Nairobi',
  BJ: 'Africa/Porto-Novo',
  CI: 'Africa/Abidjan',
  CM: 'Africa/Douala',
  SN: 'Africa/Dakar',
  TZ: 'Africa/Dar_es_Salaam',
  UG: 'Africa/Kampala',
  ZM: 'Africa/Lusaka',
  SL: 'Africa/Freetown',
  GH: 'Africa/Accra',
  NG: 'Africa/Lagos',
};

/** The messages and formats for one payer. */
export type PayerLocale = {
  language: Language;
  t: CheckoutMessages;
  /** The language was asked for in the address: links to our own pages carry it on. */
  asked: boolean;
  money: (amount: bigint, currency: string) => string;
  /** A moment of today: the time of day. */
  time: (moment: Date) => string;
  /** Any moment: date and time, with the zone. */
  date: (moment: Date) => string;
};

/** Chooses the language of a request. One that the address asks for is kept in a cookie. */
export function chooseLocale(
  request: FastifyRequest,
  reply: FastifyReply | null,
  country: Country | null,
): PayerLocale {
  const query = request.query as Record<string, unknown>;
  const asked = asLanguage(query.lang);
  if (asked && reply)
    void reply.header(
      'Set-Cookie',
      `lang=${asked}; Path=/; Max-Age=${COOKIE_SECONDS}; HttpOnly${request.protocol === 'https' ? '; Secure' : ''}; SameSite=Lax`,
    );
  const language =
    asked ??
    asLanguage(/(?:^|;\s*)lang=([a-z]{2})(?:;|$)/.exec(request.headers.cookie ?? '')?.[1]) ??
    preferredLanguage(request.headers['accept-language']) ??
    country?.languages[0] ??
    'en';
  return createLocale(language, country, asked !== null);
}

export function createLocale(language: Language, country: Country | null, asked = false): PayerLocale {
  // Portuguese is nobody's official language in the catalogue yet; Mozambique's way of writing stands for all.
  const tag = language === 'pt' ? 'pt-MZ' : country ? `${language}-${country.iso}` : language;
  const timeZone = (country && TIME_ZONES[country.iso]) ?? 'UTC';
  return {
    language,
    t: LANGUAGES[language].messages,
    asked,
    money: (amount, currency) => formatMoney(amount, currency, tag),
    time: (moment) => new Intl.DateTimeFormat(tag, { timeStyle: 'short', timeZone }).format(moment),
    date: (moment) =>
      new Intl.DateTimeFormat(tag, {
        day: 'numeric',
        month: 'long',
        year: 'numeric',
        hour: '2-digit',
        minute: '2-digit',
        timeZone,
        timeZoneName: 'short',
      }).format(moment),
  };
}

/** Money as the country writes it. Whole amounts go without decimals: they are easier to compare with the phone. */
export function formatMoney(amount: bigint, currency: string, locale: string): string {
  const digits = amount % 100n === 0n ? 0 : 2;
  const format = new Intl.NumberFormat(locale, {
    style: 'currency',
    currency,
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
  // Given as text the amount stays exact; a number would be a double.
  return format.format(formatAmount(amount) as Intl.StringNumericLiteral);
}

function asLanguage(value: unknown): Language | null {
  return LANGUAGE_CODES.find((code) => code === value) ?? null;
}

/** The best of our languages in an Accept-Language header. */
export function preferredLanguage(header: string | undefined): Language | null {
  const wishes = (header ?? '')
    .slice(0, MAX_HEADER_LENGTH)
    .split(',')
    .flatMap((part, index) => {
      const [tag = '', ...options] = part.trim().toLowerCase().split(';');
      const language = asLanguage(tag.split('-')[0]);
      const quality = Number(/^\s*q=([\d.]+)/.exec(options[0] ?? '')?.[1] ?? 1);
      return language && quality > 0 ? [{ language, quality, index }] : [];
    })
    .sort((left, right) => right.quality - left.quality || left.index - right.index);
  return wishes[0]?.language ?? null;
}
