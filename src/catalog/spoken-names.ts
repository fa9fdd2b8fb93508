// Names of methods and countries in the languages of our pages.

import { dateLocale } from '../platform/locales.ts';
import { memoize } from '../platform/memoize.ts';
import type { Language, Method } from './catalog.ts';

/** Methods that are called by words. Brands have one name everywhere, and English is the catalogue's own. */
const METHOD_NAMES: Readonly<Record<Language, Readonly<Record<string, string>>>> = {
  en: {},
  fr: {
    MPESA_TILL_KEN: 'M-PESA, numéro de caisse (till)',
    MPESA_PAYBILL_KEN: 'M-PESA, pay bill',
    PESALINK_KEN: 'Virement bancaire (Pesalink)',
    BANK_NGA: 'Virement bancaire',
  },
  pt: {
    MPESA_TILL_KEN: 'M-PESA, número da caixa (till)',
    MPESA_PAYBILL_KEN: 'M-PESA, pay bill',
    PESALINK_KEN: 'Transferência bancária (Pesalink)',
    BANK_NGA: 'Transferência bancária',
  },
  sw: {
    MPESA_TILL_KEN: 'M-PESA, namba ya till',
    MPESA_PAYBILL_KEN: 'M-PESA, pay bill',
    PESALINK_KEN: 'Uhamisho wa benki (Pesalink)',
    BANK_NGA: 'Uhamisho wa benki',
  },
};

export function spokenMethod(language: Language, { code, name }: Pick<Method, 'code' | 'name'>): string {
  return METHOD_NAMES[language][code] ?? name;
}

const countryNames = memoize((locale) => new Intl.DisplayNames(locale, { type: 'region' }));

/** The country of a two-letter code: "Côte d’Ivoire", "Kameruni". */
export function spokenCountry(language: Language, iso: string): string {
  return countryNames(dateLocale(language)).of(iso) ?? iso;
}
