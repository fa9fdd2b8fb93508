// Changing a payment link after it was shared.

import type { FastifyReply } from 'fastify';
import { findActiveIntegration, requireIntegration } from '../holders/integrations.ts';
import { changeLink } from '../links/changes.ts';
import { findHolderLink, linkId } from '../links/links.ts';
import { type FieldErrors, Problem } from '../platform/errors.ts';
import { html } from '../platform/html.ts';
import { type HolderRequest, paramOf } from './console-request.ts';
import { redirect, renderPage } from './layout.ts';
import { formErrors, LINK_SCRIPT, LINK_STYLE, linkErrors, linkForm, readLook, valuesOf } from './link-form.ts';
import { isOpen } from './link-page.ts';

export async function editPage(request: HolderRequest, errors?: FieldErrors): Promise<FastifyReply> {
  const { ctx, t, holder } = request;
  const link = await findHolderLink(ctx.db, holder.id, paramOf(request, 'id'));
  if (!link) throw new Problem('not_found', { message: t.links.notFound });
  if (!isOpen(link)) return redirect(request, `/console/links/${linkId(link)}`);
  const values = valuesOf(request, link, { latestCountry: null, logo: null });
  const action = `/links/${linkId(link)}/edit`;
  return renderPage(request, {
    title: t.links.editTitle,
    lead: t.links.editLead,
    active: 'links',
    styles: [LINK_STYLE],
    scripts: [LINK_SCRIPT],
    ...(errors ? { status: 400 } : {}),
    body: html`
      ${linkErrors(request, errors)}
      <div class="card">${linkForm(request, { action, submit: t.links.save, values, errors, changed: link })}</div>
    `,
  });
}

export async function changeFromForm(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, actor, holder, t } = request;
  const before = await findHolderLink(ctx.db, holder.id, paramOf(request, 'id'));
  if (!before) throw new Problem('not_found', { message: t.links.notFound });
  // The rules of the integration that made it: another one may allow other hosts.
  const integration =
    before.integration_id === null
      ? await findActiveIntegration(ctx.db, holder.id)
      : await requireIntegration(ctx.db, holder.id, before.integration_id);
  const owner = {
    holderId: holder.id,
    integrationId: integration?.id ?? null,
    defaultCallbackUrl: null,
    redirectHosts: integration?.redirectHosts ?? [],
  };
  try {
    const link = await changeLink(ctx, actor, owner, before.id, readLook(request, before));
    return redirect(request, `/console/links/${linkId(link)}`, 'saved');
  } catch (error) {
    if (error instanceof Problem && error.details.errors)
      return editPage(request, formErrors(request, error.details.errors));
    throw error;
  }
}
