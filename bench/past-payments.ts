// Invents past payments and writes them as the rows that the gateway would have left behind: transactions, evidence, receipts,
// transfers with running balances, blocks of the hash chain, links, refunds, payouts, and the events and callback attempts that
// are still kept. Nothing here talks to the database: rows are made as text for COPY, in the order of time.

import { createHash } from 'node:crypto';
import { feeOf } from '../src/catalog/amounts.ts';
import { loadCatalog, type Method } from '../src/catalog/catalog.ts';
import { failureMessage } from '../src/catalog/failures.ts';
import { DAY_MS } from '../src/platform/clock.ts';
import { createDice, createIds, createReceipts, createStamps, type Dice, hourOfDay } from './past-values.ts';

export const RAIL = 'sandbox';
/** Events and attempts are kept for ninety days. */
export const KEPT_DAYS = 89;
const BLOCK_TRANSFERS = 1_000;
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
/** Of a hundred movements of a shop. */
const PAYOUTS = 0.02;
const REFUNDS = 0.008;
const THROUGH_LINKS = 0.06;
const UNPAID_LINKS = 0.01;

/** Sums stay far below 2^53 hundredths, so plain numbers are exact here and twice as fast as bigints. */
export type Account = { readonly id: string; balance: number };

export type Shop = {
  readonly holderId: string;
  /** The last seven digits of the ids of this holder. */
  readonly digits: string;
  readonly integrationId: string;
  readonly methods: readonly PastMethod[];
  readonly currency: string;
  readonly clearing: Account;
  readonly available: Account;
  readonly reserved: Account;
  readonly fees: Account;
  /** Events so far. */
  position: number;
  /** What refunds that were decided on will take from the wallet. */
  owed: number;
  readonly payers: number;
  reusableLink: Link | null;
};

type PastMethod = {
  readonly method: Method;
  readonly amounts: readonly number[];
  readonly fees: readonly number[];
  readonly prefix: string;
  readonly digits: number;
};

type Link = { id: string; createdAt: number; amount: number; item: string; payments: number; shop: Shop };
type Refund = { due: number; collection: Movement; amount: number; isWhole: boolean };

/** A transaction while its rows are written. */
type Movement = {
  readonly shop: Shop;
  readonly id: string;
  readonly direction: 'collection' | 'payout' | 'refund';
  readonly method: Method;
  readonly amount: number;
  readonly fee: number;
  readonly msisdn: string;
  readonly createdAt: number;
  readonly endedAt: number;
  status: 'success' | 'failed' | 'expired' | 'reversed';
  failure: (typeof FAILURES)[number] | 'PROMPT_EXPIRED' | 'RECIPIENT_NOT_FOUND' | null;
  receipt: string | null;
  link: Link | null;
  serial: number;
};

/** The columns of each table, in the order of the values. */
export const COLUMNS = {
  transactions: `holder_id, id, integration_id, direction, status, amount, fee, currency, country_id, method, rail, msisdn, payee,
    detail, reference_1, callback_url, link_id, verification, receipt, failure_code, failure_message, balance_after, created_at,
    updated_at, settled_at`,
  evidence: 'holder_id, transaction_id, at, source, state, receipt, failure_code, effect, raw',
  operator_receipts: 'rail, receipt, holder_id, transaction_id, at',
  ledger_transfers: `batch, id, holder_id, debit_account, credit_account, amount, debit_balance, credit_balance, posted_at,
    transaction_id, kind, currency`,
  ledger_blocks: 'number, after_id, last_id, transfers, previous_hash, hash, sealed_at',
  events: 'holder_id, transaction_id, type, sequence, id, position, integration_id, url, body, created_at',
  callback_attempts: `holder_id, event_id, at, number, delivered, signature, status, answer_headers, answer_start, latency_ms,
    error`,
  callback_deliveries: `holder_id, event_id, transaction_id, integration_id, origin, url, attempts, leased, due_at, tried_at,
    started_at`,
  refund_orders: 'holder_id, transaction_id, collection_id, fee_returned, as_payout, reason, approval, created_by',
  refund_totals: 'holder_id, collection_id, collected, fee, refunded',
  payout_orders: 'holder_id, transaction_id, approval, created_by',
  payment_links: `holder_id, id, integration_id, business_name, item_name, currency, amount, country_id, reusable, status,
    payments_count, paid_amount, expires_at, code, created_at, updated_at`,
} as const;
export type PastTable = keyof typeof COLUMNS;
export type PastRows = Record<PastTable, string>;

export type ChainEnd = { number: bigint; lastId: bigint; hash: Buffer };
export type PastPlan = {
  readonly payments: number;
  readonly days: number;
  readonly until: Date;
  readonly shops: readonly Shop[];
  /** Transfers go on after this id, blocks after this block. */
  readonly lastTransfer: bigint;
  readonly chain: ChainEnd;
  /** The database transaction that writes them. */
  readonly batch: string;
};

export function emptyRows(): PastRows {
  return Object.fromEntries(Object.keys(COLUMNS).map((table) => [table, ''])) as PastRows;
}

/** The methods of the country of the merchant at this place: large and small merchants are in every country. */
export function methodsAt(place: number): PastMethod[] {
  const catalog = loadCatalog();
  const countryId = COUNTRIES[place % COUNTRIES.length] ?? COUNTRIES[0];
  const row = catalog.collectionCountries.get(countryId);
  if (!row) throw new Error(`country ${countryId} is not in the catalogue`);
  return row.methods.map((method) => {
    const unit = TEN_SHILLINGS[method.currency] ?? 100;
    const whole = (amount: number) => Math.max(100, Math.round((amount * unit) / 100) * 100);
    const { min, max } = method.collection;
    const amounts = AMOUNTS.map(whole).filter((amount) => amount >= min && amount <= max);
    const example = method.example ?? method.country.example;
    const prefix = method.country.dialCode + (method.prefixes[0] ?? '');
    return {
      method,
      amounts,
      fees: amounts.map((amount) => Number(feeOf(BigInt(amount), method, 'collection'))),
      prefix,
      digits: example.length - prefix.length,
    };
  });
}

/** A few have most of the payments, most have a few: of ten million, the first of 1,000 has three, the last two hundred. */
function drawShops(shops: readonly Shop[]): (dice: Dice) => Shop {
  const weights = shops.map((_, place) => (place + 1) ** -1.4);
  const sum = weights.reduce((total, weight) => total + weight, 0);
  const table: Shop[] = shops.flatMap((shop, place) =>
    Array<Shop>(Math.max(1, Math.round(((weights[place] ?? 0) / sum) * 200_000))).fill(shop),
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
  const book = createBook(plan);
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
    for (let next = refunds[first]; next && next.due <= until; next = refunds[++first]) book.refund(rows, next);
    if (first < 10_000) return;
    refunds.splice(0, first);
    first = 0;
  }
  return {
    write(rows, payments) {
      for (const last = done + payments; done < last; done++) {
        const at = momentOf(done);
        giveBack(rows, at);
        const shop = draw(book.dice);
        if (book.dice() < PAYOUTS && book.payOut(rows, shop, at)) continue;
        const refund = book.collect(rows, shop, at, end - DAY_MS - SECOND_MS);
        if (refund) refunds.push(refund);
      }
    },
    finish(rows) {
      giveBack(rows, end);
      book.close(rows);
    },
    lastTransfer: book.lastTransfer,
  };
}

function createBook(plan: PastPlan) {
  const dice = createDice(Number(plan.lastTransfer % 1_000_000n) + 1);
  const ids = createIds(dice);
  const stamp = createStamps();
  const receipts = createReceipts(Number(plan.lastTransfer));
  const keptFrom = plan.until.getTime() - KEPT_DAYS * DAY_MS;
  const ledger = createLedger(plan, stamp);
  const links: Link[] = [];
  let serial = Number(plan.lastTransfer);

  const between = (low: number, high: number) => low + Math.floor(dice() * (high - low));
  const pick = <T>(list: readonly T[]) => list[Math.floor(dice() * list.length)] as T;

  function open(
    given: Pick<Movement, 'shop' | 'direction' | 'method' | 'amount' | 'fee' | 'msisdn' | 'endedAt'>,
    ms: number,
  ) {
    const createdAt = given.endedAt - ms;
    const id = ids.transaction(createdAt, given.shop.digits, given.direction === 'refund');
    const rest = { failure: null, receipt: null, link: null, serial: serial++ };
    return { ...given, ...rest, id, createdAt, status: 'success' } satisfies Movement as Movement;
  }

  function payerOf(shop: Shop, { prefix, digits }: PastMethod): string {
    const payer = Math.floor(dice() ** 2 * shop.payers);
    return (
      prefix + String(((payer + 1) * 7_919_633 + Number(shop.holderId) * 104_729) % 10 ** digits).padStart(digits, '0')
    );
  }

  function linkFor(rows: PastRows, shop: Shop, amount: number, at: number): Link {
    if (dice() < 0.5) {
      if (!shop.reusableLink || dice() < 0.002) {
        shop.reusableLink = {
          id: ids.plain(at - DAY_MS, shop.digits),
          createdAt: at - DAY_MS,
          amount,
          item: pick(ITEMS),
          payments: 0,
          shop,
        };
        links.push(shop.reusableLink);
      }
      return shop.reusableLink;
    }
    const link = {
      id: ids.plain(at - EXPIRES_MS, shop.digits),
      createdAt: at - EXPIRES_MS,
      amount,
      item: pick(ITEMS),
      payments: 1,
      shop,
    };
    rows.payment_links += linkLine(link, { reusable: false, status: 'paid', expiresAt: null });
    return link;
  }

  function linkLine(link: Link, given: { reusable: boolean; status: string; expiresAt: number | null }): string {
    const { shop, amount, payments } = link;
    const expires = given.expiresAt === null ? '\\N' : stamp(given.expiresAt);
    return `${shop.holderId}\t${link.id}\t${shop.integrationId}\tSeeded shop\t${link.item}\t${shop.currency}\t${amount}\t${
      shop.methods[0]?.method.countryId
    }\t${given.reusable}\t${given.status}\t${payments}\t${payments * amount}\t${expires}\t${ids.code()}\t${stamp(link.createdAt)}\t${stamp(link.createdAt)}\n`;
  }

  function addTransaction(
    rows: PastRows,
    movement: Movement,
    given: { payee: string | null; detail: string; balance: number | null },
  ) {
    const { shop, direction, status, method, failure, receipt } = movement;
    const ended = stamp(movement.endedAt);
    const isPaid = status === 'success' || status === 'reversed';
    const isCollection = direction === 'collection';
    rows.transactions += `${shop.holderId}\t${movement.id}\t${isCollection ? shop.integrationId : '\\N'}\t${direction}\t${status}\t${
      movement.amount
    }\t${movement.fee}\t${shop.currency}\t${method.countryId}\t${method.code}\t${RAIL}\t${movement.msisdn}\t${
      given.payee ?? '\\N'
    }\t${given.detail}\t${isCollection ? `order-${movement.serial}` : '\\N'}\t${
      isCollection ? urlOf(shop) : '\\N'
    }\t${movement.link?.id ?? '\\N'}\t${isCollection ? 'prompt' : 'none'}\t${receipt ?? '\\N'}\t${
      failure ?? '\\N'
    }\t${failure === null ? '\\N' : failureMessage(failure)}\t${given.balance ?? '\\N'}\t${stamp(
      movement.createdAt,
    )}\t${ended}\t${isPaid ? ended : '\\N'}\n`;
    if (receipt !== null) rows.operator_receipts += `${RAIL}\t${receipt}\t${shop.holderId}\t${movement.id}\t${ended}\n`;
    const source = dice() < 0.8 ? 'callback' : 'poll';
    rows.evidence += `${shop.holderId}\t${movement.id}\t${ended}\t${source}\t${isPaid ? 'succeeded' : 'failed'}\t${receipt ?? '\\N'}\t${
      failure ?? '\\N'
    }\tapplied\t{"reference":"${movement.id}","direction":"${direction}","status":"${status}","amount":"${
      movement.amount / 100
    }","currency":"${shop.currency}","receipt":"${receipt ?? ''}"}\n`;
  }

  /** An event and the attempts to deliver it, if it is from the days that are kept. */
  function addEvent(
    rows: PastRows,
    { shop, ...movement }: Movement,
    type: string,
    at: number,
    balance: number | null,
  ): void {
    shop.position++;
    if (movement.createdAt < keptFrom) return;
    const id = ids.plain(movement.createdAt, shop.digits);
    const [moment, url] = [stamp(at), urlOf(shop)];
    const data = `"amount":${movement.amount / 100},"fee":${movement.fee / 100},"currency":"${shop.currency}","status":"${
      movement.status
    }","payee":null,"invoice_no":null,"mobile":"${movement.msisdn}","account_number":null,"ref":"${movement.id}","balance":${
      balance === null ? null : balance / 100
    },"transaction_detail":"Order ${movement.serial}","payment_channel":"${
      movement.method.name
    }","transaction_date":"${moment}","created_at":"${stamp(movement.createdAt)}","updated_at":"${moment}","callback_url":"${
      url
    }","status_code":"200","failureReason":{"failureCode":null,"failureMessage":null},"third_party_reference_1":"order-${
      movement.serial
    }","third_party_reference_2":null`;
    rows.events += `${shop.holderId}\t${movement.id}\t${type}\t1\t${id}\t${shop.position}\t${shop.integrationId}\t${url}\t{"id":"${
      id
    }","type":"${type}","created_at":"${moment}","data":{${data}}}\t${moment}\n`;
    addAttempts(rows, { shop, id, transactionId: movement.id, url, at });
  }

  /** Most are delivered at once, some after a failure. A few receivers said that their address is gone: these wait for a person. */
  function addAttempts(
    rows: PastRows,
    event: { shop: Shop; id: string; transactionId: string; url: string; at: number },
  ): void {
    const { shop, id, at, url } = event;
    const fate = dice();
    const attempt = (number: number, status: number, delay: number) => {
      rows.callback_attempts += `${shop.holderId}\t${id}\t${stamp(at + delay)}\t${number}\t${status === 200}\tv1,${ids.hex(44)}\t${status}\t${'{"content-type": "application/json"}'}\t${status === 200 ? '{"received":true}' : 'no'}\t${between(15, 400)}\t${
        status === 200 ? '\\N' : `The receiver answered ${status}.`
      }\n`;
    };
    if (fate < 0.001) {
      attempt(1, 410, 200);
      rows.callback_deliveries += `${shop.holderId}\t${id}\t${event.transactionId}\t${shop.integrationId}\t${url.slice(0, -5)}\t${
        url
      }\t1\tfalse\tinfinity\t${stamp(at + 200)}\t${stamp(at)}\n`;
      return;
    }
    if (fate < 0.03) attempt(1, 503, 200);
    attempt(fate < 0.03 ? 2 : 1, 200, fate < 0.03 ? 15_000 : 200);
  }

  return {
    dice,
    lastTransfer: ledger.lastTransfer,

    /** One collection. Returns the refund that will follow it, if there will be one before `refundsUntil`. */
    collect(rows: PastRows, shop: Shop, at: number, refundsUntil: number): Refund | null {
      const known = pick(shop.methods);
      const place = Math.floor(dice() * known.amounts.length);
      const [amount, fee] = [known.amounts[place] ?? 100, known.fees[place] ?? 0];
      const fate = dice();
      const terms = {
        shop,
        direction: 'collection',
        method: known.method,
        amount,
        fee,
        msisdn: payerOf(shop, known),
        endedAt: at,
      } as const;
      const movement = open(terms, fate >= 0.97 ? EXPIRES_MS : between(4_000, 45_000));
      const detail = `Collection from ${movement.msisdn} by ${known.method.name}`;
      if (dice() < UNPAID_LINKS) {
        const link = { id: ids.plain(at, shop.digits), createdAt: at, amount, item: pick(ITEMS), payments: 0, shop };
        rows.payment_links += linkLine(link, {
          reusable: false,
          status: dice() < 0.1 ? 'disabled' : 'active',
          expiresAt: at + 7 * DAY_MS,
        });
      }
      if (fate >= 0.9) {
        movement.status = fate >= 0.97 ? 'expired' : 'failed';
        movement.failure = fate >= 0.97 ? 'PROMPT_EXPIRED' : pick(FAILURES);
        addTransaction(rows, movement, { payee: null, detail, balance: null });
        addEvent(rows, movement, `collection.${movement.status}`, at, null);
        return null;
      }
      movement.receipt = receipts(at);
      if (dice() < THROUGH_LINKS) movement.link = linkFor(rows, shop, amount, movement.createdAt);
      ledger.move(rows, movement, 'collection', shop.clearing, shop.available, amount - fee);
      ledger.move(rows, movement, 'collection_fee', shop.clearing, shop.fees, fee);
      const isRefunded = dice() < REFUNDS && at < refundsUntil && shop.available.balance - shop.owed >= amount;
      const isWhole = isRefunded && movement.link === null && dice() < 0.6;
      if (isWhole) movement.status = 'reversed';
      addTransaction(rows, movement, { payee: null, detail, balance: shop.available.balance });
      addEvent(rows, movement, 'collection.success', at, shop.available.balance);
      if (movement.link) {
        if (movement.link === shop.reusableLink) movement.link.payments++;
        addEvent(rows, movement, 'payment_link.paid', at, shop.available.balance);
      }
      const refunded = isWhole ? amount : Math.floor(amount / 200) * 100;
      if (!isRefunded || refunded === 0) return null;
      shop.owed += refunded;
      return { due: at + DAY_MS, collection: movement, amount: refunded, isWhole };
    },

    refund(rows: PastRows, { due, collection, amount, isWhole }: Refund): void {
      const { shop, method, msisdn } = collection;
      const refund = open(
        { shop, direction: 'refund', method, amount, fee: 0, msisdn, endedAt: due },
        between(3_000, 20_000),
      );
      refund.receipt = receipts(due);
      shop.owed -= amount;
      ledger.move(rows, refund, 'refund_reserve', shop.available, shop.reserved, amount);
      ledger.move(rows, refund, 'refund', shop.reserved, shop.clearing, amount);
      addTransaction(rows, refund, { payee: null, detail: `Refund to ${msisdn}`, balance: shop.available.balance });
      rows.refund_orders += `${shop.holderId}\t${refund.id}\t${collection.id}\t0\tfalse\tReturned goods\tnot_needed\tseed\n`;
      rows.refund_totals += `${shop.holderId}\t${collection.id}\t${collection.amount}\t${collection.fee}\t${amount}\n`;
      addEvent(rows, refund, 'refund.success', due, shop.available.balance);
      if (isWhole) addEvent(rows, collection, 'collection.reversed', due, shop.available.balance);
    },

    /** Pays out a part of what the wallet holds; false: it holds too little. */
    payOut(rows: PastRows, shop: Shop, at: number): boolean {
      const { method, prefix, digits } = pick(shop.methods);
      const { payout: terms } = method;
      if (!terms) return false;
      const most = Math.min((shop.available.balance - shop.owed) / 2, Number(terms.max));
      const amount = Math.floor((most * (0.1 + 0.9 * dice())) / 100) * 100;
      if (amount < Number(terms.min) || amount <= 0) return false;
      const fee = Number(feeOf(BigInt(amount), method, 'payout'));
      if (amount + fee > shop.available.balance - shop.owed) return false;
      const msisdn = prefix + String(between(0, 10 ** digits)).padStart(digits, '0');
      const payout = open(
        { shop, direction: 'payout', method, amount, fee, msisdn, endedAt: at },
        between(1_000, 9_000),
      );
      ledger.move(rows, payout, 'payout_reserve', shop.available, shop.reserved, amount + fee);
      if (dice() < 0.96) {
        payout.receipt = receipts(at);
        ledger.move(rows, payout, 'payout', shop.reserved, shop.clearing, amount);
        ledger.move(rows, payout, 'payout_fee', shop.reserved, shop.fees, fee);
      } else {
        payout.status = 'failed';
        payout.failure = 'RECIPIENT_NOT_FOUND';
        ledger.move(rows, payout, 'payout_release', shop.reserved, shop.available, amount + fee);
      }
      addTransaction(rows, payout, { payee: pick(PEOPLE), detail: 'Supplier', balance: shop.available.balance });
      rows.payout_orders += `${shop.holderId}\t${payout.id}\tnot_needed\tseed\n`;
      addEvent(rows, payout, `payout.${payout.status}`, at, shop.available.balance);
      return true;
    },

    close(rows: PastRows): void {
      ledger.seal(rows);
      for (const link of links)
        rows.payment_links += linkLine(link, { reusable: true, status: 'active', expiresAt: null });
    },
  };
}

function urlOf(shop: Shop): string {
  return `https://shop-${shop.holderId}.example/hook`;
}

/** Transfers with the balances after them, sealed into blocks as src/ledger/chain.ts does it. */
function createLedger(plan: PastPlan, stamp: (ms: number) => string) {
  let id = Number(plan.lastTransfer);
  let { number, lastId, hash } = plan.chain;
  let lines: string[] = [];
  let postedAt = 0;

  function seal(rows: PastRows): void {
    if (lines.length === 0) return;
    const next = createHash('sha256').update(hash).update(lines.join('\n')).digest();
    rows.ledger_blocks += `${++number}\t${lastId}\t${id}\t${lines.length}\t\\\\x${hash.toString('hex')}\t\\\\x${next.toString(
      'hex',
    )}\t${stamp(postedAt)}\n`;
    [hash, lastId, lines] = [next, BigInt(id), []];
  }

  return {
    seal,
    lastTransfer: () => BigInt(id),
    move(rows: PastRows, movement: Movement, kind: string, debit: Account, credit: Account, amount: number): void {
      if (amount === 0) return;
      const { shop, id: transactionId, endedAt } = movement;
      debit.balance -= amount;
      credit.balance += amount;
      postedAt = endedAt;
      const start = `${++id}|${plan.batch}|${shop.holderId}|${debit.id}|${credit.id}|${amount}|`;
      lines.push(`${start}${shop.currency}|${kind}|${transactionId}|${endedAt}000|${debit.balance}|${credit.balance}`);
      rows.ledger_transfers += `${plan.batch}\t${id}\t${shop.holderId}\t${debit.id}\t${credit.id}\t${amount}\t${debit.balance}\t${
        credit.balance
      }\t${stamp(endedAt)}\t${transactionId}\t${kind}\t${shop.currency}\n`;
      if (lines.length === BLOCK_TRANSFERS) seal(rows);
    },
  };
}
