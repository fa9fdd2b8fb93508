// Finds transactions by what people hold in their hand: the beginning of a number, a reference as tables shorten it, a receipt of
// the operator. Every statement reads a limited number of rows.

import type { Reader } from '../platform/db.ts';
import { uuidFromPublicId } from '../platform/ids.ts';
import { refOf, TRANSACTION_COLUMNS, type Transaction } from './transactions.ts';

const MAX_NUMBERS = 20;
/** The middle of a reference is in no index; its newest ids are compared. The statement reads the index only. */
const COMPARED_IDS = 150_000;
const NAMED_ROWS = 2_000;
const REF_DIGITS = 26;
const ALPHABET = /^[0-9A-HJKMNP-TV-Z]+$/;
const SHORT_REF = 8;
const NO_ID = '00000000-0000-0000-0000-000000000000';
/** The short reference is five bytes of the id; four of them are whole bytes: the ninth to the twelfth. */
const WHOLE_BYTES = { from: 9, count: 4 } as const;

/** The newest transactions of numbers that begin with one of these digits (with the dial code). */
export async function findByNumberPrefix(
  reader: Reader,
  holderId: bigint,
  prefixes: readonly string[],
  limit: number,
): Promise<Transaction[]> {
  if (prefixes.length === 0) return [];
  // Goes from number to number along the index, so that a number with many payments costs as much as one with a few.
  return reader.query<Transaction>(
    `with recursive numbers as (
       select wanted.high, 1 as place,
              (select n.msisdn from transactions n where n.holder_id = $1 and n.msisdn >= wanted.low and n.msisdn < wanted.high
               order by n.msisdn limit 1) as msisdn
       from unnest($2::text[], $3::text[]) as wanted (low, high)
       union all
       select known.high, known.place + 1,
              (select n.msisdn from transactions n where n.holder_id = $1 and n.msisdn > known.msisdn and n.msisdn < known.high
               order by n.msisdn limit 1)
       from numbers known where known.msisdn is not null and known.place < ${MAX_NUMBERS}
     )
     select ${TRANSACTION_COLUMNS}
     from (select distinct msisdn from numbers where msisdn is not null limit ${MAX_NUMBERS}) found
     cross join lateral (
       select * from transactions o where o.holder_id = $1 and o.msisdn = found.msisdn order by o.id desc limit $4
     ) t
     order by t.id desc limit $4`,
    [holderId, prefixes, prefixes.map(afterPrefix), limit],
  );
}

/** The first text that is greater than every number with this prefix: 25471 → 25472, 2599 → 26. */
function afterPrefix(prefix: string): string {
  const kept = prefix.replace(/9+$/, '');
  return kept === '' ? ':' : kept.slice(0, -1) + String(Number(kept.slice(-1)) + 1);
}

/** A transaction by its reference: whole, the eight digits that tables show of it, its beginning, or its end. */
export async function findByPartOfRef(
  reader: Reader,
  holderId: bigint,
  typed: string,
  limit: number,
): Promise<Transaction[]> {
  const part = typed.toUpperCase().replace(/[…\s.]/g, '');
  const digits = part.replace(/^(?:TX|RF)_/, '');
  if (!ALPHABET.test(digits) || digits.length > REF_DIGITS) return [];
  const ids = part === digits ? await findIdsWithin(reader, holderId, digits) : [];
  const found = ids.length > 0 ? await readOwn(reader, holderId, ids, limit) : [];
  return found.length > 0 || digits.length < 10 ? found : findByStart(reader, holderId, digits, limit);
}

/** Ids whose reference has these digits where tables cut it, or ends with them. */
async function findIdsWithin(reader: Reader, holderId: bigint, digits: string): Promise<string[]> {
  const short = digits.length === SHORT_REF ? digits : digits.length >= 14 ? digits.slice(-14, -6) : null;
  if (short === null) return [];
  // Sixteen characters of hexadecimal around the short reference; the whole bytes are in their middle.
  const uuid = uuidAround(short);
  const bytes = Buffer.from(uuid.replaceAll('-', ''), 'hex').subarray(
    WHOLE_BYTES.from - 1,
    WHOLE_BYTES.from - 1 + WHOLE_BYTES.count,
  );
  const rows = await reader.query<{ id: string }>(
    `select id from (select id from transactions where holder_id = $1 order by id desc limit ${COMPARED_IDS}) newest
     where substring(uuid_send(id) from ${WHOLE_BYTES.from} for ${WHOLE_BYTES.count}) = $2`,
    [holderId, bytes],
  );
  return rows.map(({ id }) => id).filter((id) => isPartOf(id, digits));
}

function isPartOf(id: string, digits: string): boolean {
  const ref = refOf({ id });
  return digits.length === SHORT_REF ? ref.slice(-14, -6) === digits : ref.endsWith(digits);
}

/** An id that has these eight digits in its public form, and zeros elsewhere. */
function uuidAround(short: string): string {
  return uuidOfDigits(`${'0'.repeat(REF_DIGITS - 14)}${short}000000`);
}

function uuidOfDigits(digits: string): string {
  return uuidFromPublicId('TX', `TX_${digits}`) ?? NO_ID;
}

/** The beginning of a reference is a time: its transactions are a range of the key. */
async function findByStart(reader: Reader, holderId: bigint, digits: string, limit: number): Promise<Transaction[]> {
  // 26 digits hold 130 bits, so the first is at most 7.
  if (!/^[0-7]/.test(digits)) return [];
  return reader.query<Transaction>(
    `select ${TRANSACTION_COLUMNS} from transactions t
     where t.holder_id = $1 and t.id >= $2 and t.id <= $3 order by t.id desc limit $4`,
    [holderId, uuidOfDigits(digits.padEnd(REF_DIGITS, '0')), uuidOfDigits(digits.padEnd(REF_DIGITS, 'Z')), limit],
  );
}

async function readOwn(reader: Reader, holderId: bigint, ids: string[], limit: number): Promise<Transaction[]> {
  return reader.query<Transaction>(
    `select ${TRANSACTION_COLUMNS} from transactions t
     where t.holder_id = $1 and t.id = any($2::uuid[]) order by t.id desc limit $3`,
    [holderId, ids, limit],
  );
}

/** By the receipt of the operator. Operators write them in capitals; people may not. `rails`: every one that is open. */
export async function findByOperatorReceipt(
  reader: Reader,
  holderId: bigint,
  receipt: string,
  rails: readonly string[],
): Promise<Transaction[]> {
  return reader.query<Transaction>(
    `select ${TRANSACTION_COLUMNS}
     from operator_receipts r join transactions t on t.holder_id = r.holder_id and t.id = r.transaction_id
     where r.rail = any($2::text[]) and r.receipt = any($3::text[]) and r.holder_id = $1
     order by t.id desc`,
    [holderId, rails, [...new Set([receipt, receipt.toUpperCase()])]],
  );
}

/** Whose own reference begins like this. */
export async function findByOwnReference(
  reader: Reader,
  holderId: bigint,
  start: string,
  limit: number,
): Promise<Transaction[]> {
  const found = (column: 'reference_1' | 'reference_2') =>
    `(select * from transactions where holder_id = $1 and ${column} >= $2 and ${column} < $3 order by ${column}, id desc limit $4)`;
  return reader.query<Transaction>(
    `select ${TRANSACTION_COLUMNS} from (${found('reference_1')} union ${found('reference_2')}) t order by t.id desc limit $4`,
    [holderId, start, `${start}\u{10ffff}`, limit],
  );
}

/** Files of payouts with this in their name, among the newest. */
export async function findPayoutFiles(
  reader: Reader,
  holderId: bigint,
  text: string,
  limit: number,
): Promise<{ id: string; name: string; payouts: number; created_at: Date }[]> {
  return reader.query(
    `select id, name, payouts, created_at
     from (select * from payout_batches where holder_id = $1 order by id desc limit ${NAMED_ROWS}) newest
     where position(lower($2) in lower(name)) > 0 order by id desc limit $3`,
    [holderId, text, limit],
  );
}
