// The texts of the first page and of pages that do not exist. English defines the type.

import { preferredLanguage } from '../platform/accept-language.ts';

const ENGLISH = {
  language: 'en',
  lead: 'Mobile money and payment links on your own server. No fee per payment, and the data stays yours.',
  sandboxTitle: 'Try a payment in one minute',
  sandboxLead: 'This is a sandbox: the operators are simulated and no real money moves. Start with any of these.',
  liveLead: 'Payments are processed here. Sign in to manage them, or read how to connect your system.',
  sandbox: 'Sandbox',
  doorsLabel: 'Where to start',
  console: ['Console', 'See payments, send payouts, create payment links.'],
  pay: ['Pay the sample link', 'What your customer sees: a basket for KES 2 500.'],
  phone: ['Test phone', 'Approve payments with a PIN, read the SMS.'],
  docs: ['Documentation', 'Quickstart, API reference, guides.'],
  receiver: ['Callback receiver', 'What your server would receive, with its signature checked.'],
  sample: ['Sample shop', 'Sixty days of payments, refunds and payouts to look at.'],
  mails: ['Mail box', 'Every e-mail that this sandbox sent.'],
  commandTitle: 'Your first request',
  commandText: 'Run this in the folder of Simbi. The test phone rings; any four digits approve the payment.',
  copy: 'Copy',
  copied: 'Copied',
  signIn: 'The terminal where Simbi was started shows a sign-in link. For a new one:',
  healthy: 'All systems normal',
  unhealthy: 'The database does not answer',
  version: 'Version',
  components: 'Components',
  notFound: 'Page not found',
  notFoundText: 'There is nothing at this address. It may have moved, or the address has a typing mistake.',
  wrongMethod: 'This address only accepts requests of a program.',
  serverError: 'Something went wrong',
  serverErrorText: 'The error is ours. Please try again in a moment.',
  request: 'Request',
  home: 'Back to the first page',
} as const;

type Texts<T> = { readonly [K in keyof T]: T[K] extends string ? string : readonly [title: string, text: string] };
export type FrontMessages = Texts<typeof ENGLISH>;

const FRENCH: FrontMessages = {
  language: 'fr',
  lead: 'Mobile money et liens de paiement sur votre propre serveur. Aucuns frais par paiement, et les données restent chez vous.',
  sandboxTitle: 'Essayez un paiement en une minute',
  sandboxLead: 'Ceci est un bac à sable : les opérateurs sont simulés et aucun argent réel ne circule. Commencez ici.',
  liveLead: 'Les paiements sont traités ici. Connectez-vous pour les gérer, ou lisez comment relier votre système.',
  sandbox: 'Bac à sable',
  doorsLabel: 'Par où commencer',
  console: ['Console', 'Voir les paiements, envoyer des versements, créer des liens de paiement.'],
  pay: ['Payer le lien d’exemple', 'Ce que voit votre client : un panier à KES 2 500.'],
  phone: ['Téléphone de test', 'Approuver les paiements avec un code PIN, lire les SMS.'],
  docs: ['Documentation', 'Démarrage rapide, référence de l’API, guides (en anglais).'],
  receiver: ['Récepteur de callbacks', 'Ce que votre serveur recevrait, signature vérifiée.'],
  sample: ['Boutique d’exemple', 'Soixante jours de paiements, remboursements et versements à regarder.'],
  mails: ['Boîte aux lettres', 'Tous les e-mails envoyés par ce bac à sable.'],
  commandTitle: 'Votre première requête',
  commandText:
    'À exécuter dans le dossier de Simbi. Le téléphone de test sonne ; quatre chiffres au choix approuvent le paiement.',
  copy: 'Copier',
  copied: 'Copié',
  signIn: 'Le terminal où Simbi a démarré affiche un lien de connexion. Pour en obtenir un nouveau :',
  healthy: 'Tout fonctionne',
  unhealthy: 'La base de données ne répond pas',
  version: 'Version',
  components: 'Composants',
  notFound: 'Page introuvable',
  notFoundText: 'Il n’y a rien à cette adresse. Elle a peut-être changé, ou contient une faute de frappe.',
  wrongMethod: 'Cette adresse n’accepte que les requêtes d’un programme.',
  serverError: 'Une erreur est survenue',
  serverErrorText: 'L’erreur vient de nous. Réessayez dans un instant.',
  request: 'Requête',
  home: 'Retour à la première page',
};

const SWAHILI: FrontMessages = {
  language: 'sw',
  lead: 'Mobile money na viungo vya malipo kwenye seva yako mwenyewe. Hakuna ada kwa kila malipo, na data inabaki yako.',
  sandboxTitle: 'Jaribu malipo kwa dakika moja',
  sandboxLead: 'Hapa ni pa majaribio: mitandao ni ya kuigiza na hakuna pesa halisi. Anza na chochote kati ya hivi.',
  liveLead: 'Malipo yanashughulikiwa hapa. Ingia ili kuyasimamia, au soma jinsi ya kuunganisha mfumo wako.',
  sandbox: 'Majaribio',
  doorsLabel: 'Pa kuanzia',
  console: ['Console', 'Ona malipo, tuma pesa, unda viungo vya malipo.'],
  pay: ['Lipa kiungo cha mfano', 'Anachoona mteja wako: kikapu cha KES 2 500.'],
  phone: ['Simu ya majaribio', 'Idhinisha malipo kwa PIN, soma SMS.'],
  docs: ['Mwongozo', 'Kuanza haraka, API na maelekezo (kwa Kiingereza).'],
  receiver: ['Kipokezi cha callback', 'Ambacho seva yako ingepokea, saini ikiwa imekaguliwa.'],
  sample: ['Duka la mfano', 'Siku sitini za malipo, pesa zilizorudishwa na zilizotumwa.'],
  mails: ['Sanduku la barua pepe', 'Kila barua pepe iliyotumwa na mfumo huu wa majaribio.'],
  commandTitle: 'Ombi lako la kwanza',
  commandText: 'Endesha hii kwenye folda ya Simbi. Simu ya majaribio italia; tarakimu zozote nne zitaidhinisha malipo.',
  copy: 'Nakili',
  copied: 'Imenakiliwa',
  signIn: 'Terminal ambako Simbi ilianzishwa inaonyesha kiungo cha kuingia. Kupata kipya:',
  healthy: 'Kila kitu kinafanya kazi',
  unhealthy: 'Hifadhidata haijibu',
  version: 'Toleo',
  components: 'Vipengele',
  notFound: 'Ukurasa haukupatikana',
  notFoundText: 'Hakuna kitu kwenye anwani hii. Huenda imehamishwa, au imeandikwa vibaya.',
  wrongMethod: 'Anwani hii inapokea maombi ya programu tu.',
  serverError: 'Hitilafu imetokea',
  serverErrorText: 'Kosa ni letu. Tafadhali jaribu tena baada ya muda mfupi.',
  request: 'Ombi',
  home: 'Rudi kwenye ukurasa wa kwanza',
};

const MESSAGES: Readonly<Record<string, FrontMessages>> = { en: ENGLISH, fr: FRENCH, sw: SWAHILI };

export function frontMessages(acceptLanguage: string | undefined): FrontMessages {
  return MESSAGES[preferredLanguage(acceptLanguage, Object.keys(MESSAGES)) ?? 'en'] ?? ENGLISH;
}
