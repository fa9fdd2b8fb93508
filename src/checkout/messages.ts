// Every message of the hosted pages. A language is one object of this type, so a missing message does not compile.
// Values that people chose (names, references) are parameters; the page escapes them.

import type { FailureCode } from '../catalog/failures.ts';

export type CheckoutMessages = {
  /** Titles and buttons. */
  payTo(business: string): string;
  pay(amount: string): string;
  amount: string;
  item: string;
  noFee: string;
  optional: string;
  continue: string;
  errorTitle: string;
  errorSummary: string;
  returnTo(business: string): string;
  reference: string;
  language: string;
  poweredBy(brand: string): string;
  neverEnterPin: string;
  help(business: string): string;
  validUntil(date: string): string;
  /** Of today. */
  validUntilTime(time: string): string;
  /** Beside a QR code, on a large screen. */
  onPhone: string;

  /** The form. */
  whichCountry: string;
  changeCountry: string;
  how: string;
  /** Ways to pay in which the payer sends the money by hand. */
  otherWays: string;
  hintPrompt: string;
  hintShortcode: string;
  hintOtp: string;
  hintInstructions: string;
  phone: string;
  /** Where money comes from a bank, so that the number is only how to reach the payer. */
  phoneOfBankCustomer: string;
  phoneHint(example: string): string;
  amountHint(min: string, max: string): string;
  yourDetails: string;
  firstName: string;
  lastName: string;
  email: string;
  methodDown: string;
  methodMin(amount: string): string;
  methodMax(amount: string): string;
  methodWhole: string;
  noMethod: string;

  /** What is wrong with the form. */
  phoneMissing: string;
  phoneWrong(country: string, example: string): string;
  methodMissing: string;
  amountMissing: string;
  emailWrong: string;
  /** With the day: the limit may last until tomorrow. */
  numberLimit(date: string): string;
  numberBlocked: string;
  dayLimit: string;
  rateLimited: string;
  formExpired: string;
  operatorDown(operator: string): string;

  /** The question before paying. */
  confirmTitle: string;
  confirmNumber(number: string): string;
  confirmOperator(number: string, likely: string, chosen: string): string;
  confirmPredicted(number: string, operator: string): string;
  confirmAmount(amount: string, business: string): string;
  payWith: string;
  change: string;

  /** Waiting. */
  checkPhone: string;
  checkPhoneNumber(number: string): string;
  promptSteps(operator: string, business: string, amount: string): readonly [string, string, string];
  shortcodeTitle: string;
  shortcodeSteps(operator: string, code: string, amount: string): readonly [string, string, string];
  checkNow: string;
  noMessage: string;
  noMessageDial(code: string, choices: string): string;
  noMessageWait(time: string): string;
  updatesItself: string;
  notYet: string;
  autoOn: string;
  autoOff: string;
  workingTitle: string;
  workingText(operator: string): string;
  /** Without an SMS: the operator gave us the code. */
  dialTitle(code: string): string;
  outsideTitle(operator: string): string;
  outsideText(operator: string): string;
  outsideOpen(operator: string): string;
  qrTitle: string;
  qrText(operator: string): string;
  qrOpen(app: string): string;
  codeTitle: string;
  codeText(operator: string): string;
  /** PIN stands in what is dialled. */
  codeDial(dialled: string): string;
  codeHint: string;
  operatorSays: string;
  otpTitle: string;
  otpText(number: string): string;
  otpCode: string;
  otpHint: string;
  otpWrong(left: number): string;
  codesLimited(date: string): string;
  otpResend: string;
  otpResent: string;
  otpWait(seconds: number): string;

  /** Paying to a till, a pay bill number or a bank account. */
  sendMoney: string;
  sendMoneyBy(time: string): string;
  till: string;
  paybill: string;
  bankAccount: string;
  bank: string;
  accountName: string;
  accountReference: string;
  /** What M-PESA asks for beside the business number of a pay bill. */
  paybillAccount: string;
  /** A till is told who paid by the number that pays. */
  payFrom: string;
  exactly: string;
  exactlyTill: string;
  exactlyPaybill: string;
  copy: string;
  copied: string;
  tillSteps: readonly [string, string, string];
  paybillSteps: readonly [string, string, string];
  bankSteps: readonly [string, string, string];
  paidCheckNow: string;

  /** The result. */
  unclearTitle: string;
  unclearText: string;
  paidTitle: string;
  paidText(amount: string, business: string): string;
  receipt: string;
  returning(business: string): string;
  stay: string;
  reversedTitle: string;
  reversedText(amount: string): string;
  failedTitle: string;
  expiredTitle: string;
  notCharged: string;
  tryAgain: string;
  failures: Readonly<Record<FailureCode, string>>;

  /** The link itself. */
  linkGoneTitle: string;
  linkGone: string;
  linkClosedTitle: string;
  linkExpired(time: string): string;
  linkDisabled: string;

  /** Receipts and the counter card. */
  receiptTitle: string;
  receiptGenuine: string;
  receiptReversed: string;
  receiptUnknownTitle: string;
  receiptUnknown: string;
  receiptCheck: string;
  receiptCode: string;
  /** In the sandbox, in place of the sentence that it is genuine. */
  receiptTest: string;
  receiptOperatorCode(operator: string): string;
  receiptRefunded: string;
  receiptPayer: string;
  receiptShareText(amount: string, business: string, url: string): string;
  /** "E-mail me the receipt", how that went, and the mail itself. */
  receiptMail: string;
  receiptMailSend: string;
  receiptMailSent: string;
  receiptMailLimited: string;
  receiptMailSubject(amount: string, business: string): string;
  receiptMailWhy: string;
  /** One SMS of 160 characters, without anything that needs another alphabet. */
  receiptSms(amount: string, business: string, code: string, url: string): string;
  share: string;
  save: string;
  business: string;
  paidOn: string;
  paidWith: string;
  print: string;
  scan: string;
  cardOpen: string;
  cardAnyAmount: string;

  /** The sandbox. */
  sandbox: string;
  openPhone: string;

  /** Errors of the server. */
  busyTitle: string;
  busy: string;
  brokenTitle: string;
  broken: string;
  back: string;
};
