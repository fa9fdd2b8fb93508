// What must agree between the rolling reserve, disputes and the ledger.

import { TRANSFERS_WITH_ACCOUNTS } from '../ledger/reports.ts';
import { type CrossCheck, compareWithAccounts, KEYS, shown } from './cross-check-parts.ts';

const HELD_PARTS: CrossCheck = {
  name: 'held_parts',
  subject: 'transactions',
  rule: 'What of a transaction is in the rolling reserve was posted there, and what was released of it is what was not used.',
  sql: `
    with part as (
      select h.holder_id, h.source_id as id, h.amount, case when h.released_at is not null then h.amount - h.used else 0 end as released
      from ${KEYS} join held_parts h on h.holder_id = key.holder_id and h.source_id = key.id
    ), posted as (
      select p.holder_id, p.transaction_id as id, (sum(p.amount) filter (where p.kind = 'reserve_hold'))::bigint as amount,
        coalesce(sum(p.amount) filter (where p.kind = 'reserve_release'), 0)::bigint as released
      from ${KEYS} join ${TRANSFERS_WITH_ACCOUNTS} as p on p.holder_id = key.holder_id and p.transaction_id = key.id
      where p.kind in ('reserve_hold', 'reserve_release') group by p.holder_id, p.transaction_id
    )
    select coalesce(h.holder_id, p.holder_id) as holder_id, coalesce(h.id, p.id) as id,
      format('%s held, %s released', ${shown('coalesce(h.amount, 0)')}, ${shown('coalesce(h.released, 0)')}) as expected,
      format('%s held, %s released', ${shown('coalesce(p.amount, 0)')}, ${shown('coalesce(p.released, 0)')}) as found
    from part h full join posted p on p.holder_id = h.holder_id and p.id = h.id
    where h.amount is distinct from p.amount or h.released is distinct from p.released`,
};

const HELD_BALANCE: CrossCheck = {
  name: 'held',
  subject: 'holders',
  rule: 'What is in the rolling reserve of a wallet is what its parts have left.',
  sql: `
    with needed as (
      select h.holder_id, h.currency, sum(h.amount - h.used)::bigint as balance
      from unnest($1::bigint[]) as key (holder_id) join held_parts h using (holder_id)
      where h.released_at is null group by h.holder_id, h.currency
    )
    ${compareWithAccounts('needed', 'wallet_held', 1)}`,
};

const openDisputes = (sum: string) => `
    with needed as (
      select d.holder_id, d.currency, sum(${sum})::bigint as balance
      from unnest($1::bigint[]) as key (holder_id) join disputes d using (holder_id)
      where d.status = 'open' group by d.holder_id, d.currency
    )`;

const DISPUTED_BALANCE: CrossCheck = {
  name: 'disputed',
  subject: 'holders',
  rule: 'What is held for disputes is what the open ones ask of the holder.',
  sql: `${openDisputes('d.amount - d.fee_returned')}
    ${compareWithAccounts('needed', 'wallet_disputed', 1)}`,
};

const DISPUTE_SHORTFALL: CrossCheck = {
  name: 'dispute_shortfall',
  subject: 'holders',
  rule: 'What disputes lack is what the open ones say.',
  sql: `${openDisputes('d.short')}
    ${compareWithAccounts('needed', 'dispute_shortfall', -1)}`,
};

/** A dispute is won or lost once, with what it held: the case of it says whether it is open. */
const DISPUTE_OF_CASE: CrossCheck = {
  name: 'disputes',
  subject: 'cases',
  rule: 'A case about a dispute is open as long as the dispute, and what was held left by the posting of its end.',
  sql: `
    select c.holder_id, c.id, format('an %s dispute of %s', case c.status when 'open' then 'open' else 'ended' end,
        ${shown('c.amount')}) as expected,
      coalesce(format('%s, of %s, %s held, %s released, %s given back', d.status, ${shown('d.amount')}, ${shown('p.held')},
        ${shown('p.released')}, ${shown('p.lost')}), 'no dispute') as found
    from ${KEYS} join cases c using (holder_id, id)
    left join disputes d on d.holder_id = c.holder_id and d.case_id = c.id
    cross join lateral (
      select coalesce(sum(t.amount) filter (where t.kind in ('dispute_hold', 'dispute_shortfall')), 0)::bigint as held,
        coalesce(sum(t.amount) filter (where t.kind in ('dispute_release', 'dispute_shortfall_end')), 0)::bigint as released,
        coalesce(sum(t.amount) filter (where t.kind in ('dispute_loss', 'dispute_loss_short', 'dispute_loss_fee')), 0)::bigint as lost
      from ${TRANSFERS_WITH_ACCOUNTS} as t where t.holder_id = c.holder_id and t.transaction_id = c.id) as p
    where c.kind = 'dispute' and (d.case_id is null or (d.status = 'open') <> (c.status = 'open') or d.amount <> c.amount
      or p.held <> d.amount - d.fee_returned
      or (d.status = 'open' and p.released + p.lost > 0)
      or (d.status = 'won' and (p.released <> p.held or p.lost > 0))
      or (d.status = 'lost' and p.lost <> d.amount))`,
};

export const HELD_MONEY_CHECKS: readonly CrossCheck[] = [
  HELD_PARTS,
  HELD_BALANCE,
  DISPUTED_BALANCE,
  DISPUTE_SHORTFALL,
  DISPUTE_OF_CASE,
];
