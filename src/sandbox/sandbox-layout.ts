// The frame of the sandbox's pages: the brand, the mark of the sandbox, and the way to every other part.

import { type Config, shownBrand } from '../platform/config.ts';
import { type Html, type HtmlPage, html, type Inline, styleFile } from '../platform/html.ts';
import { brandLink, brandOf } from '../ui/brand.ts';
import { COMPONENTS } from '../ui/components.ts';
import { icon } from '../ui/icons.ts';
import { TOKENS } from '../ui/tokens.ts';

const STYLE = styleFile(new URL('./sandbox.css', import.meta.url));

const PARTS = [
  { key: 'console', label: 'Console', href: '/console', icon: 'house' },
  { key: 'phone', label: 'Test phone', href: '/sandbox/phone', icon: 'smartphone' },
  { key: 'callbacks', label: 'Callbacks', href: '/sandbox/callbacks', icon: 'bell' },
  { key: 'docs', label: 'Docs', href: '/docs/sandbox', icon: 'book-open' },
] as const;

type SandboxContent = {
  title: string;
  lead?: Html;
  active?: (typeof PARTS)[number]['key'];
  /** Beside the title. */
  actions?: Html;
  body: Html;
  styles?: readonly Inline[];
  scripts?: readonly Inline[];
};

export function sandboxPage(config: Config, content: SandboxContent): HtmlPage {
  return {
    language: 'en',
    title: `${content.title} – ${shownBrand(config)}`,
    icon: '/favicon.svg',
    styles: [TOKENS, COMPONENTS, STYLE, ...(content.styles ?? [])],
    scripts: content.scripts ?? [],
    referrer: 'same-origin',
    body: html`
      <a class="skip" href="#main">Skip to the content</a>
      <header class="sandbox-head">
        ${brandLink(brandOf(config), '/')}
        <span class="sandbox-mark">Sandbox</span>
        <nav aria-label="Parts of the sandbox">${PARTS.map((part) => partLink(part, content.active))}</nav>
      </header>
      <main id="main" class="sandbox-main">
        <div class="page-title">
          <div>
            <h1>${content.title}</h1>
            ${content.lead && html`<p class="lead">${content.lead}</p>`}
          </div>
          ${content.actions}
        </div>
        ${content.body}
      </main>
    `,
  };
}

function partLink({ key, label, href, icon: name }: (typeof PARTS)[number], active: SandboxContent['active']): Html {
  return html`<a href="${href}"${key === active && html` aria-current="page"`}>${icon(name)}<span>${label}</span></a>`;
}
