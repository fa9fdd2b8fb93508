// The fields of the payment form, each with its hint and its error.

import type { LinkCountry, Method } from '../catalog/catalog.ts';
import { predictMethod } from '../catalog/methods.ts';
import { formatNumber, normaliseNumber } from '../catalog/phone.ts';
import type { PaymentsContext } from '../payments/context.ts';
import { MAX_EMAIL_CHARACTERS } from '../platform/email.ts';
import { type Html, html } from '../platform/html.ts';
import { MAX_AMOUNT_CHARACTERS } from '../platform/typed-amounts.ts';
import { operatorTile } from '../ui/components.ts';
import type { FormDraft } from './form-draft.ts';
import type { LinkView } from './link-view.ts';
import { shownMethod } from './names.ts';
import { exampleOf, type FieldMessages, type FieldName, methodError } from './order.ts';

export function amountField(
  view: LinkView,
  row: LinkCountry,
  draft: FormDraft,
  errors: FieldMessages,
  options: readonly MethodOption[],
): Html {
  const { t, money } = view.locale;
  const [min, max] = amountRange(options);
  const hint = t.amountHint(money(min, row.currency), money(max, row.currency));
  return html`
    <div class="field">
      <label for="amount">${t.amount} (${row.currency})</label>
      <p class="hint" id="amount-hint">${hint}</p>
      <input id="amount" name="amount" inputmode="decimal" autocomplete="transaction-amount" maxlength="${MAX_AMOUNT_CHARACTERS}" required
        value="${draft.amount}"${describedBy('amount', errors, 'amount-hint')}>
      ${errorLine('amount', errors)}
    </div>
  `;
}

/** What the methods take that are offered first. A bank takes more, and says so when it is chosen. */
function amountRange(options: readonly MethodOption[]): [bigint, bigint] {
  const ascending = (left: bigint, right: bigint) => (left < right ? -1 : left > right ? 1 : 0);
  const prompts = options.filter((option) => !isManual(option) && option.unavailable === null);
  const offered = prompts.length > 0 ? prompts : options;
  const lowest = offered.map(({ method }) => method.collection.min).sort(ascending);
  const highest = offered.map(({ method }) => method.collection.max).sort(ascending);
  return [lowest[0] ?? 0n, highest.at(-1) ?? 0n];
}

export function phoneField(view: LinkView, row: LinkCountry, draft: FormDraft, errors: FieldMessages): Html {
  const { t } = view.locale;
  const label = row.methods.every(({ type }) => type === 'bank') ? t.phoneOfBankCustomer : t.phone;
  return html`
    <div class="field">
      <label for="phone">${label}</label>
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
  const options = row.methods.map((method) => ({
    method,
    unavailable: methodError(ctx, view.locale, view.link.holder_id, method, view.link.amount),
  }));
  return [...options.filter((option) => !isManual(option)), ...options.filter(isManual)];
}

/** The payer sends the money by hand: to a till, a pay bill or a bank account. */
function isManual({ method }: MethodOption): boolean {
  return method.verification === 'instructions';
}

/** The choice of a method. What cannot be used now says why; ways by hand are folded while there is an easier one. */
export function methodField(
  view: LinkView,
  row: LinkCountry,
  draft: FormDraft,
  errors: FieldMessages,
  options: readonly MethodOption[],
): Html {
  const { t } = view.locale;
  const selected = selectedMethod(row, draft, options);
  const canPay = options.some((option) => option.unavailable === null);
  const isEasy = options.some((option) => !isManual(option) && option.unavailable === null);
  const first = isEasy ? options.filter((option) => !isManual(option)) : options;
  const others = isEasy ? options.filter(isManual) : [];
  const isOpen = others.some(({ method }) => method === selected?.method);
  const show = (option: MethodOption) => methodOption(view, option, option.method === selected?.method && selected);
  return html`
    <fieldset id="method"${(errors.has('method') || !canPay) && html` aria-describedby="method-error"`}>
      <legend>${t.how}</legend>
      ${first.map(show)}
      ${
        others.length > 0 &&
        html`
          <details${isOpen && html` open`}>
            <summary>${t.otherWays}</summary>
            ${others.map(show)}
          </details>
        `
      }
      ${canPay ? errorLine('method', errors) : html`<p class="field-error" id="method-error">${t.noMethod}</p>`}
    </fieldset>
  `;
}

function methodOption(view: LinkView, { method, unavailable }: MethodOption, selected: Selected | false): Html {
  const { t } = view.locale;
  const hint = {
    prompt: t.hintPrompt,
    shortcode: t.hintShortcode,
    otp: t.hintOtp,
    instructions: t.hintInstructions,
  }[method.verification];
  const state =
    unavailable !== null ? html` disabled` : selected && html` checked${selected.guessed && ' data-guessed'}`;
  return html`
    <label class="option">
      <input type="radio" name="method" value="${method.code}" data-prefixes="${method.prefixes.join(' ')}"${state}>
      ${operatorTile(method.name)}
      <span>${shownMethod(view.locale, method)}<small>${unavailable ?? hint}</small></span>
    </label>
  `;
}

/** `guessed`: the payer did not choose it, so the number may still change it. */
type Selected = { method: Method; guessed: boolean };

/** What is selected when the page opens: the method chosen before, the one of the number, or the only one that asks on the phone. */
function selectedMethod(row: LinkCountry, draft: FormDraft, options: readonly MethodOption[]): Selected | null {
  const chosen = row.methods.find((method) => method.code === draft.method);
  if (chosen) return { method: chosen, guessed: false };
  const number = normaliseNumber(draft.phone, row.country, { lenient: true });
  const predicted = number.ok ? predictMethod(row, number.digits) : null;
  if (predicted) return { method: predicted, guessed: true };
  const prompts = options.filter((option) => !isManual(option));
  const [only] = prompts.length > 0 ? prompts : options;
  const isOnly = (prompts.length > 0 ? prompts : options).length === 1;
  return isOnly && only ? { method: only.method, guessed: true } : null;
}

/** The payer's details, where the business gave any: prefilled, and open to correction. */
export function detailFields(view: LinkView, draft: FormDraft, errors: FieldMessages): Html | null {
  const { t } = view.locale;
  const { link } = view;
  if (link.first_name === null && link.last_name === null && link.email === null) return null;
  return html`
    <details${errors.has('email') && html` open`}>
      <summary>${t.yourDetails} (${t.optional})</summary>
      ${detailField('first_name', t.firstName, draft.firstName, html`type="text" maxlength="120" autocomplete="given-name"`)}
      ${detailField('last_name', t.lastName, draft.lastName, html`type="text" maxlength="120" autocomplete="family-name"`)}
      ${detailField(
        'email',
        t.email,
        draft.email,
        html`type="email" maxlength="${MAX_EMAIL_CHARACTERS}" autocomplete="email"${describedBy('email', errors)}`,
        errorLine('email', errors),
      )}
    </details>
  `;
}

function detailField(name: string, label: string, value: string, attributes: Html, error?: Html | null): Html {
  return html`
    <div class="field">
      <label for="${name}">${label}</label>
      <input id="${name}" name="${name}" value="${value}" ${attributes}>
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
