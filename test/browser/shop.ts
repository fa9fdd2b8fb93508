// A shop in a test gateway: a holder with payment links, and the steps of a payer that several tests repeat.

import type { Page } from 'playwright-core';
import { COMMAND_LINE } from '../../src/holders/audit.ts';
import { createHolder } from '../../src/holders/holders.ts';
import { createIntegration } from '../../src/holders/integrations.ts';
import { createLink, linkUrl, type PaymentLink } from '../../src/links/links.ts';
import type { JsonObject } from '../../src/platform/strict-json.ts';
import type { TestGateway } from '../gateway.ts';

export type Shop = {
  holderId: bigint;
  /** Makes a link and answers its address. */
  link(params: JsonObject): Promise<{ url: string; link: PaymentLink }>;
  /** How many collections were made for a link. */
  collections(link: PaymentLink): Promise<number>;
};

export async function openShop(gateway: TestGateway, name = 'Duka la Amani'): Promise<Shop> {
  const { ctx } = gateway;
  const holder = await createHolder(ctx, COMMAND_LINE, name);
  const integration = await createIntegration(ctx, COMMAND_LINE, holder.id, name, {});
  const owner = { holderId: holder.id, integrationId: integration.id, defaultCallbackUrl: null };
  return {
    holderId: holder.id,
    async link(params) {
      const link = await createLink(ctx, owner, params);
      return { link, url: linkUrl(ctx.config, link).replace('localhost', '127.0.0.1') };
    },
    async collections(link) {
      const [row] = await ctx.db.query<{ count: bigint }>('select count(*) from transactions where link_id = $1', [
        link.id,
      ]);
      return Number(row?.count ?? 0);
    },
  };
}

/** Fills the form and sends it. */
export async function fillForm(
  page: Page,
  values: { phone?: string; method?: string; amount?: string },
): Promise<void> {
  if (values.phone !== undefined) await page.fill('#phone', values.phone);
  if (values.amount !== undefined) await page.fill('#amount', values.amount);
  if (values.method === undefined) return;
  const choice = page.locator(`[name=method][value=${values.method}]`);
  // Ways by hand are folded.
  if (!(await choice.isVisible())) await page.click('fieldset summary');
  await choice.check();
}

export async function send(page: Page): Promise<void> {
  await Promise.all([page.waitForEvent('load'), page.click('main form button')]);
}
