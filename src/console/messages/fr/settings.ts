// French: the settings of an account.

import type { ConsoleMessages } from '../en.ts';

export const settings: Pick<ConsoleMessages, 'accountSettings'> = {
  accountSettings: {
    lead: 'Pour toutes les personnes de ce compte.',
    business: 'Entreprise',
    name: 'Nom de l’entreprise',
    nameHint: 'Votre équipe le voit. Les payeurs voient le nom du lien de paiement.',
    timeZone: 'Fuseau horaire',
    timeZoneHint: 'Vos journées y commencent à minuit. Après un changement, les jours passés sont recalculés.',
    timeZoneInvalid: 'Choisissez un fuseau horaire de la liste.',
    ownerOnly: 'Seul un propriétaire peut le modifier.',
    language: 'Langue',
    languageText: 'Pour vous, dans ce navigateur.',
    receiptTexts: {
      title: 'Reçus par SMS',
      text: 'Après un paiement, le payeur reçoit un SMS avec le montant, votre nom et l’adresse du reçu.',
      label: 'Envoyer un reçu par SMS',
      on: 'Activé',
      off: 'Désactivé',
      reachesAll: 'Il atteint les payeurs de tous vos moyens de paiement mobile.',
      reaches: (methods) => `Il atteint les payeurs de : ${methods}. Les autres opérateurs ne peuvent pas l’envoyer.`,
      reachesNone: 'Aucun de vos opérateurs ne peut encore envoyer de SMS. MTN MoMo le peut.',
    },
  },
};
