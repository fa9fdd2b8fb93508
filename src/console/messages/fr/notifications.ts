// French: notifications by mail.

import type { ConsoleMessages } from '../en.ts';
import { paragraphs } from '../paragraphs.ts';
import { plural } from './plural.ts';

const SUBJECTS: Record<string, string> = {
  daily_summary: 'Hier',
  payout_failed: 'Un virement a échoué',
  receiver_down: 'Les callbacks échouent',
  case_opened: 'Un paiement est à vérifier',
  low_float: 'Le solde est bientôt insuffisant',
  statement_ready: 'Un relevé est disponible',
};

const FACTS: Record<string, string> = {
  collected: 'Encaissé',
  given_back: 'Remboursé',
  paid_out: 'Envoyé',
  returned: 'Virements retournés',
};

export const notifications: Pick<ConsoleMessages, 'notifications'> = {
  notifications: {
    title: 'Notifications',
    lead: (email, holder) => `Ce que nous envoyons à ${email} à propos de ${holder}.`,
    noMail:
      'Cette passerelle n’a pas de serveur de messagerie : rien n’est envoyé. Un administrateur en indique un avec SMTP_URL.',
    kinds: {
      daily_summary: 'Un résumé de la veille, chaque matin',
      payout_failed: 'Les virements qui ont échoué',
      receiver_down: 'Les URL de callback sans réponse depuis 15 minutes',
      case_opened: 'Les paiements à vérifier',
      low_float: 'Un solde qui ne couvre pas une journée moyenne de virements',
      statement_ready: 'Le relevé de chaque mois, dès qu’il est prêt',
    },
    mail: ({ kind, holder, lines, url }) => ({
      subject: `${SUBJECTS[kind] ?? kind} : ${holder}`.slice(0, 150),
      text: paragraphs(lines.join('\n'), url, `Choisissez ce que vous recevez : ${url}/notifications`),
    }),
    payoutFailed: (amount, payee, ref) =>
      `Le virement de ${amount} à ${payee} a échoué. L’argent est de retour sur votre solde. ${ref}`,
    receiverDown: (origin, waiting) =>
      `${origin} ne répond pas. ${plural(waiting, 'callback sera renvoyé', 'callbacks seront renvoyés')}.`,
    caseOpened: (kind) => `Un paiement est à vérifier : ${kind}.`,
    lowFloat: (available, average) => `${available} disponibles. Les virements sont en moyenne de ${average} par jour.`,
    statementReady: (month, currency, closing) =>
      `Le relevé ${currency} de ${month} est disponible sous Soldes. Solde final : ${closing}.`,
    summary: ({ day, succeeded, failed, money }) =>
      [
        `${day} : ${plural(succeeded, 'paiement réussi', 'paiements réussis')}, ` +
          `${plural(failed, 'échoué ou expiré', 'échoués ou expirés')}.`,
        ...money,
      ].join('\n'),
    summaryMoney: (fact, amount, count) => `${FACTS[fact] ?? fact} : ${amount} (${count})`,
  },
};
