// Open cases in pages, of one holder or of all. Pages are cut by key, so each case appears once even while others are
// opened and closed.

import type { Reader } from '../platform/db.ts';
import { holderOfUuid } from '../platform/ids.ts';
import type { Case } from './cases.ts';
import type { CaseKind } from './states.ts';

export type CaseFilter = {
  /** Left out: cases of every holder, and those without a holder. For admins. */
  holderId?: bigint | undefined;
  kind?: CaseKind | undefined;
};

export type CasePage = {
  /** The last case of the page before. It may be closed by now. */
  after?: string | null;
  oldestFirst?: boolean;
  limit: number;
};

export function listOpenCases(reader: Reader, filter: CaseFilter, page: CasePage): Promise<Case[]> {
  const values: unknown[] = [page.limit];
  const place = (value: unknown) => `$${values.push(value)}`;
  const where = conditions(filter, place);
  const [order, beyond] = page.oldestFirst ? ['asc', '>'] : ['desc', '<'];
  const edge = page.after
    ? `and (opened_at, id) ${beyond} (select opened_at, id from cases
         where holder_id = ${place(holderOfUuid(page.after))} and id = ${place(page.after)})`
    : '';
  return reader.query<Case>(
    `select * from cases where ${where} ${edge} order by opened_at ${order}, id ${order} limit $1`,
    values,
  );
}

/** How many cases of each kind are open. Kinds without one are left out. */
export async function countOpenCases(reader: Reader, holderId?: bigint): Promise<Map<CaseKind, number>> {
  const values: unknown[] = [];
  const where = conditions({ holderId }, (value) => `$${values.push(value)}`);
  const rows = await reader.query<{ kind: CaseKind; count: bigint }>(
    `select kind, count(*) from cases where ${where} group by kind order by kind`,
    values,
  );
  return new Map(rows.map((row) => [row.kind, Number(row.count)]));
}

function conditions({ holderId, kind }: CaseFilter, place: (value: unknown) => string): string {
  const clauses = [`status = 'open'`];
  if (holderId !== undefined) clauses.push(`holder_id = ${place(holderId)}`);
  if (kind !== undefined) clauses.push(`kind = ${place(kind)}`);
  return clauses.join(' and ');
}
