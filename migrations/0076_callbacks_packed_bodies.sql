-- From here on a body may be packed (src/callbacks/packed-body.ts). Versions that know this migration read both kinds; a later one writes
-- the packed kind, with a migration that is a contract step after this one.

comment on column events.body is
  'The bytes that are sent and signed; they never change. They begin with "{"; anything else is packed, see callbacks/packed-body.ts.';
