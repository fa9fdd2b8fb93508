// The payer's language, and how money and times are written in it. The language of the address comes first, then the
// one chosen earlier (a cookie), the browser's, and the country's.

import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Country, Language } from '../catalog/catalog.ts';
import { preferredLanguage } from '../platform/accept-language.ts';
import { formatMoney } from '../platform/money.ts';
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

const COOKIE = 'lang';
const COOKIE_SECONDS = 365 * 24 * 3_600;

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
    void reply.setCookie(COOKIE, asked, {
      path: '/',
      maxAge: COOKIE_SECONDS,
      httpOnly: true,
      secure: request.protocol === 'https',
      sameSite: 'lax',
    });
  // Not request.cookies: an error page may be sent before the hook that fills them has run.
  const cookies = request.server.parseCookie(request.headers.cookie ?? '');
  const language =
    asked ??
    asLanguage(cookies[COOKIE]) ??
    asLanguage(preferredLanguage(request.headers['accept-language'], LANGUAGE_CODES)) ??
    country?.languages[0] ??
    'en';
  return createLocale(language, country, asked !== null);
}

export function createLocale(language: Language, country: Country | null, asked = false): PayerLocale {
  // No country of the catalogue has Portuguese as its own language yet, so the format of Mozambique is used.
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

function asLanguage(value: unknown): Language | null {
  return LANGUAGE_CODES.find((code) => code === value) ?? null;
}
