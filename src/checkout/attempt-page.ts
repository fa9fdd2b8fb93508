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

/** Only who has just paid is sent back to the shop; who opens the receipt tomorrow wants to read it. */
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
  const { words } = view.reading;
  const { stage, transaction, auto } = attempt;
  const waiting = isWaiting(stage);
  const { title, body } = bodyOf(ctx, view, attempt);
  const failed = stage === 'failed' || attempt.notice?.kind === 'wrong';
  return layoutPage(view.frame, {
    title: `${failed ? `${words.errorTitle}: ` : ''}${title} – ${view.business}`,
    ...(waiting
      ? { attributes: html`data-stage="${stage}" data-url="${view.frame.address}" data-q="${view.query}"` }
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
  const { words, clock } = view.reading;
  const { transaction } = attempt;
  const method = ctx.catalog.methods.get(transaction.method);
  const operator = method?.name ?? transaction.method;
  const amount = amountOf(view, transaction);
  const byCode = attempt.stage === 'shortcode' && method?.shortCode;
  const title = byCode ? words.shortcodeTitle : words.look;
  const [code, ...choices] = method?.dial ?? [];
  const endsAt = new Date(
    transaction.created_at.getTime() + UNCLEAR_AFTER_MS[attempt.stage === 'shortcode' ? 'shortcode' : 'prompt'],
  );
  return {
    title,
    body: html`<p class="ph" aria-hidden="true"></p><h1>${byCode ? title : words.lookAt(maskedNumber(transaction))}</h1>
${sumOf(amount, view.link.item_name)}<br>${steps(byCode ? words.shortcodeSteps(operator, byCode, amount) : words.promptSteps(operator, attempt.label, amount))}
${checkForm(view, attempt, words.check)}<details><summary>${words.noMessage}</summary>${!byCode && code !== undefined && html`<p>${words.noMessageDial(code, choices.join(', '))}</p>`}<p>${words.noMessageWait(clock(endsAt))}</p></details>`,
  };
}

function typeCode(view: LinkView, attempt: AttemptPage): Body {
  const { words, clock } = view.reading;
  const { transaction, notice } = attempt;
  const wrong = notice?.kind === 'wrong';
  return {
    title: words.otpTitle,
    body: html`<h1>${words.otpTitle}</h1>${notice && noticeBox(view, notice)}<p>${words.otpText(maskedNumber(transaction))}</p>${sumOf(amountOf(view, transaction), view.link.item_name)}<br>
<form method="post" action="${addressWith(view, `${view.frame.address}/code`)}"><div class="f"><label for="code">${words.otpCode}</label><p class="h" id="code-h">${words.otpHint}</p><input id="code" name="code" inputmode="numeric" autocomplete="one-time-code" pattern="[0-9 ]*" maxlength="12" required aria-describedby="code-h${wrong && ' code-e'}"${wrong && html` aria-invalid="true"`}>${wrong && html`<p class="er" id="code-e">${words.otpWrong(notice.left)}</p>`}</div><button>${words.continue}</button></form>
<form method="post" action="${addressWith(view, `${view.frame.address}/resend`)}"><button class="q">${words.otpResend}</button></form>
<p class="m">${words.validUntil(clock(new Date(transaction.created_at.getTime() + VERIFICATION_MS)))}</p>${liveRegion(view)}`,
  };
}

function sendMoney(view: LinkView, attempt: AttemptPage): Body {
  const { words, clock } = view.reading;
  const { instructions, transaction } = attempt;
  if (!instructions) return { title: words.workingTitle, body: html`<h1>${words.workingTitle}</h1>` };
  const { payTo, accountReference, expiresAt } = instructions;
  const [label, lines] =
    payTo.kind === 'till'
      ? [words.till, words.tillSteps]
      : payTo.kind === 'paybill'
        ? [words.paybill, words.paybillSteps]
        : [words.bankAccount, words.bankSteps];
  const rows: [string, string | null][] = [
    [words.amount, amountOf(view, transaction)],
    [words.bank, payTo.bank],
    [label, payTo.number],
    [words.accountName, payTo.name],
    [words.accountReference, accountReference],
  ];
  return {
    title: words.payYourself,
    body: html`<h1>${words.payYourself}</h1><dl class="big">${rows.map(([name, value]) => value !== null && html`<div><dt>${name}</dt><dd><bdi>${value}</bdi></dd></div>`)}</dl>
<p class="box warn">${words.exactly}</p>${steps(lines)}<p>${words.payYourselfBy(clock(expiresAt))}</p>${checkForm(view, attempt, words.paidCheck)}`,
  };
}

function working(ctx: PaymentsContext, view: LinkView, attempt: AttemptPage): Body {
  const { words } = view.reading;
  const { transaction } = attempt;
  const operator = ctx.catalog.methods.get(transaction.method)?.name ?? transaction.method;
  return {
    title: words.workingTitle,
    body: html`<p class="ph" aria-hidden="true"></p><h1>${words.workingTitle}</h1><p>${words.workingText(operator)}</p>${sumOf(amountOf(view, transaction), view.link.item_name)}<br>${checkForm(view, attempt, words.check)}`,
  };
}

function unclear(view: LinkView, attempt: AttemptPage): Body {
  const { words } = view.reading;
  return {
    title: words.unsureTitle,
    body: html`<p class="ic w" aria-hidden="true">?</p><h1>${words.unsureTitle}</h1><p class="box warn">${words.unsureText}</p>${sumOf(amountOf(view, attempt.transaction), view.link.item_name)}<br>${checkForm(view, attempt, words.check)}`,
  };
}

function paid(ctx: PaymentsContext, view: LinkView, attempt: AttemptPage): Body {
  const { words, date } = view.reading;
  const { transaction, receipt } = attempt;
  const method = ctx.catalog.methods.get(transaction.method)?.name ?? transaction.method;
  const settledAt = transaction.settled_at ?? transaction.updated_at;
  const back = returnUrl(view, transaction);
  const fresh = ctx.clock.millis() - settledAt.getTime() < RETURN_WITHIN_MS;
  return {
    title: words.paidTitle,
    body: html`<p class="ic s" aria-hidden="true">✓</p><h1>${words.paidTitle}</h1><p>${words.paidText(amountOf(view, transaction), view.business)}</p>
<dl><div><dt>${words.paidOn}</dt><dd>${date(settledAt)}</dd></div><div><dt>${words.paidWith}</dt><dd>${method}</dd></div>${view.link.item_name !== null && html`<div><dt>${words.item}</dt><dd><bdi>${view.link.item_name}</bdi></dd></div>`}${receipt !== null && html`<div><dt>${words.receiptCode}</dt><dd>${receipt}</dd></div>`}</dl>
${back !== null && html`<a class="btn" href="${back}" rel="noreferrer"${fresh && html` data-go`}>${words.returnTo(view.business)}</a>`}${receipt !== null && html`<a class="btn q" href="${addressWith(view, `/r/${receipt}`)}">${words.receipt}</a>`}${back !== null && fresh && html`<p role="status" id="live" class="m" data-t="${words.goingBack(view.business)}"></p><button type="button" class="q" id="stay" hidden>${words.stay}</button>`}`,
  };
}

function reversed(view: LinkView, attempt: AttemptPage): Body {
  const { words } = view.reading;
  const back = returnUrl(view, attempt.transaction);
  return {
    title: words.reversedTitle,
    body: html`<p class="ic w" aria-hidden="true">↩</p><h1>${words.reversedTitle}</h1><p>${words.reversedText(amountOf(view, attempt.transaction))}</p>${back !== null && html`<a class="btn" href="${back}" rel="noreferrer">${words.returnTo(view.business)}</a>`}`,
  };
}

function ended(view: LinkView, attempt: AttemptPage): Body {
  const { words } = view.reading;
  const { transaction, stage } = attempt;
  const code = transaction.failure_code ?? '';
  const cause = words.failures[isFailureCode(code) ? code : 'UNSPECIFIED'];
  const title = stage === 'expired' ? words.expiredTitle : words.failedTitle;
  const canRetry = view.status === 'active';
  const back = returnUrl(view, transaction);
  return {
    title,
    // "Nothing was taken" is only said where the operator said so.
    body: html`<p class="ic e" aria-hidden="true">!</p><h1>${title}</h1><p>${cause}</p>${stage === 'expired' && html`<p>${words.nothingTaken}</p>`}${sumOf(amountOf(view, transaction), view.link.item_name)}<br>
${canRetry && html`<a class="btn" href="${addressWith(view, view.path, { again: refOf(transaction) })}">${words.tryAgain}</a>`}${back !== null && html`<a class="btn q" href="${back}" rel="noreferrer">${words.returnTo(view.business)}</a>`}`,
  };
}

/** The button that works everywhere: it asks, and is answered as soon as something changes. */
function checkForm(view: LinkView, attempt: AttemptPage, label: string): Html {
  const { words, language, asked } = view.reading;
  const { notice, auto } = attempt;
  const other = auto ? {} : { auto: '1' };
  return html`${notice && noticeBox(view, notice)}<form method="get" action="${view.frame.address}">${asked && html`<input type="hidden" name="lang" value="${language}">`}<input type="hidden" name="check" value="${attempt.stage}"><button>${label}</button></form>${liveRegion(view)}<noscript><p><a class="lk" href="${addressWith(view, view.frame.address, other)}">${auto ? words.autoOff : words.autoOn}</a></p></noscript>`;
}

function liveRegion(view: LinkView): Html {
  return html`<p class="m" role="status" id="live" data-t="${view.reading.words.checking}"></p>`;
}

function noticeBox(view: LinkView, notice: AttemptNotice): Html {
  const { words } = view.reading;
  switch (notice.kind) {
    case 'wrong':
      return html`<p class="box bad" role="alert"><a href="#code">${words.otpWrong(notice.left)}</a></p>`;
    case 'sent':
      return html`<p class="box good" role="status">${words.otpResent}</p>`;
    case 'wait':
      return html`<p class="box warn" role="status">${words.otpWait(notice.seconds)}</p>`;
    case 'not_yet':
      return html`<p class="box warn" role="status">${words.notYet}</p>`;
  }
}

function amountOf(view: LinkView, transaction: Transaction): string {
  return view.reading.money(transaction.amount, transaction.currency);
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
