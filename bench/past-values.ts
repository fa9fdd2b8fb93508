// Values of invented payments: dice, ids, receipts, moments. Made for speed: each is drawn tens of millions of times.

/** From 0 to 1, and the same row of numbers for the same seed (mulberry32). */
export type Dice = () => number;

export function createDice(seed: number): Dice {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const HEX = Array.from({ length: 65_536 }, (_, value) => value.toString(16).padStart(4, '0'));
const LETTERS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** Ids as src/platform/ids.ts makes them; the last seven digits are the holder. */
export function createIds(dice: Dice) {
  const four = () => HEX[(dice() * 65_536) | 0] as string;
  const uuid = (millis: number, holder: string, version: '7' | '8') => {
    const time = millis.toString(16).padStart(12, '0');
    const [variant, own] = [four(), four()];
    const start = `${time.slice(0, 8)}-${time.slice(8)}`;
    const middle = `${version}${four().slice(1)}-${'89ab'[variant.charCodeAt(0) & 3]}${variant.slice(1)}`;
    return `${start}-${middle}-${own}${variant[0]}${holder}`;
  };
  return {
    plain: (millis: number, holder: string) => uuid(millis, holder, '7'),
    transaction: (millis: number, holder: string, isRefund: boolean) => uuid(millis, holder, isRefund ? '8' : '7'),
    hex: (digits: number) => Array.from({ length: digits / 4 }, four).join(''),
    /** The short code of a link. */
    code: () => Array.from({ length: 10 }, () => LETTERS[(dice() * 32) | 0]).join(''),
  };
}

/** Receipts as M-PESA writes them: year, month and day as a letter or digit each, then a running number. */
export function createReceipts(first: number): (millis: number) => string {
  let number = first;
  let [day, start] = [Number.NaN, ''];
  return (millis) => {
    if (Math.floor(millis / 86_400_000) !== day) {
      const date = new Date(millis);
      day = Math.floor(millis / 86_400_000);
      start = [date.getUTCFullYear() - 2010, date.getUTCMonth() + 1, date.getUTCDate()]
        .map((part) => part.toString(36))
        .join('');
    }
    return (start + (number++).toString(36).padStart(7, '0')).toUpperCase();
  };
}

const MAX_MINUTES = 5_000;

/** Moments as PostgreSQL reads them. The part up to the minute is remembered. */
export function createStamps(): (millis: number) => string {
  const minutes = new Map<number, string>();
  const seconds = Array.from({ length: 60_000 }, (_, ms) => (ms / 1000).toFixed(3).padStart(6, '0'));
  return (millis) => {
    const minute = Math.floor(millis / 60_000);
    let start = minutes.get(minute);
    if (start === undefined) {
      if (minutes.size > MAX_MINUTES) minutes.clear();
      start = new Date(minute * 60_000).toISOString().slice(0, 17).replace('T', ' ');
      minutes.set(minute, start);
    }
    return `${start}${seconds[millis - minute * 60_000]}+00`;
  };
}

/** How busy each hour of the day is, UTC: East Africa is three hours ahead. */
const HOURS = [2, 1, 2, 6, 14, 24, 34, 40, 44, 46, 46, 44, 42, 44, 48, 54, 58, 52, 40, 28, 18, 10, 6, 3];
const BUSY = HOURS.reduce((sum, busy) => sum + busy, 0);

/** The moment of the day, from 0 to 1, before which this share of the day's payments comes. */
export function hourOfDay(share: number): number {
  let left = share * BUSY;
  for (const [hour, busy] of HOURS.entries()) {
    if (left < busy) return (hour + left / busy) / 24;
    left -= busy;
  }
  return 1;
}
