// A mail to the administrators about each float that has become low: once, until it was well again.

import { mailIsConfigured, queueMail } from '../holders/mail-queue.ts';
import { listAdmins } from '../holders/members.ts';
import type { PaymentsContext } from '../payments/context.ts';
import { readFloats } from '../payments/float-report.ts';
import { claimLowFloats } from '../payments/float-states.ts';
import { publicUrl } from '../platform/config.ts';
import { numberLocale } from '../platform/locales.ts';
import { formatMoney } from '../platform/money.ts';
import { float } from './messages/en/float.ts';

/** Administrators belong to no holder and have chosen no language for mails. */
const LANGUAGE = 'en';

/** Returns how many mails it queued. */
export async function mailLowFloats(ctx: PaymentsContext): Promise<number> {
  if (!mailIsConfigured(ctx)) return 0;
  const { float: texts } = float;
  return ctx.db.transaction(async (tx) => {
    const at = ctx.clock.now();
    const low = await claimLowFloats(tx, at);
    if (low.length === 0) return 0;
    const admins = await listAdmins(tx);
    const reports = await readFloats(ctx);
    for (const { connection, currency } of low) {
      const report = reports.find((each) => each.connection === connection && each.currency === currency);
      const level = report?.level.level ?? null;
      const mail = texts.mail({
        connection,
        currency,
        level: level === null ? texts.sources.unknown : formatMoney(level, currency, numberLocale(LANGUAGE)),
        end: report?.end?.toISOString().slice(0, 16).replace('T', ' ') ?? null,
        waiting: report?.waiting?.payouts ?? 0,
        url: `${publicUrl(ctx.config)}/console/admin/rails/${connection}`,
      });
      for (const { email } of admins) await queueMail(tx, { to: email, ...mail }, at);
    }
    return low.length * admins.length;
  });
}
