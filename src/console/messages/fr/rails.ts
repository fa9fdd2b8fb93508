// French: labels and hints of the settings of rails, by their English text.

import type { ConsoleMessages } from '../en.ts';

export const rails: Pick<ConsoleMessages, 'railLabels' | 'railHints'> = {
  railLabels: {
    'API password (cameroon)': 'Mot de passe de l’API (cameroon)',
    'API token': 'Jeton de l’API',
    'API user (cameroon)': 'Utilisateur de l’API (cameroon)',
    'Addresses of Safaricom': 'Adresses de Safaricom',
    'Bank of Kenyan payouts': 'Banque des virements au Kenya',
    'Bank of Nigerian payouts': 'Banque des virements au Nigeria',
    'Callback private key': 'Clé privée des callbacks',
    'Callback secret (sonatel)': 'Secret des callbacks (sonatel)',
    'Callbacks are signed': 'Les callbacks sont signés',
    'Certificate of Safaricom': 'Certificat de Safaricom',
    'Channel number (cameroon, sonatel payouts)': 'Numéro du canal (cameroon, virements sonatel)',
    'Client ID': 'Identifiant client',
    'Client secret': 'Secret client',
    'Collections: API key': 'Encaissements : clé API',
    'Collections: API user': 'Encaissements : utilisateur de l’API',
    'Collections: subscription key': 'Encaissements : clé d’abonnement',
    'Consumer key': 'Consumer key (clé de l’application)',
    'Consumer secret': 'Consumer secret (secret de l’application)',
    Country: 'Pays',
    'Country in the address (web_payment)': 'Pays dans l’adresse (web_payment)',
    'Disbursement PIN': 'Code PIN des virements',
    'Disbursements: API key': 'Virements : clé API',
    'Disbursements: API user': 'Virements : utilisateur de l’API',
    'Disbursements: subscription key': 'Virements : clé d’abonnement',
    'Domain of payer e-mails': 'Domaine des e-mails des payeurs',
    'Form of Kenyan numbers': 'Forme des numéros kényans',
    'Form of our EC signatures': 'Forme de nos signatures EC',
    'How payers pay (sonatel)': 'Comment les payeurs paient (sonatel)',
    'Id of our key': 'Identifiant de notre clé',
    'Initiator name': 'Nom de l’initiateur',
    'Initiator password': 'Mot de passe de l’initiateur',
    Interface: 'Interface',
    'Kind of payouts': 'Type de virements',
    'Merchant code (sonatel)': 'Code marchand (sonatel)',
    'Merchant key (web_payment)': 'Clé marchand (web_payment)',
    'Message signing': 'Signature des messages',
    'Minutes to pay by transfer': 'Minutes pour payer par virement',
    'Name of the till or pay bill': 'Nom de la caisse (Till ou Pay Bill)',
    'Number for the Pull Transactions API': 'Numéro pour l’API Pull Transactions',
    'Our private key': 'Notre clé privée',
    'PIN of the channel number': 'Code PIN du numéro du canal',
    'Padding of the PIN': 'Remplissage du code PIN',
    Passkey: 'Passkey (clé Lipa na M-PESA)',
    'Pay bill number': 'Numéro Pay Bill',
    'Payments that were not validated': 'Paiements non validés',
    'Prompts collect to': 'Les demandes encaissent sur',
    'Public key for the PIN': 'Clé publique pour le code PIN',
    Refunds: 'Remboursements',
    'Requests are signed': 'Les requêtes sont signées',
    'Secret key': 'Clé secrète',
    'Secret key before the last change': 'Clé secrète avant le dernier changement',
    'Short code for payouts': 'Short code des virements',
    'Short code for prompts': 'Short code des demandes de paiement',
    'Target environment': 'Environnement cible',
    'Till number': 'Numéro Till',
    'Units of XOF': 'Unités de XOF',
  },
  railHints: {
    '100 if Paystack shows a test charge of the amount 10000 as 100 francs, 1 if as 10 000. Without it: no XOF.':
      '100 si Paystack montre un débit d’essai du montant 10000 comme 100 francs, 1 si comme 10 000. Sans lui : pas de XOF.',
    'A UUID. You create it with the subscription key; in production, on the partner portal.':
      'Un UUID. Vous le créez avec la clé d’abonnement ; en production, sur le portail partenaire.',
    'After you rolled the key: the old one, so that webhooks on their way are still accepted. Remove it after a day.':
      'Après un changement de clé : l’ancienne, pour que les webhooks en chemin soient encore acceptés. Retirez-la après un jour.',
    'As M-PESA shows it to payers, so that they recognise it. Without it they see the name of the merchant.':
      'Comme M-PESA le montre aux payeurs, pour qu’ils le reconnaissent. Sans lui, ils voient le nom du marchand.',
    'Beside the consumer key.': 'À côté de la consumer key.',
    'Callbacks from other addresses are not believed. Empty: any address.':
      'Les callbacks d’autres adresses ne sont pas crus. Vide : toute adresse.',
    'Created for the API user, and shown once.': 'Créée pour l’utilisateur API, et montrée une seule fois.',
    'Dashboard, Settings, API keys and webhooks: sk_test_… for the sandbox, sk_live_… for production.':
      'Tableau de bord, Settings, API keys and webhooks : sk_test_… pour les tests, sk_live_… pour la production.',
    'Dashboard, System configuration, API tokens. The sandbox and production have different ones.':
      'Tableau de bord, System configuration, API tokens. L’environnement de test et la production ont des jetons différents.',
    'From Callback URL settings, if you switched on callback authentication. Without it, callbacks only make us ask.':
      'Sous Callback URL, si vous avez activé l’authentification des callbacks. Sans elle, un callback nous fait seulement demander.',
    'From Key Management of your application on the Airtel developer portal.':
      'Sous Key Management de votre application, sur le portail Airtel des développeurs.',
    'From the disbursement page of the portal. The PIN is sent encrypted with it.':
      'Sur la page des virements du portail. Le code PIN est envoyé chiffré avec elle.',
    'From your application on the developer portal. Cameroon calls it the consumer key.':
      'De votre application sur le portail des développeurs. Le Cameroun l’appelle consumer key.',
    'Given by Orange Cameroon with the API password.': 'Donné par Orange Cameroun avec le mot de passe de l’API.',
    'Given by Orange Cameroon with the API user.': 'Donné par Orange Cameroun avec l’utilisateur de l’API.',
    'How charges name a Kenyan phone: +254… (plus) or 254… (digits). Change it if Paystack refuses numbers.':
      'Comment les débits nomment un téléphone kényan : +254… (plus) ou 254… (digits). Changez si Paystack refuse des numéros.',
    'How long a payer may send money to the account or pay bill that was shown.':
      'Combien de temps un payeur peut envoyer l’argent au compte ou au Pay Bill montré.',
    'How your country wants the PIN encrypted. Ask Airtel if payouts answer "Incorrect Encrypted Pin".':
      'Comment votre pays veut le code PIN chiffré. Demandez à Airtel si les virements répondent « Incorrect Encrypted Pin ».',
    'In the e-mail that confirmed your merchant account.': 'Dans l’e-mail qui a confirmé votre compte marchand.',
    'Of the API user. It ends after 90 days; Safaricom takes # & % $ in it, and neither brackets nor @.':
      'De l’utilisateur API. Il expire après 90 jours ; Safaricom y accepte # & % $, mais ni parenthèses ni @.',
    'On developer.safaricom.co.ke under My apps, of an app that has the products you use.':
      'Sur developer.safaricom.co.ke, sous My apps, d’une application qui a les produits que vous utilisez.',
    'Paystack wants an e-mail for each payer; we make <number>@<domain>. Without it: payer.<your public host>.':
      'Paystack veut un e-mail pour chaque payeur ; nous faisons <number>@<domain>. Sans lui : payer.<votre hôte public>.',
    'ProductionCertificate.cer or SandboxCertificate.cer of the developer portal; the password is encrypted with it.':
      'ProductionCertificate.cer ou SandboxCertificate.cer du portail des développeurs ; il chiffre le mot de passe.',
    'Safaricom mails it when M-PESA Express goes live for the short code. Without it there are no prompts.':
      'Safaricom l’envoie par e-mail quand M-PESA Express est ouvert pour le short code. Sans elle, pas de demandes.',
    'Shown beside the client ID.': 'Montré à côté de l’identifiant client.',
    'Shown beside the client ID. Cameroon calls it the consumer secret.':
      'Montré à côté de l’identifiant client. Le Cameroun l’appelle consumer secret.',
    'Six digits, as on your QR code.': 'Six chiffres, comme sur votre code QR.',
    'The API user on the M-PESA organisation portal, with roles for B2C, status, balance and reversal.':
      'L’utilisateur API du portail d’organisation M-PESA, avec les rôles B2C, statut, solde et annulation.',
    'The B2C command that Safaricom enabled for the short code.':
      'La commande B2C que Safaricom a activée pour le short code.',
    'The B2C short code that payouts are paid from. Without it and the initiator there are no payouts.':
      'Le short code B2C d’où partent les virements. Sans lui et l’initiateur, pas de virements.',
    'The PIN of that number. Orange wants it with every payment.':
      'Le code PIN de ce numéro. Orange le veut avec chaque paiement.',
    'The Safaricom number that you nominated for it, as 254…. Without it payments whose message was lost are not looked up.':
      'Le numéro Safaricom désigné pour elle, en 254…. Sans lui, un paiement dont le message s’est perdu n’est pas recherché.',
    'The code (GET /bank) of the bank that Pesalink payouts go to. Without it there are none.':
      'Le code (GET /bank) de la banque des virements Pesalink. Sans lui, il n’y en a pas.',
    'The code (GET /bank) of the bank that payouts go to, such as a wallet whose accounts are phone numbers. Without it: none.':
      'Le code (GET /bank) de la banque des virements, comme un portefeuille dont les comptes sont des numéros. Sans lui : aucun.',
    'The country of your Airtel contract: UG, ZM or TZ. Each country is a connection of its own.':
      'Le pays de votre contrat Airtel : UG, ZM ou TZ. Chaque pays est une connexion à part.',
    'The country of your contract as MTN writes it. The sandbox of MTN takes only EUR.':
      'Le pays de votre contrat, comme MTN l’écrit. L’environnement de test de MTN ne prend que l’EUR.',
    'The four digits that pay out of your wallet. Leave it empty if you only collect.':
      'Les quatre chiffres qui paient depuis votre portefeuille. Laissez vide si vous encaissez seulement.',
    'The key id that the dashboard shows beside the public key that you uploaded.':
      'L’identifiant que le tableau de bord montre à côté de la clé publique que vous avez envoyée.',
    'The pay bill that payers pay to from their own menu. Without it this method is not served.':
      'Le Pay Bill que les payeurs paient depuis leur propre menu. Sans lui, ce mode n’est pas proposé.',
    'The pay bill that prompts collect for; for a till its store number (head office number).':
      'Le Pay Bill pour lequel les demandes encaissent ; pour un Till, son numéro de magasin (numéro du siège).',
    'The primary key of your Collections subscription, from your profile on the MoMo developer portal.':
      'La clé primaire de votre abonnement Collections, dans votre profil du portail MoMo des développeurs.',
    'The primary key of your Disbursements subscription, from your profile on the MoMo developer portal.':
      'La clé primaire de votre abonnement Disbursements, dans votre profil du portail MoMo des développeurs.',
    'The private key (EC P-256 or P-384, or RSA) of the public key that you uploaded.':
      'La clé privée (EC P-256 ou P-384, ou RSA) de la clé publique que vous avez envoyée.',
    'The secret of your callback registration. Without it, callbacks only make us ask.':
      'Le secret de votre enregistrement de callback. Sans lui, un callback nous fait seulement demander.',
    'The till (Buy Goods) that payers pay to, by prompt or from their own menu.':
      'Le Till (Buy Goods) que les payeurs paient, par demande ou depuis leur propre menu.',
    'What M-PESA does with a payment to the till or pay bill when this gateway does not answer in time.':
      'Ce que M-PESA fait d’un paiement au Till ou au Pay Bill quand cette passerelle ne répond pas à temps.',
    'Whether MTN has enabled the refund call for your contract. Without it, refunds can be sent as payouts.':
      'Si MTN a activé l’appel de remboursement pour votre contrat. Sinon, un remboursement peut partir comme virement.',
    'Whether the short code for prompts is a pay bill or the store of a till.':
      'Si le short code des demandes est un Pay Bill ou le magasin d’un Till.',
    'Yes if signed callbacks are switched on in the dashboard; a callback without signature is then refused.':
      'Oui si les callbacks signés sont activés dans le tableau de bord ; un callback sans signature est alors refusé.',
    'Yes if the dashboard accepts signed requests only.':
      'Oui si le tableau de bord n’accepte que des requêtes signées.',
    'Your M-PESA till at Paystack. Without it the method MPESA_TILL_KEN is not offered.':
      'Votre Till M-PESA chez Paystack. Sans lui, le mode MPESA_TILL_KEN n’est pas proposé.',
    'Your own Orange number that the money goes to or comes from: nine digits.':
      'Votre propre numéro Orange où l’argent arrive ou d’où il part : neuf chiffres.',
    'Zambia wants collections signed, Malawi disbursements. Choose what your application page says.':
      'La Zambie veut des encaissements signés, le Malawi des virements. Choisissez ce que dit la page de votre application.',
    'ci, cm or sl. The sandbox of Orange is always dev.':
      'ci, cm ou sl. L’environnement de test d’Orange est toujours dev.',
    'pawaPay takes DER; the standard says raw. Change it only if pawaPay tells you so.':
      'pawaPay prend DER ; la norme dit raw. Ne changez que si pawaPay vous le dit.',
    'qr: they scan a code or open the app. code: they dial #144#391*PIN# and type the code they get.':
      'qr : ils scannent un code ou ouvrent l’application. code : ils composent #144#391*PIN# et saisissent le code reçu.',
    "web_payment: the group's payment page. cameroon: prompts of Orange Cameroon. sonatel: Senegal.":
      'web_payment : la page de paiement du groupe. cameroon : les demandes d’Orange Cameroun. sonatel : Sénégal.',
  },
};
