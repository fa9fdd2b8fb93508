// Forms that move money carry an id: however often one is sent (a double click, Reload, a lost answer), it counts once,
// over all processes.

import type { Context } from '../platform/context.ts';
import { type Html, html } from '../platform/html.ts';
import { createUuid } from '../platform/ids.ts';

const KEPT_MS = 7 * 86_400_000;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The field that makes a form count once. */
export function onceField(ctx: Context): Html {
  return html`<input type="hidden" name="once" value="${createUuid(ctx.clock.millis())}">`;
}

/** Whether this form is sent for the first time. A form without an id was not made by our pages and is not checked. */
export async function isFirst(ctx: Context, id: string): Promise<boolean> {
  if (!UUID.test(id)) return true;
  const now = ctx.clock.millis();
  const rows = await ctx.db.query(
    'insert into used_forms (id, used_at) values ($1, $2) on conflict do nothing returning 1',
    [id, new Date(now)],
  );
  await ctx.db.query('delete from used_forms where used_at < $1', [new Date(now - KEPT_MS)]);
  return rows.length > 0;
}
