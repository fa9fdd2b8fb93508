-- Rejected callbacks of strangers are limited in number for all rails together. Those that the operator itself sent, with a
-- value that cannot be right, are few and are kept apart, so that strangers cannot push them out.

alter table rejected_callbacks add column authenticated boolean not null default false;
create index rejected_callbacks_of_strangers on rejected_callbacks (id) where not authenticated;
comment on table rejected_callbacks is
  'Operator callbacks that proved nothing: forged, unreadable, or about no transaction. Kept: ninety days, and the newest 1,000 unsigned.';
