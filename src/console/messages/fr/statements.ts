// French: statements of operators.

import type { ConsoleMessages } from '../en.ts';

export const statements: Pick<ConsoleMessages, 'statements'> = {
  statements: {
    title: 'Relevés',
    lead: 'Ce que l’opérateur dit de ce compte. Chaque ligne compte une fois, quel que soit le fichier.',
    file: 'Fichier de l’opérateur',
    fileHint: 'CSV, XLSX ou JSON, 200 Mo au plus. Vous pouvez déposer le fichier sur le champ.',
    format: 'Forme du fichier',
    found: 'trouvée d’après le fichier',
    mapping: 'Correspondance',
    noMapping: 'aucune',
    currency: 'Devise, si le fichier n’en nomme pas',
    zone: 'Fuseau horaire, si ce n’est pas celui de l’opérateur',
    account: 'Notre propre numéro, si le fichier ne montre pas quelle partie nous sommes',
    dateOrder: 'Dates comme 05/06/2026',
    orders: { any: 'selon le fichier', dmy: 'jour d’abord', mdy: 'mois d’abord' },
    more: 'Précisions sur le fichier',
    submit: 'Importer',
    none: 'Aucun relevé importé',
    noneText: 'Importez le fichier que donne le portail de l’opérateur.',
    noFile: 'Choisissez un fichier.',
    known: 'Ce fichier a déjà été importé. Rien n’a été ajouté.',
    name: 'Fichier',
    lines: 'Lignes',
    isNew: 'Nouvelles',
    isKnown: 'Connues',
    bad: 'Illisibles',
    status: 'État',
    imported: 'Importé',
    statuses: { reading: 'en lecture', read: 'lu', broken_off: 'interrompu', withdrawn: 'retiré' },
    brokenOff: 'La lecture s’est interrompue. Importez de nouveau le même fichier pour la terminer.',
    reload: 'Voir où elle en est',
    opening: 'Solde d’ouverture',
    closing: 'Solde de clôture',
    original: 'Télécharger l’original',
    sha: 'SHA-256',
    withdraw: 'Retirer ce relevé',
    withdrawText:
      'Pour un fichier d’une autre connexion, d’une autre devise ou d’un autre fuseau horaire. Ses lignes et les' +
      ' écarts à leur sujet disparaissent, comme s’il n’avait jamais été importé ; l’original et cette trace ' +
      'restent. Il peut être importé de nouveau.',
    withdrawReason: 'Pourquoi il est retiré',
    withdrawReasonMissing: 'Dites en quelques mots pourquoi le relevé est retiré.',
    cannotWithdraw: 'Ce relevé ne peut pas être retiré',
    obstacles: {
      signed_day: (day, currency) =>
        `Ses lignes comptent pour la journée du ${day}, qui est signée en ${currency}. Rouvrez-la d’abord.`,
      applied: (lines) =>
        `Lignes déjà appliquées : ${lines}. Elles ont réglé des paiements, sont allées en compte d’attente ou ont ` +
        'comptabilisé des frais. L’argent qui a bougé garde sa ligne.',
      proposed: (breaks) =>
        `Écarts de ses lignes qui attendent dans une proposition : ${breaks}. Approuvez-la ou rejetez-la d’abord.`,
      being_read: (name) =>
        `« ${name} » de la même connexion est en lecture. Attendez la fin ; si la lecture s’est interrompue, importez-le de nouveau.`,
    },
    withdrawn: 'Retiré',
    withdrawnLines: (lines) => `Lignes parties avec lui : ${lines}.`,
    noLinesWithdrawn: 'Le relevé a été retiré',
    problems: 'Lignes qui n’ont pas pu être lues',
    problemsText:
      'Elles restent dans l’original et n’arrêtent rien. Une version plus récente les lira peut-être : importez-le de nouveau.',
    line: 'Ligne',
    reason: 'Raison',
    raw: 'Texte',
    linesTitle: 'Lignes apportées par ce fichier',
    noLines: 'Toutes les lignes étaient connues',
    noLinesText: 'Un autre fichier les avait apportées.',
    kinds: { payment: 'paiement', fee: 'frais', reversal: 'annulation', settlement: 'règlement', other: 'autre' },
    kind: 'Genre',
    into: 'entrée',
    out: 'sortie',
    amount: 'Montant',
    fee: 'Frais',
    feeUnknown: 'non indiqués',
    receipt: 'Reçu',
    reference: 'Référence',
    number: 'Numéro',
    states: { succeeded: 'réussi', failed: 'échoué', pending: 'en attente' },
  },
};
