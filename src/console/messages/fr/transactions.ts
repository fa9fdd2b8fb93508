// French: transactions.

import type { ConsoleMessages } from '../en.ts';

export const transactions: Pick<ConsoleMessages, 'transactions'> = {
  transactions: {
    none: 'Aucune transaction',
    noneText:
      'Elles apparaissent dès que votre application ou un payeur en commence une. Essayez un paiement depuis l’accueil.',
    noMatch: 'Aucune transaction ne correspond',
    noMatchText: 'Retirez un filtre ou cherchez plus loin dans le passé.',
    filter: 'Filtres',
    apply: 'Appliquer',
    clear: 'Effacer',
    type: 'Type',
    minAmount: 'Montant minimum',
    maxAmount: 'Montant maximum',
    text: 'Reçu, bénéficiaire, partie d’un numéro…',
    searchedBackTo: 'Recherche effectuée jusqu’au',
    searchFurther: 'chercher plus loin',
    export: 'Exporter en CSV',
    exporting: (rows) => `${rows} lignes pour l’instant…`,
    exported: (rows) => `${rows} lignes exportées.`,
  },
};
