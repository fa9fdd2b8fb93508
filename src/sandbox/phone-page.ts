// The page of the test phones: several handsets side by side, each with its prompts, its SMS, a field to dial, and a
// way to send money. Every button is a form, so it works without scripts too.

import type { Catalog, Country, Method } from '../catalog/catalog.ts';
import { formatNumber, predictOperator } from '../catalog/phone.ts';
import { type Html, type HtmlPage, html } from '../platform/html.ts';
import { formatAmount } from '../platform/money.ts';
import { PHONE_SCRIPT, PHONE_STYLE } from './phone-look.ts';
import { COLLECTION_SCENARIOS } from './scenarios.ts';
import type { PhonePrompt, PhoneView } from './test-phone.ts';

const PROMPTS_LISTED = 5;
const MESSAGES_LISTED = 20;

/** What the network said in answer to the last thing a person did with a phone. */
export type Said = { msisdn: string; ok: boolean; message: string };

type Labels = {
  on: string;
  off: string;
  isOff: string;
  pin: string;
  send: string;
  cancel: string;
  ignore: string;
  dial: string;
  call: string;
  messages: string;
  none: string;
  pay: string;
  payTo: string;
  reference: string;
  amount: string;
  states: Record<PhonePrompt['state'], string>;
};

const ENGLISH: Labels = {
  on: 'Switch on',
  off: 'Switch off',
  isOff: 'The phone is off. Prompts that are sent now are lost; SMS wait.',
  pin: 'PIN (any four digits; 0000 is wrong)',
  send: 'Send',
  cancel: 'Cancel',
  ignore: 'Ignore',
  dial: 'Dial',
  call: 'Call',
  messages: 'Messages',
  none: 'Nothing yet.',
  pay: 'Send money',
  payTo: 'To (till, business or account number)',
  reference: 'Reference',
  amount: 'Amount',
  states: {
    dial: 'dial the code',
    prompt: 'waits for the PIN',
    undelivered: 'did not arrive: the phone was off',
    ignored: 'ignored',
    instructions: 'waits for your transfer',
    approved: 'paid',
    wrong_pin: 'wrong PIN',
    cancelled: 'cancelled',
    expired: 'expired',
  },
};

const FRENCH: Labels = {
  on: 'Allumer',
  off: 'Éteindre',
  isOff: 'Le téléphone est éteint. Les demandes envoyées maintenant sont perdues ; les SMS attendent.',
  pin: 'Code PIN (quatre chiffres ; 0000 est faux)',
  send: 'Envoyer',
  cancel: 'Annuler',
  ignore: 'Ignorer',
  dial: 'Composer',
  call: 'Appeler',
  messages: 'Messages',
  none: 'Rien pour le moment.',
  pay: 'Envoyer de l’argent',
  payTo: 'À (numéro de caisse, de commerce ou de compte)',
  reference: 'Référence',
  amount: 'Montant',
  states: {
    dial: 'composez le code',
    prompt: 'attend le code PIN',
    undelivered: 'non reçu : le téléphone était éteint',
    ignored: 'ignoré',
    instructions: 'attend votre envoi',
    approved: 'payé',
    wrong_pin: 'code PIN faux',
    cancelled: 'annulé',
    expired: 'expiré',
  },
};

export function phonePage(catalog: Catalog, phones: readonly PhoneView[], said: Said | null): HtmlPage {
  const numbers = phones.map((phone) => phone.msisdn);
  return {
    language: 'en',
    title: phones[0] ? `Phone ${formatNumber(phones[0].msisdn)}` : 'Test phone',
    styles: [PHONE_STYLE],
    scripts: [PHONE_SCRIPT],
    referrer: 'same-origin',
    body: html`<header><h1>Test phone</h1><p>The other half of mobile money, for trying things out. No real money, no real operator.</p>
<form class="find" method="get" action="/sandbox/phone">${numbers.map((number) => html`<input type="hidden" name="n" value="${number}">`)}<label>Phone number, with the country code<input name="n" inputmode="tel" placeholder="254712345678" required></label><button>${phones.length === 0 ? 'Open' : 'Open another beside'}</button></form></header>
<main>${phones.map((phone) => handset(catalog, phone, numbers, said?.msisdn === phone.msisdn ? said : null))}</main>
<footer>${examples(catalog)}${scenarioTable()}</footer>`,
  };
}

function handset(catalog: Catalog, phone: PhoneView, numbers: readonly string[], said: Said | null): Html {
  const { country, method } = ownerOf(catalog, phone.msisdn);
  const labels = labelsOf(country);
  const colours = method?.colours;
  const id = phone.msisdn;
  return html`<section class="set${!phone.isOn && ' off'}" lang="${labels === FRENCH ? 'fr' : 'en'}" aria-label="${formatNumber(id)}" data-version="${phone.version}" data-news="/sandbox/phone/${id}/news?${back(numbers)}">
<div class="bar${colours && html` ${brandClass(colours)}`}"><div><h2>${formatNumber(id)}</h2><small>${method?.name ?? country?.name ?? 'Phone'}</small></div>${actionForm(
    id,
    'switch',
    numbers,
    html`<input type="hidden" name="on" value="${phone.isOn ? '0' : '1'}"><button>${phone.isOn ? labels.off : labels.on}</button>`,
  )}</div>
<div class="in">${said && html`<p class="said${!said.ok && ' no'}" role="status">${said.message}</p>`}
${actionForm(id, 'dial', numbers, html`<div class="dial"><label>${labels.dial}<input name="code" inputmode="tel" placeholder="${method?.shortCode ?? '*123#'}" required></label><button>${labels.call}</button></div>`)}
<div class="screen" aria-live="polite">${screenOf(catalog, phone, numbers)}</div></div></section>`;
}

/** The part that changes by itself. */
export function screenOf(catalog: Catalog, phone: PhoneView, numbers: readonly string[]): Html {
  const { country } = ownerOf(catalog, phone.msisdn);
  const labels = labelsOf(country);
  const open = phone.prompts.filter((prompt) => prompt.state === 'prompt');
  const due = phone.prompts.find((prompt) => prompt.state === 'instructions') ?? null;
  const others = phone.prompts.filter((prompt) => prompt.state !== 'prompt').slice(0, PROMPTS_LISTED);
  return html`${!phone.isOn && html`<p class="said">${labels.isOff}</p>`}${phone.isOn && open.map((prompt) => ussd(labels, phone.msisdn, prompt, numbers))}
${payForm(labels, phone.msisdn, due, country, numbers)}
<h3>${labels.messages}</h3>${phone.messages.length === 0 && others.length === 0 && html`<p class="m">${labels.none}</p>`}<ul class="sms">${phone.messages
    .slice(0, MESSAGES_LISTED)
    .map(
      (message) =>
        html`<li><time datetime="${message.at.toISOString()}">${timeOf(message.at)}</time><b>${message.sender}</b><p>${message.text}</p></li>`,
    )}</ul>
${others.length > 0 && html`<ul class="sms">${others.map((prompt) => html`<li><time datetime="${prompt.at.toISOString()}">${timeOf(prompt.at)}</time><b>${prompt.operator}</b><p>${prompt.merchantName}: ${prompt.currency} ${formatAmount(prompt.amount)} <span class="tag">${labels.states[prompt.state]}</span></p></li>`)}</ul>`}`;
}

function ussd(labels: Labels, msisdn: string, prompt: PhonePrompt, numbers: readonly string[]): Html {
  const pin = `pin-${msisdn}-${prompt.id}`;
  const hidden = html`<input type="hidden" name="prompt" value="${prompt.id}">`;
  return html`<div class="ussd" role="group" aria-label="${prompt.operator}"><p><b>${prompt.operator}</b>
${prompt.text}</p>${actionForm(msisdn, 'answer', numbers, html`${hidden}<label for="${pin}">${labels.pin}</label><input id="${pin}" name="pin" inputmode="numeric" autocomplete="off" maxlength="4" pattern="[0-9]{4}" required><div class="row"><button class="go">${labels.send}</button></div>`)}
<div class="row">${actionForm(msisdn, 'cancel', numbers, html`${hidden}<button>${labels.cancel}</button>`)}${actionForm(msisdn, 'ignore', numbers, html`${hidden}<button>${labels.ignore}</button>`)}</div></div>`;
}

/** Money that the payer sends himself: filled in with what a page told him to pay, if one did. */
function payForm(
  labels: Labels,
  msisdn: string,
  due: PhonePrompt | null,
  country: Country | null,
  numbers: readonly string[],
): Html {
  const fields = [
    ['to', labels.payTo, due?.payTo?.number ?? ''],
    ['reference', labels.reference, due?.accountReference ?? ''],
    ['amount', labels.amount, due ? formatAmount(due.amount) : ''],
  ] as const;
  const currency = due?.currency ?? country?.currency ?? 'KES';
  return html`<details${due !== null && html` open`}><summary>${labels.pay}</summary>${actionForm(
    msisdn,
    'pay',
    numbers,
    html`${fields.map(([name, label, value]) => html`<label for="${name}-${msisdn}">${label}${name === 'amount' && ` (${currency})`}</label><input id="${name}-${msisdn}" name="${name}" value="${value}" autocomplete="off"${name !== 'reference' && html` required`}>`)}<input type="hidden" name="currency" value="${currency}"><div class="row"><button>${labels.send}</button></div>`,
  )}</details>`;
}

function actionForm(msisdn: string, action: string, numbers: readonly string[], inside: Html): Html {
  return html`<form method="post" action="/sandbox/phone/${msisdn}/${action}?${back(numbers)}">${inside}</form>`;
}

/** The phones that stay open, as a query. */
export function back(numbers: readonly string[]): string {
  return numbers.map((number) => `n=${number}`).join('&');
}

/** Numbers to begin with: one of each operator that people know. */
function examples(catalog: Catalog): Html {
  const methods = [...catalog.methods.values()].filter((method) => method.example !== null);
  return html`<details><summary>A number of each operator</summary><p class="nums">${methods.map((method) => html`<a href="/sandbox/phone?n=${method.example}">${method.example} <span class="m">${method.name}, ${method.country.name}</span></a> `)}</p></details>`;
}

function scenarioTable(): Html {
  return html`<details><summary>Numbers that decide by themselves, by their last three digits (any other rings here)</summary><table><tbody>${Object.entries(
    COLLECTION_SCENARIOS,
  ).map(
    ([digits, scenario]) =>
      html`<tr><th scope="row">…${digits}</th><td>${digits === '012' ? 'the payer confirms with a six-digit token by SMS' : scenario.about}</td></tr>`,
  )}</tbody></table></details>`;
}

function ownerOf(catalog: Catalog, msisdn: string): { country: Country | null; method: Method | null } {
  const country = [...catalog.countries.values()].find((each) => msisdn.startsWith(each.dialCode)) ?? null;
  const code = country && predictOperator(msisdn, country);
  return { country, method: (code && catalog.methods.get(code)) || null };
}

function labelsOf(country: Country | null): Labels {
  return country?.languages[0] === 'fr' ? FRENCH : ENGLISH;
}

function timeOf(moment: Date): string {
  return `${moment.toISOString().slice(11, 16)} UTC`;
}

/** The class of a brand's colours: styles cannot stand in attributes under our policy. */
function brandClass(colours: Method['colours']): string {
  return `b${colours.background.slice(1)}${colours.text.slice(1)}`;
}

/** The classes of all brands of the catalogue. */
export function brandRules(catalog: Catalog): string {
  const rules = new Map(
    [...catalog.methods.values()].map(({ colours }) => [
      brandClass(colours),
      `.${brandClass(colours)}{background:${colours.background};color:${colours.text}}.${brandClass(colours)} button{color:inherit;border-color:currentColor}`,
    ]),
  );
  return [...rules.values()].join('');
}
