// The sample shop of a sandbox: the page that leads to it, and makes it when somebody asks for it first.

import type { FastifyReply } from 'fastify';
import { chooseHolder } from '../holders/members.ts';
import { Problem } from '../platform/errors.ts';
import { html } from '../platform/html.ts';
import { emptyState } from '../ui/components.ts';
import { type MemberRequest, queryOf } from './console-request.ts';
import type { SampleShopService } from './console-services.ts';
import { postButton } from './form-components.ts';
import { redirect, renderPage } from './layout.ts';
import { type ConsoleRoute, forMember } from './route.ts';

const LIVE_SECONDS = 2;

export const sampleShopRoutes: ConsoleRoute[] = [
  forMember('GET', '/sample-shop', sampleShopPage),
  forMember('POST', '/sample-shop', openSampleShop),
];

async function sampleShopPage(request: MemberRequest): Promise<FastifyReply> {
  const { t } = request;
  const shop = await sampleShopOf(request).find();
  const isMaking = shop === null && queryOf(request, 'making') !== '';
  return renderPage(request, {
    title: t.sampleShop.title,
    lead: t.sampleShop.lead,
    ...(isMaking ? { live: LIVE_SECONDS } : {}),
    body: isMaking
      ? emptyState(t.sampleShop.making, t.sampleShop.makingText, false, 'clock')
      : html`
          <div class="card">
            <p class="muted">${t.sampleShop.back}</p>
            ${postButton(request, '/sample-shop', t.sampleShop.open)}
          </div>
        `,
  });
}

/** Everybody who signs in to a sandbox may look at the shop and try everything in it. */
async function openSampleShop(request: MemberRequest): Promise<FastifyReply> {
  const { ctx, session, memberships } = request;
  const service = sampleShopOf(request);
  const shop = await service.find();
  if (!shop) {
    service.make();
    return redirect(request, '/console/sample-shop?making=1');
  }
  if (!memberships.some(({ holder_id }) => holder_id === shop.id)) await service.join(session.member, shop);
  await chooseHolder(ctx, session.id, shop.id);
  return redirect(request, '/console');
}

function sampleShopOf({ services }: MemberRequest): SampleShopService {
  if (!services.sampleShop) throw new Problem('not_found');
  return services.sampleShop;
}
