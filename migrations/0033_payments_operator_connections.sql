-- How an operator addressed us decides who it is: the method, the host and the address that it came from are kept with the
-- message, because it may be read again after a crash.

alter table operator_inbox
  add column method text not null default 'POST',
  add column host text not null default '',
  add column remote_address text;
comment on column operator_inbox.remote_address is 'Behind our own proxies; null where it is not known.';
