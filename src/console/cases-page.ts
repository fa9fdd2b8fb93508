// The holder's open reviews (cases): what the gateway could not decide by itself.

import type { FastifyReply } from 'fastify';
import { recordAudit } from '../holders/audit.ts';
import { resolveCase } from '../payments/cases.ts';
import { Problem, wrongField } from '../platform/errors.ts';
import { publicId, uuidFromPublicId } from '../platform/ids.ts';
import { MAX_RESOLUTION } from './case-details.ts';
import { caseList } from './case-list.ts';
import { fieldOf, type HolderRequest, paramOf } from './console-request.ts';
import { redirect, renderPage } from './layout.ts';
import { type ConsoleRoute, EVERYONE, forRoles, TREASURERS } from './route.ts';

export const caseRoutes: ConsoleRoute[] = [
  forRoles(EVERYONE, 'GET', '/cases', listPage),
  forRoles(TREASURERS, 'POST', '/cases/:id/resolve', resolve, { formOn: '/cases/:id' }),
];

async function listPage(request: HolderRequest): Promise<FastifyReply> {
  const { holder, t } = request;
  return renderPage(request, {
    title: t.menu.cases,
    lead: t.cases.lead,
    active: 'cases',
    body: await caseList(request, '/console/cases', { holderId: holder.id }),
  });
}

async function resolve(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, holder, actor, t } = request;
  const id = uuidFromPublicId('case', paramOf(request, 'id'));
  const resolution = fieldOf(request, 'resolution', MAX_RESOLUTION);
  if (id === null) throw new Problem('not_found');
  if (resolution === '') throw wrongField('resolution', t.cases.resolutionMissing);
  const at = ctx.clock.now();
  await ctx.db.transaction(async (tx) => {
    if (!(await resolveCase(tx, holder.id, id, actor.name, resolution, at)))
      throw new Problem('not_found', { message: t.cases.notFound });
    await recordAudit(
      tx,
      { holderId: holder.id, actor, action: 'case.resolved', subject: publicId('case', id), details: { resolution } },
      at,
    );
  });
  return redirect(request, '/console/cases', 'caseClosed');
}
