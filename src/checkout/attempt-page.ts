// The pages of an attempt: what to do on the phone, the code of an SMS, where to send the money, and how it ended.

import { isFailureCode } from '../catalog/failures.ts';
import { formatNumber } from '../catalog/phone.ts';
import type { PaymentsContext } from '../payments/context.ts';
import type { Instructions } from '../payments/incoming-payments.ts';
import { refOf, type Transaction } from '../payments/transactions.ts';
import { VERIFICATION_MS } from '../payments/verification.ts';
import { type Html, type HtmlPage, html } from '../platform/html.ts';
import { businessHead, layoutPage, steps, sumOf } from './layout.ts';
import { addressWith, type LinkView, viewAttempt } from './link-view.ts';
import { maskNumber } from './names.ts';
import { isWaiting, type Stage, UNCLEAR_AFTER_MS } from './stages.ts';

/** Redirect automatically only right after paying, not when the receipt is opened again later. */
const RETURN_WITHIN_MS = 10 * 60_000;
const AUTO_CHECK_SECONDS = 10;

export type AttemptPage = {
  transaction: Transaction;
  stage: Stage;
  instructions: Instructions | null;
  /** Who asks, as the phone names it: not always the name that the link shows. */
  label: string;
  /** The code of the receipt, where there is one. */
  receipt: string | null;
  /** Something to say beside the state: a wrong code, a code sent again, nothing new. */
  notice: AttemptNotice | null;
  /** The payer asked that the page looks by itself, without scripts. */
  auto: boolean;
};

export type AttemptNotice =
  | { kind: 'wrong'; left: number }
  | { kind: 'sent' }
  | { kind: 'wait'; seconds: number }
  | { kind: 'not_yet' };

export function attemptPage(ctx: PaymentsContext, linkView: LinkView, attempt: AttemptPage): HtmlPage {
  const view = viewAttempt(linkView, attempt.transaction);
  const { t } = view.locale;
  const { stage, transaction, auto } = attempt;
  const waiting = isWaiting(stage);
  const { title, body } = bodyOf(ctx, view, attempt);
  const failed = stage === 'failed' || attempt.notice?.kind === 'wrong';
  return layoutPage(view.layout, {
    title: `${failed ? `${t.errorTitle}: ` : ''}${title} – ${view.business}`,
    ...(waiting
      ? { attributes: html`data-stage="${stage}" data-url="${view.layout.address}" data-q="${view.query}"` }
      : {}),
    // Asked for by the payer, with a way to stop it; scripts look by themselves and need no reload.
    ...(waiting && auto
      ? { head: html`<noscript><meta http-equiv="refresh" content="${AUTO_CHECK_SECONDS}"></noscript>` }
      : {}),
    help: { business: view.business, reference: refOf(transaction) },
    body: html`${businessHead(view.link, view.business)}<div class="card">${body}</div>`,
  });
}

type Body = { title: string; body: Html };

function bodyOf(ctx: PaymentsContext, view: LinkView, attempt: AttemptPage): Body {
  switch (attempt.stage) {
    case 'prompt':
    case 'shortcode':
      return lookAtPhone(ctx, view, attempt);
    case 'otp':
      return typeCode(view, attempt);
    case 'instructions':
      return sendMoney(view, attempt);
    case 'working':
      return working(ctx, view, attempt);
    case 'unclear':
      return unclear(view, attempt);
    case 'paid':
      return paid(ctx, view, attempt);
    case 'reversed':
      return reversed(view, attempt);
    case 'failed':
    case 'expired':
      return ended(view, attempt);
  }
}

function lookAtPhone(ctx: PaymentsContext, view: LinkView, attempt: AttemptPage): Body {
  const { t, time } = view.locale;
  const { transaction } = attempt;
  const method = ctx.catalog.methods.get(transaction.method);
  const operator = method?.name ?? transaction.method;
  const amount = amountOf(view, transaction);
  const byCode = attempt.stage === 'shortcode' && method?.shortCode;
  const title = byCode ? t.shortcodeTitle : t.checkPhone;
  const [code, ...choices] = method?.dial ?? [];
  const endsAt = new Date(
    transaction.created_at.getTime() + UNCLEAR_AFTER_MS[attempt.stage === 'shortcode' ? 'shortcode' : 'prompt'],
  );
  return {
    title,
    body: html`<p class="ph" aria-hidden="true"></p><h1>${byCode ? title : t.checkPhoneNumber(maskedNumber(transaction))}</h1>
${sumOf(amount, view.link.item_name)}<br>${steps(byCode ? t.shortcodeSteps(operator, byCode, amount) : t.promptSteps(operator, attempt.label, amount))}
${checkForm(view, attempt, t.checkNow)}<details><summary>${t.noMessage}</summary>${!byCode && code !== undefined && html`<p>${t.noMessageDial(code, choices.join(', '))}</p>`}<p>${t.noMessageWait(time(endsAt))}</p></details>`,
  };
}

function typeCode(view: LinkView, attempt: AttemptPage): Body {
  const { t, time } = view.locale;
  const { transaction, notice } = attempt;
  const wrong = notice?.kind === 'wrong';
  return {
    title: t.otpTitle,
    body: html`<h1>${t.otpTitle}</h1>${notice && noticeBox(view, notice)}<p>${t.otpText(maskedNumber(transaction))}</p>${sumOf(amountOf(view, transaction), view.link.item_name)}<br>
<form method="post" action="${addressWith(view, `${view.layout.address}/code`)}"><div class="f"><label for="code">${t.otpCode}</label><p class="h" id="code-h">${t.otpHint}</p><input id="code" name="code" inputmode="numeric" autocomplete="one-time-code" pattern="[0-9 ]*" maxlength="12" required aria-describedby="code-h${wrong && ' code-e'}"${wrong && html` aria-invalid="true"`}>${wrong && html`<p class="er" id="code-e">${t.otpWrong(notice.left)}</p>`}</div><button>${t.continue}</button></form>
<form method="post" action="${addressWith(view, `${view.layout.address}/resend`)}"><button class="q">${t.otpResend}</button></form>
<p class="m">${t.validUntil(time(new Date(transaction.created_at.getTime() + VERIFICATION_MS)))}</p>${liveRegion(view)}`,
  };
}

function sendMoney(view: LinkView, attempt: AttemptPage): Body {
  const { t, time } = view.locale;
  const { instructions, transaction } = attempt;
  if (!instructions) return { title: t.workingTitle, body: html`<h1>${t.workingTitle}</h1>` };
  const { payTo, accountReference, expiresAt } = instructions;
  const [label, lines] =
    payTo.kind === 'till'
      ? [t.till, t.tillSteps]
      : payTo.kind === 'paybill'
        ? [t.paybill, t.paybillSteps]
        : [t.bankAccount, t.bankSteps];
  const rows: [string, string | null][] = [
    [t.amount, amountOf(view, transaction)],
    [t.bank, payTo.bank],
    [label, payTo.number],
    [t.accountName, payTo.name],
    [t.accountReference, accountReference],
  ];
  return {
    title: t.sendMoney,
    body: html`<h1>${t.sendMoney}</h1><dl class="big">${rows.map(([name, value]) => value !== null && html`<div><dt>${name}</dt><dd><bdi>${value}</bdi></dd></div>`)}</dl>
<p class="box warn">${t.exactly}</p>${steps(lines)}<p>${t.sendMoneyBy(time(expiresAt))}</p>${checkForm(view, attempt, t.paidCheckNow)}`,
  };
}

function working(ctx: PaymentsContext, view: LinkView, attempt: AttemptPage): Body {
  const { t } = view.locale;
  const { transaction } = attempt;
  const operator = ctx.catalog.methods.get(transaction.method)?.name ?? transaction.method;
  return {
    title: t.workingTitle,
    body: html`<p class="ph" aria-hidden="true"></p><h1>${t.workingTitle}</h1><p>${t.workingText(operator)}</p>${sumOf(amountOf(view, transaction), view.link.item_name)}<br>${checkForm(view, attempt, t.checkNow)}`,
  };
}

function unclear(view: LinkView, attempt: AttemptPage): Body {
  const { t } = view.locale;
  return {
    title: t.unclearTitle,
    body: html`<p class="ic w" aria-hidden="true">?</p><h1>${t.unclearTitle}</h1><p class="box warn">${t.unclearText}</p>${sumOf(amountOf(view, attempt.transaction), view.link.item_name)}<br>${checkForm(view, attempt, t.checkNow)}`,
  };
}

function paid(ctx: PaymentsContext, view: LinkView, attempt: AttemptPage): Body {
  const { t, date } = view.locale;
  const { transaction, receipt } = attempt;
  const method = ctx.catalog.methods.get(transaction.method)?.name ?? transaction.method;
  const settledAt = transaction.settled_at ?? transaction.updated_at;
  const back = returnUrl(view, transaction);
  const fresh = ctx.clock.millis() - settledAt.getTime() < RETURN_WITHIN_MS;
  return {
    title: t.paidTitle,
    body: html`<p class="ic s" aria-hidden="true">✓</p><h1>${t.paidTitle}</h1><p>${t.paidText(amountOf(view, transaction), view.business)}</p>
<dl><div><dt>${t.paidOn}</dt><dd>${date(settledAt)}</dd></div><div><dt>${t.paidWith}</dt><dd>${method}</dd></div>${view.link.item_name !== null && html`<div><dt>${t.item}</dt><dd><bdi>${view.link.item_name}</bdi></dd></div>`}${receipt !== null && html`<div><dt>${t.receiptCode}</dt><dd>${receipt}</dd></div>`}</dl>
${back !== null && html`<a class="btn" href="${back}" rel="noreferrer"${fresh && html` data-go`}>${t.returnTo(view.business)}</a>`}${receipt !== null && html`<a class="btn q" href="${addressWith(view, `/r/${receipt}`)}">${t.receipt}</a>`}${back !== null && fresh && html`<p role="status" id="live" class="m" data-t="${t.returning(view.business)}"></p><button type="button" class="q" id="stay" hidden>${t.stay}</button>`}`,
  };
}

function reversed(view: LinkView, attempt: AttemptPage): Body {
  const { t } = view.locale;
  const back = returnUrl(view, attempt.transaction);
  return {
    title: t.reversedTitle,
    body: html`<p class="ic w" aria-hidden="true">↩</p><h1>${t.reversedTitle}</h1><p>${t.reversedText(amountOf(view, attempt.transaction))}</p>${back !== null && html`<a class="btn" href="${back}" rel="noreferrer">${t.returnTo(view.business)}</a>`}`,
  };
}

function ended(view: LinkView, attempt: AttemptPage): Body {
  const { t } = view.locale;
  const { transaction, stage } = attempt;
  const code = transaction.failure_code ?? '';
  const cause = t.failures[isFailureCode(code) ? code : 'UNSPECIFIED'];
  const title = stage === 'expired' ? t.expiredTitle : t.failedTitle;
  const canRetry = view.status === 'active';
  const back = returnUrl(view, transaction);
  return {
    title,
    // "You were not charged" is shown only where the operator has confirmed it.
    body: html`<p class="ic e" aria-hidden="true">!</p><h1>${title}</h1><p>${cause}</p>${stage === 'expired' && html`<p>${t.notCharged}</p>`}${sumOf(amountOf(view, transaction), view.link.item_name)}<br>
${canRetry && html`<a class="btn" href="${addressWith(view, view.path, { again: refOf(transaction) })}">${t.tryAgain}</a>`}${back !== null && html`<a class="btn q" href="${back}" rel="noreferrer">${t.returnTo(view.business)}</a>`}`,
  };
}

/** The button that works everywhere: it asks, and is answered as soon as something changes. */
function checkForm(view: LinkView, attempt: AttemptPage, label: string): Html {
  const { t, language, asked } = view.locale;
  const { notice, auto } = attempt;
  const other = auto ? {} : { auto: '1' };
  return html`${notice && noticeBox(view, notice)}<form method="get" action="${view.layout.address}">${asked && html`<input type="hidden" name="lang" value="${language}">`}<input type="hidden" name="check" value="${attempt.stage}"><button>${label}</button></form>${liveRegion(view)}<noscript><p><a class="lk" href="${addressWith(view, view.layout.address, other)}">${auto ? t.autoOff : t.autoOn}</a></p></noscript>`;
}

function liveRegion(view: LinkView): Html {
  return html`<p class="m" role="status" id="live" data-t="${view.locale.t.updatesItself}"></p>`;
}

function noticeBox(view: LinkView, notice: AttemptNotice): Html {
  const { t } = view.locale;
  switch (notice.kind) {
    case 'wrong':
      return html`<p class="box bad" role="alert"><a href="#code">${t.otpWrong(notice.left)}</a></p>`;
    case 'sent':
      return html`<p class="box good" role="status">${t.otpResent}</p>`;
    case 'wait':
      return html`<p class="box warn" role="status">${t.otpWait(notice.seconds)}</p>`;
    case 'not_yet':
      return html`<p class="box warn" role="status">${t.notYet}</p>`;
  }
}

function amountOf(view: LinkView, transaction: Transaction): string {
  return view.locale.money(transaction.amount, transaction.currency);
}

function maskedNumber(transaction: Transaction): string {
  return maskNumber(formatNumber(transaction.msisdn ?? ''));
}

/** The shop's own address with the reference, which proves nothing: the shop asks us, or is told. */
function returnUrl(view: LinkView, transaction: Transaction): string | null {
  const url = URL.parse(view.link.redirection_url ?? '');
  if (!url || !/^https?:$/.test(url.protocol)) return null;
  url.searchParams.set('ref', refOf(transaction));
  return url.href;
}
