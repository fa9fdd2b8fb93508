// What may change after a link was shared: its texts, its look, where it leads and how long it is valid. The amount may not: a payer who
// has the page open would pay another amount than the one on the screen.

import { type Actor, recordAudit } from '../holders/audit.ts';
import type { PaymentsContext } from '../payments/context.ts';
import { Problem } from '../platform/errors.ts';
import { formatAmount } from '../platform/money.ts';
import type { JsonObject } from '../platform/strict-json.ts';
import { draftLink, type LinkOwner } from './draft.ts';
import { findHolderLink, LINK_COLUMNS, linkId, type PaymentLink, writeLogo } from './links.ts';

const CHANGEABLE = ['item_name', 'business_name', 'redirection_url', 'expires_at', 'accent_colour', 'logo'] as const;

/** Changes a link, checked as a new one is. A link that is paid or disabled is not changed. */
export async function changeLink(
  ctx: PaymentsContext,
  actor: Actor,
  owner: LinkOwner,
  id: string,
  params: JsonObject,
): Promise<PaymentLink> {
  const link = await findHolderLink(ctx.db, owner.holderId, id);
  if (!link) throw new Problem('payment_link_not_found');
  const changes = Object.fromEntries(Object.entries(params).filter(([name]) => isChangeable(name)));
  const draft = await draftLink(ctx, owner, { ...unchangedParams(link), ...changes });
  const at = ctx.clock.now();
  return ctx.db.transaction(async (tx) => {
    if (draft.logo) await writeLogo(tx, draft.logo, at);
    const [changed] = await tx.query<PaymentLink>(
      `update payment_links l
       set item_name = $3, business_name = $4, redirection_url = $5, expires_at = $6, accent_colour = $7,
           logo_hash = coalesce($8, l.logo_hash), updated_at = $9
       where l.holder_id = $1 and l.id = $2 and l.status in ('active', 'expired') returning ${LINK_COLUMNS}`,
      [
        owner.holderId,
        link.id,
        draft.itemName,
        draft.businessName,
        draft.redirectionUrl,
        draft.expiresAt,
        draft.accentColour,
        draft.logo?.hash ?? null,
        at,
      ],
    );
    // A payment may have closed it since it was read.
    if (!changed) return (await findHolderLink(tx, owner.holderId, id)) ?? link;
    const details = { changed: changedFields(link, changed) };
    await recordAudit(
      tx,
      { holderId: owner.holderId, actor, action: 'payment_link.changed', subject: linkId(link), details },
      at,
    );
    return changed;
  });
}

function isChangeable(name: string): boolean {
  return CHANGEABLE.some((each) => each === name);
}

function unchangedParams(link: PaymentLink): JsonObject {
  return {
    country_id: link.country_id,
    currency: link.currency,
    currency_country_id: link.currency_country_id,
    amount: link.amount === null ? null : formatAmount(link.amount),
    reusable: link.reusable,
  };
}

function changedFields(before: PaymentLink, after: PaymentLink): string[] {
  const fields = ['item_name', 'business_name', 'redirection_url', 'expires_at', 'accent_colour', 'logo_hash'] as const;
  return fields.filter((name) => String(before[name]) !== String(after[name]));
}
