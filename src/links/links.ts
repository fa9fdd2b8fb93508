// Payment links as rows: creates, finds, disables and describes them, and closes them when they are paid
// or given back.

import { type Actor, recordAudit, recordAudits } from '../holders/audit.ts';
import { type NewCase, openCases } from '../payments/cases.ts';
import type { CollectionsHook, PaymentsContext } from '../payments/context.ts';
import { refOf, type Transaction } from '../payments/transactions.ts';
import { listRetryLinks } from '../payments/tries.ts';
import { isoMicroseconds } from '../platform/clock.ts';
import { columns } from '../platform/columns.ts';
import { type Config, publicUrl } from '../platform/config.ts';
import type { Context } from '../platform/context.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { createHolderUuid, holderOfUuid, isUuid, publicId, uuidFromPublicId } from '../platform/ids.ts';
import { formatAmount } from '../platform/money.ts';
import type { JsonObject } from '../platform/strict-json.ts';
import { draftLink, type LinkDraft, type LinkOwner } from './draft.ts';
import { type Logo, logoUrl } from './logo.ts';
import { shortUrl } from './short-urls.ts';

export type LinkStatus = 'active' | 'paid' | 'expired' | 'disabled';
const MAX_CODE_TRIES = 3;
/** Who says that a payment succeeded after all. */
const OPERATOR: Actor = { memberId: null, name: 'operator' };

export const LINK_STATUSES: readonly LinkStatus[] = ['active', 'paid', 'expired', 'disabled'];

export type PaymentLink = {
  id: string;
  holder_id: bigint;
  /** Null when it was not created by an integration. */
  integration_id: bigint | null;
  business_name: string | null;
  item_name: string | null;
  callback_url: string | null;
  redirection_url: string | null;
  currency: string;
  /** Null: the payer types the amount. */
  amount: bigint | null;
  /** SHA-256 in hexadecimal. */
  logo_hash: string | null;
  country_id: number;
  /** The payer's country; null: the payer chooses. */
  currency_country_id: number | null;
  first_name: string | null;
  last_name: string | null;
  email: string | null;
  /** Digits with the dial code. */
  phone: string | null;
  accent_colour: string | null;
  expires_at: Date | null;
  reusable: boolean;
  /** As stored. What it means now is `linkStatus`. */
  status: LinkStatus;
  payments_count: bigint;
  /** The sum of the payments that stand. */
  paid_amount: bigint;
  /** Of the short address (short-codes.ts). */
  code: string;
  created_at: Date;
  updated_at: Date;
};

export const LINK_COLUMNS = `l.id, l.holder_id, l.integration_id, l.business_name, l.item_name, l.callback_url, l.redirection_url,
  l.currency, l.amount, encode(l.logo_hash, 'hex') as logo_hash, l.country_id, l.currency_country_id, l.first_name, l.last_name,
  l.email, l.phone, l.accent_colour, l.expires_at, l.reusable, l.status, l.payments_count,
  l.paid_amount, l.code, l.created_at, l.updated_at`;

/**
 * Creates a link without a signed request. `alongside` writes in the same transaction (an audit entry); if it throws, no
 * link is created.
 */
export async function createLink(
  ctx: PaymentsContext,
  owner: LinkOwner,
  params: JsonObject,
  alongside?: (tx: Tx, link: PaymentLink) => Promise<void>,
): Promise<PaymentLink> {
  const draft = await draftLink(ctx, owner, params);
  return ctx.db.transaction(async (tx) => {
    const link = await insertLink(tx, draft, ctx.clock.now());
    await alongside?.(tx, link);
    return link;
  });
}

/** Writes a checked link, and its logo unless the same picture is stored already. */
export async function insertLink(tx: Tx, draft: LinkDraft, at: Date): Promise<PaymentLink> {
  if (draft.logo) await writeLogo(tx, draft.logo, at);
  // Two links with the same random code are next to impossible; then the second gets another.
  for (let tries = 0; tries < MAX_CODE_TRIES; tries++) {
    const link = await insertRow(tx, draft, at);
    if (link) return link;
  }
  throw new Error('insert returned no payment link');
}

/** The same picture is stored once. */
export async function writeLogo(tx: Tx, logo: Logo, at: Date): Promise<void> {
  await tx.query('insert into logos (hash, webp, created_at) values ($1, $2, $3) on conflict do nothing', [
    logo.hash,
    logo.webp,
    at,
  ]);
}

async function insertRow(tx: Tx, draft: LinkDraft, at: Date): Promise<PaymentLink | undefined> {
  const [link] = await tx.query<PaymentLink>(
    `insert into payment_links as l
       (id, holder_id, integration_id, business_name, item_name, callback_url, redirection_url, currency, amount, logo_hash,
        country_id, currency_country_id, first_name, last_name, email, phone, accent_colour, expires_at, reusable,
        created_at, updated_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $20)
     on conflict (code) do nothing
     returning ${LINK_COLUMNS}`,
    [
      createHolderUuid(at.getTime(), draft.holderId),
      draft.holderId,
      draft.integrationId,
      draft.businessName,
      draft.itemName,
      draft.callbackUrl,
      draft.redirectionUrl,
      draft.currency,
      draft.amount,
      draft.logo?.hash ?? null,
      draft.countryId,
      draft.currencyCountryId,
      draft.firstName,
      draft.lastName,
      draft.email,
      draft.phone,
      draft.accentColour,
      draft.expiresAt,
      draft.reusable,
      at,
    ],
  );
  return link;
}

/** The UUID of `pl_…` or of a UUID itself; null for any other text. */
export function linkUuid(publicOrUuid: string): string | null {
  return isUuid(publicOrUuid) ? publicOrUuid : uuidFromPublicId('pl', publicOrUuid);
}

/** A link by its public id, which cannot be guessed and contains the holder. Anyone who has it can pay. */
export async function findLink(reader: Reader, publicOrUuid: string): Promise<PaymentLink | null> {
  const id = linkUuid(publicOrUuid);
  if (id === null) return null;
  const [link] = await reader.query<PaymentLink>(
    { name: 'find_link', text: `select ${LINK_COLUMNS} from payment_links l where l.holder_id = $1 and l.id = $2` },
    [holderOfUuid(id), id],
  );
  return link ?? null;
}

/** A link of this holder; null when there is none, also when another holder has it. */
export async function findHolderLink(reader: Reader, holderId: bigint, id: string): Promise<PaymentLink | null> {
  const uuid = linkUuid(id);
  if (uuid === null) return null;
  const [link] = await reader.query<PaymentLink>(
    `select ${LINK_COLUMNS} from payment_links l where l.holder_id = $1 and l.id = $2`,
    [holderId, uuid],
  );
  return link ?? null;
}

/** The link, locked until the transaction ends: two payers of a single-use link wait for each other here. */
export async function lockLink(tx: Tx, id: string): Promise<PaymentLink | null> {
  const [link] = await tx.query<PaymentLink>(
    {
      name: 'lock_link',
      text: `select ${LINK_COLUMNS} from payment_links l where l.holder_id = $1 and l.id = $2 for update`,
    },
    [holderOfUuid(id), id],
  );
  return link ?? null;
}

/** Disables a link. A link that is paid or disabled already is not changed. */
export function disableLink(ctx: Context, actor: Actor, holderId: bigint, id: string): Promise<PaymentLink> {
  const at = ctx.clock.now();
  return ctx.db.transaction(async (tx) => {
    const found = await findHolderLink(tx, holderId, id);
    if (!found) throw new Problem('payment_link_not_found');
    const [link] = await tx.query<PaymentLink>(
      `update payment_links l set status = 'disabled', updated_at = $3
       where l.holder_id = $1 and l.id = $2 and l.status in ('active', 'expired') returning ${LINK_COLUMNS}`,
      [holderId, found.id, at],
    );
    // A payment may have closed it since it was read.
    if (!link) return (await findHolderLink(tx, holderId, id)) ?? found;
    await recordAudit(tx, { holderId, actor, action: 'payment_link.disabled', subject: linkId(link) }, at);
    return link;
  });
}

export function linkId(link: { id: string }): string {
  return publicId('pl', link.id);
}

/** The address to open. */
export function linkUrl(config: Config, link: { id: string }): string {
  return `${publicUrl(config)}/pay/${linkId(link)}`;
}

export function linkStatus(link: Pick<PaymentLink, 'status' | 'expires_at'>, now: Date): LinkStatus {
  return link.status === 'active' && link.expires_at !== null && link.expires_at <= now ? 'expired' : link.status;
}

/** The link as the API returns it, after creation and in the list. */
export function describeLink(ctx: Pick<Context, 'config' | 'clock'>, link: PaymentLink, now = ctx.clock.now()) {
  const url = linkUrl(ctx.config, link);
  return {
    id: linkId(link),
    payment_link: url,
    short_url: shortUrl(ctx.config, link),
    qr_url: `${url}/qr.svg`,
    business_name: link.business_name,
    item_name: link.item_name,
    amount: link.amount === null ? null : formatAmount(link.amount),
    currency: link.currency,
    country_id: link.country_id,
    currency_country_id: link.currency_country_id,
    callback_url: link.callback_url,
    redirection_url: link.redirection_url,
    logo_url: link.logo_hash === null ? null : logoUrl(ctx.config, link.logo_hash),
    first_name: link.first_name,
    last_name: link.last_name,
    email: link.email,
    phone: link.phone,
    status: linkStatus(link, now),
    payments_count: Number(link.payments_count),
    expires_at: link.expires_at && isoMicroseconds(link.expires_at),
    created_at: isoMicroseconds(link.created_at),
    updated_at: isoMicroseconds(link.updated_at),
  };
}

export type LinkDescription = ReturnType<typeof describeLink>;

type LinkPayments = { id: string; payments: number; amount: bigint };
const LINK_PAYMENTS = columns<LinkPayments>(2, {
  holder_id: ['bigint', (link) => holderOfUuid(link.id)],
  id: 'uuid',
  payments: 'int',
  amount: 'bigint',
});

type LateLink = { id: string; disabled: boolean };
const LATE_LINKS = columns<LateLink>(2, {
  holder_id: ['bigint', (link) => holderOfUuid(link.id)],
  id: 'uuid',
  disabled: 'boolean',
});

/**
 * Payments succeeded after they had failed: the links that were made to ask for them again would collect them a second time. Those that are
 * being paid are only locked, in sorted order with the others, so that two batches over the same links cannot deadlock.
 */
async function disableRetryLinks(tx: Tx, late: Transaction[], beingPaid: ReadonlySet<string>, at: Date): Promise<void> {
  const repeats = new Map<string, string>();
  for (const paid of late) for (const id of await listRetryLinks(tx, paid)) repeats.set(id, refOf(paid));
  if (repeats.size === 0) return;
  const ids = new Set([...beingPaid, ...repeats.keys()]);
  const links = Array.from(ids, (id) => ({ id, disabled: !beingPaid.has(id) }));
  const disabled = await tx.query<{ id: string }>(
    `with late as (
       select holder_id, id, input.disabled from ${LATE_LINKS.rows} join payment_links l using (holder_id, id)
       order by holder_id, id for update of l
     )
     update payment_links l set status = 'disabled', updated_at = $1 from late
     where l.holder_id = late.holder_id and l.id = late.id and late.disabled and l.status in ('active', 'expired') returning l.id`,
    [at, ...LATE_LINKS.arrays(links)],
  );
  const entries = disabled.map(({ id }) => ({
    holderId: holderOfUuid(id),
    actor: OPERATOR,
    action: 'payment_link.disabled' as const,
    subject: linkId({ id }),
    details: { paid: repeats.get(id) },
  }));
  await recordAudits(tx, entries, at);
}

/**
 * Counts payments and closes single-use links, in the transaction that books the successes. A link that was disabled or
 * expired while its payer entered the PIN is paid as well. A single-use link that is paid once more opens a case.
 */
export function settleLinks(ctx: Context): CollectionsHook {
  return async (tx, settled, at, late) => {
    const byLink = groupByLink(settled);
    await disableRetryLinks(tx, late, new Set(byLink.keys()), at);
    if (byLink.size === 0) return;
    // Locked in sorted order, so that two batches over the same links cannot deadlock.
    const links = await tx.query<{ id: string; reusable: boolean; paid_before: bigint }>(
      {
        name: 'settle_links',
        text: `with paid as (
                 select holder_id, id, input.payments, input.amount, l.payments_count as paid_before
                 from ${LINK_PAYMENTS.rows} join payment_links l using (holder_id, id)
                 order by holder_id, id for update of l
               )
               update payment_links l
               set payments_count = l.payments_count + paid.payments, paid_amount = l.paid_amount + paid.amount,
                   status = case when l.reusable then l.status else 'paid' end, updated_at = $1
               from paid where l.holder_id = paid.holder_id and l.id = paid.id
               returning l.id, l.reusable, paid.paid_before`,
      },
      [at, ...LINK_PAYMENTS.arrays(countPayments(byLink))],
    );
    const repeated = links.flatMap(({ id, reusable, paid_before: paidBefore }) => {
      if (reusable) return [];
      const standing = (byLink.get(id) ?? []).filter(({ status }) => status !== 'reversed');
      return paidBefore > 0n ? standing : standing.slice(1);
    });
    await openCases(tx, ctx, repeated.map(paidTwice));
  };
}

function paidTwice({ holder_id: holderId, id, link_id: link }: Transaction): NewCase {
  return {
    holderId,
    transactionId: id,
    kind: 'link_paid_twice',
    detail: { payment_link_id: link && publicId('pl', link) },
  };
}

/**
 * Takes back payments that were given back. A single-use link without a payment that stands is disabled: it is not
 * offered again by itself.
 */
export const reverseLinks: CollectionsHook = async (tx, reversed, at) => {
  const byLink = groupByLink(reversed);
  if (byLink.size === 0) return;
  await tx.query(
    {
      name: 'reverse_links',
      text: `with returned as (
               select holder_id, id, greatest(l.payments_count - input.payments, 0) as standing,
                 greatest(l.paid_amount - input.amount, 0) as amount
               from ${LINK_PAYMENTS.rows} join payment_links l using (holder_id, id)
               order by holder_id, id for update of l
             )
             update payment_links l
             set payments_count = returned.standing, paid_amount = returned.amount,
                 status = case when l.status = 'paid' and returned.standing = 0 then 'disabled' else l.status end,
                 updated_at = $1
             from returned where l.holder_id = returned.holder_id and l.id = returned.id`,
    },
    [at, ...LINK_PAYMENTS.arrays(countPayments(byLink))],
  );
};

function groupByLink(transactions: Transaction[]): Map<string, Transaction[]> {
  const paid = transactions.filter(({ direction, link_id: id }) => direction === 'collection' && id !== null);
  return Map.groupBy(paid, ({ link_id: id }) => String(id));
}

function countPayments(byLink: Map<string, Transaction[]>): LinkPayments[] {
  return Array.from(byLink, ([id, transactions]) => ({
    id,
    payments: transactions.length,
    amount: transactions.reduce((sum, { amount }) => sum + amount, 0n),
  }));
}

/** The payer and the item of links, as far as they are known. By id. */
export async function readLinkNames(
  reader: Reader,
  holderId: bigint,
  ids: readonly string[],
): Promise<Map<string, { payer: string | null; item: string | null }>> {
  const rows = await reader.query<{ id: string; payer: string | null; item: string | null }>(
    `select l.id, nullif(concat_ws(' ', l.first_name, l.last_name), '') as payer, l.item_name as item
     from payment_links l where l.holder_id = $1 and l.id = any($2::uuid[])`,
    [holderId, ids],
  );
  return new Map(rows.map(({ id, payer, item }) => [id, { payer, item }]));
}
