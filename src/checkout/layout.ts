// The layout of the hosted pages: one style, one small script, and the parts that several pages share.

import type { Language } from '../catalog/catalog.ts';
import type { PaymentLink } from '../links/links.ts';
import { withColon } from '../platform/french-spaces.ts';
import { type Html, type HtmlPage, html, type Inline, inlineStyle, scriptFile } from '../platform/html.ts';
import { smallStyle } from '../ui/tokens.ts';
import { readAccent } from './accent.ts';
import { FIND_MESSAGES } from './find-messages.ts';
import { LANGUAGE_CODES, LANGUAGES, type PayerLocale } from './language.ts';
import { initialOf } from './names.ts';

const MAX_ACCENTS = 1_000;

const STYLE = smallStyle(new URL('./checkout.css', import.meta.url));
export const SCRIPT = scriptFile(new URL('./checkout.js', import.meta.url));

const accents = new Map<string, Inline>();

function accentStyle(colour: string | null): Inline {
  const key = colour ?? '';
  const known = accents.get(key);
  if (known) return known;
  const { onLight, onDark } = readAccent(colour);
  const style = inlineStyle(`:root { --accent: ${onLight}; --accent-dark: ${onDark} }`);
  if (accents.size >= MAX_ACCENTS) accents.clear();
  accents.set(key, style);
  return style;
}

/** What every page of one request shares. */
export type CheckoutLayout = {
  locale: PayerLocale;
  brand: string;
  /** The test phone of this payer; null outside sandbox mode. */
  phoneUrl: string | null;
  /** The page's own address without its language, for the links to the other languages. */
  address: string;
  accent: string | null;
};

export type CheckoutContent = {
  title: string;
  status?: number;
  body: Html;
  attributes?: Html;
  head?: Html;
  /** The payment this page is about, for questions to the business. */
  help?: { business: string; reference: string } | null;
  /** Leads to "Find your payment". */
  find?: boolean;
  /** False for pages that neither wait nor send anything. */
  script?: false;
  /** On a large screen: what is bought beside how it is paid. */
  wide?: true;
};

export function layoutPage(layout: CheckoutLayout, content: CheckoutContent): HtmlPage {
  const { t, language } = layout.locale;
  const { help } = content;
  return {
    language,
    title: content.title,
    styles: [STYLE, accentStyle(layout.accent)],
    scripts: content.script === false ? [] : [SCRIPT],
    ...(content.status === undefined ? {} : { status: content.status }),
    ...(content.head === undefined ? {} : { head: content.head }),
    ...(content.attributes === undefined ? {} : { attributes: content.attributes }),
    body: html`
      ${layout.phoneUrl !== null && sandboxBar(layout.locale, layout.phoneUrl)}
      <main${content.wide && html` class="wide"`}>${content.body}</main>
      <footer>
        ${content.find && findLink(layout.locale)}
        ${help && helpLine(layout.locale, help)}
        <p>${t.neverEnterPin}</p>
        <nav aria-label="${t.language}">${languageLinks(layout)}</nav>
        <p>${t.poweredBy(layout.brand)}</p>
      </footer>
    `,
  };
}

function helpLine(locale: PayerLocale, { business, reference }: { business: string; reference: string }): Html {
  const { t } = locale;
  return html`
    <p>${t.help(business)}<br><span class="no-print">${withColon(locale, t.reference)} </span>${reference}</p>
  `;
}

function findLink({ asked, language }: PayerLocale): Html {
  const address = `/find${asked ? `?lang=${language}` : ''}`;
  return html`<p class="no-print"><a href="${address}">${FIND_MESSAGES[language].link}</a></p>`;
}

function sandboxBar({ t }: PayerLocale, phoneUrl: string): Html {
  return html`
    <aside class="sandbox" aria-label="Sandbox">
      ${t.sandbox} <a href="${phoneUrl}" target="_blank" rel="noopener">${t.openPhone}</a>
    </aside>
  `;
}

function languageLinks({ address, locale }: CheckoutLayout): Html[] {
  const joint = address.includes('?') ? '&' : '?';
  return LANGUAGE_CODES.map((code: Language) => {
    const current = code === locale.language && html` aria-current="true"`;
    const href = `${address}${joint}lang=${code}`;
    return html`<a href="${href}" lang="${code}" hreflang="${code}"${current}>${LANGUAGES[code].name}</a> `;
  });
}

/** The business: logo and name, on top of every page of a link. */
export function businessHead(link: PaymentLink | null, business: string): Html {
  return html`<div class="business">${businessPicture(link, business)}<b><bdi>${business}</bdi></b></div>`;
}

export function businessPicture(link: PaymentLink | null, business: string): Html {
  return link?.logo_hash
    ? html`<img src="/logos/${link.logo_hash}.webp" alt="" width="48" height="48">`
    : html`<span class="initial" aria-hidden="true">${initialOf(business)}</span>`;
}

/** The amount, and what it is for. */
function amountLines(amount: string, item: string | null): Html {
  return html`
    <p class="amount">${amount}</p>
    ${item !== null && html`<p class="muted"><bdi>${item}</bdi></p>`}
  `;
}

/** The same, with space below. */
export function total(amount: string, item: string | null): Html {
  return html`<div class="total">${amountLines(amount, item)}</div>`;
}

/** A list of facts: name and value. A value that is null leaves its row out. */
export function facts(rows: readonly (readonly [string, string | null])[]): Html {
  return html`
    <dl>
      ${rows.map(([name, value]) => value !== null && html`<div><dt>${name}</dt><dd><bdi>${value}</bdi></dd></div>`)}
    </dl>
  `;
}

/** What the payer types on a phone. `copied` is what the button copies; the button is shown by the script. */
export type TypedFact = { name: string; value: string | null; copied?: string };

export function typedFacts(locale: PayerLocale, rows: readonly TypedFact[]): Html {
  const { t } = locale;
  const copyButton = (name: string, copied: string) => html`
    <button type="button" class="copy" data-copy="${copied}" data-done="${t.copied}"
      aria-label="${withColon(locale, t.copy)} ${name}" hidden>
      ${t.copy}
    </button>
  `;
  return html`
    <dl class="large">
      ${rows.map(
        ({ name, value, copied }) =>
          value !== null &&
          html`
            <div>
              <dt>${name}</dt>
              <dd><bdi>${value}</bdi>${copied !== undefined && copyButton(name, copied)}</dd>
            </div>
          `,
      )}
    </dl>
  `;
}

export function steps(lines: readonly string[]): Html {
  return html`<ol>${lines.map((line) => html`<li><span>${line}</span></li>`)}</ol>`;
}

export type NoticeTone = 'success' | 'warning' | 'error';

export function icon(tone: NoticeTone, sign: string): Html {
  return html`<p class="icon ${tone}" aria-hidden="true">${sign}</p>`;
}

/** A button that is a link. */
export function linkButton(href: string, label: string, variant?: 'secondary'): Html {
  return html`<a class="button${variant && ` ${variant}`}" href="${href}">${label}</a>`;
}

/** A button that is a link to another site; no referrer is sent. */
export function outwardButton(href: string, label: string, variant?: 'secondary', attributes?: Html): Html {
  return html`<a class="button${variant && ` ${variant}`}" href="${href}" rel="noreferrer"${attributes}>${label}</a>`;
}

/** Empty without scripts; the script fills in the text, which only then is true. */
export function liveRegion(text: string): Html {
  return html`<p class="muted" role="status" id="live" data-text="${text}"></p>`;
}
