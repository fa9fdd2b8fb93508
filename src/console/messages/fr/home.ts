// French: the home page.

import type { ConsoleMessages } from '../en.ts';
import { plural } from './plural.ts';

export const home: Pick<ConsoleMessages, 'home'> = {
  home: {
    title: (holder) => `Bonjour, ${holder}`,
    notActive: 'Ce compte est suspendu ou fermé. Ses requêtes d’API sont refusées et aucun argent n’en sort.',
    today: 'Aujourd’hui (UTC)',
    noneToday: 'Aucun paiement aujourd’hui.',
    collected: (count) => `pour ${plural(count, 'paiement', 'paiements')}`,
    paidOut: (count) => plural(count, 'versement', 'versements'),
    givenBackCount: (count: number) => `rendu sur ${plural(count, 'paiement', 'paiements')}`,
    returnedCount: (count: number) => `${plural(count, 'versement retourné', 'versements retournés')}`,
    money: 'Argent par jour',
    moneyText:
      'L’argent compte le jour de sa comptabilisation (UTC). Ce qui est rendu plus tard ne change pas un jour passé.',
    collectedMoney: 'Encaissé',
    givenBack: 'Rendu',
    paidOutMoney: 'Versé',
    returned: 'Versements retournés',
    attention: 'À traiter',
    noAttention: 'Rien à traiter.',
    casesOpen: (count) => `${plural(count, 'dossier attend', 'dossiers attendent')} une décision`,
    callbacksFailing: (origin, waiting) => `Les notifications vers ${origin} échouent (${waiting} en attente)`,
    callbacksPaused: (count) =>
      `${plural(count, 'URL de notification a répondu', 'URL de notification ont répondu')} 410 Gone : envois suspendus`,
    approvals: (count) =>
      `${plural(count, 'versement ou liste attend', 'versements ou listes attendent')} une approbation`,
    refundApprovals: (count) => `${plural(count, 'remboursement', 'remboursements')} à approuver`,
    debt: (amount) => `Vous devez ${amount}. Les prochaines rentrées les paient`,
    firstIntegration: 'Créez votre première intégration pour utiliser l’API',
    lowFloat: (available, average) => `Solde bas : ${available} disponibles, ${average} versés par jour en moyenne`,
    testPayment: 'Essayer un paiement de test',
    testPaymentText:
      'Approuvez-le sur le téléphone de test. Les numéros finissant par 000 réussissent d’office, 001 échoue faute de fonds.',
    testPaymentNumber: 'Vide : un numéro d’exemple est utilisé.',
    testPaymentButton: 'Créer le paiement de test',
    volume: 'Encaissements par jour',
    rate: 'Taux de réussite',
    good: 'réussis',
    bad: 'échoués ou expirés',
    open: 'en cours',
    numbers: 'Données des graphiques',
    recent: 'Transactions récentes',
  },
};
