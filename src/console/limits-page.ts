// Who is held back by a limit, for admins, and a button that ends a limit of guesses.

import type { FastifyReply } from 'fastify';
import { releaseGuesses } from '../holders/guesses.ts';
import { Problem } from '../platform/errors.ts';
import { type Html, html } from '../platform/html.ts';
import { dataTable, emptyState, tag } from '../ui/components.ts';
import { timeTag } from './components.ts';
import { fieldOf, type MemberRequest } from './console-request.ts';
import { postButton } from './form-components.ts';
import { type HeldBackEntry, readHeldBack } from './held-back-list.ts';
import { redirect, renderPage } from './layout.ts';
import { type ConsoleRoute, forAdmin } from './route.ts';

const LIVE_SECONDS = 10;
const KEY = /^[0-9a-f]{64}$/;

export const limitsRoutes: ConsoleRoute[] = [
  forAdmin('GET', '/admin/limits', limitsPage),
  forAdmin('POST', '/admin/limits/release', release),
];

async function limitsPage(request: MemberRequest): Promise<FastifyReply> {
  const { ctx, t } = request;
  const entries = await readHeldBack(ctx);
  return renderPage(request, {
    title: t.menu.limits,
    lead: t.limits.lead,
    active: 'limits',
    live: LIVE_SECONDS,
    body: entries.length === 0 ? emptyState(t.limits.none, t.limits.noneText) : heldBackTable(request, entries),
  });
}

function heldBackTable(request: MemberRequest, entries: readonly HeldBackEntry[]): Html {
  const { ctx, t } = request;
  const now = ctx.clock.now();
  return dataTable(
    t.menu.limits,
    [
      { label: t.limits.limit },
      { label: t.limits.who },
      { label: t.limits.refused, right: true },
      { label: t.limits.since },
      { label: t.limits.until },
      { label: t.action },
    ],
    entries.map((each) => [
      each.guess ? t.limits.guesses[each.guess] : t.limits.kinds[each.kind],
      html`<bdi class="wrap">${each.subject}</bdi>`,
      each.kind === 'receiver' ? t.limits.waiting(each.count) : each.count,
      timeTag(request, each.since),
      each.until > now || each.kind === 'receiver' ? timeTag(request, each.until) : tag('neutral', t.limits.ended),
      each.key !== null &&
        postButton(request, '/admin/limits/release', t.limits.release, {
          variant: 'secondary',
          hidden: { key: each.key },
        }),
    ]),
  );
}

async function release(request: MemberRequest): Promise<FastifyReply> {
  const key = fieldOf(request, 'key', 64);
  if (!KEY.test(key)) throw new Problem('not_found');
  await releaseGuesses(request.ctx, request.actor, key);
  return redirect(request, '/console/admin/limits', 'limitReleased');
}
