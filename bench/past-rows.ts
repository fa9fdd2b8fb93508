// Rows of invented payments, as text for COPY: what the gateway itself would have written about each of them.

import type { Method } from '../src/catalog/catalog.ts';
import { failureMessage } from '../src/catalog/failures.ts';
import { DAY_MS } from '../src/platform/clock.ts';
import { type ChainEnd, createPastChain, type SealedRows } from './past-chain.ts';
import { createDice, createIds, createStamps } from './past-values.ts';

export const RAIL = 'sandbox';
/** Events and attempts are kept for ninety days. */
export const KEPT_DAYS = 89;
const HEADERS = '{"content-type": "application/json"}';
/** Of the callbacks: the receiver said that its address is gone; the first attempt failed. */
const GONE = 0.001;
const FAILED_FIRST = 0.03;
const FIRST_ATTEMPT_MS = 200;
const SECOND_ATTEMPT_MS = 15_000;

/** Sums stay far below 2^53 hundredths, so plain numbers are exact here and twice as fast as bigints. */
export type Account = { readonly id: string; balance: number };

export type Shop = {
  readonly holderId: string;
  /** The last seven digits of the ids of this holder. */
  readonly digits: string;
  readonly integrationId: string;
  readonly methods: readonly PastMethod[];
  readonly currency: string;
  readonly callbackUrl: string;
  readonly clearing: Account;
  readonly available: Account;
  readonly reserved: Account;
  readonly fees: Account;
  readonly payers: number;
  /** Events so far. */
  position: number;
  /** Transfers so far. */
  transfers: number;
  /** What refunds that were decided on will take from the wallet. */
  owed: number;
  reusableLink: Link | null;
};

export type PastMethod = {
  readonly method: Method;
  readonly amounts: readonly number[];
  readonly fees: readonly number[];
  /** A number begins with it and has this many digits more. */
  readonly prefix: string;
  readonly digits: number;
};

export type Link = {
  readonly shop: Shop;
  readonly id: string;
  readonly createdAt: number;
  readonly amount: number;
  readonly item: string;
  payments: number;
};

/** A transaction while its rows are written. */
export type Movement = {
  readonly shop: Shop;
  readonly id: string;
  /** Different for each, for the merchant's own reference. */
  readonly serial: number;
  readonly direction: 'collection' | 'payout' | 'refund';
  readonly method: Method;
  readonly amount: number;
  readonly fee: number;
  readonly msisdn: string;
  readonly createdAt: number;
  readonly endedAt: number;
  payee: string | null;
  status: 'success' | 'failed' | 'expired' | 'reversed';
  failure: 'INSUFFICIENT_FUNDS' | 'PAYER_CANCELLED' | 'WRONG_PIN' | 'PROMPT_EXPIRED' | 'RECIPIENT_NOT_FOUND' | null;
  receipt: string | null;
  link: Link | null;
};

/** The columns of each table, in the order of the values. */
export const COLUMNS = {
  transactions: `holder_id, id, integration_id, direction, status, amount, fee, currency, country_id, method, rail, msisdn, payee,
    detail, reference_1, callback_url, link_id, verification, receipt, failure_code, failure_message, balance_after, created_at,
    updated_at, settled_at`,
  evidence: 'holder_id, transaction_id, at, source, state, receipt, failure_code, effect, raw',
  operator_receipts: 'rail, receipt, holder_id, transaction_id, at',
  ledger_transfers: `batch, id, holder_id, debit_account, credit_account, amount, debit_balance, credit_balance, posted_at,
    transaction_id, kind, currency, position`,
  ledger_partition_blocks: `partition, number, last_id, transfers, holders, after_positions, positions, previous_hash, hash,
    sealed_at`,
  ledger_heads: 'number, blocks, last_id, previous_hash, hash, sealed_at',
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

export function emptyRows(): PastRows {
  return Object.fromEntries(Object.keys(COLUMNS).map((table) => [table, ''])) as PastRows;
}

type Value = string | number | boolean | null;

function line(values: readonly Value[]): string {
  return `${values.map((value) => value ?? '\\N').join('\t')}\n`;
}

export type RowsPlan = {
  readonly until: Date;
  /** Transfers go on after this id, blocks after this block. */
  readonly lastTransfer: bigint;
  readonly chain: ChainEnd;
  /** The database transaction that writes them. */
  readonly batch: string;
};

export function createRowWriter(plan: RowsPlan) {
  const dice = createDice(Number(plan.lastTransfer % 1_000_000n) + 1);
  const ids = createIds(dice);
  const stamp = createStamps();
  const keptFrom = plan.until.getTime() - KEPT_DAYS * DAY_MS;
  const writer = { dice, ids, stamp };
  return {
    dice,
    ids,
    ledger: createLedger(plan, stamp),
    addLink: (rows: PastRows, link: Link, given: LinkState) => addLink(writer, rows, link, given),
    /** `balance`: what the wallet holds after it; null where nothing moved. */
    addTransaction: (rows: PastRows, movement: Movement, detail: string, balance: number | null) =>
      addTransaction(writer, rows, movement, detail, balance),
    /** An event and the attempts to deliver it, if it is from the days that are kept. */
    addEvent(rows: PastRows, movement: Movement, type: string, at: number): void {
      movement.shop.position++;
      if (movement.createdAt >= keptFrom) addEvent(writer, rows, movement, type, at);
    },
  };
}

type Writer = {
  readonly dice: () => number;
  readonly ids: ReturnType<typeof createIds>;
  readonly stamp: (millis: number) => string;
};
type LinkState = { reusable: boolean; status: 'active' | 'paid' | 'disabled'; expiresAt: number | null };

function addLink({ ids, stamp }: Writer, rows: PastRows, link: Link, { reusable, status, expiresAt }: LinkState): void {
  const { shop, amount, payments } = link;
  const at = stamp(link.createdAt);
  const countryId = shop.methods[0]?.method.countryId ?? null;
  const paid = payments * amount;
  const expires = expiresAt === null ? null : stamp(expiresAt);
  const terms = [shop.integrationId, 'Seeded shop', link.item, shop.currency, amount, countryId] as const;
  rows.payment_links += line([
    shop.holderId,
    link.id,
    ...terms,
    reusable,
    status,
    payments,
    paid,
    expires,
    ids.code(),
    at,
    at,
  ]);
}

function addTransaction(
  writer: Writer,
  rows: PastRows,
  movement: Movement,
  detail: string,
  balance: number | null,
): void {
  const { stamp, dice } = writer;
  const { shop, id, direction, status, method, failure, receipt, amount } = movement;
  const { holderId, currency } = shop;
  const ended = stamp(movement.endedAt);
  const isPaid = status === 'success' || status === 'reversed';
  const isCollection = direction === 'collection';
  const terms = [
    direction,
    status,
    amount,
    movement.fee,
    currency,
    method.countryId,
    method.code,
    RAIL,
    movement.msisdn,
  ];
  const asked = isCollection ? [`order-${movement.serial}`, shop.callbackUrl] : [null, null];
  const outcome = [receipt, failure, failure === null ? null : failureMessage(failure), balance];
  rows.transactions += line([
    holderId,
    id,
    isCollection ? shop.integrationId : null,
    ...terms,
    movement.payee,
    detail,
    ...asked,
    movement.link?.id ?? null,
    isCollection ? 'prompt' : 'none',
    ...outcome,
    stamp(movement.createdAt),
    ended,
    isPaid ? ended : null,
  ]);
  if (receipt !== null) rows.operator_receipts += line([RAIL, receipt, holderId, id, ended]);
  const said = `"status":"${status}","amount":"${amount / 100}","currency":"${currency}","receipt":"${receipt ?? ''}"`;
  const seen = [dice() < 0.8 ? 'callback' : 'poll', isPaid ? 'succeeded' : 'failed', receipt, failure, 'applied'];
  rows.evidence += line([holderId, id, ended, ...seen, `{"reference":"${id}","direction":"${direction}",${said}}`]);
}

function addEvent(writer: Writer, rows: PastRows, movement: Movement, type: string, at: number): void {
  const { ids, stamp } = writer;
  const { shop, id: ref, serial, method } = movement;
  const id = ids.plain(movement.createdAt, shop.digits);
  const [moment, created] = [stamp(at), stamp(movement.createdAt)];
  // Written by hand: JSON.stringify would take longer than all the rest.
  const money = `"amount":${movement.amount / 100},"fee":${movement.fee / 100},"currency":"${shop.currency}"`;
  const party = `"payee":null,"invoice_no":null,"mobile":"${movement.msisdn}","account_number":null,"ref":"${ref}"`;
  const wallet = `"balance":${shop.available.balance / 100},"transaction_detail":"Order ${serial}"`;
  const times = `"transaction_date":"${moment}","created_at":"${created}","updated_at":"${moment}"`;
  const reason = `"failureReason":{"failureCode":${movement.failure && `"${movement.failure}"`},"failureMessage":null}`;
  const references = `"third_party_reference_1":"order-${serial}","third_party_reference_2":null`;
  const record = `${money},"status":"${movement.status}",${party},${wallet},"payment_channel":"${method.name}",${times}`;
  const data = `{${record},"callback_url":"${shop.callbackUrl}","status_code":"200",${reason},${references}}`;
  const body = `{"id":"${id}","type":"${type}","created_at":"${moment}","data":${data}}`;
  const receiver = [shop.integrationId, shop.callbackUrl];
  rows.events += line([shop.holderId, ref, type, 1, id, shop.position, ...receiver, body, moment]);
  addAttempts(writer, rows, { shop, id, transactionId: ref, at });
}

/** Most are delivered at once, some after a failure. A few receivers said that their address is gone: these wait for a person. */
function addAttempts(
  { dice, ids, stamp }: Writer,
  rows: PastRows,
  { shop, id, transactionId, at }: { shop: Shop; id: string; transactionId: string; at: number },
): void {
  const fate = dice();
  const attempt = (number: number, status: number, delay: number) => {
    const isDelivered = status === 200;
    const answer = [HEADERS, isDelivered ? '{"received":true}' : 'no', 15 + Math.floor(dice() * 400)];
    const sent = [stamp(at + delay), number, isDelivered, `v1,${ids.hex(44)}`, status];
    rows.callback_attempts += line([
      shop.holderId,
      id,
      ...sent,
      ...answer,
      isDelivered ? null : `The receiver answered ${status}.`,
    ]);
  };
  const first = fate < GONE ? 410 : fate < FAILED_FIRST ? 503 : 200;
  attempt(1, first, FIRST_ATTEMPT_MS);
  if (first === 503) attempt(2, 200, SECOND_ATTEMPT_MS);
  if (first !== 410) return;
  const { origin } = new URL(shop.callbackUrl);
  const waits = [1, false, 'infinity', stamp(at + FIRST_ATTEMPT_MS), stamp(at)];
  rows.callback_deliveries += line([
    shop.holderId,
    id,
    transactionId,
    shop.integrationId,
    origin,
    shop.callbackUrl,
    ...waits,
  ]);
}

/** Transfers with the balances after them, sealed into blocks as src/ledger/chain.ts does it. */
function createLedger(plan: RowsPlan, stamp: (millis: number) => string) {
  let id = Number(plan.lastTransfer);
  let postedAt = 0;
  const chain = createPastChain(plan.chain);

  function writeSealed(rows: PastRows, { block, head }: SealedRows): void {
    const sealedAt = stamp(postedAt);
    const { partition, number, lastId, transfers, holders, after, positions } = block;
    const parts = [partition, String(number), lastId, transfers, holders, after, positions];
    rows.ledger_partition_blocks += line([...parts, bytes(block.previous), bytes(block.hash), sealedAt]);
    const joined = [String(head.number), head.blocks, head.lastId];
    rows.ledger_heads += line([...joined, bytes(head.previous), bytes(head.hash), sealedAt]);
  }

  return {
    /** Seals what is left. */
    seal(rows: PastRows): void {
      for (const sealed of chain.finish()) writeSealed(rows, sealed);
    },
    lastTransfer: () => BigInt(id),
    move(rows: PastRows, movement: Movement, kind: string, debit: Account, credit: Account, amount: number): void {
      if (amount === 0) return;
      const { shop, id: transactionId, endedAt } = movement;
      debit.balance -= amount;
      credit.balance += amount;
      postedAt = endedAt;
      const position = ++shop.transfers;
      const start = `${++id}|${plan.batch}|${shop.holderId}|${debit.id}|${credit.id}|${amount}|${shop.currency}|${kind}`;
      const text = `${start}|${transactionId}|${endedAt}000|${debit.balance}|${credit.balance}|${position}`;
      const sides = [debit.id, credit.id, amount, debit.balance, credit.balance];
      const end = [stamp(endedAt), transactionId, kind, shop.currency, position];
      rows.ledger_transfers += line([plan.batch, id, shop.holderId, ...sides, ...end]);
      const sealed = chain.add({ holderId: shop.holderId, position, id, line: text });
      if (sealed) writeSealed(rows, sealed);
    },
  };
}

const bytes = (value: Buffer) => `\\\\x${value.toString('hex')}`;
