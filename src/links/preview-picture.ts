// The picture that WhatsApp and others show beside a shared link: who is paid, how much, and for what. Names and amounts are also
// in the text of the preview, so on a machine without fonts the picture has the logo only.

import type { Context } from '../platform/context.ts';
import { html, printHtml } from '../platform/html.ts';
import { perProcess } from '../platform/memory.ts';
import type { PaymentLink } from './links.ts';
import { drawPicture, findLogo } from './logo.ts';

export const PREVIEW_WIDTH = 1_200;
export const PREVIEW_HEIGHT = 630;
/** About 20 kB each. */
const MAX_KEPT = 100;
const GREEN = '#0f6b5c';
const LOGO = { left: 100, top: 100, side: 128 };
const NAME_CHARACTERS = 32;
const ITEM_CHARACTERS = 42;
/** What XML cannot contain. */
const INVISIBLE = /[\p{Cc}\p{Cs}\ufffe\uffff]/gu;

export type PreviewFacts = {
  link: Pick<PaymentLink, 'id' | 'updated_at' | 'logo_hash' | 'accent_colour'>;
  business: string;
  item: string | null;
  /** As the payer reads it; null: the payer enters it. */
  amount: string | null;
  brand: string;
  sandbox: boolean;
};

const picturesOf = perProcess(() => new Map<string, Promise<Buffer | null>>());

/** The picture as PNG; null when it cannot be made. */
export function previewPicture(ctx: Context, facts: PreviewFacts): Promise<Buffer | null> {
  const pictures = picturesOf(ctx);
  const key = `${facts.link.id} ${facts.link.updated_at.getTime()} ${facts.amount ?? ''}`;
  const known = pictures.get(key);
  if (known) return known;
  const made = draw(ctx, facts);
  pictures.set(key, made);
  if (pictures.size > MAX_KEPT) pictures.delete(pictures.keys().next().value ?? key);
  // What could not be made now may be made later.
  made.then(
    (png) => png === null && pictures.delete(key),
    () => pictures.delete(key),
  );
  return made;
}

async function draw(ctx: Context, facts: PreviewFacts): Promise<Buffer | null> {
  const { logo_hash: hash } = facts.link;
  const webp = hash === null ? null : await findLogo(ctx.db, hash);
  return drawPicture(ctx, { svg: Buffer.from(drawing(facts, webp !== null)), logo: webp && { ...LOGO, webp } });
}

function drawing(facts: PreviewFacts, hasLogo: boolean): string {
  const { link, business, item, amount, brand, sandbox } = facts;
  const colour = link.accent_colour ?? GREEN;
  const initial = shorten(business, 1).toUpperCase();
  const [headline, second] = amount === null ? [item, null] : [amount, item];
  return printHtml(html`
    <svg xmlns="http://www.w3.org/2000/svg" width="${PREVIEW_WIDTH}" height="${PREVIEW_HEIGHT}" font-family="sans-serif">
      <rect width="1200" height="630" fill="#f7f6f3"/>
      <rect width="1200" height="24" fill="${colour}"/>
      <rect x="60" y="64" width="1080" height="502" rx="32" fill="#ffffff" stroke="#e5e2db" stroke-width="2"/>
      ${!hasLogo && html`<rect x="100" y="100" width="128" height="128" rx="28" fill="${GREEN}"/>`}
      ${
        !hasLogo &&
        html`<text x="164" y="190" font-size="76" font-weight="700" fill="#ffffff" text-anchor="middle">${initial}</text>`
      }
      <text x="260" y="180" font-size="46" font-weight="600" fill="#1c2420">${shorten(business, NAME_CHARACTERS)}</text>
      <text x="100" y="374" font-size="${amount === null ? 64 : 112}" font-weight="700" fill="#1c2420">
        ${shorten(headline ?? '', NAME_CHARACTERS - 4)}
      </text>
      <text x="100" y="450" font-size="42" fill="#4d5852">${shorten(second ?? '', ITEM_CHARACTERS)}</text>
      <text x="100" y="530" font-size="30" fill="#636d67">${shorten(brand, NAME_CHARACTERS)}</text>
      ${
        sandbox &&
        html`
          <rect x="960" y="490" width="140" height="54" rx="27" fill="#fbf1dc"/>
          <text x="1030" y="528" font-size="30" font-weight="700" fill="#855309" text-anchor="middle">TEST</text>
        `
      }
    </svg>
  `);
}

/** Whole characters, however many code units they have. */
function shorten(text: string, characters: number): string {
  const clean = text.toWellFormed().replace(INVISIBLE, '');
  const letters = [...new Intl.Segmenter().segment(clean)].map(({ segment }) => segment);
  if (letters.length <= characters) return clean;
  return letters.slice(0, characters).join('') + (characters > 1 ? '…' : '');
}
