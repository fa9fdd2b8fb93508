// The texts of "Find your payment", in the languages of the hosted pages.

import type { Language } from '../catalog/catalog.ts';
import { withFrenchSpaces } from '../platform/french-spaces.ts';

export type FindMessages = {
  /** From the pages of a payment that waits or has failed. */
  link: string;
  title: string;
  lead: string;
  sms: string;
  smsHint: string;
  number: string;
  numberHint: string;
  receipt: string;
  amount: string;
  day: string;
  dayHint: string;
  find: string;
  more: string;
  notEnough: string;
  limited: string;
  paidTitle: string;
  paid: (amount: string, business: string, time: string) => string;
  onItsWayTitle: string;
  onItsWay: (amount: string, business: string) => string;
  givenBackTitle: string;
  givenBack: (amount: string, business: string) => string;
  failedTitle: string;
  failed: (amount: string, business: string) => string;
  heldTitle: string;
  held: (amount: string, time: string) => string;
  openReceipt: string;
  unknownTitle: string;
  unknown: string;
  reportLead: string;
  report: string;
  reportedTitle: string;
  reported: string;
  again: string;
};

export const FIND_MESSAGES: Readonly<Record<Language, FindMessages>> = {
  en: {
    link: 'Paid, but nothing happened? Find your payment',
    title: 'Find your payment',
    lead: 'Paste the SMS that you received, and enter the number that you paid from.',
    sms: 'SMS from your operator',
    smsHint: 'The whole text, as it is.',
    number: 'Number that you paid from',
    numberHint: 'For example 0712 345 678 or +256 772 123 456',
    receipt: 'Receipt or transaction ID',
    amount: 'Exact amount',
    day: 'Day',
    dayHint: 'For example 14/11/2026',
    find: 'Find my payment',
    more: 'I do not have the SMS',
    notEnough: 'Enter your number, and the receipt from the SMS. Without a receipt: the exact amount and the day.',
    limited: 'Too many searches. Wait a few minutes and try again.',
    paidTitle: 'We found your payment',
    paid: (amount, business, time) => `${amount} reached ${business} on ${time}.`,
    onItsWayTitle: 'Your payment is on its way',
    onItsWay: (amount, business) =>
      `${amount} to ${business}: the operator has not confirmed it yet. Do not pay again.`,
    givenBackTitle: 'The money was returned',
    givenBack: (amount, business) => `${business} returned ${amount} to your number.`,
    failedTitle: 'This payment did not succeed',
    failed: (amount, business) =>
      `The operator told us that ${amount} to ${business} was not paid. If the money left your phone, report it here.`,
    heldTitle: 'Your money has arrived',
    held: (amount, time) =>
      `${amount} arrived on ${time}. We do not know yet what it was for. Report it, and a person looks at it.`,
    openReceipt: 'Open the receipt',
    unknownTitle: 'We cannot find it with these details',
    unknown:
      'Compare them with your SMS. A payment may take a few minutes to arrive. It may also have gone to another company.',
    reportLead: 'Are the details right? A person will look for it.',
    report: 'Report this payment',
    reportedTitle: 'Thank you, we look for it',
    reported: 'Keep this number and quote it when you ask.',
    again: 'Search again',
  },
  fr: withFrenchSpaces({
    link: 'Payé, mais rien ne s’est passé ? Retrouvez votre paiement',
    title: 'Retrouver votre paiement',
    lead: 'Collez le SMS que vous avez reçu et indiquez le numéro avec lequel vous avez payé.',
    sms: 'SMS de votre opérateur',
    smsHint: 'Le texte entier, tel quel.',
    number: 'Numéro avec lequel vous avez payé',
    numberHint: 'Par exemple 07 08 09 10 11 ou +221 77 123 45 67',
    receipt: 'Reçu ou ID de la transaction',
    amount: 'Montant exact',
    day: 'Jour',
    dayHint: 'Par exemple 14/11/2026',
    find: 'Retrouver mon paiement',
    more: 'Je n’ai pas le SMS',
    notEnough: 'Indiquez votre numéro et le reçu du SMS. Sans reçu : le montant exact et le jour.',
    limited: 'Trop de recherches. Attendez quelques minutes et réessayez.',
    paidTitle: 'Nous avons retrouvé votre paiement',
    paid: (amount, business, time) => `${amount} sont arrivés chez ${business} le ${time}.`,
    onItsWayTitle: 'Votre paiement est en cours',
    onItsWay: (amount, business) =>
      `${amount} pour ${business} : l’opérateur ne l’a pas encore confirmé. Ne payez pas une deuxième fois.`,
    givenBackTitle: 'L’argent a été rendu',
    givenBack: (amount, business) => `${amount} de ${business} ont été rendus à votre numéro.`,
    failedTitle: 'Ce paiement n’a pas abouti',
    failed: (amount, business) =>
      `L’opérateur nous a dit que ${amount} pour ${business} n’ont pas été payés. Si l’argent a quitté votre compte, signalez-le ici.`,
    heldTitle: 'Votre argent est arrivé',
    held: (amount, time) =>
      `${amount} sont arrivés le ${time}. Nous ne savons pas encore pour quoi. Signalez-le : une personne s’en occupe.`,
    openReceipt: 'Ouvrir le reçu',
    unknownTitle: 'Nous ne le trouvons pas avec ces informations',
    unknown:
      'Comparez-les avec votre SMS. Un paiement peut prendre quelques minutes. Il est peut-être aussi parti vers une autre entreprise.',
    reportLead: 'Les informations sont justes ? Une personne va le chercher.',
    report: 'Signaler ce paiement',
    reportedTitle: 'Merci, nous le cherchons',
    reported: 'Gardez ce numéro et donnez-le si vous posez une question.',
    again: 'Chercher à nouveau',
  }),
  pt: {
    link: 'Pagou, mas nada aconteceu? Encontre o seu pagamento',
    title: 'Encontrar o seu pagamento',
    lead: 'Cole o SMS que recebeu e escreva o número com que pagou.',
    sms: 'SMS da sua operadora',
    smsHint: 'O texto inteiro, tal como está.',
    number: 'Número com que pagou',
    numberHint: 'Por exemplo 84 123 4567 ou +256 772 123 456',
    receipt: 'Recibo ou ID da transação',
    amount: 'Montante exato',
    day: 'Dia',
    dayHint: 'Por exemplo 14/11/2026',
    find: 'Encontrar o meu pagamento',
    more: 'Não tenho o SMS',
    notEnough: 'Escreva o seu número e o recibo do SMS. Sem recibo: o montante exato e o dia.',
    limited: 'Demasiadas pesquisas. Espere alguns minutos e tente de novo.',
    paidTitle: 'Encontrámos o seu pagamento',
    paid: (amount, business, time) => `${amount} chegaram a ${business} em ${time}.`,
    onItsWayTitle: 'O seu pagamento está a caminho',
    onItsWay: (amount, business) => `${amount} para ${business}: a operadora ainda não confirmou. Não pague outra vez.`,
    givenBackTitle: 'O dinheiro foi devolvido',
    givenBack: (amount, business) => `${amount} de ${business} foram devolvidos ao seu número.`,
    failedTitle: 'Este pagamento não foi concluído',
    failed: (amount, business) =>
      `A operadora disse-nos que ${amount} para ${business} não foram pagos. Se o dinheiro saiu da sua conta, comunique aqui.`,
    heldTitle: 'O seu dinheiro chegou',
    held: (amount, time) =>
      `${amount} chegaram em ${time}. Ainda não sabemos para que eram. Comunique, e uma pessoa vai ver.`,
    openReceipt: 'Abrir o recibo',
    unknownTitle: 'Não o encontramos com estes dados',
    unknown:
      'Compare-os com o seu SMS. Um pagamento pode demorar alguns minutos. Também pode ter ido para outra empresa.',
    reportLead: 'Os dados estão certos? Uma pessoa vai procurá-lo.',
    report: 'Comunicar este pagamento',
    reportedTitle: 'Obrigado, vamos procurá-lo',
    reported: 'Guarde este número e indique-o quando perguntar.',
    again: 'Pesquisar de novo',
  },
  sw: {
    link: 'Umelipa lakini hakuna kilichotokea? Tafuta malipo yako',
    title: 'Tafuta malipo yako',
    lead: 'Bandika SMS uliyopokea, kisha andika namba uliyotumia kulipa.',
    sms: 'SMS kutoka kwa mtandao wako',
    smsHint: 'Ujumbe wote, kama ulivyo.',
    number: 'Namba uliyotumia kulipa',
    numberHint: 'Kwa mfano 0712 345 678 au +255 712 345 678',
    receipt: 'Risiti au namba ya muamala',
    amount: 'Kiasi kamili',
    day: 'Siku',
    dayHint: 'Kwa mfano 14/11/2026',
    find: 'Tafuta malipo yangu',
    more: 'Sina SMS',
    notEnough: 'Andika namba yako na risiti ya SMS. Bila risiti: kiasi kamili na siku.',
    limited: 'Umetafuta mara nyingi. Subiri dakika chache kisha ujaribu tena.',
    paidTitle: 'Tumepata malipo yako',
    paid: (amount, business, time) => `${amount} zimefika kwa ${business} tarehe ${time}.`,
    onItsWayTitle: 'Malipo yako yako njiani',
    onItsWay: (amount, business) => `${amount} kwa ${business}: mtandao bado haujathibitisha. Usilipe tena.`,
    givenBackTitle: 'Pesa zimerudishwa',
    givenBack: (amount, business) => `${amount} kutoka kwa ${business} zimerudishwa kwenye namba yako.`,
    failedTitle: 'Malipo haya hayakufanikiwa',
    failed: (amount, business) =>
      `Mtandao umetuambia kuwa ${amount} kwa ${business} hazikulipwa. Kama pesa zimetoka kwenye simu yako, ripoti hapa.`,
    heldTitle: 'Pesa zako zimefika',
    held: (amount, time) =>
      `${amount} zimefika tarehe ${time}. Bado hatujui zilikuwa za nini. Ripoti, na mtu ataziangalia.`,
    openReceipt: 'Fungua risiti',
    unknownTitle: 'Hatuyapati kwa maelezo haya',
    unknown:
      'Linganisha na SMS yako. Malipo yanaweza kuchukua dakika chache kufika. Huenda pia yamekwenda kwa kampuni nyingine.',
    reportLead: 'Maelezo ni sahihi? Mtu atayatafuta.',
    report: 'Ripoti malipo haya',
    reportedTitle: 'Asante, tunayatafuta',
    reported: 'Tunza namba hii na uitaje unapouliza.',
    again: 'Tafuta tena',
  },
};
