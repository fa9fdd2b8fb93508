-- Links count the payments that stand, and the figures of a day are those of the ledger.

-- What was given back before is taken out of the counts once.

update payment_links l
set payments_count = p.standing,
    status = case when l.status = 'paid' and p.standing = 0 then 'disabled' else l.status end
from (
  select holder_id, link_id, count(*) filter (where status = 'success') as standing
  from transactions where link_id is not null and direction = 'collection'
  group by holder_id, link_id having bool_or(status = 'reversed')
) p
where l.holder_id = p.holder_id and l.id = p.link_id;

comment on column payment_links.payments_count is 'Payments that stand: one that was given back does not count.';
comment on column payment_links.status is
  'A single-use link is paid by its first payment. When all its payments were given back it is disabled, not offered again.';

-- Figures are only kept to show a page at once. They are counted anew in their new form.
delete from daily_figures;
comment on table daily_figures is
  'What one holder did on one day (UTC): money by the day it was posted, attempts by the day they were made. Counted from the ledger and '
  'the transactions, and kept to show a page at once.';
comment on column daily_figures.figures is
  '{ money: [{ fact, currency, transactions, amount, fee }], attempts: [{ direction, currency, status, transactions, amount, fee }] }, '
  'sums as text.';
