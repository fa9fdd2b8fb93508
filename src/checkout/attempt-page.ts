// The page of an attempt. While it waits: what to do on the phone, the code of an SMS, where to send the money. Results
// are in attempt-result.ts.

import { formatNumber } from '../catalog/phone.ts';
import type { PaymentsContext } from '../payments/context.ts';
import type { PayerStep } from '../payments/payer-steps.ts';
import { VERIFICATION_MS } from '../payments/states.ts';
import { refOf, type Transaction } from '../payments/transactions.ts';
import { withColon } from '../platform/french-spaces.ts';
import { type Html, type HtmlPage, html } from '../platform/html.ts';
import { formatAmount } from '../platform/money.ts';
import { amountOf, endedBody, methodName, type PageBody, paidBody, reversedBody } from './attempt-result.ts';
import { businessHead, icon, layoutPage, liveRegion, type NoticeTone, steps, total, typedFacts } from './layout.ts';
import { addressWith, type LinkView, viewAttempt } from './link-view.ts';
import { hideMiddleDigits } from './names.ts';
import { isWaiting, type Stage, UNCLEAR_AFTER_MS } from './stages.ts';
import { codeForm, operatorText, stepBody } from './step-body.ts';

const AUTO_CHECK_SECONDS = 10;

export type AttemptPage = {
  transaction: Transaction;
  stage: Stage;
  step: PayerStep | null;
  /** The merchant's name as the phone shows it: not always the name on the link. */
  merchant: string;
  /** The code of the receipt, where there is one. */
  receipt: string | null;
  /** A message beside the state: a wrong code, a code sent again, no change yet. */
  notice: AttemptNotice | null;
  /** The payer asked for automatic reloads, where scripts are off. */
  auto: boolean;
};

export type AttemptNotice =
  | { kind: 'wrong'; left: number }
  | { kind: 'malformed' }
  | { kind: 'sent' }
  | { kind: 'wait'; seconds: number }
  | { kind: 'limited'; until: Date }
  | { kind: 'not_yet' };

export function attemptPage(ctx: PaymentsContext, linkView: LinkView, attempt: AttemptPage): HtmlPage {
  const view = viewAttempt(linkView, attempt.transaction);
  const { t } = view.locale;
  const { stage, transaction, auto } = attempt;
  const waiting = isWaiting(stage);
  const { title, body } = bodyOf(ctx, view, attempt);
  const failed = stage === 'failed' || codeError(view, attempt) !== null;
  return layoutPage(view.layout, {
    title: `${failed ? `${withColon(view.locale, t.errorTitle)} ` : ''}${title} – ${view.business}`,
    ...(waiting
      ? { attributes: html`data-stage="${stage}" data-url="${view.layout.address}" data-query="${view.query}"` }
      : {}),
    // Without scripts the payer may ask for reloads, and stop them. The script asks for the state and reloads by itself.
    ...(waiting && auto
      ? { head: html`<noscript><meta http-equiv="refresh" content="${AUTO_CHECK_SECONDS}"></noscript>` }
      : {}),
    find: stage !== 'paid' && stage !== 'reversed',
    help: { business: view.business, reference: refOf(transaction) },
    body: html`
      ${businessHead(view.link, view.business)}
      <div class="card">${body}</div>
    `,
  });
}

function bodyOf(ctx: PaymentsContext, view: LinkView, attempt: AttemptPage): PageBody {
  const { t } = view.locale;
  switch (attempt.stage) {
    case 'prompt':
    case 'shortcode':
      return confirmOnPhone(ctx, view, attempt);
    case 'otp':
      return enterCode(view, attempt);
    case 'code':
    case 'outside':
    case 'qr':
      return stepBody(ctx, view, {
        ...attempt,
        wrong: codeError(view, attempt),
        check: checkForm(view, attempt, t.checkNow),
      });
    case 'instructions':
      return sendMoney(view, attempt);
    case 'working':
      return working(ctx, view, attempt);
    case 'unclear':
      return unclear(view, attempt);
    case 'paid':
      return paidBody(ctx, view, attempt.transaction, attempt.receipt);
    case 'reversed':
      return reversedBody(view, attempt.transaction);
    case 'failed':
    case 'expired':
      return endedBody(view, attempt.transaction);
  }
}

const PHONE_ICON = html`<p class="phone" aria-hidden="true"></p>`;

function confirmOnPhone(ctx: PaymentsContext, view: LinkView, attempt: AttemptPage): PageBody {
  const { t, time } = view.locale;
  const { transaction } = attempt;
  const method = ctx.catalog.methods.get(transaction.method);
  const operator = method?.name ?? transaction.method;
  const amount = amountOf(view, transaction);
  const dialled = attempt.step?.kind === 'dial' ? attempt.step.code : method?.shortCode;
  const shortCode = attempt.stage === 'shortcode' && dialled;
  // A code that the operator gave us comes by no SMS.
  const isGiven = attempt.step?.kind === 'dial';
  const shortcodeTitle = isGiven && shortCode ? t.dialTitle(shortCode) : t.shortcodeTitle;
  const title = shortCode ? shortcodeTitle : t.checkPhone;
  const lines = shortCode
    ? t.shortcodeSteps(operator, shortCode, amount).slice(isGiven ? 1 : 0)
    : t.promptSteps(operator, attempt.merchant, amount);
  const [code, ...choices] = method?.dial ?? [];
  const endsAt = new Date(
    transaction.created_at.getTime() + UNCLEAR_AFTER_MS[attempt.stage === 'shortcode' ? 'shortcode' : 'prompt'],
  );
  return {
    title,
    body: html`
      ${PHONE_ICON}
      <h1>${shortCode ? title : t.checkPhoneNumber(maskedNumber(transaction))}</h1>
      ${total(amount, view.link.item_name)}
      ${operatorText(view, attempt.step)}
      ${steps(lines)}
      ${checkForm(view, attempt, t.checkNow)}
      <details>
        <summary>${t.noMessage}</summary>
        ${!shortCode && code !== undefined && html`<p>${t.noMessageDial(code, choices.join(', '))}</p>`}
        <p>${t.noMessageWait(time(endsAt))}</p>
      </details>
    `,
  };
}

function enterCode(view: LinkView, attempt: AttemptPage): PageBody {
  const { t, time } = view.locale;
  const { transaction } = attempt;
  const validUntil = new Date(transaction.created_at.getTime() + VERIFICATION_MS);
  return {
    title: t.otpTitle,
    body: html`
      <h1>${t.otpTitle}</h1>
      ${noticeBox(view, attempt)}
      <p>${t.otpText(maskedNumber(transaction))}</p>
      ${total(amountOf(view, transaction), view.link.item_name)}
      ${codeForm(view, t.otpHint, codeError(view, attempt))}
      <form method="post" action="${addressWith(view, `${view.layout.address}/resend`)}">
        <button class="secondary">${t.otpResend}</button>
      </form>
      <p class="muted">${t.validUntilTime(time(validUntil))}</p>
      ${liveRegion(t.updatesItself)}
    `,
  };
}

/** What M-PESA or a bank asks for, by the names it has there. A till asks for no reference: its payer is known by the number. */
function sendMoney(view: LinkView, attempt: AttemptPage): PageBody {
  const { t, time } = view.locale;
  const { step, transaction } = attempt;
  if (step?.kind !== 'transfer') return { title: t.workingTitle, body: html`<h1>${t.workingTitle}</h1>` };
  const { payTo, accountReference, expiresAt } = step;
  const reference = { value: accountReference, copied: accountReference };
  const { label, lines, exactly, last } = {
    till: {
      label: t.till,
      lines: t.tillSteps,
      exactly: t.exactlyTill,
      last: { name: t.payFrom, value: maskedNumber(transaction) },
    },
    paybill: {
      label: t.paybill,
      lines: t.paybillSteps,
      exactly: t.exactlyPaybill,
      last: { name: t.paybillAccount, ...reference },
    },
    bank_account: {
      label: t.bankAccount,
      lines: t.bankSteps,
      exactly: t.exactly,
      last: { name: t.accountReference, ...reference },
    },
  }[payTo.kind];
  return {
    title: t.sendMoney,
    body: html`
      <h1>${t.sendMoney}</h1>
      ${typedFacts(view.locale, [
        { name: t.bank, value: payTo.bank },
        { name: label, value: payTo.number, copied: payTo.number },
        { name: t.accountName, value: payTo.name },
        ...(payTo.kind === 'till' ? [] : [last]),
        { name: t.amount, value: amountOf(view, transaction), copied: formatAmount(transaction.amount) },
        ...(payTo.kind === 'till' ? [last] : []),
      ])}
      <p class="notice warning">${exactly}</p>
      ${steps(lines)}
      <p>${t.sendMoneyBy(time(expiresAt))}</p>
      ${checkForm(view, attempt, t.paidCheckNow)}
    `,
  };
}

function working(ctx: PaymentsContext, view: LinkView, attempt: AttemptPage): PageBody {
  const { t } = view.locale;
  const { transaction } = attempt;
  return {
    title: t.workingTitle,
    body: html`
      ${PHONE_ICON}
      <h1>${t.workingTitle}</h1>
      <p>${t.workingText(methodName(ctx, view, transaction))}</p>
      ${total(amountOf(view, transaction), view.link.item_name)}
      ${checkForm(view, attempt, t.checkNow)}
    `,
  };
}

function unclear(view: LinkView, attempt: AttemptPage): PageBody {
  const { t } = view.locale;
  return {
    title: t.unclearTitle,
    body: html`
      ${icon('warning', '?')}
      <h1>${t.unclearTitle}</h1>
      <p class="notice warning">${t.unclearText}</p>
      ${total(amountOf(view, attempt.transaction), view.link.item_name)}
      ${checkForm(view, attempt, t.checkNow)}
    `,
  };
}

/** The button that works without scripts too: it asks the operator, and is answered as soon as the state changes. */
function checkForm(view: LinkView, attempt: AttemptPage, label: string): Html {
  const { t, language, asked } = view.locale;
  const { auto } = attempt;
  const { address } = view.layout;
  return html`
    ${noticeBox(view, attempt)}
    <form method="get" action="${address}">
      ${asked && html`<input type="hidden" name="lang" value="${language}">`}
      <input type="hidden" name="check" value="${attempt.stage}">
      <button>${label}</button>
    </form>
    ${liveRegion(t.updatesItself)}
    <noscript>
      <p>
        <a class="text-link" href="${addressWith(view, address, auto ? {} : { auto: '1' })}">
          ${auto ? t.autoOff : t.autoOn}
        </a>
      </p>
    </noscript>
  `;
}

/** What is wrong with the code that was given; null when nothing is known to be. */
function codeError({ locale: { t } }: LinkView, { notice, stage }: AttemptPage): string | null {
  if (notice?.kind === 'wrong') return t.otpWrong(notice.left);
  if (notice?.kind === 'malformed') return stage === 'otp' ? t.otpHint : t.codeHint;
  return null;
}

function noticeBox(view: LinkView, attempt: AttemptPage): Html | null {
  const { t, date } = view.locale;
  const { notice } = attempt;
  switch (notice?.kind) {
    case 'wrong':
    case 'malformed':
      return html`<p class="notice error" role="alert"><a href="#code">${codeError(view, attempt)}</a></p>`;
    case 'sent':
      return statusBox('success', t.otpResent);
    case 'wait':
      return statusBox('warning', t.otpWait(notice.seconds));
    case 'limited':
      return statusBox('warning', t.codesLimited(date(notice.until)));
    case 'not_yet':
      return statusBox('warning', t.notYet);
    case undefined:
      return null;
  }
}

function statusBox(tone: NoticeTone, text: string): Html {
  return html`<p class="notice ${tone}" role="status">${text}</p>`;
}

function maskedNumber(transaction: Transaction): string {
  return hideMiddleDigits(formatNumber(transaction.msisdn ?? ''));
}
