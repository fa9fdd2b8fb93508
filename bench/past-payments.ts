// Invents past payments in the order of time: collections that succeed, fail and expire, some of them through links, payouts, and
// refunds a day later. Nothing here talks to the database.

import { feeOf } from '../src/catalog/amounts.ts';
import { loadCatalog } from '../src/catalog/catalog.ts';
import { DAY_MS } from '../src/platform/clock.ts';
import {
  createRowWriter,
  type Link,
  type Movement,
  type PastMethod,
  type PastRows,
  type RowsPlan,
  type Shop,
} from './past-rows.ts';
import { createReceipts, hourOfDay } from './past-values.ts';

const SECOND_MS = 1_000;
const EXPIRES_MS = 600_000;
/** Amounts as people pay them: many small ones, few large ones. In tens of shillings. */
const AMOUNTS = [5, 10, 20, 20, 35, 50, 50, 75, 100, 100, 120, 150, 200, 250, 300, 450, 500, 800, 1_200, 2_500];
/** What ten Kenyan shillings are about, in hundredths. */
const TEN_SHILLINGS: Readonly<Record<string, number>> = { KES: 1_000, UGX: 30_000, TZS: 20_000, ZMW: 200, SLE: 200 };
const COUNTRIES = [11, 1, 10, 12, 13] as const;
const FAILURES = ['INSUFFICIENT_FUNDS', 'INSUFFICIENT_FUNDS', 'PAYER_CANCELLED', 'WRONG_PIN'] as const;
const PEOPLE = ['Amina Okello', 'Joseph Mwangi', 'Grace Banda', 'Ibrahim Kamara', 'Neema Mushi', 'Peter Otieno'];
const ITEMS = ['Rice, 25 kg', 'School fees, term 2', 'Solar lamp', 'Bus ticket', 'Phone repair', 'Maize flour, 10 kg'];
/** Shares of all movements. */
const PAYOUTS = 0.02;
const REFUNDS = 0.008;
const THROUGH_LINKS = 0.06;
const UNPAID_LINKS = 0.01;
/** Shares of collections. */
const FAILED_FROM = 0.9;
const EXPIRED_FROM = 0.97;
const PAYOUTS_PAID = 0.96;
/** How fast the size of merchants falls: the second of them has a third of the payments of the first. */
const STEEPNESS = 1.4;
const DRAWN_SHOPS = 200_000;

export type PastPlan = RowsPlan & { readonly payments: number; readonly days: number; readonly shops: readonly Shop[] };

type Refund = {
  readonly due: number;
  readonly collection: Movement;
  readonly amount: number;
  readonly isWhole: boolean;
};

/** The methods of the country of the merchant at this place: large and small merchants are in every country. */
export function methodsAt(place: number): PastMethod[] {
  const countryId = COUNTRIES[place % COUNTRIES.length] ?? COUNTRIES[0];
  const row = loadCatalog().collectionCountries.get(countryId);
  if (!row) throw new Error(`country ${countryId} is not in the catalogue`);
  return row.methods.map((method) => {
    const unit = TEN_SHILLINGS[method.currency] ?? 100;
    const whole = (amount: number) => Math.max(100, Math.round((amount * unit) / 100) * 100);
    const { min, max } = method.collection;
    const amounts = AMOUNTS.map(whole).filter((amount) => amount >= min && amount <= max);
    const fees = amounts.map((amount) => Number(feeOf(BigInt(amount), method, 'collection')));
    const prefix = method.country.dialCode + (method.prefixes[0] ?? '');
    return { method, amounts, fees, prefix, digits: (method.example ?? method.country.example).length - prefix.length };
  });
}

/** How many payments the merchant at this place has, beside those of the first. */
export function shareAt(place: number): number {
  return (place + 1) ** -STEEPNESS;
}

/** A few have most of the payments, most have a few: of ten million, the first of 1,000 has three, the last two hundred. */
function drawShops(shops: readonly Shop[]): (dice: () => number) => Shop {
  const sum = shops.reduce((total, _, place) => total + shareAt(place), 0);
  const table = shops.flatMap((shop, place) =>
    Array<Shop>(Math.max(1, Math.round((shareAt(place) / sum) * DRAWN_SHOPS))).fill(shop),
  );
  return (dice) => table[Math.floor(dice() * table.length)] as Shop;
}

export type PastPayments = {
  /** Adds the rows of this many payments. */
  write(rows: PastRows, payments: number): void;
  /** Adds what is left: refunds under way, the last block, links that are used again and again. */
  finish(rows: PastRows): void;
  lastTransfer(): bigint;
};

export function inventPayments(plan: PastPlan): PastPayments {
  const story = createStory(plan);
  const end = plan.until.getTime();
  const start = end - plan.days * DAY_MS;
  const draw = drawShops(plan.shops);
  const refunds: Refund[] = [];
  let first = 0;
  let done = 0;

  /** Business grows: the last days have most of the payments. Each day has its quiet and its busy hours. */
  function momentOf(place: number): number {
    const days = plan.days * (place / plan.payments) ** 0.8;
    const day = Math.floor(days);
    return Math.floor(Math.min(start + (day + hourOfDay(days - day)) * DAY_MS, end - SECOND_MS));
  }
  function giveBack(rows: PastRows, until: number): void {
    for (let next = refunds[first]; next && next.due <= until; next = refunds[++first]) refund(story, rows, next);
    if (first < 10_000) return;
    refunds.splice(0, first);
    first = 0;
  }
  return {
    write(rows, payments) {
      for (const last = done + payments; done < last; done++) {
        const at = momentOf(done);
        giveBack(rows, at);
        const shop = draw(story.dice);
        if (story.dice() < PAYOUTS && payOut(story, rows, shop, at)) continue;
        const later = collect(story, rows, shop, at);
        if (later) refunds.push(later);
      }
    },
    finish(rows) {
      giveBack(rows, end);
      story.ledger.seal(rows);
      for (const link of story.links) story.addLink(rows, link, { reusable: true, status: 'active', expiresAt: null });
    },
    lastTransfer: story.ledger.lastTransfer,
  };
}

/** What the payments have in common: the writer of their rows, and what is drawn by dice. */
function createStory(plan: PastPlan) {
  const writer = createRowWriter(plan);
  const { dice, ids } = writer;
  let serial = Number(plan.lastTransfer);
  return {
    ...writer,
    receiptAt: createReceipts(Number(plan.lastTransfer)),
    /** The last moment at which a refund can still follow. */
    refundsUntil: plan.until.getTime() - DAY_MS - SECOND_MS,
    /** Those that can be paid many times: their rows are written at the end. */
    links: [] as Link[],
    between: (low: number, high: number) => low + Math.floor(dice() * (high - low)),
    pick: <T>(list: readonly T[]) => list[Math.floor(dice() * list.length)] as T,
    open(
      given: Pick<Movement, 'shop' | 'direction' | 'method' | 'amount' | 'fee' | 'msisdn' | 'endedAt'>,
      tookMs: number,
    ): Movement {
      const createdAt = given.endedAt - tookMs;
      const id = ids.transaction(createdAt, given.shop.digits, given.direction === 'refund');
      const outcome = { status: 'success', failure: null, receipt: null, link: null, payee: null } as const;
      return { ...given, ...outcome, id, serial: serial++, createdAt };
    },
  };
}

type Story = ReturnType<typeof createStory>;

/** Some payers come often. */
function payerOf({ dice }: Story, shop: Shop, { prefix, digits }: PastMethod): string {
  const payer = 1 + Math.floor(dice() ** 2 * shop.payers);
  const number = (payer * 7_919_633 + Number(shop.holderId) * 104_729) % 10 ** digits;
  return prefix + String(number).padStart(digits, '0');
}

/** One collection. Returns the refund that will follow it, if there will be one. */
function collect(story: Story, rows: PastRows, shop: Shop, at: number): Refund | null {
  const { dice, ledger } = story;
  const known = story.pick(shop.methods);
  const place = Math.floor(dice() * known.amounts.length);
  const [amount, fee] = [known.amounts[place] ?? 100, known.fees[place] ?? 0];
  const fate = dice();
  const terms = { amount, fee, msisdn: payerOf(story, shop, known), endedAt: at };
  const tookMs = fate >= EXPIRED_FROM ? EXPIRES_MS : story.between(4_000, 45_000);
  const movement = story.open({ shop, direction: 'collection', method: known.method, ...terms }, tookMs);
  const detail = `Collection from ${movement.msisdn} by ${known.method.name}`;
  if (dice() < UNPAID_LINKS) addUnpaidLink(story, rows, shop, amount, at);
  if (fate >= FAILED_FROM) {
    movement.status = fate >= EXPIRED_FROM ? 'expired' : 'failed';
    movement.failure = fate >= EXPIRED_FROM ? 'PROMPT_EXPIRED' : story.pick(FAILURES);
    story.addTransaction(rows, movement, detail, null);
    story.addEvent(rows, movement, `collection.${movement.status}`, at);
    return null;
  }
  movement.receipt = story.receiptAt(at);
  if (dice() < THROUGH_LINKS) movement.link = payThroughLink(story, rows, shop, amount, movement.createdAt);
  ledger.move(rows, movement, 'collection', shop.clearing, shop.available, amount - fee);
  ledger.move(rows, movement, 'collection_fee', shop.clearing, shop.fees, fee);
  const isRefunded = dice() < REFUNDS && at < story.refundsUntil && shop.available.balance - shop.owed >= amount;
  const isWhole = isRefunded && movement.link === null && dice() < 0.6;
  // Its row is written once, so it already says what the refund of the next day will make of it.
  if (isWhole) movement.status = 'reversed';
  story.addTransaction(rows, movement, detail, shop.available.balance);
  story.addEvent(rows, movement, 'collection.success', at);
  if (movement.link) story.addEvent(rows, movement, 'payment_link.paid', at);
  const refunded = isWhole ? amount : Math.floor(amount / 200) * 100;
  if (!isRefunded || refunded === 0) return null;
  shop.owed += refunded;
  return { due: at + DAY_MS, collection: movement, amount: refunded, isWhole };
}

function refund(story: Story, rows: PastRows, { due, collection, amount, isWhole }: Refund): void {
  const { shop, method, msisdn, id: collectionId } = collection;
  const terms = { shop, direction: 'refund', method, amount, fee: 0, msisdn, endedAt: due } as const;
  const movement = story.open(terms, story.between(3_000, 20_000));
  movement.receipt = story.receiptAt(due);
  shop.owed -= amount;
  story.ledger.move(rows, movement, 'refund_reserve', shop.available, shop.reserved, amount);
  story.ledger.move(rows, movement, 'refund', shop.reserved, shop.clearing, amount);
  story.addTransaction(rows, movement, `Refund to ${msisdn}`, shop.available.balance);
  rows.refund_orders += `${shop.holderId}\t${movement.id}\t${collectionId}\t0\tfalse\tReturned goods\tnot_needed\tseed\n`;
  rows.refund_totals += `${shop.holderId}\t${collectionId}\t${collection.amount}\t${collection.fee}\t${amount}\n`;
  story.addEvent(rows, movement, 'refund.success', due);
  if (isWhole) story.addEvent(rows, collection, 'collection.reversed', due);
}

/** Pays out a part of what the wallet holds; false: it holds too little. */
function payOut(story: Story, rows: PastRows, shop: Shop, at: number): boolean {
  const { dice, ledger } = story;
  const { method, prefix, digits } = story.pick(shop.methods);
  const free = shop.available.balance - shop.owed;
  const most = Math.min(free / 2, Number(method.payout?.max ?? 0n));
  const amount = Math.floor((most * (0.1 + 0.9 * dice())) / 100) * 100;
  if (!method.payout || amount <= 0 || amount < Number(method.payout.min)) return false;
  const fee = Number(feeOf(BigInt(amount), method, 'payout'));
  if (amount + fee > free) return false;
  const msisdn = prefix + String(story.between(0, 10 ** digits)).padStart(digits, '0');
  const terms = { shop, direction: 'payout', method, amount, fee, msisdn, endedAt: at } as const;
  const payout = story.open(terms, story.between(1_000, 9_000));
  payout.payee = story.pick(PEOPLE);
  ledger.move(rows, payout, 'payout_reserve', shop.available, shop.reserved, amount + fee);
  if (dice() < PAYOUTS_PAID) {
    payout.receipt = story.receiptAt(at);
    ledger.move(rows, payout, 'payout', shop.reserved, shop.clearing, amount);
    ledger.move(rows, payout, 'payout_fee', shop.reserved, shop.fees, fee);
  } else {
    payout.status = 'failed';
    payout.failure = 'RECIPIENT_NOT_FOUND';
    ledger.move(rows, payout, 'payout_release', shop.reserved, shop.available, amount + fee);
  }
  story.addTransaction(rows, payout, 'Supplier', shop.available.balance);
  rows.payout_orders += `${shop.holderId}\t${payout.id}\tnot_needed\tseed\n`;
  story.addEvent(rows, payout, `payout.${payout.status}`, at);
  return true;
}

/** Half of them through the link on the shop's poster, the others through one made for this payer. */
function payThroughLink(story: Story, rows: PastRows, shop: Shop, amount: number, at: number): Link {
  if (story.dice() < 0.5) {
    if (!shop.reusableLink || story.dice() < 0.002) {
      shop.reusableLink = makeLink(story, shop, amount, at - DAY_MS);
      story.links.push(shop.reusableLink);
    }
    shop.reusableLink.payments++;
    return shop.reusableLink;
  }
  const link = makeLink(story, shop, amount, at - EXPIRES_MS);
  link.payments = 1;
  story.addLink(rows, link, { reusable: false, status: 'paid', expiresAt: null });
  return link;
}

function addUnpaidLink(story: Story, rows: PastRows, shop: Shop, amount: number, at: number): void {
  const status = story.dice() < 0.1 ? 'disabled' : 'active';
  story.addLink(rows, makeLink(story, shop, amount, at), { reusable: false, status, expiresAt: at + 7 * DAY_MS });
}

function makeLink({ ids, pick }: Story, shop: Shop, amount: number, createdAt: number): Link {
  return { shop, id: ids.plain(createdAt, shop.digits), createdAt, amount, item: pick(ITEMS), payments: 0 };
}
