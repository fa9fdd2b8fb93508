// A holder's links, newest first. Pages are cut by key, so each link appears exactly once even while links are created. The
// whole list is streamed page by page: a million links need the memory of one page.

import { Readable } from 'node:stream';
import Type from 'typebox';
import { oneOf } from '../platform/api-schemas.ts';
import type { Context } from '../platform/context.ts';
import type { Reader } from '../platform/db.ts';
import type { JsonObject } from '../platform/strict-json.ts';
import { convertQuery, createReader, EXPECTED } from '../platform/validation.ts';
import {
  describeLink,
  LINK_COLUMNS,
  LINK_STATUSES,
  type LinkStatus,
  linkId,
  linkUuid,
  type PaymentLink,
} from './links.ts';

const MAX_PAGE_LINKS = 1_000;
const STREAM_PAGE_LINKS = 500;
const LIST_MESSAGE = 'Payment links retrieved.';

/** Links that a search by name looks at. */
const NAMED_LINKS = 5_000;

/** `before` is the UUID of the last link already seen; `status` is the one at `now`. */
type LinkPage = { before: string | null; status: LinkStatus | null; limit: number; now: Date };
type LinkListQuery = { limit: number | null; before: string | null; status: LinkStatus | null };

const NEWEST = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** One page of a holder's links, newest first. */
export function listLinks(reader: Reader, holderId: bigint, page: LinkPage): Promise<PaymentLink[]> {
  const place = [holderId, page.before ?? NEWEST, page.limit];
  const isTimed = page.status === 'active' || page.status === 'expired';
  return reader.query<PaymentLink>(PAGES[page.status ?? 'all'], isTimed ? [...place, page.now] : place);
}

/** $1 holder, $2 the link that the page follows, $3 limit, $4 now. The index by status finds each of them in its order. */
const onePage = (condition: string) =>
  `select * from payment_links l where l.holder_id = $1 and l.id < $2 and ${condition} order by l.id desc limit $3`;
const pageOf = (name: string, rows: string) => ({
  name: `list_links_${name}`,
  text: `select ${LINK_COLUMNS} from (${rows}) l order by l.id desc limit $3`,
});
const PAGES: Record<LinkStatus | 'all', { name: string; text: string }> = {
  all: pageOf('all', onePage('true')),
  paid: pageOf('paid', onePage(`l.status = 'paid'`)),
  disabled: pageOf('disabled', onePage(`l.status = 'disabled'`)),
  active: pageOf('active', onePage(`l.status = 'active' and (l.expires_at is null or l.expires_at > $4)`)),
  expired: pageOf(
    'expired',
    `(${onePage(`l.status = 'active' and l.expires_at <= $4`)}) union all (${onePage(`l.status = 'expired'`)})`,
  ),
};

/** Links with this in their item, business or payer, among the newest. */
export function findLinksByName(reader: Reader, holderId: bigint, text: string, limit: number): Promise<PaymentLink[]> {
  return reader.query<PaymentLink>(
    `select ${LINK_COLUMNS}
     from (select * from payment_links where holder_id = $1 order by id desc limit ${NAMED_LINKS}) l
     where position(lower($2) in lower(concat_ws(' ', l.item_name, l.business_name, l.first_name, l.last_name, l.email))) > 0
     order by l.id desc limit $3`,
    [holderId, text, limit],
  );
}

/** How many links are counted for the tabs; with more, a page says "more than". */
export const MAX_COUNTED_LINKS = 10_000;

/** The newest links of a holder, counted by status; `all` is at most one more than is counted. */
export async function countLinks(
  reader: Reader,
  holderId: bigint,
  now: Date,
): Promise<{ all: number; byStatus: Map<LinkStatus, number> }> {
  const rows = await reader.query<{ status: LinkStatus; count: bigint }>(
    `select case when status = 'active' and expires_at <= $2 then 'expired' else status end as status, count(*)
     from (select status, expires_at from payment_links where holder_id = $1 order by id desc limit $3) newest group by 1`,
    [holderId, now, MAX_COUNTED_LINKS + 1],
  );
  const byStatus = new Map(rows.map(({ status, count }) => [status, Number(count)]));
  return { all: [...byStatus.values()].reduce((sum, count) => sum + count, 0), byStatus };
}

export const ListLinksQuery = Type.Object({
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_PAGE_LINKS,
      description: 'Answer in pages of this size. Left out: all links.',
    }),
  ),
  cursor: Type.Optional(
    Type.Refine(
      Type.String({
        description: 'meta.next_cursor of the page before.',
        [EXPECTED]: 'the meta.next_cursor of the page before',
      }),
      (text) => linkUuid(text) !== null,
    ),
  ),
  status: Type.Optional(oneOf(LINK_STATUSES, 'Only links with this status.')),
});

const listLinksQuery = createReader(ListLinksQuery);

/** Reads `limit`, `cursor` and `status` of a query string. */
export function readListQuery(query: unknown): LinkListQuery {
  const { limit, cursor, status } = listLinksQuery.require(convertQuery(ListLinksQuery, query));
  return { limit: limit ?? null, before: cursor === undefined ? null : linkUuid(cursor), status: status ?? null };
}

/** One page as the API answers it. */
export async function answerPage(
  ctx: Context,
  holderId: bigint,
  query: LinkListQuery & { limit: number },
): Promise<JsonObject> {
  const now = ctx.clock.now();
  // One more than requested shows whether there is a next page.
  const links = await listLinks(ctx.db, holderId, { ...query, limit: query.limit + 1, now });
  const shown = links.slice(0, query.limit);
  const last = shown.at(-1);
  return {
    success: true,
    message: LIST_MESSAGE,
    data: shown.map((link) => describeLink(ctx, link, now)),
    meta: { next_cursor: links.length > query.limit && last ? linkId(last) : null },
  };
}

/**
 * The whole list as JSON text. The first page is read before anything is sent, so that a database error is still answered
 * as an error. A later failure breaks the stream, so that it does not look complete.
 */
export async function openLinkStream(ctx: Context, holderId: bigint, query: LinkListQuery): Promise<Readable> {
  const page = { before: query.before, status: query.status, limit: STREAM_PAGE_LINKS, now: ctx.clock.now() };
  const first = await listLinks(ctx.db, holderId, page);
  return Readable.from(writeLinks(ctx, holderId, page, first), { objectMode: false });
}

async function* writeLinks(
  ctx: Context,
  holderId: bigint,
  page: LinkPage,
  first: PaymentLink[],
): AsyncGenerator<string> {
  let links = first;
  let text = `{"success":true,"message":${JSON.stringify(LIST_MESSAGE)},"data":[`;
  for (let separator = ''; ; separator = ',') {
    if (links.length > 0)
      text += separator + links.map((link) => JSON.stringify(describeLink(ctx, link, page.now))).join(',');
    const last = links.at(-1);
    if (!last || links.length < page.limit) break;
    yield text;
    text = '';
    links = await listLinks(ctx.db, holderId, { ...page, before: last.id });
  }
  yield `${text}]}`;
}
