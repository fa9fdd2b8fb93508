// The frame of the pages that belong to no module: the first page and those that do not exist.

import { type Config, shownBrand } from '../platform/config.ts';
import { type Html, type HtmlPage, html, scriptFile, styleFile } from '../platform/html.ts';
import { brandLink, brandOf } from '../ui/brand.ts';
import { COMPONENTS } from '../ui/components.ts';
import { TOKENS } from '../ui/tokens.ts';
import type { FrontMessages } from './messages.ts';

const STYLE = styleFile(new URL('./front.css', import.meta.url));
const SCRIPT = scriptFile(new URL('./front.js', import.meta.url));

export function frontLayout(config: Config, t: FrontMessages, title: string | null, body: Html): HtmlPage {
  const brand = shownBrand(config);
  return {
    language: t.language,
    title: title === null ? brand : `${title} – ${brand}`,
    icon: '/favicon.svg',
    styles: [TOKENS, COMPONENTS, STYLE],
    scripts: [SCRIPT],
    attributes: html`class="front"`,
    body: html`
      <header class="front-head">
        ${brandLink(brandOf(config), '/')}
        ${config.mode === 'sandbox' && html`<span class="sandbox-mark">${t.sandbox}</span>`}
        <nav aria-label="${t.doorsLabel}">
          <a href="/console">${t.console[0]}</a>
          <a href="/docs">${t.docs[0]}</a>
        </nav>
      </header>
      <main id="main">${body}</main>
    `,
  };
}
