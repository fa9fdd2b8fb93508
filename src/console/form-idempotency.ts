// Forms that move money, or make what can be paid, carry an id of their own: however often one is sent (a double click,
// Reload, a lost answer), it counts once, over all processes. The id is spent in the transaction of what the form does: if
// that fails, so does this.

import type { Context } from '../platform/context.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { type Html, html } from '../platform/html.ts';
import { createUuid, isUuid } from '../platform/ids.ts';

const KEPT_DAYS = 7;

/** This form was sent before, and what it asked for was done then. */
export class FormUsedError extends Error {}

/** The field that makes a form count once. `id`: that of the form before it, where two forms are one action. */
export function onceField(ctx: Context, id = ''): Html {
  return html`<input type="hidden" name="once" value="${isUuid(id) ? id : createUuid(ctx.clock.millis())}">`;
}

/** Spends the id of a form. A form without an id was not made by us and is taken as it is. */
export async function useForm(tx: Tx, ctx: Context, holderId: bigint, id: string): Promise<void> {
  if (!isUuid(id)) return;
  const now = ctx.clock.millis();
  // A process whose clock is ahead must not forget forms that may still be sent again.
  await tx.query(
    `delete from used_forms where holder_id = $1 and used_at < least($2::timestamptz, clock_timestamp()) - interval '${KEPT_DAYS} days'`,
    [holderId, new Date(now)],
  );
  const rows = await tx.query(
    'insert into used_forms (holder_id, id, used_at) values ($1, $2, $3) on conflict do nothing returning 1',
    [holderId, id, new Date(now)],
  );
  if (rows.length === 0) throw new FormUsedError('this form was sent before');
}

export async function isFormUsed(reader: Reader, holderId: bigint, id: string): Promise<boolean> {
  if (!isUuid(id)) return false;
  return (await reader.query('select from used_forms where holder_id = $1 and id = $2', [holderId, id])).length > 0;
}
