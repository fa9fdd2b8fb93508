// The mark of the product: a cowrie shell, or the first letter of a brand of the host's own. Also the icon of the browser's tab.

import { type Config, shownBrand } from '../platform/config.ts';
import { type Html, html, trusted } from '../platform/html.ts';

const GREEN = '#0f6b5c';
const SHELL =
  '<path d="M16 6c5 0 8 4.6 8 10s-3 10-8 10-8-4.6-8-10 3-10 8-10z" fill="#fbf1dc"/>' +
  `<path d="M16 8.5c1.6 2 1.6 4 .4 5.6 1.4 1.4 1.4 3-.1 4.4 1.2 1.4 1.2 3-.3 5" fill="none" stroke="${GREEN}"` +
  ' stroke-width="1.8" stroke-linecap="round"/>';
const OUR_NAME = 'Simbi';

export type Brand = { name: string; mark: Html };

export function brandOf(config: Pick<Config, 'brandName'>): Brand {
  const name = shownBrand(config);
  return { name, mark: trusted(drawing(name, ' class="mark" aria-hidden="true"')) };
}

/** The picture of the browser's tab, as a file. */
export function favicon(config: Pick<Config, 'brandName'>): string {
  return drawing(shownBrand(config), ' xmlns="http://www.w3.org/2000/svg"');
}

/** The mark as a link to a page of ours, with the name beside it. */
export function brandLink({ name, mark }: Brand, href: string): Html {
  return html`<a class="brand" href="${href}">${mark}<span>${name}</span></a>`;
}

function drawing(name: string, attributes: string): string {
  const ground = `<rect width="32" height="32" rx="9" fill="${GREEN}"/>`;
  return `<svg${attributes} viewBox="0 0 32 32">${ground}${name === OUR_NAME ? SHELL : letterOf(name)}</svg>`;
}

/** The brand's name is the host's own text: only a letter or a digit goes into the picture. */
function letterOf(name: string): string {
  const letter = /[\p{L}\p{N}]/u.exec(name)?.[0]?.toUpperCase() ?? '';
  const style = 'font-family="sans-serif" font-size="18" font-weight="700" fill="#fff" text-anchor="middle"';
  return `<text x="16" y="22.5" ${style}>${letter}</text>`;
}
