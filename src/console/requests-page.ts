// The log of API requests: what was asked, what was answered, and why a request was refused.

import type { FastifyReply } from 'fastify';
import { type Integration, listIntegrations } from '../holders/integrations.ts';
import {
  KEPT_DAYS,
  type LoggedRequest,
  listRequestPage,
  type RequestPage,
  type RequestPlace,
} from '../holders/request-log.ts';
import { listUnverified, type UnverifiedRequest } from '../holders/unverified-requests.ts';
import { refOf } from '../payments/transactions.ts';
import { DAY_MS } from '../platform/clock.ts';
import { type Html, html, styleFile } from '../platform/html.ts';
import { publicId, uuidFromPublicId } from '../platform/ids.ts';
import { isCalendarDay } from '../platform/time-zones.ts';
import { chips, dataTable, emptyState, status as statusText, who } from '../ui/components.ts';
import { icon } from '../ui/icons.ts';
import { copyButton, pager, timeTag, transactionLink, zoneOf } from './components.ts';
import { type HolderRequest, queryOf } from './console-request.ts';
import { rangeOfDays } from './date-ranges.ts';
import { form } from './form-components.ts';
import { renderPage } from './layout.ts';
import { BUILDERS, type ConsoleRoute, EVERYONE, forRoles } from './route.ts';

const STYLE = styleFile(new URL('./requests.css', import.meta.url));
const PAGE_ROWS = 50;
/** The first digit of the status that was answered. */
const STATUS_FAMILIES = ['2', '4', '5'] as const;

export const requestLogRoutes: ConsoleRoute[] = [forRoles(EVERYONE, 'GET', '/requests', listPage)];

type Filter = {
  integration: Integration | undefined;
  family: (typeof STATUS_FAMILIES)[number] | undefined;
  code: string;
  id: string;
  /** 2026-11-14, in the holder's time zone; empty: every day. */
  day: string;
};

async function listPage(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, holder, t } = request;
  const integrations = await listIntegrations(ctx.db, holder.id);
  const filter = readFilter(request, integrations);
  const page = await findPage(request, filter);
  const { rows, lookedBackTo } = page;
  const unverified = await findUnverified(request, filter);
  return renderPage(request, {
    title: t.menu.requests,
    lead: t.requests.lead,
    active: 'requests',
    styles: [STYLE],
    body: html`
      ${ctx.config.requestLog === 'off' && html`<p class="box warning">${t.requests.off}</p>`}
      ${familyChips(request, filter)}
      ${filterForm(request, filter, integrations)}
      ${rows.length === 0 ? emptyList(request, filter) : table(request, rows, integrations)}
      ${
        lookedBackTo
          ? pager(
              request,
              nextPage(page, filter),
              html`${t.transactions.searchedBackTo} ${timeTag(request, lookedBackTo)}`,
              t.transactions.searchFurther,
            )
          : pager(request, nextPage(page, filter))
      }
      ${unverified.length > 0 && unverifiedSection(request, unverified, integrations)}
    `,
  });
}

function emptyList({ t }: HolderRequest, filter: Filter): Html {
  const isFiltered = Object.values(filter).some((value) => value !== undefined && value !== '');
  return isFiltered
    ? emptyState(t.transactions.noMatch, t.transactions.noMatchText)
    : emptyState(t.requests.none, t.requests.noneText);
}

function readFilter(request: HolderRequest, integrations: readonly Integration[]): Filter {
  return {
    integration: integrations.find(({ clientId, id }) =>
      [clientId, String(id)].includes(queryOf(request, 'integration', 64)),
    ),
    family: STATUS_FAMILIES.find((each) => each === queryOf(request, 'status')),
    code: queryOf(request, 'code', 60),
    id: queryOf(request, 'id', 40),
    day: isCalendarDay(queryOf(request, 'day', 10)) ? queryOf(request, 'day', 10) : '',
  };
}

/** The moments between which rows are shown: those of the chosen day, and of what is kept. */
function spanOf(request: HolderRequest, { day }: Filter): { since: Date; before: Date | undefined } {
  const { from, to } = rangeOfDays(day, day, zoneOf(request));
  const kept = new Date(request.ctx.clock.millis() - KEPT_DAYS * DAY_MS);
  return { since: from && from > kept ? from : kept, before: to };
}

/** The place that this page follows: milliseconds and the id of the row there. */
function placeOf(request: HolderRequest): RequestPlace | undefined {
  const [, millis, id = ''] = /^(\d{1,15})-(req_\w+)$/.exec(queryOf(request, 'before', 60)) ?? [];
  const uuid = uuidFromPublicId('req', id);
  return uuid === null ? undefined : { at: new Date(Number(millis)), id: uuid };
}

function findPage(request: HolderRequest, filter: Filter): Promise<RequestPage> {
  const { ctx, holder } = request;
  const { integration, family, code, id } = filter;
  return listRequestPage(
    ctx.db,
    holder.id,
    {
      ...spanOf(request, filter),
      after: placeOf(request),
      integrationId: integration?.id,
      family: family && Number(family),
      code: code || undefined,
      id: uuidFromPublicId('req', id) ?? undefined,
    },
    PAGE_ROWS,
  );
}

/** Below the first page only. */
async function findUnverified(request: HolderRequest, filter: Filter): Promise<UnverifiedRequest[]> {
  const { integration, family, code, id } = filter;
  if (queryOf(request, 'before') !== '' || (family !== undefined && family !== '4')) return [];
  return listUnverified(
    request.ctx.db,
    request.holder.id,
    {
      ...spanOf(request, filter),
      integrationId: integration?.id,
      code: code || undefined,
      id: uuidFromPublicId('req', id) ?? undefined,
    },
    PAGE_ROWS,
  );
}

function unverifiedSection(
  request: HolderRequest,
  rows: readonly UnverifiedRequest[],
  integrations: readonly Integration[],
): Html {
  const { t } = request;
  const titles = new Map(integrations.map((each) => [each.id, each.title]));
  return html`
    <h2>${t.requests.unverified}</h2>
    <p class="muted">${t.requests.unverifiedText}</p>
    ${dataTable(
      t.requests.unverified,
      [
        { label: t.requests.request, phone: 'main' },
        { label: t.requests.result, phone: 'status' },
        { label: t.address },
        { label: 'request_id' },
        { label: t.time, right: true, phone: 'amount' },
      ],
      rows.map((row) => [
        requestCell(row.route, titles.get(row.integration_id)),
        html`${resultCell(row)}${signCheckLink(request, row)}`,
        row.address,
        idCell(request, row.id),
        timeTag(request, row.at),
      ]),
    )}
  `;
}

/** The method and the path on one line, the integration under it. */
function requestCell(route: string, title: string | undefined): Html {
  const [method = '', path = ''] = route.split(' ');
  const short = path.split('/').findLast((part) => part !== '' && !part.startsWith(':')) ?? path;
  return who(
    html`<span class="request-path" title="${route}">${method} <code>${short}</code></span>`,
    html`<bdi>${title ?? ''}</bdi>`,
  );
}

/** The whole id can be copied, with the button or by hand. */
function idCell(request: HolderRequest, id: string): Html {
  const text = publicId('req', id);
  return html`
    <span class="request-id"><code id="${text}" title="${text}">${text}</code>${copyButton(request, text, text)}</span>
  `;
}

function signCheckLink({ t, role }: HolderRequest, { code, id }: UnverifiedRequest): Html | false {
  if (code !== 'signature_mismatch' || !BUILDERS.includes(role)) return false;
  return html` <a href="/console/debugger?request=${publicId('req', id)}">${t.menu.debugger}</a>`;
}

function resultCell({ status, code }: { status: number; code: string | null }): Html {
  return html`
    ${statusText(status < 400 ? 'success' : 'error', String(status))}
    ${code && html` <a href="/docs/errors/${code}">${code}</a>`}
  `;
}

function familyChips({ t }: HolderRequest, filter: Filter): Html {
  const labels = { '2': t.requests.accepted, '4': t.requests.rejected, '5': t.requests.serverError };
  const choice = (family: Filter['family']) => {
    const query = queryFrom({ ...filter, family }).toString();
    return {
      label: family ? labels[family] : t.all,
      href: `/console/requests${query === '' ? '' : `?${query}`}`,
      current: family === filter.family,
    };
  };
  return chips(t.requests.result, [undefined, ...STATUS_FAMILIES].map(choice));
}

function filterForm(request: HolderRequest, filter: Filter, integrations: readonly Integration[]): Html {
  const { t } = request;
  const isUsed = filter.integration !== undefined || [filter.code, filter.id, filter.day].some((text) => text !== '');
  const fields = form(request, {
    method: 'get',
    action: '/requests',
    row: true,
    hidden: filter.family ? { status: filter.family } : {},
    fields: [
      {
        type: 'select',
        name: 'integration',
        label: t.menu.integrations,
        value: filter.integration?.clientId ?? '',
        choices: [['', t.any], ...integrations.map((each) => [each.clientId, each.title] as const)],
      },
      { type: 'date', name: 'day', label: t.day, value: filter.day },
      { name: 'code', label: t.requests.code, value: filter.code },
      { name: 'id', label: 'request_id', value: filter.id },
    ],
    submit: t.show,
    variant: 'secondary',
  });
  return html`
    <details class="filters"${isUsed && html` open`}>
      <summary>${icon('funnel')} ${t.transactions.filter}</summary>
      ${fields}
    </details>
  `;
}

function table(request: HolderRequest, rows: readonly LoggedRequest[], integrations: readonly Integration[]): Html {
  const { t } = request;
  const titles = new Map(integrations.map((each) => [each.id, each.title]));
  return dataTable(
    t.menu.requests,
    [
      { label: t.requests.request, phone: 'main' },
      { label: t.requests.result, phone: 'status' },
      { label: t.requests.duration, right: true },
      { label: t.reference },
      { label: t.address },
      { label: 'request_id' },
      { label: t.time, right: true, phone: 'amount' },
    ],
    rows.map((row) => [
      requestCell(row.route, titles.get(row.integration_id)),
      resultCell(row),
      `${row.ms.toFixed(1)} ms`,
      row.transaction_id && transactionLink(refOf({ id: row.transaction_id })),
      row.address,
      idCell(request, row.id),
      timeTag(request, row.at),
    ]),
  );
}

function queryFrom({ integration, family, code, day }: Filter): URLSearchParams {
  const query = new URLSearchParams();
  if (integration) query.set('integration', integration.clientId);
  if (family) query.set('status', family);
  if (code) query.set('code', code);
  if (day) query.set('day', day);
  return query;
}

function nextPage({ next }: RequestPage, filter: Filter): string | null {
  if (next === null) return null;
  const query = queryFrom(filter);
  query.set('before', `${next.at.getTime()}-${publicId('req', next.id)}`);
  return `/console/requests?${query.toString()}`;
}
