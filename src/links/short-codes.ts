// The short address of a payment link, to type from a counter card or to send in a message: /p/7K3QM-9TWXA.

import { type Config, publicUrl } from '../platform/config.ts';
import type { Reader } from '../platform/db.ts';
import { LINK_COLUMNS, type PaymentLink } from './links.ts';

const MAX_TYPED_CHARACTERS = 40;

export function shortUrl(config: Config, link: Pick<PaymentLink, 'code'>): string {
  return `${publicUrl(config)}${shortPath(link)}`;
}

/** In two groups: easier to read aloud and to type. */
export function shortPath({ code }: Pick<PaymentLink, 'code'>): string {
  return `/p/${code.slice(0, 5)}-${code.slice(5)}`;
}

/** The link of a code as people type it. O counts as 0, I and L as 1; case, dashes and spaces are ignored. */
export async function findLinkByCode(reader: Reader, typed: string): Promise<PaymentLink | null> {
  if (typed.length > MAX_TYPED_CHARACTERS) return null;
  const code = typed.toUpperCase().replace(/[\s-]/g, '').replace(/O/g, '0').replace(/[IL]/g, '1');
  if (!/^[0-9A-HJKMNP-TV-Z]{10}$/.test(code)) return null;
  const [link] = await reader.query<PaymentLink>(
    { name: 'find_link_by_code', text: `select ${LINK_COLUMNS} from payment_links l where l.code = $1` },
    [code],
  );
  return link ?? null;
}
