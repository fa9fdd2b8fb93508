// The first page of the documentation: where to begin, and every page with its sentence.

import { type Config, shownBrand } from '../platform/config.ts';
import { type Html, html } from '../platform/html.ts';
import { icon } from '../ui/icons.ts';
import type { DocsGroup } from './contents.ts';

const LEAD =
  'Take mobile money and payment links on your own server. Start with a test payment; it takes five minutes.';
const SANDBOX_NOTE = 'This gateway runs in sandbox mode: no real money moves. Payments appear on the test phone.';

type Door = { href: string; icon: string; title: string; text: string };
const DOORS: readonly Door[] = [
  {
    href: '/docs/quickstart',
    icon: 'play',
    title: 'Quickstart',
    text: 'A paid collection and its callback, in five minutes.',
  },
  { href: '/docs/reference', icon: 'code', title: 'API reference', text: 'Every operation, with examples to try.' },
  {
    href: '/docs/merchants/payment-links',
    icon: 'store',
    title: 'For merchants',
    text: 'Links, refunds, payouts, month end.',
  },
  { href: '/docs/going-live', icon: 'globe', title: 'Going live', text: 'From the sandbox to real money.' },
];

export function overviewBody(config: Config, groups: readonly DocsGroup[]): Html {
  const door = ({ href, icon: name, title, text }: Door) => html`
    <li><a class="card door" href="${href}">${icon(name)}<b>${title}</b><span>${text}</span></a></li>
  `;
  return html`
    <h1>${shownBrand(config)} documentation</h1>
    <p class="lead">${LEAD}</p>
    ${config.mode === 'sandbox' && html`<p class="box warning">${SANDBOX_NOTE} <a href="/sandbox/phone">Open the test phone</a></p>`}
    <ul class="doors">${DOORS.map(door)}</ul>
    <div class="all-pages">${groups.map(groupCard)}</div>
  `;
}

function groupCard({ title, icon: name, pages }: DocsGroup): Html {
  return html`
    <section>
      <h2>${icon(name)}${title}</h2>
      <ul>
        ${pages.map(({ path, title: text, description }) => html`<li><a href="${path}">${text}</a><span>${description}</span></li>`)}
      </ul>
    </section>
  `;
}

/** The same for programs. */
export function writeOverview(config: Config, groups: readonly DocsGroup[]): string {
  const rows = groups.map(({ title, pages }) => {
    const lines = pages.map((page) => `- [${page.title}](${page.path}): ${page.description}`);
    return `## ${title}\n\n${lines.join('\n')}`;
  });
  const note = config.mode === 'sandbox' ? `\n${SANDBOX_NOTE}\n` : '';
  return `# ${shownBrand(config)} documentation\n\n${LEAD}\n${note}\n${rows.join('\n\n')}\n`;
}
