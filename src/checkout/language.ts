// The payer's language, and how money and times are written in it. The language of the address comes first, then the
// one chosen earlier (a cookie), the browser's, and the country's.

import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Country, Language } from '../catalog/catalog.ts';
import { spokenCountry } from '../catalog/spoken-names.ts';
import { preferredLanguage } from '../platform/accept-language.ts';
import { dateLocale, numberLocale } from '../platform/locales.ts';
import { memoize } from '../platform/memoize.ts';
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

/** Countries keep one time each; the catalogue knows no others yet. The second is how people there call it. */
const TIME_ZONES: Readonly<Record<string, readonly [zone: string, name: string]>> = {
  KE: ['Africa/Nairobi', 'EAT'],
  BJ: ['Africa/Porto-Novo', 'WAT'],
  CI: ['Africa/Abidjan', 'GMT'],
  CM: ['Africa/Douala', 'WAT'],
  SN: ['Africa/Dakar', 'GMT'],
  TZ: ['Africa/Dar_es_Salaam', 'EAT'],
  UG: ['Africa/Kampala', 'EAT'],
  ZM: ['Africa/Lusaka', 'CAT'],
  SL: ['Africa/Freetown', 'GMT'],
  GH: ['Africa/Accra', 'GMT'],
  NG: ['Africa/Lagos', 'WAT'],
};

const CLOCK = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
const DAY = { day: 'numeric', month: 'long', year: 'numeric' } as const;

/** Written after the number in every language: nobody says XOF, and "F CFA 2 500" is nobody's way to write it. */
const CFA_FRANCS = ['XOF', 'XAF'];

/** The messages and formats for one payer. */
export type PayerLocale = {
  language: Language;
  t: CheckoutMessages;
  /** The language was asked for in the address: links to our own pages carry it on. */
  asked: boolean;
  money: (amount: bigint, currency: string) => string;
  /** A moment of today: "12:33 (EAT)". */
  time: (moment: Date) => string;
  /** Any moment: "15 November 2026, 12:33 (EAT)". */
  date: (moment: Date) => string;
  /** The name of a country. */
  country: (iso: string) => string;
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

const clockFormat = memoize((timeZone) => new Intl.DateTimeFormat('en-GB', { ...CLOCK, timeZone }));
/** By "fr Africa/Douala": locale and time zone. */
const dayFormat = memoize((key) => {
  const [locale, timeZone = ''] = key.split(' ');
  return new Intl.DateTimeFormat(locale, { ...DAY, timeZone });
});

export function createLocale(language: Language, country: Country | null, asked = false): PayerLocale {
  const [timeZone, zoneName] = (country && TIME_ZONES[country.iso]) ?? ['UTC', 'UTC'];
  const time = (moment: Date) => `${clockFormat(timeZone).format(moment)} (${zoneName})`;
  return {
    language,
    t: LANGUAGES[language].messages,
    asked,
    money: (amount, currency) =>
      formatMoney(amount, currency, CFA_FRANCS.includes(currency) ? 'fr' : numberLocale(language)),
    time,
    date: (moment) => `${dayFormat(`${dateLocale(language)} ${timeZone}`).format(moment)}, ${time(moment)}`,
    country: (iso) => spokenCountry(language, iso),
  };
}

function asLanguage(value: unknown): Language | null {
  return LANGUAGE_CODES.find((code) => code === value) ?? null;
}
