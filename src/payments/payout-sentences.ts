// Why a payout that a person typed cannot be made, in the languages of our pages. Amounts have their own sentences.

import type { AmountLanguage } from '../platform/amount-sentences.ts';
import { withFrenchSpaces } from '../platform/french-spaces.ts';

type PayoutSentences = {
  noMethod(currency: string): string;
  notMobile(currency: string): string;
  noMobile: string;
  chooseMethod(codes: string): string;
  cannotPayOut(method: string): string;
  wholeOnly(method: string, currency: string): string;
  tooLong(most: number): string;
  moreCells: string;
};

export const PAYOUT_SENTENCES: Readonly<Record<AmountLanguage, PayoutSentences>> = {
  en: {
    noMethod: (currency) => `No method pays out in "${currency}".`,
    notMobile: (currency) => `This is not a mobile number of a country that uses ${currency}.`,
    noMobile: 'This is not a mobile number of a country that can be paid.',
    chooseMethod: (codes) => `Name the method; one of ${codes}.`,
    cannotPayOut: (method) => `This gateway cannot pay out by ${method} yet.`,
    wholeOnly: (method, currency) => `${method} takes whole amounts of ${currency}, without decimals.`,
    tooLong: (most) => `At most ${most} characters.`,
    moreCells:
      'This row has more cells than the first row has columns. Put an amount or a text with a comma in quotes.',
  },
  fr: withFrenchSpaces({
    noMethod: (currency) => `Aucun moyen de paiement ne permet d’envoyer des « ${currency} ».`,
    notMobile: (currency) => `Ce n’est pas un numéro de mobile d’un pays qui utilise le ${currency}.`,
    noMobile: 'Ce n’est pas un numéro de mobile d’un pays où l’on peut envoyer de l’argent.',
    chooseMethod: (codes) => `Choisissez le moyen de paiement : ${codes}.`,
    cannotPayOut: (method) => `Cette passerelle ne peut pas encore envoyer d’argent par ${method}.`,
    wholeOnly: (method, currency) => `${method} n’accepte que des montants entiers en ${currency}, sans décimales.`,
    tooLong: (most) => `${most} caractères au plus.`,
    moreCells:
      'Cette ligne a plus de cellules que la première n’a de colonnes. Mettez entre guillemets un montant ou un texte avec une virgule.',
  }),
  pt: {
    noMethod: (currency) => `Nenhum meio de pagamento envia "${currency}".`,
    notMobile: (currency) => `Este não é um número de telemóvel de um país que usa ${currency}.`,
    noMobile: 'Este não é um número de telemóvel de um país para onde se pode enviar dinheiro.',
    chooseMethod: (codes) => `Escolha o meio de pagamento: ${codes}.`,
    cannotPayOut: (method) => `Ainda não é possível enviar dinheiro por ${method}.`,
    wholeOnly: (method, currency) => `${method} só aceita montantes inteiros em ${currency}, sem casas decimais.`,
    tooLong: (most) => `No máximo ${most} caracteres.`,
    moreCells:
      'Esta linha tem mais células do que a primeira tem colunas. Ponha entre aspas um montante ou um texto com vírgula.',
  },
  sw: {
    noMethod: (currency) => `Hakuna njia ya malipo inayotuma "${currency}".`,
    notMobile: (currency) => `Hii si namba ya simu ya nchi inayotumia ${currency}.`,
    noMobile: 'Hii si namba ya simu ya nchi inayoweza kutumiwa pesa.',
    chooseMethod: (codes) => `Chagua njia ya malipo: ${codes}.`,
    cannotPayOut: (method) => `Mfumo huu bado hauwezi kutuma pesa kwa ${method}.`,
    wholeOnly: (method, currency) => `${method} inapokea kiasi kizima tu cha ${currency}, bila senti.`,
    tooLong: (most) => `Herufi zisizidi ${most}.`,
    moreCells:
      'Mstari huu una seli nyingi kuliko safu za mstari wa kwanza. Weka kiasi au maandishi yenye koma kwenye nukuu.',
  },
};
