// The page of the test phones: several phones side by side, each with its prompts, its SMS, a field to dial, and a way to
// send money. Every button is a form, so the page works without scripts too.

import type { Catalog, Country, Method } from '../catalog/catalog.ts';
import { formatNumber, predictOperator } from '../catalog/phone.ts';
import { type Html, type HtmlPage, html, scriptFile, styleFile } from '../platform/html.ts';
import { formatAmount } from '../platform/money.ts';
import { messagesFor, type PhoneMessages } from './phone-messages.ts';
import { COLLECTION_SCENARIOS } from './scenarios.ts';
import { type OperatorPrompt, operatorPromptSection } from './simulator-prompts.ts';
import type { PhonePrompt, PhoneView } from './test-phone.ts';

const PROMPTS_LISTED = 5;
const MESSAGES_LISTED = 20;

export const PHONE_STYLE = styleFile(new URL('./phone.css', import.meta.url));
const PHONE_SCRIPT = scriptFile(new URL('./phone.js', import.meta.url));

/** The result of the last action on a phone, as the network reports it. */
export type PhoneNotice = { msisdn: string; ok: boolean; message: string };

export function phonePage(
  catalog: Catalog,
  phones: readonly PhoneView[],
  notice: PhoneNotice | null,
  prompts: readonly OperatorPrompt[],
): HtmlPage {
  const numbers = phones.map((phone) => phone.msisdn);
  return {
    language: 'en',
    title: phones[0] ? `Phone ${formatNumber(phones[0].msisdn)}` : 'Test phone',
    styles: [PHONE_STYLE],
    scripts: [PHONE_SCRIPT],
    referrer: 'same-origin',
    body: html`
      <header>
        <h1>Test phone</h1>
        <p>The payer's side of mobile money, for testing. No real money, no real operator.</p>
        <form class="open" method="get" action="/sandbox/phone">
          ${numbers.map((number) => html`<input type="hidden" name="n" value="${number}">`)}
          <label>
            Phone number, with the country code
            <input name="n" inputmode="tel" placeholder="254712345678" required>
          </label>
          <button>${phones.length === 0 ? 'Open' : 'Open another'}</button>
        </form>
        ${notice?.msisdn === '' && html`<p class="notice${!notice.ok && ' error'}" role="status">${notice.message}</p>`}
      </header>
      ${operatorPromptSection(prompts)}
      <main>
        ${phones.map((phone) => phoneSection(catalog, phone, numbers, notice?.msisdn === phone.msisdn ? notice : null))}
      </main>
      <footer>
        ${examples(catalog)}
        ${scenarioTable()}
      </footer>
    `,
  };
}

function phoneSection(
  catalog: Catalog,
  phone: PhoneView,
  numbers: readonly string[],
  notice: PhoneNotice | null,
): Html {
  const { msisdn, isOn } = phone;
  const { country, method } = ownerOf(catalog, msisdn);
  const t = messagesFor(country);
  return html`
    <section class="phone${!isOn && ' off'}" lang="${t.language}" aria-label="${formatNumber(msisdn)}"
      data-version="${phone.version}" data-changes="/sandbox/phone/${msisdn}/news?${queryOf(numbers)}">
      <div class="phone-bar${method && ` ${brandClass(method.colours)}`}">
        <div>
          <h2>${formatNumber(msisdn)}</h2>
          <small>${method?.name ?? country?.name ?? 'Phone'}</small>
        </div>
        ${switchForm(t, phone, numbers)}
      </div>
      <div class="phone-body">
        ${notice && html`<p class="notice${!notice.ok && ' error'}" role="status">${notice.message}</p>`}
        ${dialForm(t, msisdn, method, numbers)}
        <div class="screen" aria-live="polite">${screenOf(catalog, phone, numbers)}</div>
      </div>
    </section>
  `;
}

/** The part of a phone that changes by itself. */
export function screenOf(catalog: Catalog, phone: PhoneView, numbers: readonly string[]): Html {
  const { country } = ownerOf(catalog, phone.msisdn);
  const t = messagesFor(country);
  const open = phone.prompts.filter((prompt) => prompt.state === 'prompt');
  const due = phone.prompts.find((prompt) => prompt.state === 'instructions') ?? null;
  const others = phone.prompts.filter((prompt) => prompt.state !== 'prompt').slice(0, PROMPTS_LISTED);
  const isEmpty = phone.messages.length === 0 && others.length === 0;
  return html`
    ${!phone.isOn && html`<p class="notice">${t.isOff}</p>`}
    ${phone.isOn && open.map((prompt) => promptDialogue(t, phone.msisdn, prompt, numbers))}
    ${payForm(t, phone.msisdn, due, country, numbers)}
    <h3>${t.inbox}</h3>
    ${isEmpty && html`<p class="muted">${t.empty}</p>`}
    <ul class="sms">
      ${phone.messages.slice(0, MESSAGES_LISTED).map(({ at, sender, text }) => smsItem(at, sender, html`${text}`))}
    </ul>
    ${others.length > 0 && html`<ul class="sms">${others.map((prompt) => promptItem(t, prompt))}</ul>`}
  `;
}

function promptItem(t: PhoneMessages, prompt: PhonePrompt): Html {
  const text = `${prompt.merchantName}: ${prompt.currency} ${formatAmount(prompt.amount)} `;
  return smsItem(prompt.at, prompt.operator, html`${text}<span class="tag">${t.states[prompt.state]}</span>`);
}

function smsItem(at: Date, sender: string, text: Html): Html {
  return html`
    <li>
      <time datetime="${at.toISOString()}">${timeOf(at)}</time>
      <b>${sender}</b>
      <p>${text}</p>
    </li>
  `;
}

/** A prompt as the phone shows it: what is asked, a field for the PIN, and three ways to answer. */
function promptDialogue(t: PhoneMessages, msisdn: string, prompt: PhonePrompt, numbers: readonly string[]): Html {
  const pin = `pin-${msisdn}-${prompt.id}`;
  const id = html`<input type="hidden" name="prompt" value="${prompt.id}">`;
  return html`
    <div class="ussd" role="group" aria-label="${prompt.operator}">
      <p><b>${prompt.operator}</b><br>${prompt.text}</p>
      ${actionForm(
        msisdn,
        'answer',
        numbers,
        html`
          ${id}
          <label for="${pin}">${t.pin}</label>
          <input id="${pin}" name="pin" inputmode="numeric" autocomplete="off" maxlength="4" pattern="[0-9]{4}" required>
          <div class="buttons"><button class="primary">${t.send}</button></div>
        `,
      )}
      <div class="buttons">
        ${actionForm(msisdn, 'cancel', numbers, html`${id}<button>${t.cancel}</button>`)}
        ${actionForm(msisdn, 'ignore', numbers, html`${id}<button>${t.ignore}</button>`)}
      </div>
    </div>
  `;
}

function switchForm(t: PhoneMessages, { msisdn, isOn }: PhoneView, numbers: readonly string[]): Html {
  return actionForm(
    msisdn,
    'switch',
    numbers,
    html`
      <input type="hidden" name="on" value="${isOn ? '0' : '1'}">
      <button>${isOn ? t.switchOff : t.switchOn}</button>
    `,
  );
}

function dialForm(t: PhoneMessages, msisdn: string, method: Method | null, numbers: readonly string[]): Html {
  return actionForm(
    msisdn,
    'dial',
    numbers,
    html`
      <div class="dial">
        <label>
          ${t.dial}
          <input name="code" inputmode="tel" placeholder="${method?.shortCode ?? '*123#'}" required>
        </label>
        <button>${t.call}</button>
      </div>
    `,
  );
}

/** Money that the payer sends directly: filled in with the instructions of a payment page, if there are any. */
function payForm(
  t: PhoneMessages,
  msisdn: string,
  due: PhonePrompt | null,
  country: Country | null,
  numbers: readonly string[],
): Html {
  const currency = due?.currency ?? country?.currency ?? 'KES';
  const field = (name: string, label: string, value: string, required = true) => html`
    <label for="${name}-${msisdn}">${label}</label>
    <input id="${name}-${msisdn}" name="${name}" value="${value}" autocomplete="off"${required && html` required`}>
  `;
  return html`
    <details${due !== null && html` open`}>
      <summary>${t.pay}</summary>
      ${actionForm(
        msisdn,
        'pay',
        numbers,
        html`
          ${field('to', t.payTo, due?.payTo?.number ?? '')}
          ${field('reference', t.reference, due?.accountReference ?? '', false)}
          ${field('amount', `${t.amount} (${currency})`, due ? formatAmount(due.amount) : '')}
          <input type="hidden" name="currency" value="${currency}">
          <div class="buttons"><button>${t.send}</button></div>
        `,
      )}
    </details>
  `;
}

function actionForm(msisdn: string, action: string, numbers: readonly string[], inside: Html): Html {
  return html`<form method="post" action="/sandbox/phone/${msisdn}/${action}?${queryOf(numbers)}">${inside}</form>`;
}

/** The phones that stay open, as a query. */
export function queryOf(numbers: readonly string[]): string {
  return numbers.map((number) => `n=${number}`).join('&');
}

/** Numbers to begin with: one of each operator. */
function examples(catalog: Catalog): Html {
  const methods = [...catalog.methods.values()].filter((method) => method.example !== null);
  return html`
    <details>
      <summary>A number of each operator</summary>
      <p class="numbers">${methods.map(({ example, name, country }) => {
        const owner = html`<span class="muted">${name}, ${country.name}</span>`;
        return html`<a href="/sandbox/phone?n=${example}">${example} ${owner}</a> `;
      })}</p>
    </details>
  `;
}

function scenarioTable(): Html {
  return html`
    <details>
      <summary>Numbers with a fixed result, by their last three digits (any other rings here)</summary>
      <table>
        <tbody>
          ${Object.entries(COLLECTION_SCENARIOS).map(
            ([digits, scenario]) => html`
              <tr>
                <th scope="row">…${digits}</th>
                <td>${digits === '012' ? 'the payer confirms with a six-digit token by SMS' : scenario.about}</td>
              </tr>
            `,
          )}
        </tbody>
      </table>
    </details>
  `;
}

function ownerOf(catalog: Catalog, msisdn: string): { country: Country | null; method: Method | null } {
  const country = [...catalog.countries.values()].find((each) => msisdn.startsWith(each.dialCode)) ?? null;
  const code = country && predictOperator(msisdn, country);
  return { country, method: (code && catalog.methods.get(code)) || null };
}

function timeOf(moment: Date): string {
  return `${moment.toISOString().slice(11, 16)} UTC`;
}

/** The class of a brand's colours: the content security policy allows no styles in attributes. */
function brandClass(colours: Method['colours']): string {
  return `brand-${colours.background.slice(1)}${colours.text.slice(1)}`;
}

/** The classes of all brands of the catalogue, as CSS. */
export function brandRules(catalog: Catalog): string {
  const rules = new Map(
    [...catalog.methods.values()].map(({ colours }) => [
      brandClass(colours),
      `.${brandClass(colours)} { background: ${colours.background}; color: ${colours.text} }
       .${brandClass(colours)} button { color: inherit; border-color: currentColor }`,
    ]),
  );
  return [...rules.values()].join('');
}
