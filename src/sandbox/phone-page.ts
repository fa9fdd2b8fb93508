// The page of the test phones: several phones side by side, each with its prompts, its SMS, a field to dial, and a way to
// send money. Every button is a form, so the page works without scripts too.

import type { Catalog, Country, Method } from '../catalog/catalog.ts';
import { formatNumber, predictOperator } from '../catalog/phone.ts';
import type { Clock } from '../platform/clock.ts';
import type { Config } from '../platform/config.ts';
import { withColon } from '../platform/french-spaces.ts';
import { type Html, type HtmlPage, html, scriptFile, styleFile } from '../platform/html.ts';
import { formatAmount, formatMoney } from '../platform/money.ts';
import { dataTable, operatorTile, tag } from '../ui/components.ts';
import { icon } from '../ui/icons.ts';
import { messagesFor, type PhoneMessages } from './phone-messages.ts';
import { sandboxPage } from './sandbox-layout.ts';
import { COLLECTION_SCENARIOS } from './scenarios.ts';
import { type OperatorPrompt, operatorPromptSection } from './simulator-prompts.ts';
import type { PhonePrompt, PhoneView } from './test-phone.ts';

const PROMPTS_LISTED = 5;
const MESSAGES_LISTED = 20;
/** Before the title of a page whose phone rings. The script uses it too. */
const RINGS = '(1)';

const PHONE_STYLE = styleFile(new URL('./phone.css', import.meta.url));
const PHONE_SCRIPT = scriptFile(new URL('./phone.js', import.meta.url));

export type PhoneContext = { readonly catalog: Catalog; readonly config: Config; readonly clock: Clock };

/** The result of the last action on a phone, as the network reports it. */
export type PhoneNotice = { msisdn: string; ok: boolean; message: string };

export function phonePage(
  ctx: PhoneContext,
  phones: readonly PhoneView[],
  notice: PhoneNotice | null,
  prompts: readonly OperatorPrompt[],
): HtmlPage {
  const { catalog, config } = ctx;
  const numbers = phones.map((phone) => phone.msisdn);
  const [first] = phones;
  const title = first ? `Phone ${formatNumber(first.msisdn)}` : 'Test phone';
  const page = sandboxPage(config, {
    title: 'Test phone',
    lead: html`The payer's side of mobile money. No real money, no real operator.`,
    active: 'phone',
    actions: html`${muteButton()}${addPhoneForm(numbers)}`,
    styles: [PHONE_STYLE],
    scripts: [PHONE_SCRIPT],
    body: html`
      ${notice?.msisdn === '' && html`<p class="notice${!notice.ok && ' error'}" role="status">${notice.message}</p>`}
      ${operatorPromptSection(prompts)}
      <div class="phones">
        ${phones.map((phone) => phoneSection(ctx, phone, numbers, notice?.msisdn === phone.msisdn ? notice : null))}
      </div>
      ${phones.length > 0 && laterForm(numbers)}
      <section>
        <h2>${phones.length === 0 ? 'Pick a phone' : 'Other phones'}</h2>
        ${shelf(catalog, numbers)}
        ${scenarioTable(phones.length === 0)}
      </section>
    `,
  });
  // The tab says that a phone rings, also while another tab is in front.
  return { ...page, title: phones.some(isRinging) ? `${RINGS} ${title}` : title };
}

export function isRinging({ isOn, prompts }: PhoneView): boolean {
  return isOn && prompts.some((prompt) => prompt.state === 'prompt');
}

/** So that nobody has to wait for an expiry or a late answer. */
function laterForm(numbers: readonly string[]): Html {
  return html`
    <form class="later" method="post" action="/sandbox/clock/forward?${queryOf(numbers)}">
      <input type="hidden" name="seconds" value="600">
      <button class="button-secondary">${icon('clock')}10 minutes later</button>
    </form>
  `;
}

/** Shown by the script, which remembers the choice. */
function muteButton(): Html {
  return html`
    <button type="button" class="button-secondary" id="mute" aria-pressed="false" hidden>
      ${icon('bell')}Mute
    </button>
  `;
}

function addPhoneForm(numbers: readonly string[]): Html {
  return html`
    <form class="add-phone" method="get" action="/sandbox/phone">
      ${numbers.map((number) => html`<input type="hidden" name="n" value="${number}">`)}
      <label>
        Number with the country code
        <input name="n" inputmode="tel" placeholder="254712345678" required>
      </label>
      <button class="button-secondary">Add phone</button>
    </form>
  `;
}

function phoneSection(
  { catalog, clock }: PhoneContext,
  phone: PhoneView,
  numbers: readonly string[],
  notice: PhoneNotice | null,
): Html {
  const { msisdn, isOn } = phone;
  const { country, method } = ownerOf(catalog, msisdn);
  const t = messagesFor(country);
  const owner = method?.name ?? country?.name ?? 'Phone';
  return html`
    <section class="phone${!isOn && ' off'}" lang="${t.language}" aria-label="${formatNumber(msisdn)}"
      data-version="${phone.version}" data-changes="/sandbox/phone/${msisdn}/news?${queryOf(numbers)}">
      <div class="phone-screen">
        <div class="phone-bar">
          <span>${timeIn(country, clock.now())}</span>
          <span>${owner}</span>
        </div>
        <div class="phone-owner">
          ${operatorTile(owner)}
          <div>
            <h2>${formatNumber(msisdn)}</h2>
            <span class="muted">${country?.name}</span>
          </div>
          ${switchForm(t, phone, numbers)}
        </div>
        <div class="phone-body">
          ${notice && html`<p class="notice${!notice.ok && ' error'}" role="status">${notice.message}</p>`}
          <div class="screen" aria-live="polite">${screenOf(catalog, phone, numbers)}</div>
        </div>
        <div class="phone-keys">
          <details>
            <summary>${t.dial}</summary>
            ${dialForm(t, msisdn, method, numbers)}
          </details>
        </div>
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
  return html`
    ${!phone.isOn && html`<p class="notice">${t.isOff}</p>`}
    ${phone.isOn && open.map((prompt) => promptDialogue(t, phone.msisdn, prompt, numbers))}
    ${payForm(t, phone.msisdn, due, country, numbers)}
    ${inbox(t, country, phone)}
  `;
}

/** SMS and earlier prompts in one list, the newest first. */
function inbox(t: PhoneMessages, country: Country | null, phone: PhoneView): Html {
  const others = phone.prompts.filter((prompt) => prompt.state !== 'prompt').slice(0, PROMPTS_LISTED);
  const items = [
    ...phone.messages
      .slice(0, MESSAGES_LISTED)
      .map(({ at, sender, text }) => ({ at, item: smsItem(country, at, sender, html`${text}`) })),
    ...others.map((prompt) => ({ at: prompt.at, item: promptItem(t, country, prompt) })),
  ].sort((left, right) => right.at.getTime() - left.at.getTime());
  return html`
    <h3>${t.inbox}</h3>
    ${items.length === 0 && html`<p class="muted">${t.empty}</p>`}
    <ul class="sms">${items.map(({ item }) => item)}</ul>
  `;
}

function promptItem(t: PhoneMessages, country: Country | null, prompt: PhonePrompt): Html {
  const text = `${withColon(t, prompt.merchantName)} ${formatMoney(prompt.amount, prompt.currency, t.language)} `;
  const state = tag(prompt.state === 'approved' ? 'success' : 'neutral', t.states[prompt.state]);
  return smsItem(country, prompt.at, prompt.operator, html`${text}${state}`);
}

function smsItem(country: Country | null, at: Date, sender: string, text: Html): Html {
  return html`
    <li>
      <time datetime="${at.toISOString()}">${timeIn(country, at)}</time>
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
          <small class="muted hint">${t.pinHint}</small>
          <div class="buttons"><button class="primary">${t.send}</button></div>
        `,
      )}
      <div class="buttons">
        ${actionForm(msisdn, 'cancel', numbers, html`${id}<button class="button-secondary">${t.cancel}</button>`)}
        ${actionForm(msisdn, 'ignore', numbers, html`${id}<button class="button-secondary">${t.ignore}</button>`)}
        ${actionForm(msisdn, 'expire', numbers, html`${id}<button class="button-secondary">${t.expire}</button>`)}
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
      <button class="button-secondary">${isOn ? t.switchOff : t.switchOn}</button>
    `,
  );
}

function dialForm(t: PhoneMessages, msisdn: string, method: Method | null, numbers: readonly string[]): Html {
  return actionForm(
    msisdn,
    'dial',
    numbers,
    html`
      <label for="code-${msisdn}">${t.dial}</label>
      <input id="code-${msisdn}" name="code" inputmode="tel" placeholder="${method?.shortCode ?? '*123#'}" required>
      <button>${t.call}</button>
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

/** A phone of each operator, to pick. Those that are open stay open. */
function shelf(catalog: Catalog, numbers: readonly string[]): Html {
  const methods = [...catalog.methods.values()].filter((method) => method.example !== null);
  const phones = new Map(methods.map((method) => [method.example ?? '', method]));
  return html`
    <ul class="shelf">
      ${[...phones]
        .filter(([example]) => !numbers.includes(example))
        .map(
          ([example, { name, country }]) => html`
            <li>
              <a href="/sandbox/phone?${queryOf([...numbers, example])}">
                ${operatorTile(name)}
                <div>
                  <b>${formatNumber(example)}</b>
                  <span class="muted">${name}, ${country.name}</span>
                </div>
              </a>
            </li>
          `,
        )}
    </ul>
  `;
}

function scenarioTable(isOpen: boolean): Html {
  return html`
    <details${isOpen && html` open`}>
      <summary>Test numbers</summary>
      <p class="muted">The last three digits decide the result. Every other number rings here.</p>
      ${dataTable(
        'Test numbers',
        [{ label: 'Number ends in' }, { label: 'Result' }],
        Object.entries(COLLECTION_SCENARIOS).map(([digits, { about }]) => [`…${digits}`, about]),
      )}
    </details>
  `;
}

function ownerOf(catalog: Catalog, msisdn: string): { country: Country | null; method: Method | null } {
  const country = [...catalog.countries.values()].find((each) => msisdn.startsWith(each.dialCode)) ?? null;
  const code = country && predictOperator(msisdn, country);
  return { country, method: (code && catalog.methods.get(code)) || null };
}

/** The hour on the phone's own clock. */
function timeIn(country: Country | null, moment: Date): string {
  const timeZone = (country && ZONES[country.iso]) ?? 'UTC';
  return moment.toLocaleTimeString('en-GB', { timeZone, hour: '2-digit', minute: '2-digit' });
}

const ZONES: Readonly<Record<string, string>> = {
  BJ: 'Africa/Porto-Novo',
  CI: 'Africa/Abidjan',
  CM: 'Africa/Douala',
  GH: 'Africa/Accra',
  KE: 'Africa/Nairobi',
  NG: 'Africa/Lagos',
  SL: 'Africa/Freetown',
  SN: 'Africa/Dakar',
  TZ: 'Africa/Dar_es_Salaam',
  UG: 'Africa/Kampala',
  ZM: 'Africa/Lusaka',
};
