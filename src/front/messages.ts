// The texts of the first page and of pages that do not exist. English defines the type.

import { preferredLanguage } from '../platform/accept-language.ts';
import { withFrenchSpaces } from '../platform/french-spaces.ts';

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
  sandboxLead: 'Vous êtes en mode test : les opérateurs sont simulés et aucun argent réel ne circule. Commencez ici.',
  liveLead: 'Les paiements sont traités ici. Connectez-vous pour les gérer, ou lisez comment relier votre système.',
  sandbox: 'Mode test',
  doorsLabel: 'Par où commencer',
  console: ['Console', 'Voir les paiements, faire des virements, créer des liens de paiement.'],
  pay: ['Payer le lien d’exemple', 'Ce que voit votre client : un panier à KES 2 500.'],
  phone: ['Téléphone de test', 'Approuver les paiements avec un code PIN, lire les SMS.'],
  docs: ['Documentation', 'Démarrage rapide, référence de l’API, guides (en anglais).'],
  receiver: ['Récepteur de callbacks', 'Ce que votre serveur recevrait, signature vérifiée.'],
  sample: ['Boutique d’exemple', 'Soixante jours de paiements, remboursements et virements à regarder.'],
  mails: ['Boîte e-mail', 'Tous les e-mails envoyés en mode test.'],
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

const PORTUGUESE: FrontMessages = {
  language: 'pt',
  lead: 'Mobile money e ligações de pagamento no seu próprio servidor. Sem custo por pagamento, e os dados ficam consigo.',
  sandboxTitle: 'Experimente um pagamento num minuto',
  sandboxLead: 'Este é um ambiente de teste: as operadoras são simuladas e não circula dinheiro real. Comece por aqui.',
  liveLead: 'Os pagamentos são processados aqui. Entre para os gerir, ou leia como ligar o seu sistema.',
  sandbox: 'Ambiente de teste',
  doorsLabel: 'Por onde começar',
  console: ['Consola', 'Ver pagamentos, fazer envios, criar ligações de pagamento.'],
  pay: ['Pagar a ligação de exemplo', 'O que o seu cliente vê: um cesto de KES 2 500.'],
  phone: ['Telemóvel de teste', 'Aprovar pagamentos com um PIN, ler os SMS.'],
  docs: ['Documentação', 'Guia rápido, referência da API, guias (em inglês).'],
  receiver: ['Recetor de callbacks', 'O que o seu servidor receberia, com a assinatura verificada.'],
  sample: ['Loja de exemplo', 'Sessenta dias de pagamentos, reembolsos e envios para ver.'],
  mails: ['Caixa de correio', 'Todos os e-mails que este ambiente de teste enviou.'],
  commandTitle: 'O seu primeiro pedido',
  commandText:
    'Execute isto na pasta do Simbi. O telemóvel de teste toca; quaisquer quatro algarismos aprovam o pagamento.',
  copy: 'Copiar',
  copied: 'Copiado',
  signIn: 'O terminal onde o Simbi foi iniciado mostra uma ligação de acesso. Para obter outra:',
  healthy: 'Tudo a funcionar',
  unhealthy: 'A base de dados não responde',
  version: 'Versão',
  components: 'Componentes',
  notFound: 'Página não encontrada',
  notFoundText: 'Não há nada neste endereço. Pode ter mudado, ou ter um erro de escrita.',
  wrongMethod: 'Este endereço só aceita pedidos de um programa.',
  serverError: 'Ocorreu um erro',
  serverErrorText: 'O erro é nosso. Tente de novo dentro de momentos.',
  request: 'Pedido',
  home: 'Voltar à primeira página',
};

const LANGUAGES: Readonly<Record<string, FrontMessages>> = {
  en: ENGLISH,
  fr: withFrenchSpaces(FRENCH),
  pt: PORTUGUESE,
};

export function frontMessages(acceptLanguage: string | undefined): FrontMessages {
  return LANGUAGES[preferredLanguage(acceptLanguage, Object.keys(LANGUAGES)) ?? 'en'] ?? ENGLISH;
}
