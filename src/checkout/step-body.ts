// What a payer has to do outside of this page, in the operator's own way: a page, an app, a QR code, or a code that the operator
// gives and the payer enters here. Everything works without scripts.

import { linkQrSvg } from '../links/qr.ts';
import type { PaymentsContext } from '../payments/context.ts';
import type { PayerStep } from '../payments/payer-steps.ts';
import type { Transaction } from '../payments/transactions.ts';
import { type Html, html, trusted } from '../platform/html.ts';
import { amountOf, methodName, type PageBody } from './attempt-result.ts';
import { outwardButton, total } from './layout.ts';
import { addressWith, type LinkView } from './link-view.ts';

type StepPage = {
  step: PayerStep | null;
  transaction: Transaction;
  /** What is wrong with the code that was given. */
  wrong: string | null;
  /** The button that asks whether it was paid. */
  check: Html;
};

export function stepBody(ctx: PaymentsContext, view: LinkView, page: StepPage): PageBody {
  const { t } = view.locale;
  const { step, transaction, wrong, check } = page;
  const operator = methodName(ctx, view, transaction);
  const amount = total(amountOf(view, transaction), view.link.item_name);
  if (step?.kind === 'redirect' || step?.kind === 'deep_link')
    return titled(
      t.outsideTitle(operator),
      html`
        ${amount}
        <p>${t.outsideText(operator)}</p>
        ${outwardButton(step.url, t.outsideOpen(operator))}
        ${check}
      `,
    );
  if (step?.kind === 'qr')
    return titled(
      t.qrTitle,
      html`
        ${amount}
        <p>${t.qrText(operator)}</p>
        ${qrPicture(step.content)}
        ${step.links.map(({ name, url }) => html`<p>${outwardButton(url, t.qrOpen(name))}</p>`)}
        ${check}
      `,
    );
  return titled(
    t.codeTitle,
    html`
      ${amount}
      <p>${t.codeText(operator)}</p>
      ${operatorText(view, step)}
      ${step?.kind === 'code' && step.dial !== undefined && html`<p>${t.codeDial(step.dial)}</p>`}
      ${codeForm(view, t.codeHint, wrong)}
      ${check}
    `,
  );
}

function titled(title: string, body: Html): PageBody {
  return { title, body: html`<h1>${title}</h1>${body}` };
}

/** The operator's own words, marked as such. */
export function operatorText(view: LinkView, step: PayerStep | null): Html | null {
  const text = step && 'text' in step ? step.text : null;
  return text === null ? null : html`<p class="notice warning">${view.locale.t.operatorSays} <bdi>${text}</bdi></p>`;
}

/** Inline, and made by us: what the operator sent is only the dots. */
function qrPicture(content: string): Html {
  return trusted(linkQrSvg(content).replace('<svg ', '<svg class="qr" role="img" aria-label="QR" '));
}

export function codeForm(view: LinkView, hint: string, wrong: string | null): Html {
  const { t } = view.locale;
  return html`
    <form method="post" action="${addressWith(view, `${view.layout.address}/code`)}">
      <div class="field">
        <label for="code">${t.otpCode}</label>
        <p class="hint" id="code-hint">${hint}</p>
        <input id="code" name="code" inputmode="numeric" autocomplete="one-time-code" pattern="[0-9 ]*" maxlength="16"
          required aria-describedby="code-hint${wrong && ' code-error'}"${wrong && html` aria-invalid="true"`}>
        ${wrong && html`<p class="field-error" id="code-error">${wrong}</p>`}
      </div>
      <button>${t.continue}</button>
    </form>
  `;
}
