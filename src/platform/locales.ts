// How the languages of our pages write dates, numbers and money.

import type { AmountLanguage } from './amount-sentences.ts';

/** Day before month in English, as it is written in Africa. Plain `pt` would be Brazilian. */
const DATES: Readonly<Record<AmountLanguage, string>> = { en: 'en-GB', fr: 'fr', pt: 'pt-MZ', sw: 'sw' };

/** Swahili puts the currency first, as English does: one spelling on every page. */
const NUMBERS: Readonly<Record<AmountLanguage, string>> = { en: 'en', fr: 'fr', pt: 'pt-MZ', sw: 'en' };

export function dateLocale(language: AmountLanguage): string {
  return DATES[language];
}

export function numberLocale(language: AmountLanguage): string {
  return NUMBERS[language];
}
