// French: float with operators.

import type { ConsoleMessages } from '../en.ts';
import { paragraphs } from '../paragraphs.ts';
import { plural } from './plural.ts';

export const float: Pick<ConsoleMessages, 'float'> = {
  float: {
    title: 'Float',
    source: 'Connu par',
    sources: { operator: 'l’opérateur', ledger: 'notre grand livre', unknown: 'inconnu' },
    low: 'Bas à partir de',
    lowHint: 'En dessous, les administrateurs reçoivent un e-mail. Vide : personne ne surveille ce float.',
    stop: 'Arrêt à',
    stopHint: 'Aucun virement ne fait descendre le float en dessous. Il attend.',
    account: 'Compte qui paie',
    accountHint: 'Tel que l’opérateur le nomme. Vide : le compte habituel.',
    shared: 'Les encaissements arrivent sur le même compte',
    lastsUntil: 'Suffit jusque vers',
    lastsLong: 'Suffit pour plus de deux semaines',
    waiting: 'Virements en attente',
    watch: 'Surveiller ce float',
    watchText:
      'Les virements que le float ne couvre pas attendent alors, le plus ancien d’abord, au lieu d’être refusés.',
    noCurrency: 'Choisissez une devise de cette connexion.',
    isLow: (connection, currency) => `Le float ${currency} de ${connection} est bas`,
    waits: (connection, payouts) =>
      `${plural(payouts, 'virement attend', 'virements attendent')} du float chez ${connection}`,
    payoutWaits: 'En attente de float depuis',
    payoutWaitsText:
      'Le compte chez l’opérateur ne contient pas assez pour le moment. Rien n’a été envoyé. Vous pouvez annuler ce virement.',
    mail: ({ connection, currency, level, end, waiting, url }) => ({
      subject: `Le float baisse : ${connection}, ${currency}`.slice(0, 150),
      text: paragraphs(
        `Le float ${currency} de ${connection} est de ${level}.`,
        ...(end === null ? [] : [`Au rythme des quatre dernières semaines, il suffit jusque vers ${end} UTC.`]),
        ...(waiting === 0 ? [] : [`${plural(waiting, 'virement l’attend', 'virements l’attendent')}.`]),
        `Rechargez le compte chez l’opérateur : ${url}`,
      ),
    }),
  },
};
