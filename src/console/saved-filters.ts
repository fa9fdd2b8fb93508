// Filters of the list of transactions that a member keeps under a name: a menu beside the filters.

import type { FastifyReply } from 'fastify';
import type { Reader } from '../platform/db.ts';
import { Problem, wrongField } from '../platform/errors.ts';
import { type Html, html } from '../platform/html.ts';
import { icon } from '../ui/icons.ts';
import { fieldOf, type HolderRequest } from './console-request.ts';
import { form, isRefused, postForm } from './form-components.ts';
import { redirect } from './layout.ts';
import { type ConsoleRoute, EVERYONE, forRoles } from './route.ts';
import { filterQuery } from './transaction-filter.ts';

const MAX_SAVED = 20;
const MAX_NAME_CHARACTERS = 60;
const MAX_QUERY_CHARACTERS = 1_000;

const SAVE = '/transactions/saved';

export const savedFilterRoutes: ConsoleRoute[] = [
  forRoles(EVERYONE, 'POST', SAVE, save, { formOn: '/transactions' }),
  forRoles(EVERYONE, 'POST', '/transactions/saved/remove', remove),
];

type SavedFilter = { name: string; query: string };

export function listSavedFilters(reader: Reader, holderId: bigint, memberId: bigint): Promise<SavedFilter[]> {
  return reader.query<SavedFilter>(
    `select name, query from saved_filters where holder_id = $1 and member_id = $2 order by name limit ${MAX_SAVED}`,
    [holderId, memberId],
  );
}

/** `current`: the query of what is shown; empty when nothing is filtered. */
export function savedFilterMenu(request: HolderRequest, saved: readonly SavedFilter[], current: string): Html {
  const { t } = request;
  return html`
    <details class="unfold"${isRefused(request, SAVE) && html` open`}>
      <summary class="chip">
        ${icon('bookmark')}<span class="chip-label">${t.transactions.saved}</span>
        ${saved.length > 0 && html`<span>${saved.length}</span>`}
      </summary>
      <div class="popover">
        ${saved.map((filter) => savedRow(request, filter))}
        ${saved.length === 0 && current === '' && html`<p class="muted">${t.transactions.savedNone}</p>`}
        ${
          current !== '' &&
          current.length <= MAX_QUERY_CHARACTERS &&
          form(request, {
            // The filter is in the address, so that the list is the same one when the form is refused.
            action: `${SAVE}?${current}`,
            fields: [
              {
                name: 'name',
                label: t.transactions.saveName,
                required: true,
                attributes: html`maxlength="${MAX_NAME_CHARACTERS}" autocomplete="off"`,
              },
            ],
            submit: t.transactions.save,
            variant: 'secondary',
          })
        }
      </div>
    </details>
  `;
}

function savedRow(request: HolderRequest, { name, query }: SavedFilter): Html {
  const { t } = request;
  const button = html`
    <input type="hidden" name="name" value="${name}">
    <button class="button-link" aria-label="${t.transactions.removeSaved(name)}">${icon('x')}</button>
  `;
  return html`
    <div class="saved">
      <a href="/console/transactions?${query}"><bdi>${name}</bdi></a>
      ${postForm(request, '/transactions/saved/remove', button)}
    </div>
  `;
}

/** The same name again: the filter behind it changes. */
async function save(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, holder, session, t } = request;
  const name = fieldOf(request, 'name', MAX_NAME_CHARACTERS);
  const query = filterQuery(request);
  if (name === '') throw wrongField('name', t.fieldRequired);
  // No page offers to keep such a filter.
  if (query === '' || query.length > MAX_QUERY_CHARACTERS)
    throw new Problem('invalid_params', { message: t.requestRejected });
  const saved = await ctx.db.transaction((tx) =>
    tx.query(
      `insert into saved_filters (holder_id, member_id, name, query, created_at)
       select $1, $2, $3, $4, $5
       where exists (select from saved_filters where holder_id = $1 and member_id = $2 and name = $3)
          or (select count(*) from saved_filters where holder_id = $1 and member_id = $2) < ${MAX_SAVED}
       on conflict (holder_id, member_id, name) do update set query = excluded.query
       returning name`,
      [holder.id, session.member.id, name, query, ctx.clock.now()],
    ),
  );
  if (saved.length === 0) throw new Problem('invalid_params', { message: t.transactions.saveTooMany(MAX_SAVED) });
  return redirect(request, `/console/transactions?${query}`, 'saved');
}

async function remove(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, holder, session } = request;
  await ctx.db.transaction((tx) =>
    tx.query('delete from saved_filters where holder_id = $1 and member_id = $2 and name = $3', [
      holder.id,
      session.member.id,
      fieldOf(request, 'name', MAX_NAME_CHARACTERS),
    ]),
  );
  return redirect(request, '/console/transactions', 'saved');
}
