// Sixty days of a shop, from a seed: what was bought, by whom, how it ended. Pure: the same days for the same moment.

import type { FailureCode } from '../catalog/failures.ts';
import { DAY_MS, HOUR_MS } from '../platform/clock.ts';

const DAYS = 60;
const SEED = 20_261_115;
const MINUTE_MS = 60_000;
/** The shop is in Nairobi; its days are three hours ahead of UTC. */
const ZONE_MS = 3 * HOUR_MS;
const OPENS_HOUR = 7;
const OPEN_HOURS = 13;
const PAYMENTS_A_DAY = 5;
const GROWTH = 4;

export type PlannedPayment = {
  at: Date;
  countryId: number;
  /** With the country code. */
  msisdn: string;
  amount: string;
  item: string;
  order: string;
  /** Paid by the payment link of this place in LINKS; null: asked for by the shop's program. */
  link: number | null;
  outcome: 'success' | 'late' | FailureCode;
  /** From the prompt to its end. */
  answeredAfterMs: number;
  /** Given back a day later: all of it, or half. */
  refund: 'whole' | 'half' | null;
};

export type PlannedSalary = { at: Date; people: readonly { payee: string; msisdn: string; amount: string }[] };

type Country = { countryId: number; share: number; prefix: string; digits: number; scale: number; weak?: true };

const COUNTRIES: readonly Country[] = [
  { countryId: 1, share: 62, prefix: '25471', digits: 7, scale: 1 },
  { countryId: 11, share: 14, prefix: '25677', digits: 7, scale: 29, weak: true },
  { countryId: 10, share: 10, prefix: '25574', digits: 7, scale: 20 },
  { countryId: 12, share: 10, prefix: '26097', digits: 7, scale: 0.2 },
  { countryId: 13, share: 4, prefix: '23276', digits: 6, scale: 0.2 },
];

const ITEMS: readonly (readonly [name: string, price: number])[] = [
  ['Woven basket', 2_500],
  ['Sisal bag', 1_800],
  ['Soapstone bowl', 3_200],
  ['Beaded bracelet', 450],
  ['Kitenge cloth, 6 yards', 2_800],
  ['Coffee, 1 kg', 1_250],
  ['Leather sandals', 1_950],
  ['Gift card', 5_000],
  ['Weaving class, Saturday', 3_500],
];

export const LINKS: readonly { item: string; amount: string; reusable: boolean }[] = [
  { item: 'Woven basket', amount: '2500', reusable: true },
  { item: 'Coffee, 1 kg', amount: '1250', reusable: true },
  { item: 'Weaving class, Saturday', amount: '3500', reusable: true },
];

const FAILURES: readonly (readonly [code: FailureCode, share: number])[] = [
  ['INSUFFICIENT_FUNDS', 48],
  ['PROMPT_EXPIRED', 22],
  ['WRONG_PIN', 12],
  ['PAYER_CANCELLED', 12],
  ['PAYER_LIMIT_REACHED', 4],
  ['OPERATOR_UNAVAILABLE', 2],
];

const STAFF: readonly (readonly [payee: string, msisdn: string, amount: string])[] = [
  ['Wanjiku Otieno', '254712330118', '18400'],
  ['Brian Kamau', '254722310108', '16500'],
  ['Achieng Odhiambo', '254713440226', '15200'],
  ['Musa Hassan', '254715220334', '14800'],
];

/** Payments in the order of time; the last day ends at `now`. */
export function planPayments(now: Date): PlannedPayment[] {
  const random = createRandom(SEED);
  const today = Math.floor((now.getTime() + ZONE_MS) / DAY_MS) * DAY_MS - ZONE_MS;
  const payments: PlannedPayment[] = [];
  for (let ago = DAYS - 1; ago >= 0; ago--) {
    const start = today - ago * DAY_MS;
    for (const at of timesOf(random, start, DAYS - ago)) payments.push(planOne(random, at, payments.length));
  }
  // A payment needs some minutes until its end, as does a refund, which follows a day later.
  const latest = now.getTime() - 15 * MINUTE_MS;
  const kept = payments.filter(({ at }) => at.getTime() < latest);
  for (const payment of kept) if (payment.at.getTime() >= latest - DAY_MS) payment.refund = null;
  const late = kept.findLast(
    ({ outcome, at }) => outcome === 'PROMPT_EXPIRED' && now.getTime() - at.getTime() > DAY_MS,
  );
  if (late) late.outcome = 'late';
  return kept;
}

/** Two payrolls, in the months before. */
export function planSalaries(now: Date): PlannedSalary[] {
  const people = STAFF.map(([payee, msisdn, amount]) => ({ payee, msisdn, amount }));
  return [45, 15].map((ago) => ({ at: new Date(now.getTime() - ago * DAY_MS), people }));
}

/** More at the end of the month and on Saturdays, less on Sundays, and a little more every week. */
function timesOf(random: Random, start: number, day: number): Date[] {
  const weekday = new Date(start + ZONE_MS).getUTCDay();
  const ofWeek = weekday === 6 ? 1.5 : weekday === 0 ? 0.5 : 1;
  const count = Math.round((PAYMENTS_A_DAY + (GROWTH * day) / DAYS) * ofWeek * (0.8 + 0.4 * random()));
  return Array.from({ length: count }, () => {
    // Most people buy around noon and after work.
    const hour = OPENS_HOUR + (OPEN_HOURS * (random() + random())) / 2;
    return new Date(Math.floor(start + hour * HOUR_MS));
  }).sort((left, right) => left.getTime() - right.getTime());
}

function planOne(random: Random, at: Date, place: number): PlannedPayment {
  const country = pick(
    random,
    COUNTRIES.map((each) => [each, each.share] as const),
  );
  const [item, price] = pick(
    random,
    ITEMS.map((each) => [each, 1] as const),
  );
  const link = country.countryId === 1 ? LINKS.findIndex((each) => each.item === item) : -1;
  const failed = random() < (country.weak ? 0.19 : 0.08);
  const outcome = failed ? pick(random, FAILURES) : ('success' as const);
  const refund = !failed && random() < 0.03 ? (random() < 0.6 ? 'whole' : 'half') : null;
  const digits = String(Math.floor(random() * 10 ** country.digits)).padStart(country.digits, '0');
  return {
    at,
    countryId: country.countryId,
    // Numbers that end in 0 and a small number have a fixed result in the sandbox; those of customers have none.
    msisdn: `${country.prefix}${digits.slice(0, -3)}${digits.slice(-3).replace(/^0/, '7')}`,
    amount: String(Math.max(1, Math.round(price * country.scale))),
    item,
    order: `order-${1_000 + place}`,
    link: link >= 0 && random() < 0.5 ? link : null,
    outcome,
    answeredAfterMs: outcome === 'PROMPT_EXPIRED' ? 10 * MINUTE_MS : Math.round((8 + 40 * random()) * 1_000),
    refund,
  };
}

type Random = () => number;

/** Mulberry32: small, and the same on every machine. */
function createRandom(seed: number): Random {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

function pick<T>(random: Random, choices: readonly (readonly [value: T, share: number])[]): T {
  let at = random() * choices.reduce((sum, [, share]) => sum + share, 0);
  for (const [value, share] of choices) {
    at -= share;
    if (at < 0) return value;
  }
  const last = choices.at(-1);
  if (!last) throw new Error('there is nothing to choose from');
  return last[0];
}
