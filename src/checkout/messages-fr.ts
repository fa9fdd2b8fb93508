// The hosted pages in French.

import { withFrenchSpaces } from '../platform/french-spaces.ts';
import type { CheckoutMessages } from './messages.ts';

const TEXTS: CheckoutMessages = {
  payTo: (business) => `Payer ${business}`,
  pay: (amount) => `Payer ${amount}`,
  amount: 'Montant',
  item: 'Pour',
  noFee: 'Aucuns frais supplémentaires',
  optional: 'facultatif',
  continue: 'Continuer',
  errorTitle: 'Erreur',
  errorSummary: 'Veuillez corriger :',
  returnTo: (business) => `Retour chez ${business}`,
  reference: 'Référence',
  language: 'Langue',
  poweredBy: (brand) => `Paiements par ${brand}`,
  neverEnterPin: 'Ne saisissez jamais votre code PIN sur cette page.',
  help: (business) => `Des questions ? Contactez ${business} en donnant cette référence.`,
  validUntil: (date) => `Valable jusqu’au ${date}`,
  validUntilTime: (time) => `Valable jusqu’à ${time}`,
  onPhone: 'Scannez pour payer sur votre téléphone',

  whichCountry: 'Dans quel pays est votre compte mobile money ?',
  changeCountry: 'Changer de pays',
  how: 'Comment voulez-vous payer ?',
  otherWays: 'Autres moyens de paiement',
  hintPrompt: 'Confirmez avec votre code PIN sur votre téléphone.',
  hintShortcode: 'Vous recevez un SMS avec un code à composer.',
  hintOtp: 'Vous recevez un code par SMS.',
  hintInstructions: 'Vous envoyez l’argent vous-même.',
  phone: 'Numéro mobile money',
  phoneOfBankCustomer: 'Numéro de téléphone',
  phoneHint: (example) => `Par exemple ${example}`,
  amountHint: (min, max) => `De ${min} à ${max}`,
  yourDetails: 'Vos coordonnées',
  firstName: 'Prénom',
  lastName: 'Nom',
  email: 'E-mail',
  methodDown: 'Indisponible pour le moment.',
  methodMin: (amount) => `À partir de ${amount}.`,
  methodMax: (amount) => `Jusqu’à ${amount}.`,
  methodWhole: 'Montants entiers seulement.',
  noMethod:
    'Aucun de ces moyens de paiement n’est possible pour le moment. Réessayez plus tard ou contactez le commerçant.',

  phoneMissing: 'Saisissez votre numéro mobile money.',
  phoneWrong: (country, example) => `Ce n’est pas un numéro mobile (${country}). Saisissez-le comme ${example}.`,
  methodMissing: 'Choisissez comment vous voulez payer.',
  amountMissing: 'Saisissez le montant.',
  emailWrong: 'Saisissez une adresse e-mail complète.',
  numberLimit: (date) =>
    `Ce numéro a reçu plusieurs demandes de paiement. Pour protéger son titulaire, réessayez après le ${date}.`,
  numberBlocked:
    'Ce numéro ne peut pas servir à ce paiement. Aucun montant n’a été débité. Utilisez un autre numéro ou contactez le commerçant.',
  dayLimit:
    'Ce paiement dépasse ce que le commerçant peut recevoir aujourd’hui. Aucun montant n’a été débité. ' +
    'Réessayez demain ou contactez le commerçant.',
  rateLimited: 'Trop de tentatives. Attendez une minute puis réessayez.',
  formExpired: 'Cette page est restée ouverte trop longtemps. Vérifiez les informations puis payez de nouveau.',
  operatorDown: (operator) =>
    `${operator} ne répond pas. Aucun montant n’a été débité. ` +
    'Choisissez un autre moyen de paiement ou réessayez dans quelques minutes.',

  confirmTitle: 'Vérifiez vos informations',
  confirmNumber: (number) => `Vouliez-vous dire le numéro ${number} ?`,
  confirmOperator: (number, likely, chosen) =>
    `${number} ressemble à un numéro ${likely}, mais vous avez choisi ${chosen}. ` +
    'Si vous avez gardé votre numéro en changeant d’opérateur, continuez.',
  confirmPredicted: (number, operator) => `Numéro ${operator} : ${number}`,
  confirmAmount: (amount, business) => `Vous payez ${amount} à ${business}.`,
  payWith: 'Payer avec',
  change: 'Modifier',

  checkPhone: 'Consultez votre téléphone',
  checkPhoneNumber: (number) => `Consultez votre téléphone ${number}`,
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
  checkNow: 'J’ai confirmé, vérifier',
  noMessage: 'Je n’ai pas reçu de message',
  noMessageDial: (code, choices) =>
    choices
      ? `Composez ${code} et choisissez ${choices}, puis saisissez votre code PIN.`
      : `Composez ${code} sur votre téléphone, puis saisissez votre code PIN.`,
  noMessageWait: (time) =>
    `Vérifiez que le téléphone est allumé et a du réseau. La demande expire à ${time} ; ` +
    'ensuite vous pourrez réessayer ou utiliser un autre numéro.',
  updatesItself: 'Cette page se met à jour automatiquement.',
  notYet: 'Pas encore confirmé.',
  autoOn: 'Vérifier automatiquement toutes les 10 secondes',
  autoOff: 'Arrêter la vérification automatique',
  workingTitle: 'Paiement en cours',
  workingText: (operator) => `${operator} traite votre paiement.`,
  dialTitle: (code) => `Composez le ${code}`,
  outsideTitle: (operator) => `Continuez avec ${operator}`,
  outsideText: (operator) => `Confirmez le paiement sur la page ou dans l’application ${operator}. Puis revenez ici.`,
  outsideOpen: (operator) => `Ouvrir ${operator}`,
  qrTitle: 'Scannez le code',
  qrText: (operator) =>
    `Scannez ce code avec l’application ${operator}. Si vous êtes sur votre téléphone, ouvrez l’application avec le bouton.`,
  qrOpen: (app) => `Ouvrir ${app}`,
  codeTitle: 'Saisissez le code de l’opérateur',
  codeText: (operator) => `${operator} vous donne un code pour ce paiement. Saisissez-le ici.`,
  codeDial: (dialled) =>
    `Composez ${dialled} sur votre téléphone pour l’obtenir. Remplacez PIN par votre propre code PIN.`,
  codeHint: 'Des chiffres seulement. Ce n’est pas votre code PIN.',
  operatorSays: 'Message de l’opérateur :',
  otpTitle: 'Saisissez le code du SMS',
  otpText: (number) => `Nous avons envoyé un code à six chiffres au ${number}.`,
  otpCode: 'Code',
  otpHint: 'Six chiffres. Ce n’est pas votre code PIN.',
  otpWrong: (left) =>
    left === 1 ? 'Code incorrect. Il vous reste un essai.' : `Code incorrect. Il vous reste ${left} essais.`,
  codesLimited: (date) =>
    `Trop de codes incorrects pour ce numéro. Pour protéger son titulaire, réessayez après le ${date}.`,
  otpResend: 'Renvoyer le code',
  otpResent: 'Nous avons envoyé un nouveau code. Utilisez le dernier.',
  otpWait: (seconds) => `Un code vient d’être envoyé. Vous pourrez en demander un autre dans ${seconds} secondes.`,

  sendMoney: 'Envoyez l’argent maintenant',
  sendMoneyBy: (time) => `Payez avant ${time}.`,
  till: 'Numéro de caisse (till)',
  paybill: 'Numéro du commerce (business number)',
  bankAccount: 'Numéro de compte',
  bank: 'Banque',
  accountName: 'Nom',
  accountReference: 'Référence',
  paybillAccount: 'Numéro de compte (account number)',
  payFrom: 'Payez depuis le',
  exactly:
    'Envoyez exactement ce montant avec exactement cette référence. Sinon, nous ne pourrons pas identifier votre paiement.',
  exactlyTill:
    'Envoyez exactement ce montant, depuis ce numéro de téléphone. Sinon, nous ne pourrons pas identifier votre paiement.',
  exactlyPaybill:
    'Envoyez exactement ce montant, avec exactement ce numéro de compte. Sinon, nous ne pourrons pas identifier votre paiement.',
  copy: 'Copier',
  copied: 'Copié',
  tillSteps: [
    'Ouvrez M-PESA et choisissez Lipa na M-PESA, Buy Goods.',
    'Saisissez le numéro de caisse et le montant.',
    'Saisissez votre code PIN sur le téléphone.',
  ],
  paybillSteps: [
    'Ouvrez M-PESA et choisissez Lipa na M-PESA, Pay Bill.',
    'Saisissez le numéro du commerce et le numéro de compte.',
    'Saisissez le montant et votre code PIN sur le téléphone.',
  ],
  bankSteps: [
    'Ouvrez l’application de votre banque.',
    'Envoyez le montant sur ce compte.',
    'Saisissez la référence comme motif du virement.',
  ],
  paidCheckNow: 'J’ai payé, vérifier',

  unclearTitle: 'Le résultat n’est pas encore connu',
  unclearText:
    'Ne payez pas une deuxième fois. L’opérateur n’a pas encore confirmé si un montant a été débité. ' +
    'Nous continuons à vérifier, et cette page affichera le résultat.',
  paidTitle: 'Paiement reçu',
  paidText: (amount, business) => `Vous avez payé ${amount} à ${business}.`,
  receipt: 'Reçu',
  returning: (business) => `Retour chez ${business} dans un instant.`,
  stay: 'Rester sur cette page',
  reversedTitle: 'Paiement remboursé',
  reversedText: (amount) => `Le paiement de ${amount} a été remboursé sur votre compte.`,
  failedTitle: 'Échec du paiement',
  expiredTitle: 'Demande de paiement expirée',
  notCharged: 'Aucun montant n’a été débité.',
  tryAgain: 'Réessayer',
  failures: {
    INSUFFICIENT_FUNDS: 'Solde insuffisant. Rechargez puis réessayez.',
    WRONG_PIN: 'Le code PIN était incorrect. Réessayez avec le bon code.',
    PAYER_CANCELLED: 'Le paiement a été annulé sur le téléphone. Si vous voulez toujours payer, réessayez.',
    PAYER_NOT_FOUND:
      'Ce numéro n’a pas de compte chez cet opérateur. Vérifiez le numéro et l’opérateur, ou utilisez un autre numéro.',
    PAYER_LIMIT_REACHED:
      'Ce paiement dépasse une limite de votre compte. ' +
      'Payez un montant plus petit, attendez demain ou utilisez un autre numéro.',
    PAYER_BLOCKED: 'L’opérateur a bloqué ce compte. Appelez votre opérateur ou utilisez un autre numéro.',
    PROMPT_EXPIRED: 'La demande n’a pas été confirmée à temps. Gardez votre téléphone en main et réessayez.',
    VERIFICATION_FAILED: 'Le code était incorrect trop de fois. Réessayez et attendez le nouveau code.',
    AMOUNT_OUT_OF_RANGE: 'L’opérateur n’accepte pas ce montant. Choisissez un autre moyen de paiement.',
    OPERATOR_UNAVAILABLE:
      'L’opérateur est indisponible. Réessayez dans quelques minutes ou choisissez un autre moyen de paiement.',
    DUPLICATE_AT_OPERATOR:
      'L’opérateur a considéré ce paiement comme un doublon. Vérifiez vos messages avant de payer de nouveau ; ' +
      'si aucun montant n’a été débité, réessayez dans quelques minutes.',
    RECIPIENT_NOT_FOUND:
      'L’opérateur n’a pas pu joindre le commerçant. Contactez-le ou choisissez un autre moyen de paiement.',
    FLOAT_INSUFFICIENT:
      'L’opérateur n’a pas pu terminer le paiement. Choisissez un autre moyen de paiement ou contactez le commerçant.',
    REJECTED_BY_OPERATOR: 'L’opérateur a rejeté le paiement. Réessayez ou choisissez un autre moyen de paiement.',
    UNSPECIFIED:
      'L’opérateur n’a pas donné de raison. Vérifiez vos messages, puis réessayez ou choisissez un autre moyen de paiement.',
  },

  linkGoneTitle: 'Ce lien n’est pas valide',
  linkGone: 'Vérifiez l’adresse ou demandez un nouveau lien au commerçant.',
  linkClosedTitle: 'Ce lien ne peut plus être payé',
  linkExpired: (time) => `Ce lien était valable jusqu’au ${time}. Demandez-en un nouveau au commerçant.`,
  linkDisabled: 'Le commerçant a fermé ce lien. Il ne peut plus être payé.',

  receiptTitle: 'Reçu de paiement',
  receiptGenuine: 'Ce reçu est authentique. Le paiement a été reçu.',
  receiptReversed: 'Ce paiement a été reçu puis remboursé. Il ne compte plus comme payé.',
  receiptUnknownTitle: 'Reçu introuvable',
  receiptUnknown: 'Vérifiez le code. Si quelqu’un vous montre ce code comme preuve de paiement, ne l’acceptez pas.',
  receiptCheck: 'Tout le monde peut vérifier ce reçu à cette adresse :',
  receiptCode: 'Code du reçu',
  receiptTest: 'Reçu de TEST : aucun argent réel n’a été payé. Il ne prouve rien.',
  receiptOperatorCode: (operator) => `Code ${operator}`,
  receiptRefunded: 'Remboursé',
  receiptPayer: 'Payé depuis',
  receiptShareText: (amount, business, url) => `Reçu de ${amount} payés à ${business} : ${url}`,
  receiptSms: (amount, business, code, url) => `${amount} payés à ${business}. Reçu ${code} : ${url}`,
  receiptMail: 'M’envoyer le reçu par e-mail',
  receiptMailSend: 'Envoyer',
  receiptMailSent: 'Le reçu est en route. Cela peut prendre quelques minutes.',
  receiptMailLimited: 'Ce reçu a déjà été envoyé plusieurs fois. Réessayez dans une heure.',
  receiptMailSubject: (amount, business) => `Reçu : ${amount} payés à ${business}`,
  receiptMailWhy: 'Vous recevez cet e-mail parce que quelqu’un a saisi cette adresse sur le reçu.',
  share: 'Partager',
  save: 'Enregistrer',
  business: 'Commerçant',
  paidOn: 'Payé le',
  paidWith: 'Payé avec',
  print: 'Imprimer',
  scan: 'Scannez pour payer',
  cardOpen: 'ou ouvrez cette adresse sur votre téléphone :',
  cardAnyAmount: 'Vous saisissez le montant.',

  sandbox: 'Page de test : pas d’argent réel.',
  openPhone: 'Ouvrir le téléphone de test',

  busyTitle: 'Veuillez réessayer dans un instant',
  busy:
    'Beaucoup de personnes paient en ce moment. Attendez quelques secondes et réessayez. ' +
    'Un paiement n’est jamais débité deux fois.',
  brokenTitle: 'Un problème est survenu',
  broken:
    'Revenez en arrière et rouvrez la page. ' +
    'Si vous avez confirmé un paiement sur votre téléphone, ne payez pas de nouveau : la page l’affichera.',
  back: 'Retour au paiement',
};

export const french = withFrenchSpaces(TEXTS);
