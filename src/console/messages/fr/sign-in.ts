// French: sign-in, sign-up, invitations and proofs of identity.

import type { ConsoleMessages } from '../en.ts';

export const signIn: Pick<
  ConsoleMessages,
  'signIn' | 'code' | 'loginLink' | 'signUp' | 'invitation' | 'confirm' | 'proof'
> = {
  signIn: {
    title: 'Se connecter',
    button: 'Se connecter',
    incorrect: 'E-mail ou mot de passe incorrect.',
    noPassword: 'Pas encore de mot de passe ? Un administrateur de la passerelle peut créer un lien à usage unique :',
    expired: 'Cette connexion a expiré. Veuillez vous reconnecter.',
    tooMany:
      'Trop de mots de passe incorrects pour cette adresse ou depuis ce réseau. Patientez, ou utilisez un lien de ' +
      'connexion : il fonctionne toujours.',
    mailLink: 'M’envoyer un lien de connexion par e-mail',
  },
  code: {
    title: 'Authentification à deux facteurs',
    label: 'Code à six chiffres',
    hint: 'Affiché par votre application d’authentification. Chaque code ne sert qu’une fois.',
    incorrect: 'Ce code est incorrect ou a déjà servi. Attendez le code suivant.',
  },
  loginLink: {
    title: 'Se connecter avec ce lien',
    text: 'Ce lien ne sert qu’une fois. Vous vous connectez en tant que :',
    expiredTitle: 'Ce lien ne fonctionne plus',
    expired: 'Il a déjà servi ou date de plus de 30 minutes.',
    fromHost: 'Un administrateur de la passerelle peut créer un nouveau lien :',
  },
  signUp: {
    title: 'Créer un compte',
    lead: 'Un compte réunit votre argent, vos intégrations et votre équipe.',
    business: 'Nom de l’entreprise',
    button: 'Créer le compte',
    taken: 'Cette adresse e-mail est déjà utilisée.',
    expired: 'Ce lien a déjà servi, ou il a plus d’un jour. Veuillez vous inscrire à nouveau.',
  },
  invitation: {
    title: 'Vous êtes invité',
    text: (by, holder, role) => `${by} vous invite à rejoindre ${holder}. Votre rôle : ${role}.`,
    byHost: 'L’hébergeur de cette passerelle',
    accept: 'Accepter l’invitation',
    expired: 'Cette invitation a déjà servi, a été retirée ou a expiré.',
    adminText:
      'Vous êtes invité à administrer cette passerelle : tous les marchands, toutes les vérifications et le grand livre.',
    unproven: (email) =>
      `${email} a un compte dont personne n’a confirmé l’adresse, ce lien ne peut donc pas encore servir. ` +
      'Demandez un lien de connexion à l’hébergeur de la passerelle, connectez-vous, puis rouvrez cette invitation :',
    takesOver:
      'Il existe un compte avec votre adresse que personne n’a confirmé. Si vous continuez, son mot de passe, son ' +
      'second facteur et ses sessions prennent fin, et le compte est à vous. Il a accès à ces entreprises :',
    signInFirst: (email) => `${email} a déjà un compte. Connectez-vous pour accepter l’invitation.`,
  },
  confirm: {
    title: 'Confirmez votre identité',
    lead: 'Nécessaire pour les secrets et les virements. Ce ne sera plus demandé pendant dix minutes.',
    thenSent: 'Votre dernière action sera effectuée ensuite.',
    incorrect: 'Mot de passe incorrect.',
    factorFirst: 'Le mode réel exige l’authentification à deux facteurs. Activez-la pour continuer.',
    freshLink: 'Vous n’avez pas de mot de passe. Reconnectez-vous avec un nouveau lien à usage unique.',
  },
  proof: {
    lead: 'Pour activer l’authentification à deux facteurs, saisissez votre mot de passe, ou connectez-vous par un nouveau lien.',
    freshLink: 'Vous n’avez pas de mot de passe. Connectez-vous de nouveau avec un nouveau lien.',
  },
};
