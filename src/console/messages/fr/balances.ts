// French: balances and debts.

import type { ConsoleMessages } from '../en.ts';
import { plural } from './plural.ts';

export const balances: Pick<ConsoleMessages, 'balances' | 'debts'> = {
  balances: {
    lead:
      'Un portefeuille par devise. L’argent réservé est destiné aux virements et remboursements en cours ; ' +
      'l’argent retenu est votre réserve et les litiges ouverts.',
    none: 'Aucun portefeuille',
    noneText: 'Un portefeuille est créé avec le premier paiement réussi dans sa devise.',
    wallet: 'portefeuille',
    available: 'Disponible',
    reserved: 'Réservé',
    held: 'Retenu',
    heldText: (amount: string, day: string) => `${amount} de votre réserve est libéré jour après jour jusqu’au ${day}.`,
    pending: 'En attente',
    payOut: 'Faire un virement',
    statement: 'Relevé',
    title: (currency) => `Relevé ${currency}`,
    onDay: 'Solde à la fin d’un jour (UTC)',
    change: 'Mouvement',
    balance: 'Solde',
    noEntries: 'Aucune écriture',
    notFound: 'Ce portefeuille n’existe pas dans ce compte.',
    statements: {
      title: 'Télécharger un relevé',
      text: (zone) =>
        `Solde initial, chaque écriture avec ses frais, totaux et solde final. Les jours sont ceux de ${zone}.`,
      period: 'Période',
      periods: {
        month: 'Ce mois',
        'last-month': 'Le mois dernier',
        year: 'Cette année',
        'last-year': 'L’année dernière',
      },
      custom: 'Autres dates',
      from: 'Premier jour',
      to: 'Dernier jour',
      format: 'Fichier',
      download: 'Télécharger',
      wrongDays: 'Choisissez un premier jour et un dernier jour qui ne le précède pas, à dix ans d’écart au plus.',
      tooLong: (format, most, lines) =>
        `Un fichier ${format} a au plus ${most} lignes, et cette période en a ${lines}. Choisissez moins de jours, ou le format CSV.`,
      monthly: 'Relevés mensuels',
      monthlyText:
        'Établis à la fin du mois et jamais modifiés. L’empreinte (SHA-256) montre qu’un fichier CSV est celui que nous avons établi.',
      month: 'Mois',
      lines: 'Lignes',
      net: 'Net',
      fingerprint: 'Empreinte',
    },
    topUp: 'Ajouter de l’argent de test',
    topUpInvalid: 'Choisissez une devise et saisissez un montant, par exemple 1000.',
  },
  debts: {
    owed: (amount) => `Vous devez ${amount}`,
    owes: (amount) => `Doit ${amount}`,
    text: 'De l’argent a été repris après avoir quitté votre portefeuille. La dette est payée par les prochaines rentrées.',
    since: 'Depuis',
    days: (count) => (count === 0 ? 'moins d’un jour' : plural(count, 'jour', 'jours')),
    cases: 'Voir le détail',
    adminLead:
      'Les marchands qui doivent de l’argent à la passerelle, la dette la plus ancienne d’abord. Les prochaines rentrées la paient.',
    none: 'Aucune dette',
    noneText: 'Une dette naît quand un opérateur reprend de l’argent qui a déjà quitté le portefeuille.',
    age: 'Âge',
    money: { amount: 'Dette', settled: 'Déjà payé', open: 'Encore dû' },
  },
};
