// The fields of the payment form, each with its hint and its error.

import type { LinkCountry, Method } from '../catalog/catalog.ts';
import { predictMethod } from '../catalog/methods.ts';
import { formatNumber, normaliseNumber } from '../catalog/phone.ts';
import type { PaymentsContext } from '../payments/context.ts';
import { type Html, html } from '../platform/html.ts';
import { MAX_AMOUNT_CHARACTERS } from '../platform/typed-amounts.ts';
import type { FormDraft } from './form-draft.ts';
import type { LinkView } from './link-view.ts';
import { exampleOf, type FieldMessages, type FieldName, methodError } from './order.ts';

export function itemLine({ link, locale }: LinkView): Html | null {
  return link.item_name === null ? null : html`<p class="muted">${locale.t.item}: <bdi>${link.item_name}</bdi></p>`;
}

export function amountField(view: LinkView, row: LinkCountry, draft: FormDraft, errors: FieldMessages): Html {
  const { t, money } = view.locale;
  const [min, max] = amountRange(row);
  const hint = `${t.amountHint(money(min, row.currency), money(max, row.currency))}. ${t.noFee}`;
  return html`
    <div class="field">
      ${itemLine(view)}
      <label for="amount">${t.amount} (${row.currency})</label>
      <p class="hint" id="amount-hint">${hint}</p>
      <input id="amount" name="amount" inputmode="decimal" autocomplete="transaction-amount" maxlength="${MAX_AMOUNT_CHARACTERS}" required
        value="${draft.amount}"${describedBy('amount', errors, 'amount-hint')}>
      ${errorLine('amount', errors)}
    </div>
  `;
}

/** The range that the methods of the country cover together. */
function amountRange(row: LinkCountry): [bigint, bigint] {
  const ascending = (left: bigint, right: bigint) => (left < right ? -1 : left > right ? 1 : 0);
  const lowest = row.methods.map(({ collection }) => collection.min).sort(ascending);
  const highest = row.methods.map(({ collection }) => collection.max).sort(ascending);
  return [lowest[0] ?? 0n, highest.at(-1) ?? 0n];
}

export function phoneField(view: LinkView, row: LinkCountry, draft: FormDraft, errors: FieldMessages): Html {
  const { t } = view.locale;
  return html`
    <div class="field">
      <label for="phone">${t.phone}</label>
      <p class="hint" id="phone-hint">${t.phoneHint(exampleOf(row))}</p>
      <input id="phone" name="phone" type="tel" inputmode="tel" autocomplete="tel-national" maxlength="40" required
        value="${shownPhone(row, draft)}"${describedBy('phone', errors, 'phone-hint')}>
      ${errorLine('phone', errors)}
    </div>
  `;
}

export type MethodOption = { method: Method; unavailable: string | null };

/** The methods of the country. Those that ask on the phone come first: they are the least work. */
export function methodOptions(ctx: PaymentsContext, view: LinkView, row: LinkCountry): MethodOption[] {
  const rank = (method: Method) => (method.verification === 'instructions' ? 1 : 0);
  return [...row.methods]
    .sort((left, right) => rank(left) - rank(right))
    .map((method) => ({
      method,
      unavailable: methodError(ctx, view.locale, view.link.holder_id, method, view.link.amount),
    }));
}

/** The choice of a method. What cannot be used now says why. */
export function methodField(
  view: LinkView,
  row: LinkCountry,
  draft: FormDraft,
  errors: FieldMessages,
  options: readonly MethodOption[],
): Html {
  const { t } = view.locale;
  const selected = selectedMethod(row, draft);
  const canPay = options.some((option) => option.unavailable === null);
  return html`
    <fieldset id="method"${errors.has('method') && html` aria-describedby="method-error"`}>
      <legend>${t.how}</legend>
      ${options.map((option) => methodOption(view, option, option.method === selected))}
      ${errorLine('method', errors)}
      ${!canPay && html`<p class="field-error">${t.noMethod}</p>`}
    </fieldset>
  `;
}

function methodOption(view: LinkView, { method, unavailable }: MethodOption, selected: boolean): Html {
  const { t } = view.locale;
  const hint = {
    prompt: t.hintPrompt,
    shortcode: t.hintShortcode,
    otp: t.hintOtp,
    instructions: t.hintInstructions,
  }[method.verification];
  const state = unavailable !== null ? html` disabled` : selected && html` checked`;
  return html`
    <label class="option">
      <input type="radio" name="method" value="${method.code}" data-prefixes="${method.prefixes.join(' ')}"${state}>
      <span>${method.name}<small>${unavailable ?? hint}</small></span>
    </label>
  `;
}

/** The method that is selected when the page opens: the one chosen before, else the one that the number suggests. */
function selectedMethod(row: LinkCountry, draft: FormDraft): Method | null {
  const chosen = row.methods.find((method) => method.code === draft.method);
  if (chosen) return chosen;
  if (row.methods.length === 1) return row.methods[0] ?? null;
  const number = normaliseNumber(draft.phone, row.country, { lenient: true });
  return number.ok ? predictMethod(row, number.digits) : null;
}

/** The payer's details, where the business gave any: prefilled, and open to correction. */
export function detailFields(view: LinkView, draft: FormDraft, errors: FieldMessages): Html | null {
  const { t } = view.locale;
  const { link } = view;
  if (link.first_name === null && link.last_name === null && link.email === null) return null;
  return html`
    <details${errors.has('email') && html` open`}>
      <summary>${t.yourDetails} (${t.optional})</summary>
      ${detailField('first_name', t.firstName, draft.firstName, html`type="text" autocomplete="given-name"`)}
      ${detailField('last_name', t.lastName, draft.lastName, html`type="text" autocomplete="family-name"`)}
      ${detailField(
        'email',
        t.email,
        draft.email,
        html`type="email" autocomplete="email"${describedBy('email', errors)}`,
        errorLine('email', errors),
      )}
    </details>
  `;
}

function detailField(name: string, label: string, value: string, attributes: Html, error?: Html | null): Html {
  return html`
    <div class="field">
      <label for="${name}">${label}</label>
      <input id="${name}" name="${name}" maxlength="120" value="${value}" ${attributes}>
      ${error}
    </div>
  `;
}

/** A valid number is shown in the country's own format; anything else is left as it was typed. */
function shownPhone(row: LinkCountry, draft: FormDraft): string {
  const number = normaliseNumber(draft.phone, row.country, { lenient: true });
  return number.ok ? formatNumber(number.digits) : draft.phone;
}

export function hiddenFields(fields: readonly (readonly [string, string])[]): Html[] {
  return fields
    .filter(([, value]) => value !== '')
    .map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`);
}

function describedBy(name: FieldName, errors: FieldMessages, hint?: string): Html {
  const invalid = errors.has(name);
  const ids = [hint, invalid ? `${name}-error` : undefined].filter(Boolean).join(' ');
  return html`${ids !== '' && html` aria-describedby="${ids}"`}${invalid && html` aria-invalid="true"`}`;
}

function errorLine(name: FieldName, errors: FieldMessages): Html | null {
  const text = errors.get(name);
  return text === undefined ? null : html`<p class="field-error" id="${name}-error">${text}</p>`;
}
