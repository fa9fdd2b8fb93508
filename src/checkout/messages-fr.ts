// The hosted pages in French.

import type { CheckoutMessages } from './messages.ts';

export const french: CheckoutMessages = {
  payTo: (business) => `Payer ${business}`,
  pay: (amount) => `Payer ${amount}`,
  amount: 'Montant',
  item: 'Pour',
  noFee: 'Pas de frais en plus pour vous.',
  optional: 'facultatif',
  continue: 'Continuer',
  errorTitle: 'Erreur',
  errorSummary: 'Merci de corriger :',
  returnTo: (business) => `Retour chez ${business}`,
  reference: 'Référence',
  language: 'Langue',
  poweredBy: (brand) => `Paiements par ${brand}`,
  nopin: 'Ne saisissez jamais votre code PIN sur cette page.',
  help: (business) => `Des questions ? Contactez ${business} en donnant cette référence.`,
  validUntil: (time) => `Valable jusqu’au ${time}`,

  whichCountry: 'Dans quel pays est votre compte mobile money ?',
  changeCountry: 'Changer de pays',
  how: 'Comment voulez-vous payer ?',
  hintPrompt: 'Vous confirmez avec votre code PIN sur le téléphone.',
  hintShortcode: 'Vous recevez un SMS avec un code à composer.',
  hintOtp: 'Vous recevez un code par SMS.',
  hintInstructions: 'Vous envoyez l’argent vous-même.',
  phone: 'Numéro mobile money',
  phoneHint: (example) => `Par exemple ${example}`,
  amountHint: (least, most) => `De ${least} à ${most}`,
  yourDetails: 'Vos coordonnées',
  firstName: 'Prénom',
  lastName: 'Nom',
  email: 'E-mail',
  methodDown: 'Indisponible pour le moment.',
  methodLeast: (amount) => `À partir de ${amount}.`,
  methodMost: (amount) => `Jusqu’à ${amount}.`,
  methodWhole: 'Montants entiers seulement.',
  noMethod:
    'Aucun de ces moyens ne peut prendre ce paiement maintenant. Réessayez plus tard ou prévenez le commerçant.',

  phoneMissing: 'Saisissez votre numéro mobile money.',
  phoneWrong: (country, example) => `Ce n’est pas un numéro mobile : ${country}. Écrivez-le comme ${example}.`,
  methodMissing: 'Choisissez comment vous voulez payer.',
  amountMissing: 'Saisissez le montant.',
  amountWrong: 'Écrivez le montant en chiffres, par exemple 1500.',
  amountDecimals: 'Montants entiers seulement, sans centimes.',
  emailWrong: 'Cette adresse e-mail n’est pas complète.',
  numberTired: (time) =>
    `Ce numéro a déjà été sollicité plusieurs fois. Pour protéger son propriétaire, nous ne redemandons qu’après ${time}.`,
  tooMany: 'Trop d’essais d’ici. Attendez une minute puis réessayez.',
  formOld: 'Cette page est restée ouverte longtemps. Vérifiez tout puis payez de nouveau.',
  operatorDown: (operator) =>
    `${operator} ne répond pas pour le moment. Rien n’a été prélevé. Choisissez un autre moyen ou réessayez dans quelques minutes.`,

  confirmTitle: 'Est-ce correct ?',
  confirmNumber: (number) => `Vouliez-vous dire le numéro ${number} ?`,
  confirmOperator: (number, likely, chosen) =>
    `${number} ressemble à un numéro ${likely}, et vous avez choisi ${chosen}. Si vous avez gardé votre numéro en changeant d’opérateur, continuez.`,
  confirmPredicted: (number, operator) => `${number} ressemble à un numéro ${operator}.`,
  confirmLine: (amount, business) => `Vous payez ${amount} à ${business}.`,
  payWith: 'Payer avec',
  change: 'Modifier',

  look: 'Regardez votre téléphone',
  lookAt: (number) => `Regardez votre téléphone ${number}`,
  promptSteps: (operator, business, amount) => [
    `Un message de ${operator} apparaît sur votre téléphone.`,
    `Vérifiez qu’il indique ${amount} pour ${business}.`,
    'Saisissez votre code PIN sur le téléphone.',
  ],
  shortcodeTitle: 'Composez le code du SMS',
  shortcodeSteps: (operator, code, amount) => [
    `${operator} vous envoie un SMS avec le code ${code}.`,
    `Composez ${code} sur votre téléphone. Vérifiez qu’il indique ${amount}.`,
    'Saisissez votre code PIN sur le téléphone.',
  ],
  check: 'J’ai confirmé, vérifier',
  noMessage: 'Je ne vois aucun message',
  noMessageDial: (code, choices) =>
    choices
      ? `Composez ${code} et choisissez ${choices}, puis saisissez votre code PIN.`
      : `Composez ${code} sur votre téléphone, puis saisissez votre code PIN.`,
  noMessageWait: (time) =>
    `Le téléphone est-il allumé, avec du réseau ? La demande se termine d’elle-même à ${time} ; ensuite vous pourrez réessayer ou utiliser un autre numéro.`,
  checking: 'Cette page se met à jour toute seule.',
  notYet: 'Pas encore confirmé.',
  autoOn: 'Vérifier automatiquement toutes les 10 secondes',
  autoOff: 'Arrêter la vérification automatique',
  workingTitle: 'Un instant',
  workingText: (operator) => `${operator} traite votre paiement.`,
  otpTitle: 'Saisissez le code du SMS',
  otpText: (number) => `Nous avons envoyé un code à six chiffres au ${number}.`,
  otpCode: 'Code',
  otpHint: 'Six chiffres. Ce n’est pas votre code PIN.',
  otpWrong: (left) =>
    left === 1 ? 'Ce code est faux. Il vous reste un essai.' : `Ce code est faux. Il vous reste ${left} essais.`,
  otpResend: 'Renvoyer le code',
  otpResent: 'Nous avons envoyé un nouveau code. Utilisez le dernier.',
  otpWait: (seconds) => `Un code est en route. Vous pourrez en demander un autre dans ${seconds} secondes.`,

  payYourself: 'Envoyez l’argent maintenant',
  payYourselfBy: (time) => `Payez avant ${time}.`,
  till: 'Numéro de caisse (till)',
  paybill: 'Numéro du commerce',
  bankAccount: 'Numéro de compte',
  bank: 'Banque',
  accountName: 'Nom',
  accountReference: 'Référence',
  exactly:
    'Envoyez exactement ce montant avec exactement cette référence, sinon nous ne retrouverons pas votre paiement.',
  tillSteps: [
    'Ouvrez M-PESA et choisissez Lipa na M-PESA, Buy Goods.',
    'Saisissez le numéro de caisse, le montant et la référence.',
    'Saisissez votre code PIN sur le téléphone.',
  ],
  paybillSteps: [
    'Ouvrez M-PESA et choisissez Lipa na M-PESA, Pay Bill.',
    'Saisissez le numéro du commerce ; la référence est le numéro de compte.',
    'Saisissez le montant et votre code PIN sur le téléphone.',
  ],
  bankSteps: [
    'Ouvrez l’application de votre banque.',
    'Envoyez le montant sur ce compte.',
    'Écrivez la référence comme motif du virement.',
  ],
  paidCheck: 'J’ai payé, vérifier',

  unsureTitle: 'Résultat pas encore connu',
  unsureText:
    'Ne payez pas une deuxième fois. L’opérateur ne nous a pas encore dit si l’argent est parti. Nous continuons à demander, et cette page affichera la réponse.',
  paidTitle: 'Paiement reçu',
  paidText: (amount, business) => `Vous avez payé ${amount} à ${business}.`,
  receipt: 'Reçu',
  goingBack: (business) => `Vous retournez chez ${business} dans un instant.`,
  stay: 'Rester ici',
  reversedTitle: 'Paiement rendu',
  reversedText: (amount) => `Le paiement de ${amount} a été rendu sur votre compte.`,
  failedTitle: 'Le paiement n’a pas abouti',
  expiredTitle: 'Le délai est passé',
  nothingTaken: 'Rien n’a été prélevé sur votre compte.',
  tryAgain: 'Réessayer',
  failures: {
    INSUFFICIENT_FUNDS: 'Solde insuffisant. Rechargez puis réessayez.',
    WRONG_PIN: 'Le code PIN était faux. Réessayez avec le bon code.',
    PAYER_CANCELLED: 'Le paiement a été annulé sur le téléphone. Si vous voulez toujours payer, réessayez.',
    PAYER_NOT_FOUND:
      'Ce numéro n’a pas de compte chez cet opérateur. Vérifiez le numéro et l’opérateur, ou utilisez un autre numéro.',
    PAYER_LIMIT_REACHED:
      'Ce paiement dépasse une limite de votre compte. Payez un montant plus petit, attendez demain ou utilisez un autre numéro.',
    PAYER_BLOCKED: 'L’opérateur a bloqué ce compte. Appelez votre opérateur ou utilisez un autre numéro.',
    PROMPT_EXPIRED: 'La demande n’a pas été confirmée à temps. Gardez votre téléphone en main et réessayez.',
    VERIFICATION_FAILED: 'Le code était faux trop de fois. Réessayez et attendez le nouveau code.',
    AMOUNT_OUT_OF_RANGE: 'L’opérateur n’accepte pas ce montant. Choisissez un autre moyen de payer.',
    OPERATOR_UNAVAILABLE:
      'L’opérateur est indisponible. Réessayez dans quelques minutes ou choisissez un autre moyen de payer.',
    DUPLICATE_AT_OPERATOR:
      'L’opérateur a cru à une répétition. Vérifiez vos messages avant de payer de nouveau ; si rien n’a été prélevé, réessayez dans quelques minutes.',
    RECIPIENT_NOT_FOUND:
      'L’opérateur n’a pas pu joindre le commerçant. Prévenez-le ou choisissez un autre moyen de payer.',
    FLOAT_INSUFFICIENT:
      'L’opérateur n’a pas pu terminer le paiement. Choisissez un autre moyen ou prévenez le commerçant.',
    REJECTED_BY_OPERATOR: 'L’opérateur a refusé le paiement. Réessayez ou choisissez un autre moyen de payer.',
    UNSPECIFIED:
      'L’opérateur n’a pas donné de raison. Vérifiez vos messages, puis réessayez ou choisissez un autre moyen.',
  },

  linkGoneTitle: 'Il n’y a rien à payer ici',
  linkGone: 'Vérifiez l’adresse ou demandez un nouveau lien au commerçant.',
  linkExpired: (time) => `Ce lien était valable jusqu’au ${time}. Demandez-en un nouveau au commerçant.`,
  linkDisabled: 'Le commerçant a fermé ce lien. On ne peut plus rien payer ici.',

  receiptTitle: 'Reçu de paiement',
  receiptGenuine: 'Ce reçu est authentique. Le paiement a été reçu.',
  receiptReversed: 'Ce paiement a été reçu puis rendu. Il n’est plus payé.',
  receiptUnknownTitle: 'Ce n’est pas un de nos reçus',
  receiptUnknown: 'Vérifiez le code. Si quelqu’un vous montre ce code comme preuve de paiement, ne l’acceptez pas.',
  receiptCheck: 'Tout le monde peut vérifier ce reçu à cette adresse :',
  receiptCode: 'Code du reçu',
  business: 'Commerçant',
  paidOn: 'Payé le',
  paidWith: 'Payé avec',
  print: 'Imprimer',
  scan: 'Scannez pour payer',
  cardOpen: 'ou ouvrez cette adresse sur votre téléphone :',
  cardAnyAmount: 'Vous saisissez le montant.',

  sandbox: 'Page d’essai : pas d’argent réel.',
  openPhone: 'Ouvrir le téléphone fictif',

  busyTitle: 'Un instant, s’il vous plaît',
  busy: 'Beaucoup de personnes paient en ce moment. Attendez quelques secondes et réessayez. Un paiement n’est jamais pris deux fois.',
  brokenTitle: 'Un problème est survenu chez nous',
  broken:
    'Revenez en arrière et rouvrez la page. Si vous avez confirmé un paiement sur votre téléphone, ne payez pas de nouveau : la page l’affiche.',
  back: 'Retour au paiement',
};
