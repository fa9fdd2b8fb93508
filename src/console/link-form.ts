// The form of a new payment link, its preview, and the parameters that it sends.

import { listLinkCountries } from '../catalog/countries.ts';
import type { FieldErrors } from '../platform/errors.ts';
import { type Html, html } from '../platform/html.ts';
import { formatAmount } from '../platform/money.ts';
import type { JsonObject } from '../platform/strict-json.ts';
import { readTypedAmount } from '../platform/typed-amounts.ts';
import { fieldOf, type HolderRequest } from './console-request.ts';
import { type FormField, form, formField } from './form-components.ts';

const MAX_LOGO_CHARACTERS = 700_000;
const MAX_FIELD_CHARACTERS = 2_048;
const DEFAULT_COLOUR = '#0b6157';
/** Fields that are passed on as they are; empty ones are left out. */
const TEXT_FIELDS = ['item_name', 'business_name', 'redirection_url', 'callback_url', 'email', 'phone'] as const;

export function linkForm(request: HolderRequest, errors: FieldErrors | undefined): Html {
  const { t } = request;
  const value = (name: string) => fieldOf(request, name, MAX_FIELD_CHARACTERS);
  const countries = listLinkCountries(request.ctx.catalog).map(
    (row) => [String(row.countryId), `${row.name} (${row.currency})`] as const,
  );
  return form(request, {
    action: '/links',
    attributes: html`data-preview="1"`,
    errors,
    fields: [
      { name: 'item_name', label: t.links.item, hint: t.links.itemHint, value: value('item_name') },
      {
        name: 'amount',
        label: t.amount,
        hint: t.links.amountHint,
        value: value('amount'),
        attributes: html`inputmode="decimal"`,
      },
      { type: 'select', name: 'country_id', label: t.country, value: value('country_id'), choices: countries },
      { name: 'business_name', label: t.links.business, hint: t.links.businessHint, value: value('business_name') },
      {
        type: 'url',
        name: 'redirection_url',
        label: t.links.redirect,
        hint: t.links.redirectHint,
        value: value('redirection_url'),
      },
      html`
        <details>
          <summary>${t.links.more}</summary>
          ${moreFields(request, value).map((field) => formField({ ...field, errors }))}
        </details>
      `,
      { type: 'checkbox', name: 'reusable', label: t.links.reusable, checked: value('reusable') === 'yes' },
      logoField(request, errors?.logo),
    ],
    submit: t.links.create,
  });
}

function moreFields({ t }: HolderRequest, value: (name: string) => string): FormField[] {
  return [
    { type: 'date', name: 'expires_on', label: t.links.expires, value: value('expires_on') },
    { type: 'email', name: 'email', label: t.links.payerEmail, value: value('email') },
    { name: 'phone', label: t.links.payerPhone, value: value('phone') },
    { type: 'url', name: 'callback_url', label: t.integrations.callbackUrl, value: value('callback_url') },
    {
      type: 'color',
      name: 'accent_colour',
      label: t.links.colour,
      value: value('accent_colour') || DEFAULT_COLOUR,
    },
  ];
}

/** The script scales the chosen image down and puts it into the hidden field. */
function logoField({ t }: HolderRequest, errors: string[] | undefined): Html {
  return html`
    <div class="field" data-js hidden>
      <label for="f-logo-file">${t.links.logo}</label>
      <span class="muted">${t.links.logoHint}</span>
      <input id="f-logo-file" type="file" accept="image/png,image/jpeg,image/webp,image/gif" data-image="#f-logo">
    </div>
    <input type="hidden" name="logo" id="f-logo" value="">
    ${errors && html`<p class="field-error">${errors.join(' ')}</p>`}
  `;
}

/** The script fills it with what the form says. */
export function linkPreview({ t, holder }: HolderRequest): Html {
  return html`
    <div class="preview" data-js hidden>
      <p class="muted">${t.links.preview}</p>
      <div class="preview-card">
        <img id="preview-logo" alt="" hidden>
        <p><b data-shows="business_name" data-empty="${holder.name}">${holder.name}</b></p>
        <p class="figure" data-shows="amount" data-empty="${t.links.openAmount}"></p>
        <p class="muted" data-shows="item_name" data-empty="–"></p>
      </div>
    </div>
  `;
}

type LinkFormReading = { ok: true; params: JsonObject } | { ok: false; errors: FieldErrors };

/** The parameters of the API call that the form stands for. */
export function readLinkForm(request: HolderRequest): LinkFormReading {
  const value = (name: string) => fieldOf(request, name, MAX_FIELD_CHARACTERS);
  const countryId = Number(value('country_id'));
  const currency = request.ctx.catalog.linkCountries.get(countryId)?.currency ?? '';
  const params: JsonObject = {
    country_id: countryId,
    currency,
    reusable: value('reusable') === 'yes',
  };
  for (const name of TEXT_FIELDS) if (value(name) !== '') params[name] = value(name);
  if (value('amount') !== '') {
    const typed = readTypedAmount(value('amount'), request.language, { currency });
    if (!typed.ok) return { ok: false, errors: { amount: [typed.sentence] } };
    params.amount = formatAmount(typed.amount);
  }
  if (value('expires_on') !== '') params.expires_at = `${value('expires_on')}T23:59:59Z`;
  const colour = value('accent_colour');
  if (colour !== '' && colour !== DEFAULT_COLOUR) params.accent_colour = colour;
  const logo = fieldOf(request, 'logo', MAX_LOGO_CHARACTERS);
  if (logo !== '') params.logo = logo;
  return { ok: true, params };
}
