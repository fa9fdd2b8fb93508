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
  },
};
