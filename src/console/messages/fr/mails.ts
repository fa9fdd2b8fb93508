// French: mails.

import type { ConsoleMessages } from '../en.ts';
import { paragraphs } from '../paragraphs.ts';

export const mails: Pick<ConsoleMessages, 'mails'> = {
  mails: {
    sentTitle: 'Consultez votre messagerie',
    caught: 'Les e-mails du mode test n’en sortent pas.',
    box: 'Ouvrir la boîte aux lettres',
    sent: (email) => `Si ${email} peut être utilisée, un e-mail vient d’y être envoyé. Son lien ne sert qu’une fois.`,
    invitation: ({ by, holder, role, url }) => ({
      subject: 'Vous êtes invité',
      text: paragraphs(
        `${by} vous invite à rejoindre « ${holder} ». Votre rôle : ${role}.`,
        url,
        'Le lien fonctionne une seule fois, pendant sept jours. Si vous ne l’attendiez pas, ignorez ce message.',
      ),
    }),
    signUp: (url) => ({
      subject: 'Confirmez votre adresse e-mail',
      text: paragraphs(
        'Quelqu’un veut créer un compte avec votre adresse e-mail. Confirmez-la et choisissez un mot de passe :',
        url,
        'Le lien fonctionne une seule fois, pendant un jour. Si ce n’était pas vous, ignorez ce message : aucun compte n’est créé.',
      ),
    }),
    signUpTaken: (url) => ({
      subject: 'Vous avez déjà un compte',
      text: paragraphs(
        'Quelqu’un a voulu créer un compte avec votre adresse e-mail. Vous en avez déjà un :',
        url,
        'Si ce n’était pas vous, ignorez ce message : rien n’a été modifié.',
      ),
    }),
    loginLink: (url) => ({
      subject: 'Votre lien de connexion',
      text: paragraphs(
        'Quelqu’un a demandé un lien pour se connecter à votre compte :',
        url,
        'Le lien fonctionne une seule fois, pendant 30 minutes. Si ce n’était pas vous, ignorez ce message.',
      ),
    }),
    roleWaits: ({ email, role, holder, url }) => ({
      subject: 'Un rôle attend une confirmation',
      text: paragraphs(
        `${email} doit recevoir chez « ${holder} » un rôle qui peut approuver des virements : ${role}.`,
        'Il s’applique dès qu’un second propriétaire le confirme, ou après 24 heures. D’ici là, chaque propriétaire peut l’annuler :',
        url,
      ),
    }),
    destinationWaits: ({ by, holder, currency, destination, url }) => ({
      subject: 'La destination des versements a changé',
      text: paragraphs(
        `${by} a changé la destination des versements en ${currency} de « ${holder} » : ${destination}.`,
        'Elle reçoit de l’argent dans 24 heures. Si vous ne vous y attendiez pas, rétablissez l’ancienne et vérifiez votre équipe :',
        url,
      ),
    }),
  },
};
