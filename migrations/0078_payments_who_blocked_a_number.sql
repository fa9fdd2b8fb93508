-- Whether the gateway or the holder blocked a number is stored with the block: it must not change with the rights that a person has later.
-- quick: blocked_numbers, members, change_count: a list that people write by hand, their accounts by key, and one row

alter table blocked_numbers add column set_by text;
update blocked_numbers b
set set_by = case
  when b.holder_id = 0 or b.added_by = 'command line'
    or exists (select from members m where m.email = lower(b.added_by) and m.is_admin) then 'gateway'
  else 'holder'
end;
alter table blocked_numbers add constraint blocked_number_setter check (set_by in ('gateway', 'holder'));
comment on column blocked_numbers.set_by is
  'Who restrains: what the gateway has blocked for a holder only an administrator ends. Null: written by a version before this column.';
