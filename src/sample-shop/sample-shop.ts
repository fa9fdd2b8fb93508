// The sample shop of a sandbox: a holder with sixty days of history, made when somebody first asks for it. The demo holder
// stays empty, so that the first payment there is easy to see.

import { setPayoutApproval } from '../holders/approval-rules.ts';
import { type Actor, COMMAND_LINE } from '../holders/audit.ts';
import { createHolder, findHoldersNamed, type Holder } from '../holders/holders.ts';
import { createIntegration, listIntegrations } from '../holders/integrations.ts';
import { addMember, giveRole, type Member } from '../holders/members.ts';
import type { PaymentsContext } from '../payments/context.ts';
import type { PaymentEngine } from '../payments/engine.ts';
import { readPayout } from '../payments/payout-requests.ts';
import { orderPayouts } from '../payments/payouts.ts';
import { DAY_MS } from '../platform/clock.ts';
import { contextAt, writeHistory } from './history.ts';

/** Days begin where its customers are. */
const ZONE = 'Africa/Nairobi';
const NAME = 'Sample shop';
const FIRST_INTEGRATION = 'Point of sale';
/** Made last: a shop that has it is complete. */
const LAST_INTEGRATION = 'Website';
const OPENED_DAYS_AGO = 61;
const MAX_SHOPS = 20;
const ORDERED_MS_AGO = 20 * 60_000;
/** "shop" in ASCII. With this lock, only one of several processes makes the shop. */
const SHOP_LOCK = 1_936_221_040n;
const TEAM = [
  { email: 'amina@sample-shop.example', name: 'Amina Wairimu', role: 'owner' },
  { email: 'brian@sample-shop.example', name: 'Brian Kamau', role: 'finance' },
] as const;
const WAITING_PAYOUTS = [
  { payee: 'Kisumu Weavers', mobile: '254711120450', amount: '12600', detail: 'Baskets, October' },
  { payee: 'Nyeri Coffee Growers', mobile: '254721990310', amount: '8900', detail: 'Coffee, 20 kg' },
] as const;

export type SampleShop = {
  /** The shop, when it is complete. */
  find(): Promise<Holder | null>;
  /** Starts to make it, unless that is under way. Does not wait. */
  make(): void;
  /** Makes a person an owner of the shop. */
  join(member: Member, shop: Holder): Promise<void>;
};

export function createSampleShop(ctx: PaymentsContext, engine: PaymentEngine): SampleShop {
  let isMaking = false;
  return {
    find: () => findShop(ctx),
    make() {
      if (isMaking) return;
      isMaking = true;
      void makeOnce(ctx, engine)
        .catch((error: unknown) => ctx.log.error({ err: error }, 'the sample shop could not be made'))
        .finally(() => {
          isMaking = false;
        });
    },
    join: (member, shop) =>
      ctx.db.transaction((tx) =>
        giveRole(tx, { memberId: member.id, name: member.email }, member, shop.id, 'owner', ctx.clock.now()),
      ),
  };
}

/** While another process makes it there is nothing to do. */
async function makeOnce(ctx: PaymentsContext, engine: PaymentEngine): Promise<void> {
  const make = async () => {
    if ((await findShop(ctx)) === null) await makeSampleShop(ctx, engine);
  };
  await ctx.db.withLock(SHOP_LOCK, make, () => undefined);
}

async function findShop(ctx: PaymentsContext): Promise<Holder | null> {
  for (const holder of await findHoldersNamed(ctx.db, NAME, MAX_SHOPS)) {
    if (holder.status !== 'active') continue;
    const integrations = await listIntegrations(ctx.db, holder.id);
    if (integrations.some(({ title }) => title === LAST_INTEGRATION)) return holder;
  }
  return null;
}

/** One that was broken off stays without its last integration, and is not found. */
export async function makeSampleShop(ctx: PaymentsContext, engine: Pick<PaymentEngine, 'wake'>): Promise<Holder> {
  const now = ctx.clock.now();
  const past = contextAt(ctx, new Date(now.getTime() - OPENED_DAYS_AGO * DAY_MS));
  const first: Actor = { ...COMMAND_LINE, name: 'sample shop' };
  const shop = await createHolder(past.ctx, first, NAME, ZONE);
  const people = await Promise.all(TEAM.map((person) => addMember(past.ctx, first, { ...person, holderId: shop.id })));
  const [actor = first, clerk = first] = people.map(({ id, email }): Actor => ({ memberId: id, name: email }));
  const integration = await createIntegration(past.ctx, actor, shop.id, FIRST_INTEGRATION, {});
  await writeHistory({ ...past, holderId: shop.id, integrationId: integration.id, actor }, now);
  await setPayoutApproval(ctx, actor, shop.id, true);
  past.clock.set(new Date(now.getTime() - ORDERED_MS_AGO));
  for (const { mobile, ...rest } of WAITING_PAYOUTS) {
    const reading = await readPayout(past.ctx, shop.id, { ...rest, mobile, currency: 'KES' });
    // By the clerk, so that the owner can approve them.
    if (reading.ok) await orderPayouts(past.ctx, engine, clerk, shop.id, [reading.order]);
  }
  await createIntegration(ctx, actor, shop.id, LAST_INTEGRATION, {});
  return shop;
}
