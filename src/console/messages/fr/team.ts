// French: the team.

import type { ConsoleMessages } from '../en.ts';

export const team: Pick<ConsoleMessages, 'team'> = {
  team: {
    lead: 'Les membres de ce compte et leurs rôles.',
    role: 'Rôle',
    remove: 'Retirer de l’équipe',
    removeMeaning: (name) => `${name} perd aussitôt l’accès à ce compte. Vous pourrez l’inviter de nouveau.`,
    joined: 'Dans l’équipe depuis',
    on: 'Deux facteurs',
    off: 'Un seul facteur',
    resend: 'Renvoyer',
    invite: 'Inviter',
    invited: 'L’invitation est prête',
    invitedText: (email) => `Envoyez ce lien à ${email}. Il ne sert qu’une fois et n’est affiché qu’ici.`,
    open: 'Invitations en attente',
    until: 'Valable jusqu’au',
    withdraw: 'Retirer',
    lastOwner: 'Un compte a besoin d’au moins un propriétaire.',
    unproven: 'adresse non confirmée',
    mailedText: (email) => `Nous avons envoyé le lien à ${email}. Il fonctionne une seule fois.`,
    waiting: 'Rôles en attente',
    waitingText:
      'Tant que les virements exigent une seconde personne, un rôle qui peut les approuver s’applique dès qu’un ' +
      'autre propriétaire le confirme, ou après 24 heures. Les propriétaires et la personne concernée peuvent l’annuler.',
    permissions: {
      owner: 'accès complet, y compris à l’équipe',
      developer: 'intégrations, secrets, callbacks, débogueur de signature, liens de paiement',
      finance: 'virements, remboursements, vérifications, liens de paiement',
      viewer: 'lecture seule',
    },
  },
};
