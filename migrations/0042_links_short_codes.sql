-- Links that people share and type: a short code, how much was paid, and how often the page was opened.

-- Ten letters and digits without look-alikes (50 random bits). Bytes 6 and 8 of a random UUID have fixed bits and are left out.
create function new_link_code() returns text language sql volatile as $$
  select string_agg(substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 1 + (get_byte(bytes, place) & 31), 1), '')
  from (select uuid_send(gen_random_uuid()) as bytes) random, unnest(array[0, 1, 2, 3, 4, 5, 7, 9, 10, 11]) as place
$$;

alter table payment_links add column code text not null default new_link_code();
alter table payment_links add constraint link_code_form check (code ~ '^[0-9A-HJKMNP-TV-Z]{10}$');
create unique index payment_link_by_code on payment_links (code);
comment on column payment_links.code is
  'The short address of the link: /p/<code>. Too short to carry the holder, so it is unique over all holders.';

alter table payment_links add column paid_amount bigint not null default 0;
alter table payment_links add constraint link_paid_amount_sane check (paid_amount >= 0);
update payment_links l set paid_amount = paid.amount
from (
  select holder_id, link_id, sum(amount) as amount from transactions
  where link_id is not null and direction = 'collection' and status = 'success' group by holder_id, link_id
) paid
where l.holder_id = paid.holder_id and l.id = paid.link_id;
comment on column payment_links.paid_amount is
  'The sum of the payments that stand, in the currency of the link. A payment that was refunded in full does not count.';

create table link_visits (
  holder_id bigint not null,
  link_id uuid not null,
  visits bigint not null,
  last_at timestamptz not null,
  constraint link_visits_once primary key (holder_id, link_id),
  constraint link_visits_counted check (visits > 0),
  constraint link_visits_link_exists foreign key (holder_id, link_id) references payment_links (holder_id, id)
);
comment on table link_visits is
  'How often the page of a link was opened by a person. Counted in memory and written about once a second; a crash may lose a few.';
