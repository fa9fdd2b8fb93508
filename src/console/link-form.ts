// The form of a payment link, its preview, and the parameters that it sends. New links, copies and changes use the same fields.

import type { LinkCountry } from '../catalog/catalog.ts';
import { listLinkCountries } from '../catalog/countries.ts';
import { tidyNumber } from '../catalog/phone.ts';
import type { PaymentLink } from '../links/links.ts';
import type { FieldErrors } from '../platform/errors.ts';
import { type Html, html, scriptFile, styleFile } from '../platform/html.ts';
import { isHttpUrl, MAX_URL_CHARACTERS } from '../platform/http-url.ts';
import { formatAmount, lesserOf } from '../platform/money.ts';
import type { JsonObject } from '../platform/strict-json.ts';
import { createLocalTime, dayIn, startOfDay } from '../platform/time-zones.ts';
import { readTypedAmount } from '../platform/typed-amounts.ts';
import { zoneOf } from './components.ts';
import { fieldOf, type HolderRequest, money } from './console-request.ts';
import { type FormField, form, formField } from './form-components.ts';
import { onceField } from './form-idempotency.ts';
import { countryName } from './names.ts';

export const LINK_STYLE = styleFile(new URL('./links.css', import.meta.url));
export const LINK_SCRIPT = scriptFile(new URL('./links.js', import.meta.url));

const MAX_LOGO_CHARACTERS = 700_000;
/** One more than is accepted: a text that is cut would be another address. */
const MAX_FIELD_CHARACTERS = MAX_URL_CHARACTERS + 1;
const DEFAULT_COLOUR = '#0f6b5c';
const DAY_HOURS = 26;
/** Fields that are passed on as they are; empty ones are left out. */
const TEXT_FIELDS = ['item_name', 'business_name', 'redirection_url', 'callback_url', 'email', 'phone'] as const;
const MORE_FIELDS = [
  'expires_on',
  'redirection_url',
  'email',
  'phone',
  'callback_url',
  'accent_colour',
  'logo',
] as const;

/** The texts of the fields, by name. */
export type LinkValues = Readonly<Record<string, string>>;

/** What the form begins with: what was sent, else another link, else nothing. */
export function valuesOf(
  request: HolderRequest,
  from: PaymentLink | null,
  more: { latestCountry: number | null; logo: Buffer | null },
): LinkValues {
  if (request.raw.method === 'POST') return sentValues(request);
  const { latestCountry, logo } = more;
  if (!from) return { country_id: String(latestCountry ?? ''), amount_kind: 'fixed', reusable: 'no' };
  return {
    item_name: from.item_name ?? '',
    business_name: from.business_name ?? '',
    redirection_url: from.redirection_url ?? '',
    email: from.email ?? '',
    phone: from.phone === null ? '' : `+${from.phone}`,
    accent_colour: from.accent_colour ?? '',
    country_id: String(from.country_id),
    amount: from.amount === null ? '' : formatAmount(from.amount),
    amount_kind: from.amount === null ? 'any' : 'fixed',
    reusable: from.reusable ? 'yes' : 'no',
    expires_on: from.expires_at ? dayIn(zoneOf(request), from.expires_at) : '',
    logo: logo?.toString('base64') ?? '',
  };
}

function sentValues(request: HolderRequest): LinkValues {
  const names = [...TEXT_FIELDS, 'amount', 'amount_kind', 'country_id', 'reusable', 'expires_on', 'accent_colour'];
  const texts = names.map((name) => [name, fieldOf(request, name, MAX_FIELD_CHARACTERS)] as const);
  return { ...Object.fromEntries(texts), logo: fieldOf(request, 'logo', MAX_LOGO_CHARACTERS) };
}

type LinkFormOptions = {
  action: string;
  submit: string;
  values: LinkValues;
  errors: FieldErrors | undefined;
  /** The link that is changed: only what may change after it was shared. */
  changed?: PaymentLink;
};

export function linkForm(request: HolderRequest, options: LinkFormOptions): Html {
  const { t } = request;
  const { values, errors, changed } = options;
  const isChange = changed !== undefined;
  const value = (name: string) => values[name] ?? '';
  const countries = listLinkCountries(request.ctx.catalog).map(
    (row) => [String(row.countryId), `${countryName(request, row.country.iso)} (${row.currency})`] as const,
  );
  const more = moreFields(request, value, changed);
  const isMoreOpen = MORE_FIELDS.some((name) => errors?.[name]);
  return form(request, {
    action: options.action,
    className: 'link-form',
    attributes: html`data-preview="1"`,
    errors,
    fields: [
      { name: 'item_name', label: t.links.item, hint: t.links.itemHint, value: value('item_name') },
      ...(isChange ? [] : amountFields(request, value, countries)),
      !isChange && {
        type: 'radio',
        name: 'reusable',
        label: t.links.use,
        value: value('reusable') === 'yes' ? 'yes' : 'no',
        choices: [
          ['no', t.links.once, t.links.onceMeaning],
          ['yes', t.links.reusable, t.links.reusableMeaning],
        ],
      },
      { name: 'business_name', label: t.links.business, hint: t.links.businessHint, value: value('business_name') },
      html`
        <details${(isChange || isMoreOpen) && html` open`}>
          <summary>${t.links.more}</summary>
          ${more.map((field) => formField({ ...field, errors }))}
          ${logoField(request, errors?.logo, value('logo'), changed)}
        </details>
      `,
      // A change can be made twice; a link that is made twice can be paid twice.
      !isChange && onceField(request.ctx, fieldOf(request, 'once', 40)),
    ],
    submit: options.submit,
  });
}

/** An empty amount is a choice of its own: nobody makes an open link by forgetting a field. */
function amountFields(
  { t }: HolderRequest,
  value: (name: string) => string,
  countries: readonly (readonly [string, string])[],
): FormField[] {
  return [
    { type: 'select', name: 'country_id', label: t.country, value: value('country_id'), choices: countries },
    {
      type: 'radio',
      name: 'amount_kind',
      label: t.links.amountKind,
      value: value('amount_kind') === 'any' ? 'any' : 'fixed',
      choices: [
        ['fixed', t.links.fixedAmount, t.links.fixedMeaning],
        ['any', t.links.anyAmount, t.links.anyMeaning],
      ],
    },
    { name: 'amount', label: t.links.fixedAmount, value: value('amount'), attributes: html`inputmode="decimal"` },
  ];
}

function moreFields(
  request: HolderRequest,
  value: (name: string) => string,
  changed: PaymentLink | undefined,
): FormField[] {
  const { t } = request;
  const fields: FormField[] = [
    {
      type: 'date',
      name: 'expires_on',
      label: t.links.expires,
      hint: expiresHint(request, changed),
      value: value('expires_on'),
    },
    {
      type: 'url',
      name: 'redirection_url',
      label: t.links.redirect,
      hint: t.links.redirectHint,
      value: value('redirection_url'),
    },
    {
      type: 'color',
      name: 'accent_colour',
      label: t.links.colour,
      value: value('accent_colour') || DEFAULT_COLOUR,
    },
  ];
  if (changed) return fields;
  return [
    ...fields,
    {
      type: 'email',
      name: 'email',
      label: t.links.payerEmail,
      value: value('email'),
      attributes: html`autocomplete="off"`,
    },
    {
      name: 'phone',
      label: t.links.payerPhone,
      value: value('phone'),
      attributes: html`inputmode="tel" autocomplete="off"`,
    },
    { type: 'url', name: 'callback_url', label: t.integrations.callbackUrl, value: value('callback_url') },
  ];
}

/** An end within a day, which programs can set, stays as long as the day is not changed: then its time is said. */
function expiresHint(request: HolderRequest, changed: PaymentLink | undefined): string {
  const { t } = request;
  const zone = zoneOf(request);
  const end = keptEnd(request, changed);
  if (!end || endOfDay(zone, dayIn(zone, end)) === end.toISOString()) return t.links.expiresHint(zone);
  return t.links.expiresHintAt(createLocalTime(zone)(end).slice(11, 16), zone);
}

/** The end that a link has, unless it has passed. */
function keptEnd({ ctx }: HolderRequest, link: PaymentLink | undefined): Date | null {
  return link?.expires_at && link.expires_at > ctx.clock.now() ? link.expires_at : null;
}

/** The script scales the chosen image down, puts it into the hidden field and shows it: here, where the page has no preview. */
function logoField(
  { t }: HolderRequest,
  errors: string[] | undefined,
  value: string,
  changed: PaymentLink | undefined,
): Html {
  const stored = changed?.logo_hash ? `/logos/${changed.logo_hash}.webp` : '';
  const shown = value === '' ? stored : logoAddress(value);
  return html`
    <div class="field" data-js hidden>
      <span class="label">${t.links.logo}</span>
      <span class="muted" id="h-logo">${t.links.logoHint}</span>
      ${
        changed &&
        html`<img id="preview-logo" alt="" width="40" height="40"${shown === '' ? html` hidden` : html` src="${shown}"`}>`
      }
      <label class="button button-secondary file-button">
        ${t.links.logoChoose}
        <input class="visually-hidden" id="f-logo" type="file" accept="image/png,image/jpeg,image/webp,image/gif"
          data-image="#f-logo-data" aria-describedby="h-logo${errors && ' e-logo'}"${errors && html` aria-invalid="true"`}>
      </label>
    </div>
    <input type="hidden" name="logo" id="f-logo-data" value="${value}">
    ${errors && html`<p class="field-error" id="e-logo">${errors.join(' ')}</p>`}
  `;
}

function logoAddress(value: string): string {
  return value.startsWith('data:') ? value : `data:image/webp;base64,${value}`;
}

/** Looks like the payment page. The script fills it with what the form says. */
export function linkPreview(request: HolderRequest, values: LinkValues): Html {
  const { t, holder } = request;
  const logo = values.logo ?? '';
  return html`
    <div class="preview" data-js hidden aria-hidden="true">
      <p class="muted">${t.links.preview}</p>
      <div class="preview-page">
        <div class="preview-business">
          <img id="preview-logo" alt="" width="40" height="40"${
            logo === '' ? html` hidden` : html` src="${logoAddress(logo)}"`
          }>
          <span class="preview-initial" id="preview-initial"></span>
          <b><span data-shows="business_name" data-empty="${holder.name}">${holder.name}</span></b>
        </div>
        <p class="preview-amount" id="preview-amount" data-any="${t.links.anyAmount}"
          data-one="${money(request, 100n, 'KES')}"></p>
        <p data-shows="item_name" data-empty=""></p>
        <div class="preview-card">
          <p class="preview-label">${t.links.previewPhone}</p>
          <p class="preview-field"></p>
          <p class="preview-button" id="preview-button">${t.links.previewPay} <span id="preview-pay"></span></p>
        </div>
      </div>
    </div>
  `;
}

/** What is wrong, above the form: the names of the fields as links. What to do is beside each field, once. */
export function linkErrors({ t }: HolderRequest, errors: FieldErrors | undefined): Html | false {
  const labels: Readonly<Record<string, string>> = {
    item_name: t.links.item,
    amount: t.amount,
    country_id: t.country,
    business_name: t.links.business,
    expires_on: t.links.expires,
    redirection_url: t.links.redirect,
    email: t.links.payerEmail,
    phone: t.links.payerPhone,
    callback_url: t.integrations.callbackUrl,
    accent_colour: t.links.colour,
    logo: t.links.logo,
  };
  const names = Object.keys(errors ?? {});
  if (names.length === 0) return false;
  return html`
    <div class="box error" role="alert">
      <p>${t.pleaseCorrect}</p>
      <ul>${names.map((name) => html`<li><a href="#f-${name}">${labels[name] ?? name}</a></li>`)}</ul>
    </div>
  `;
}

export type LinkFormReading = { ok: true; params: JsonObject } | { ok: false; errors: FieldErrors };

/** The parameters of the API call that the form stands for. */
export function readLinkForm(request: HolderRequest): LinkFormReading {
  const value = (name: string) => fieldOf(request, name, MAX_FIELD_CHARACTERS);
  const countryId = Number(value('country_id'));
  const country = request.ctx.catalog.linkCountries.get(countryId);
  const params: JsonObject = {
    country_id: countryId,
    currency: country?.currency ?? '',
    reusable: value('reusable') === 'yes',
  };
  if (value('amount_kind') !== 'any') {
    const amount = readAmount(request, country, value('amount'));
    if (typeof amount !== 'bigint') return { ok: false, errors: { amount: [amount.sentence] } };
    params.amount = formatAmount(amount);
  }
  return { ok: true, params: { ...params, ...readLook(request) } };
}

/** What may also change later: texts, look, address to return to, last day. `changed`: the link as it is. */
export function readLook(request: HolderRequest, changed?: PaymentLink): JsonObject {
  const value = (name: string) => fieldOf(request, name, MAX_FIELD_CHARACTERS);
  const params: JsonObject = {};
  for (const name of TEXT_FIELDS) if (value(name) !== '') params[name] = value(name);
  // What is too long to be a number is left as it was typed, for the error of the field.
  if (value('phone') !== '') params.phone = tidyNumber(value('phone')) || value('phone');
  const zone = zoneOf(request);
  const day = value('expires_on');
  const end = keptEnd(request, changed);
  if (end && dayIn(zone, end) === day) params.expires_at = end.toISOString();
  else if (day !== '') params.expires_at = endOfDay(zone, day);
  const colour = value('accent_colour');
  if (colour !== '' && colour !== DEFAULT_COLOUR) params.accent_colour = colour;
  const logo = fieldOf(request, 'logo', MAX_LOGO_CHARACTERS);
  if (logo !== '') params.logo = logo;
  return params;
}

/** The errors of the API by the names of the form's fields. What a person can type wrong is said in their language. */
export function formErrors(request: HolderRequest, { expires_at: expires, ...errors }: FieldErrors): FieldErrors {
  const byField = Object.entries(expires ? { ...errors, expires_on: expires } : errors);
  return Object.fromEntries(byField.map(([name, given]) => [name, sentencesOf(request, name, given)]));
}

function sentencesOf(request: HolderRequest, name: string, given: string[]): string[] {
  const { t } = request;
  const isUrl = isHttpUrl(fieldOf(request, name, MAX_FIELD_CHARACTERS));
  switch (name) {
    case 'item_name':
    case 'business_name':
      return [t.links.nameTooLong];
    case 'email':
      return [t.emailInvalid];
    case 'phone':
      return [t.links.phoneInvalid];
    case 'expires_on':
      return [t.links.expiresInvalid];
    case 'logo':
      return [t.links.logoInvalid];
    case 'redirection_url':
      return [isUrl ? t.links.redirectRefused : t.links.urlInvalid];
    case 'callback_url':
      return isUrl ? given : [t.links.urlInvalid];
    default:
      return given;
  }
}

/** One sentence, not one for each operator: the amount must suit at least one of them. */
function readAmount(
  request: HolderRequest,
  country: LinkCountry | undefined,
  text: string,
): bigint | { sentence: string } {
  const { t, language } = request;
  if (text === '') return { sentence: t.links.amountMissing };
  const currency = country?.currency ?? '';
  const typed = readTypedAmount(text, language, { currency });
  if (!typed.ok) return { sentence: typed.sentence };
  const { amount } = typed;
  const terms = country?.methods.map((method) => method.collection) ?? [];
  if (terms.length === 0) return amount;
  const suits = (sum: bigint) => terms.some(({ min, max }) => sum >= min && sum <= max);
  const lowest = terms.map(({ min }) => min).reduce(lesserOf);
  const highest = -terms.map(({ max }) => -max).reduce(lesserOf);
  if (!suits(amount))
    return { sentence: t.links.amountRange(money(request, lowest, currency), money(request, highest, currency)) };
  const isFraction = amount % 100n !== 0n;
  if (!isFraction || terms.some(({ decimals }) => decimals > 0)) return amount;
  const whole = amount - (amount % 100n);
  const lower = whole === 0n ? whole + 100n : whole;
  return { sentence: t.links.amountWhole(formatAmount(lower), formatAmount(whole + 100n)) };
}

/** The last second of a day in a zone. What is no day is left as it was typed, for the error of the field. */
function endOfDay(zone: string, day: string): string {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(day) || Number.isNaN(Date.parse(`${day}T00:00:00Z`))) return day;
  const begins = startOfDay(zone, day).getTime();
  const next = dayIn(zone, new Date(begins + DAY_HOURS * 3_600_000));
  return new Date(startOfDay(zone, next).getTime() - 1_000).toISOString();
}
