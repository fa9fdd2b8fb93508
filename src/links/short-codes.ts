// The code of a short address, as people type it from a counter card or a message.

import type { Reader } from '../platform/db.ts';
import { LINK_COLUMNS, type PaymentLink } from './links.ts';

const MAX_TYPED_CHARACTERS = 40;

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
