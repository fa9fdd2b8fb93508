// The hosted pages in English.

import type { CheckoutMessages } from './messages.ts';

export const english: CheckoutMessages = {
  payTo: (business) => `Pay ${business}`,
  pay: (amount) => `Pay ${amount}`,
  amount: 'Amount',
  item: 'For',
  noFee: 'No extra fees',
  optional: 'optional',
  continue: 'Continue',
  errorTitle: 'Error',
  errorSummary: 'Please correct the following:',
  returnTo: (business) => `Return to ${business}`,
  reference: 'Reference',
  language: 'Language',
  poweredBy: (brand) => `Payments by ${brand}`,
  neverEnterPin: 'Never enter your PIN on this page.',
  help: (business) => `Questions? Contact ${business} and quote this reference.`,
  validUntil: (date) => `Valid until ${date}`,
  validUntilTime: (time) => `Valid until ${time}`,
  onPhone: 'Scan to pay on your phone',

  whichCountry: 'Where is your mobile money account?',
  changeCountry: 'Change country',
  how: 'How do you want to pay?',
  otherWays: 'Other ways to pay',
  hintPrompt: 'Confirm with your PIN on your phone.',
  hintShortcode: 'You receive an SMS with a code to dial.',
  hintOtp: 'You receive a code by SMS.',
  hintInstructions: 'You send the money yourself.',
  phone: 'Mobile money number',
  phoneOfBankCustomer: 'Phone number',
  phoneHint: (example) => `For example ${example}`,
  amountHint: (min, max) => `From ${min} to ${max}`,
  yourDetails: 'Your details',
  firstName: 'First name',
  lastName: 'Last name',
  email: 'E-mail',
  methodDown: 'Not available at the moment.',
  methodMin: (amount) => `From ${amount}.`,
  methodMax: (amount) => `Up to ${amount}.`,
  methodWhole: 'Whole amounts only.',
  noMethod: 'None of these payment methods can take this payment right now. Try again later or contact the business.',

  phoneMissing: 'Enter your mobile money number.',
  phoneWrong: (country, example) => `This is not a mobile number in ${country}. Enter it like ${example}.`,
  methodMissing: 'Choose how you want to pay.',
  amountMissing: 'Enter the amount.',
  emailWrong: 'Enter a complete e-mail address.',
  numberLimit: (date) =>
    `This number has received several payment requests. To protect its owner, you can try again after ${date}.`,
  numberBlocked:
    'This number cannot be used for this payment. You were not charged. Use another number, or contact the business.',
  dayLimit:
    'This payment is more than the business may receive today. You were not charged. Try again tomorrow, or contact the business.',
  rateLimited: 'Too many attempts. Wait a minute and try again.',
  formExpired: 'This page was open for too long. Check the details and pay again.',
  operatorDown: (operator) =>
    `${operator} is not responding. You were not charged. ` +
    'Choose another payment method, or try again in a few minutes.',

  confirmTitle: 'Check your details',
  confirmNumber: (number) => `Did you mean the number ${number}?`,
  confirmOperator: (number, likely, chosen) =>
    `${number} looks like a number on ${likely}, but you chose ${chosen}. ` +
    'If you kept your number when you changed operator, continue.',
  confirmPredicted: (number, operator) => `${operator} number: ${number}`,
  confirmAmount: (amount, business) => `You pay ${amount} to ${business}.`,
  payWith: 'Pay with',
  change: 'Change',

  checkPhone: 'Check your phone',
  checkPhoneNumber: (number) => `Check your phone ${number}`,
  promptSteps: (operator, business, amount) => [
    `A message from ${operator} appears on your phone.`,
    `Check that it says ${amount} for ${business}.`,
    'Enter your PIN on the phone.',
  ],
  shortcodeTitle: 'Dial the code from the SMS',
  shortcodeSteps: (operator, code, amount) => [
    `${operator} sends you an SMS with the code ${code}.`,
    `Dial ${code} on your phone. Check that it says ${amount}.`,
    'Enter your PIN on the phone.',
  ],
  checkNow: 'I have confirmed, check now',
  noMessage: 'I did not receive a message',
  noMessageDial: (code, choices) =>
    choices
      ? `Dial ${code} and choose ${choices}, then enter your PIN.`
      : `Dial ${code} on your phone, then enter your PIN.`,
  noMessageWait: (time) =>
    `Check that the phone is on and has a signal. The request expires at ${time}; ` +
    'after that you can try again or use another number.',
  updatesItself: 'This page updates automatically.',
  notYet: 'Not confirmed yet.',
  autoOn: 'Check automatically every 10 seconds',
  autoOff: 'Stop checking automatically',
  workingTitle: 'Processing payment',
  workingText: (operator) => `${operator} is processing your payment.`,
  dialTitle: (code) => `Dial ${code}`,
  outsideTitle: (operator) => `Continue with ${operator}`,
  outsideText: (operator) => `Confirm the payment on the page or in the app of ${operator}. Then come back here.`,
  outsideOpen: (operator) => `Open ${operator}`,
  qrTitle: 'Scan the code',
  qrText: (operator) =>
    `Scan this code with the app of ${operator}. If you are on your phone, open the app with the button.`,
  qrOpen: (app) => `Open ${app}`,
  codeTitle: 'Enter the operator’s code',
  codeText: (operator) => `${operator} gives you a code for this payment. Enter it here.`,
  codeDial: (dialled) => `Dial ${dialled} on your phone to get it. Type your own PIN in place of PIN.`,
  codeHint: 'Digits only. It is not your PIN.',
  operatorSays: 'Message from the operator:',
  otpTitle: 'Enter the code from the SMS',
  otpText: (number) => `We sent a six-digit code to ${number}.`,
  otpCode: 'Code',
  otpHint: 'Six digits. It is not your PIN.',
  otpWrong: (left) =>
    left === 1 ? 'This code is wrong. You have one try left.' : `This code is wrong. You have ${left} tries left.`,
  codesLimited: (date) =>
    `Too many wrong codes for this number. To protect its owner, you can try again after ${date}.`,
  otpResend: 'Send the code again',
  otpResent: 'We sent a new code. Use the newest one.',
  otpWait: (seconds) => `A code was just sent. You can request another one in ${seconds} seconds.`,

  sendMoney: 'Send the money now',
  sendMoneyBy: (time) => `Pay by ${time}.`,
  till: 'Till number',
  paybill: 'Business number',
  bankAccount: 'Account number',
  bank: 'Bank',
  accountName: 'Name',
  accountReference: 'Reference',
  paybillAccount: 'Account number',
  payFrom: 'Pay from',
  exactly: 'Send exactly this amount with exactly this reference. Otherwise we cannot match your payment.',
  exactlyTill: 'Send exactly this amount, from this phone number. Otherwise we cannot match your payment.',
  exactlyPaybill: 'Send exactly this amount, with exactly this account number. Otherwise we cannot match your payment.',
  copy: 'Copy',
  copied: 'Copied',
  tillSteps: [
    'Open M-PESA and choose Lipa na M-PESA, Buy Goods.',
    'Enter the till number and the amount.',
    'Enter your PIN on the phone.',
  ],
  paybillSteps: [
    'Open M-PESA and choose Lipa na M-PESA, Pay Bill.',
    'Enter the business number and the account number.',
    'Enter the amount and your PIN on the phone.',
  ],
  bankSteps: [
    'Open the app of your bank.',
    'Send the amount to this account.',
    'Enter the reference as the description of the transfer.',
  ],
  paidCheckNow: 'I have paid, check now',

  unclearTitle: 'The result is not known yet',
  unclearText:
    'Do not pay again. The operator has not confirmed whether you were charged. ' +
    'We keep checking, and this page will show the result.',
  paidTitle: 'Payment received',
  paidText: (amount, business) => `You paid ${amount} to ${business}.`,
  receipt: 'Receipt',
  returning: (business) => `Returning to ${business} in a moment.`,
  stay: 'Stay on this page',
  reversedTitle: 'Payment refunded',
  reversedText: (amount) => `The payment of ${amount} was refunded to your account.`,
  failedTitle: 'Payment failed',
  expiredTitle: 'Payment request expired',
  notCharged: 'No money was taken.',
  tryAgain: 'Try again',
  failures: {
    INSUFFICIENT_FUNDS: 'Not enough balance. Top up and try again.',
    WRONG_PIN: 'The PIN was wrong. Try again with the correct PIN.',
    PAYER_CANCELLED: 'The payment was cancelled on the phone. If you still want to pay, try again.',
    PAYER_NOT_FOUND:
      'This number has no account with this operator. Check the number and the operator, or use another number.',
    PAYER_LIMIT_REACHED:
      'This payment exceeds a limit of your account. Pay a smaller amount, wait until tomorrow, or use another number.',
    PAYER_BLOCKED: 'The operator has blocked this account. Call your operator, or use another number.',
    PROMPT_EXPIRED: 'The request was not confirmed in time. Keep your phone at hand and try again.',
    VERIFICATION_FAILED: 'The code was wrong too many times. Try again and wait for the new code.',
    AMOUNT_OUT_OF_RANGE: 'The operator does not accept this amount. Choose another payment method.',
    OPERATOR_UNAVAILABLE:
      'The operator is not available. Try again in a few minutes, or choose another payment method.',
    DUPLICATE_AT_OPERATOR:
      'The operator rejected this as a duplicate. Check your messages before you pay again; ' +
      'if you were not charged, try again in a few minutes.',
    RECIPIENT_NOT_FOUND:
      'The operator could not reach the business. Contact the business, or choose another payment method.',
    FLOAT_INSUFFICIENT:
      'The operator could not complete the payment. Choose another payment method, or contact the business.',
    REJECTED_BY_OPERATOR: 'The operator rejected the payment. Try again, or choose another payment method.',
    UNSPECIFIED: 'The operator gave no reason. Check your messages, then try again or choose another payment method.',
  },

  linkGoneTitle: 'This link isn’t valid',
  linkGone: 'Check the address, or ask the business for a new link.',
  linkClosedTitle: 'This link can no longer be paid',
  linkExpired: (time) => `This link was valid until ${time}. Ask the business for a new one.`,
  linkDisabled: 'The business has closed this link. It can no longer be paid.',

  receiptTitle: 'Payment receipt',
  receiptGenuine: 'This receipt is genuine. The payment was received.',
  receiptReversed: 'This payment was received and later refunded. This receipt is no proof of payment any more.',
  receiptUnknownTitle: 'Receipt not found',
  receiptUnknown: 'Check the code. If someone shows you this code as proof of payment, do not accept it.',
  receiptCheck: 'Anyone can check this receipt at this address:',
  receiptCode: 'Receipt code',
  receiptTest: 'TEST receipt: no real money was paid. It proves nothing.',
  receiptOperatorCode: (operator) => `${operator} code`,
  receiptRefunded: 'Refunded',
  receiptPayer: 'Paid from',
  receiptShareText: (amount, business, url) => `Receipt for ${amount} paid to ${business}: ${url}`,
  receiptSms: (amount, business, code, url) => `${amount} paid to ${business}. Receipt ${code}: ${url}`,
  receiptMail: 'E-mail me the receipt',
  receiptMailSend: 'Send',
  receiptMailSent: 'The receipt is on its way. It can take a few minutes.',
  receiptMailLimited: 'This receipt was sent several times already. Try again in an hour.',
  receiptMailSubject: (amount, business) => `Receipt: ${amount} paid to ${business}`,
  receiptMailWhy: 'You get this mail because somebody entered this address on the receipt.',
  share: 'Share',
  save: 'Save',
  business: 'Business',
  paidOn: 'Paid on',
  paidWith: 'Paid with',
  print: 'Print',
  scan: 'Scan to pay',
  cardOpen: 'or open this address on your phone:',
  cardAnyAmount: 'You enter the amount.',

  sandbox: 'Test page: no real money.',
  openPhone: 'Open the test phone',

  busyTitle: 'Please try again in a moment',
  busy:
    'Many people are paying right now. Wait a few seconds and try again. ' +
    'You are never charged twice for one payment.',
  brokenTitle: 'Something went wrong',
  broken:
    'Go back and open the page again. ' +
    'If you confirmed a payment on your phone, do not pay again: the page will show it.',
  back: 'Back to the payment',
};
