// Why an amount that a person typed was not read, in the languages of our pages. The examples are amounts that the reader
// takes.

import { withFrenchSpaces } from './french-spaces.ts';

export type AmountLanguage = 'en' | 'fr' | 'pt' | 'sw';

export const AMOUNT_LANGUAGES: readonly AmountLanguage[] = ['en', 'fr', 'pt', 'sw'];

type AmountSentences = {
  notAnAmount: string;
  /** `decimals`: the whole and the decimals of the second meaning; null where there is only the first. */
  ambiguous(typed: string, thousands: string, decimals: [whole: string, fraction: string] | null): string;
  otherCurrency(given: string, expected: string): string;
  notPositive: string;
  tooManyDecimals(most: number): string;
  tooLarge: string;
  largest(method: string, money: string): string;
  smallest(method: string, money: string): string;
};

export const AMOUNT_SENTENCES: Readonly<Record<AmountLanguage, AmountSentences>> = {
  en: {
    notAnAmount: 'Enter the amount in digits, for example 1500 or 1500.50.',
    ambiguous: (typed, thousands, decimals) =>
      decimals
        ? `“${typed}” can mean ${thousands} or ${decimals.join('.')}. Write ${thousands} or ${decimals.join('.')}.`
        : `“${typed}” can mean thousands or decimals. Write ${thousands} for the whole amount; use at most two decimals.`,
    otherCurrency: (given, expected) => `The amount is in ${given}, but the currency is ${expected}.`,
    notPositive: 'The amount must be more than zero.',
    tooManyDecimals: (most) =>
      most === 0 ? 'Whole amounts only, without cents.' : `At most ${most} decimals, for example 1500.50.`,
    tooLarge: 'This amount is too large.',
    largest: (method, money) => `The largest amount for ${method} is ${money}.`,
    smallest: (method, money) => `The smallest amount for ${method} is ${money}.`,
  },
  fr: withFrenchSpaces({
    notAnAmount: 'Saisissez le montant en chiffres, par exemple 1500 ou 1500,50.',
    ambiguous: (typed, thousands, decimals) =>
      decimals
        ? `« ${typed} » peut signifier ${thousands} ou ${decimals.join(',')}. Écrivez ${thousands} ou ${decimals.join(',')}.`
        : `« ${typed} » peut désigner des milliers ou des décimales. Écrivez ${thousands} ` +
          'pour le montant entier ; deux décimales au plus.',
    otherCurrency: (given, expected) => `Le montant est en ${given}, mais la devise est ${expected}.`,
    notPositive: 'Le montant doit être supérieur à zéro.',
    tooManyDecimals: (most) =>
      most === 0 ? 'Montants entiers seulement, sans centimes.' : `Au plus ${most} décimales, par exemple 1500,50.`,
    tooLarge: 'Ce montant est trop élevé.',
    largest: (method, money) => `Le montant maximal pour ${method} est de ${money}.`,
    smallest: (method, money) => `Le montant minimal pour ${method} est de ${money}.`,
  }),
  pt: {
    notAnAmount: 'Escreva o montante em algarismos, por exemplo 1500 ou 1500,50.',
    ambiguous: (typed, thousands, decimals) =>
      decimals
        ? `“${typed}” pode significar ${thousands} ou ${decimals.join(',')}. Escreva ${thousands} ou ${decimals.join(',')}.`
        : `“${typed}” pode ser milhares ou decimais. Escreva ${thousands} para o montante inteiro; no máximo duas casas decimais.`,
    otherCurrency: (given, expected) => `O montante está em ${given}, mas a moeda é ${expected}.`,
    notPositive: 'O montante deve ser superior a zero.',
    tooManyDecimals: (most) =>
      most === 0 ? 'Só montantes inteiros, sem cêntimos.' : `No máximo ${most} casas decimais, por exemplo 1500,50.`,
    tooLarge: 'Este montante é demasiado elevado.',
    largest: (method, money) => `O montante máximo para ${method} é ${money}.`,
    smallest: (method, money) => `O montante mínimo para ${method} é ${money}.`,
  },
  sw: {
    notAnAmount: 'Andika kiasi kwa tarakimu, kama 1500 au 1500.50.',
    ambiguous: (typed, thousands, decimals) =>
      decimals
        ? `“${typed}” inaweza kumaanisha ${thousands} au ${decimals.join('.')}. Andika ${thousands} au ${decimals.join('.')}.`
        : `“${typed}” inaweza kuwa maelfu au desimali. Andika ${thousands} kwa kiasi kizima; desimali zisizidi mbili.`,
    otherCurrency: (given, expected) => `Kiasi ni cha ${given}, lakini sarafu ni ${expected}.`,
    notPositive: 'Kiasi lazima kizidi sifuri.',
    tooManyDecimals: (most) =>
      most === 0 ? 'Kiasi kizima tu, bila senti.' : `Desimali zisizidi ${most}, kama 1500.50.`,
    tooLarge: 'Kiasi hiki ni kikubwa mno.',
    largest: (method, money) => `Kiasi cha juu zaidi kwa ${method} ni ${money}.`,
    smallest: (method, money) => `Kiasi cha chini zaidi kwa ${method} ni ${money}.`,
  },
};
