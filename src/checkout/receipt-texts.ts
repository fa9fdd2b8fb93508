// Receipts by SMS, for holders who switched them on: one short text for each collection that succeeded, sent by the operator that
// took the payment, where it can. It follows the feed of the holder, so no payment waits for it and none fails with it. Each
// text is written down before the operator is called, and never sent again: a doubt is better than two messages.

import { type Actor, recordAudit } from '../holders/audit.ts';
import type { PaymentsContext } from '../payments/context.ts';
import { type FeedPlace, lastFeedPosition, listSettledCollections } from '../payments/settled-collections.ts';
import { refOf, type Transaction } from '../payments/transactions.ts';
import { HOUR_MS } from '../platform/clock.ts';
import type { Context } from '../platform/context.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { perProcess } from '../platform/memory.ts';
import { receiptCode } from './receipt-codes.ts';
import { localeOf } from './receipt-mails.ts';
import { type Receipt, readReceipt } from './receipts.ts';

/** Holders of one pass. A pass begins where the one before ended. */
const HOLDERS_PER_PASS = 500;
const EVENTS_PER_HOLDER = 50;
/** An SMS about a payment of long ago confuses. The feed may have waited while the gateway was down. */
const OLDEST_MS = HOUR_MS;
/** One SMS. Longer ones are cut, or cost twice. */
const MAX_TEXT_CHARACTERS = 160;

export type ReceiptTextState = 'sending' | 'sent' | 'refused' | 'unknown';
export type ReceiptText = { state: ReceiptTextState; started_at: Date };

export async function receiptTextsAreOn(reader: Reader, holderId: bigint): Promise<boolean> {
  const [row] = await reader.query<{ is_on: boolean }>('select is_on from receipt_text_settings where holder_id = $1', [
    holderId,
  ]);
  return row?.is_on ?? false;
}

/** Switches receipts by SMS on or off. They begin with the next payment. */
export function switchReceiptTexts(ctx: Context, actor: Actor, holderId: bigint, isOn: boolean): Promise<void> {
  const at = ctx.clock.now();
  return ctx.db.transaction(async (tx) => {
    if ((await receiptTextsAreOn(tx, holderId)) === isOn) return;
    await tx.query(
      `insert into receipt_text_settings (holder_id, is_on, position, updated_at) values ($1, $2, $3, $4)
       on conflict (holder_id) do update
         set is_on = excluded.is_on, position = excluded.position, updated_at = excluded.updated_at`,
      [holderId, isOn, await lastFeedPosition(tx, holderId), at],
    );
    const action = isOn ? 'receipt.texts_on' : 'receipt.texts_off';
    await recordAudit(tx, { holderId, actor, action }, at);
  });
}

/** The SMS about a transaction; null: none was sent. */
export async function findReceiptText(
  reader: Reader,
  holderId: bigint,
  transactionId: string,
): Promise<ReceiptText | null> {
  const [row] = await reader.query<ReceiptText>(
    'select state, started_at from receipt_texts where holder_id = $1 and transaction_id = $2',
    [holderId, transactionId],
  );
  return row ?? null;
}

type Turn = { after: bigint };
const turnOf = perProcess((): Turn => ({ after: 0n }));

/** One pass. Returns how many texts it sent or tried to send. */
export async function sendReceiptTexts(ctx: PaymentsContext): Promise<number> {
  const turn = turnOf(ctx);
  const rows = await ctx.db.query<{ holder_id: bigint; position: bigint }>(
    'select holder_id, position from receipt_text_settings where is_on and holder_id > $1 order by holder_id limit $2',
    [turn.after, HOLDERS_PER_PASS],
  );
  turn.after = rows.length < HOLDERS_PER_PASS ? 0n : (rows.at(-1)?.holder_id ?? 0n);
  if (rows.length === 0) return 0;
  const places = rows.map(({ holder_id: holderId, position }) => ({ holderId, position }));
  const settled = await listSettledCollections(ctx.db, places, EVENTS_PER_HOLDER);
  if (settled.places.length === 0) return 0;
  const wanted = settled.collections.filter((transaction) => canText(ctx, transaction));
  const claimed = await ctx.db.transaction((tx) => claim(tx, settled.places, wanted, ctx.clock.now()));
  // One after the other: an operator that takes payments has better things to do.
  for (const transaction of claimed) await sendText(ctx, transaction);
  return claimed.length;
}

/** Whether the operator that took the payment can text its payer, and the payment is fresh. */
function canText(ctx: PaymentsContext, transaction: Transaction): boolean {
  const method = ctx.catalog.methods.get(transaction.method);
  const rail = ctx.rails.byName(transaction.rail);
  const settledAt = transaction.settled_at ?? transaction.updated_at;
  return (
    transaction.status === 'success' &&
    transaction.msisdn !== null &&
    method !== undefined &&
    rail?.capabilitiesOf(method, 'collection')?.textsPayers === true &&
    ctx.clock.millis() - settledAt.getTime() <= OLDEST_MS
  );
}

/** Moves the places on. Of two processes with the same places, the first gets the texts. */
async function claim(
  tx: Tx,
  places: readonly { from: FeedPlace; to: bigint }[],
  wanted: readonly Transaction[],
  at: Date,
): Promise<Transaction[]> {
  const moved = await tx.query<{ holder_id: bigint }>(
    `update receipt_text_settings s set position = p.after
     from unnest($1::bigint[], $2::bigint[], $3::bigint[]) as p (holder_id, before, after)
     where s.holder_id = p.holder_id and s.position = p.before and s.is_on returning s.holder_id`,
    [places.map(({ from }) => from.holderId), places.map(({ from }) => from.position), places.map(({ to }) => to)],
  );
  const ours = wanted.filter(({ holder_id }) => moved.some((row) => row.holder_id === holder_id));
  const written = await tx.query<{ transaction_id: string }>(
    `insert into receipt_texts (holder_id, transaction_id, state, started_at)
     select holder_id, transaction_id, 'sending', $3 from unnest($1::bigint[], $2::uuid[]) as t (holder_id, transaction_id)
     on conflict do nothing returning transaction_id`,
    [ours.map(({ holder_id }) => holder_id), ours.map(({ id }) => id), at],
  );
  return ours.filter(({ id }) => written.some((row) => row.transaction_id === id));
}

async function sendText(ctx: PaymentsContext, transaction: Transaction): Promise<void> {
  const method = ctx.catalog.methods.get(transaction.method);
  const rail = ctx.rails.byName(transaction.rail);
  if (!method || !rail?.sendPayerText) return;
  const text = writeText(ctx, await readReceipt(ctx, transaction, await receiptCode(ctx, transaction)));
  const { state } = await rail.sendPayerText({
    reference: refOf(transaction),
    railReference: transaction.rail_reference,
    method,
    msisdn: transaction.msisdn ?? '',
    text,
  });
  await ctx.db.query('update receipt_texts set state = $3 where holder_id = $1 and transaction_id = $2', [
    transaction.holder_id,
    transaction.id,
    state,
  ]);
}

/** A long name of a business is shortened: amount and address must be readable. */
function writeText(ctx: PaymentsContext, { transaction, business, code, url }: Receipt): string {
  const { t, money } = localeOf(ctx, transaction);
  const test = ctx.config.mode === 'sandbox' ? 'TEST. ' : '';
  // The alphabet of SMS has one kind of space.
  const amount = money(transaction.amount, transaction.currency).replace(/\s/g, ' ');
  const write = (name: string) => `${test}${t.receiptSms(amount, name, code, url)}`;
  const tooLong = write(business).length - MAX_TEXT_CHARACTERS;
  return write(tooLong <= 0 ? business : `${business.slice(0, Math.max(0, business.length - tooLong - 1)).trim()}.`);
}
