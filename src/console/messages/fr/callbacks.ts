// French: callbacks and the request log.

import type { ConsoleMessages } from '../en.ts';
import { plural } from './plural.ts';

export const callbacks: Pick<ConsoleMessages, 'callbacks' | 'requests'> = {
  callbacks: {
    lead: 'Les événements envoyés à votre serveur et ses réponses. Les envois échoués sont réessayés pendant 30 jours.',
    none: 'Aucun callback',
    noneText:
      'À la fin d’un paiement, un message signé est envoyé à votre URL de callback. Indiquez-la dans une intégration.',
    noneYet: 'Aucun callback.',
    deletedByAge: 'Les callbacks sont conservés 90 jours. Ceux de ce paiement ont été supprimés.',
    event: 'Événement',
    url: 'URL',
    attemptCount: 'Tentatives',
    attempts: (count) => plural(count, 'tentative', 'tentatives'),
    response: 'Réponse',
    body: 'Corps de la requête',
    feedOnly: 'sans URL ; dans le flux d’événements',
    next: 'Prochaine tentative',
    resend: 'Renvoyer',
    replay: 'Renvoyer les callbacks échoués',
    replayText: 'Chaque callback non livré depuis ce jour est renvoyé.',
    replaySince: 'Depuis le',
    replayDayMissing: 'Choisissez le premier jour.',
    resume: 'Reprendre les callbacks',
    endpoints: 'Adresses',
    newest: (count) => `Sur les ${count} derniers callbacks`,
    deliveredOf: (delivered, all) => `${delivered} sur ${all} livrés`,
    givenUpCount: (count) => `${count} abandonnés`,
    working: 'Fonctionne',
    failing: 'En échec',
    failingSince: 'En échec depuis',
    pausedSince: 'L’adresse a répondu 410 Gone. Les callbacks sont suspendus depuis',
    receiver: 'Récepteur de test',
    viewTransaction: 'Voir la transaction',
    states: {
      waiting: 'En attente',
      retrying: 'Nouvelle tentative',
      paused: 'Suspendu',
      delivered: 'Livré',
      given_up: 'Abandonné',
      feed_only: 'Flux d’événements seulement',
    },
  },
  requests: {
    unverified: 'Non vérifiées',
    unverifiedText:
      'Refusées avant la vérification de la signature : toute personne qui connaît le client_id a pu les envoyer. ' +
      'Quelques-unes sont conservées une semaine.',
    lead: 'Les requêtes d’API de vos intégrations ces 30 derniers jours. Le corps des requêtes n’est pas conservé.',
    off: 'Le journal des requêtes est désactivé (REQUEST_LOG=off).',
    none: 'Aucune requête',
    noneText: 'Les requêtes de vos intégrations apparaissent ici environ une seconde après la réponse.',
    request: 'Requête',
    result: 'Résultat',
    accepted: 'Acceptée',
    rejected: 'Refusée',
    serverError: 'Erreur du serveur',
    code: 'Code d’erreur',
    duration: 'Durée',
  },
};
