// French: the first sign-in, the first minute and the sample shop.

import type { ConsoleMessages } from '../en.ts';
import { plural } from './plural.ts';

type Start = Pick<
  ConsoleMessages,
  'welcome' | 'forgot' | 'signInAgain' | 'signInIntro' | 'sandboxSignIn' | 'docsLink' | 'sampleShop' | 'firstMinute'
>;

export const start: Start = {
  welcome: {
    title: 'Choisissez comment vous connecter la prochaine fois',
    lead: 'Votre lien à usage unique a servi. Choisissez un mot de passe ou ajoutez une clé d’accès maintenant.',
    password: 'Choisir un mot de passe',
    or: 'Ou ajouter une clé d’accès',
    skip: 'Plus tard',
    skipText: 'En mode test, vous pouvez le faire plus tard, dans votre profil.',
  },
  forgot: 'Mot de passe oublié ?',
  signInAgain: 'Se déconnecter et se reconnecter',
  signInIntro: 'Voir les paiements, faire des virements et créer des liens de paiement.',
  sandboxSignIn: 'Le terminal où la passerelle a démarré affiche un lien de connexion. Pour en obtenir un nouveau :',
  docsLink: 'Documentation',
  sampleShop: {
    title: 'Boutique d’exemple',
    lead: 'Une boutique à Nairobi : soixante jours de paiements, remboursements et virements, une vérification ouverte. Données de test.',
    open: 'Ouvrir la boutique d’exemple',
    making: 'Préparation de soixante jours de paiements…',
    makingText: 'Cela prend quelques secondes, une seule fois. La page se met à jour toute seule.',
    back: 'Pour revenir, changez de compte sous votre nom dans le menu.',
  },
  firstMinute: {
    title: 'Votre première minute',
    done: (count: number, of: number) => `${plural(count, 'étape', 'étapes')} sur ${of}`,
    payment: 'Créer un paiement de test',
    paymentText: 'Avec le formulaire de cette page. Il demande de l’argent à un téléphone de test.',
    phone: 'L’approuver sur le téléphone de test',
    phoneText: 'Tapez quatre chiffres au choix comme code PIN.',
    phoneButton: 'Ouvrir le téléphone',
    callback: 'Voir arriver le callback',
    callbackText: 'Votre serveur recevrait ce message. Le récepteur intégré le montre.',
    callbackButton: 'Ouvrir le récepteur',
    request: 'Envoyer votre propre requête',
    requestText: 'Avec votre clé d’API, depuis votre programme.',
    requestButton: 'Démarrage rapide',
    stepDone: 'Fait',
  },
};
