-- Behind one connection there may be several operators, each with its own numbers: the same receipt can then name two payments.

alter table operator_receipts add column method text not null default '';
alter table operator_receipts
  drop constraint receipt_used_once,
  add constraint receipt_used_once primary key (rail, receipt, method);
comment on column operator_receipts.method is
  'The method whose operator gave the receipt, where a connection has several operators. '
  'Empty: the receipt counts for the whole connection.';
