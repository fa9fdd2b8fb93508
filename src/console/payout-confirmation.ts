// The page between the form of a payout and the order: it shows once more what is about to be paid. Its form carries a
// fingerprint of what was shown; what would be ordered differently is shown again instead.

import type { FastifyReply } from 'fastify';
import { formatNumber } from '../catalog/phone.ts';
import { type PayoutPreview, previewPayout } from '../payments/payout-preview.ts';
import type { PayoutOrder } from '../payments/payout-requests.ts';
import { repeatsKey, type SimilarPayout } from '../payments/similar-payouts.ts';
import { type Html, html } from '../platform/html.ts';
import { facts } from '../ui/components.ts';
import { methodLabel, timeTag } from './components.ts';
import { fieldOf, type HolderRequest, money } from './console-request.ts';
import { form } from './form-components.ts';
import { onceField } from './form-idempotency.ts';
import { renderPage } from './layout.ts';
import { PAYOUT_FIELDS } from './payout-fields.ts';
import { confirmedRepeats, fingerprintOf } from './payout-form.ts';

/** Whether the person has just seen this very payout, and has accepted its repetitions. */
export function isConfirmedPayout(
  request: HolderRequest,
  order: PayoutOrder,
  similar: readonly SimilarPayout[],
): boolean {
  if (fieldOf(request, 'shown') !== fingerprintOf(request, [order])) return false;
  return similar.length === 0 || confirmedRepeats(request) === repeatsKey(similar);
}

/** The page, or null when the wallet does not cover the payout. */
export async function confirmationPage(
  request: HolderRequest,
  order: PayoutOrder,
  similar: readonly SimilarPayout[],
): Promise<FastifyReply | null> {
  const { ctx, holder, t } = request;
  const preview = await previewPayout(ctx, holder.id, order);
  if (preview.remaining < 0n) return null;
  const shown = fieldOf(request, 'shown');
  const hasChanged = shown !== '' && shown !== fingerprintOf(request, [order]);
  return renderPage(request, {
    title: t.payouts.confirmTitle,
    lead: holder.payouts_need_approval ? t.payouts.sentAfterApproval : t.payouts.sentOnConfirmation,
    active: 'payouts',
    body: html`
      ${hasChanged && html`<p class="box warning" role="alert">${t.payouts.changed}</p>`}
      <div class="card">
        <p class="figure">${money(request, order.amount, order.method.currency)}</p>
        ${orderFacts(request, order, preview)}
        ${confirmationForm(request, order, similar)}
      </div>
    `,
  });
}

function orderFacts(request: HolderRequest, order: PayoutOrder, { registeredName, remaining }: PayoutPreview): Html {
  const { t } = request;
  const { currency } = order.method;
  return facts([
    [t.number, html`<bdi>${formatNumber(order.msisdn)}</bdi> <span class="muted"><bdi>+${order.msisdn}</bdi></span>`],
    [t.payouts.registeredName, registeredName === null ? t.payouts.nameUnknown : html`<bdi>${registeredName}</bdi>`],
    [t.payee, order.payee && html`<bdi>${order.payee}</bdi>`],
    [t.method, methodLabel(request, order.method)],
    [t.fee, money(request, order.fee, currency)],
    [t.payouts.walletAfter, money(request, remaining, currency)],
    [t.invoice, order.invoiceNo && html`<bdi>${order.invoiceNo}</bdi>`],
    [t.payouts.detail, fieldOf(request, 'detail') && html`<bdi>${order.detail}</bdi>`],
  ]);
}

function confirmationForm(request: HolderRequest, order: PayoutOrder, similar: readonly SimilarPayout[]): Html {
  const { t } = request;
  const typed = Object.fromEntries([...PAYOUT_FIELDS, 'retry_of'].map((name) => [name, fieldOf(request, name)]));
  return form(request, {
    action: '/payouts',
    hidden: { ...typed, shown: fingerprintOf(request, [order]), repeats: repeatsKey(similar) },
    fields: [
      similar.length > 0 &&
        html`<div class="box warning" role="alert">${similar.map((each) => html`<p>${repeatText(request, each)}</p>`)}</div>`,
      similar.length > 0 && {
        type: 'checkbox',
        name: 'confirm_repeats',
        label: t.payouts.confirmRepeats,
        checked: false,
        required: true,
      },
      // The same id from the first form on: going back and confirming again is still the same payout.
      onceField(request.ctx, fieldOf(request, 'once')),
    ],
    submit: t.payouts.confirm(money(request, order.amount, order.method.currency)),
    beside: html`<button class="button-secondary" name="change" value="yes" formnovalidate>${t.payouts.change}</button>`,
  });
}

function repeatText(request: HolderRequest, { earlier }: SimilarPayout): Html | false {
  const { t } = request;
  if (!earlier) return false;
  const { ref, createdAt, createdBy, fileName } = earlier;
  return html`
    ${t.payouts.repeatOf}
    <a href="/console/transactions/${ref}">${timeTag(request, createdAt)}</a> <bdi>(${fileName ?? createdBy})</bdi>
  `;
}
