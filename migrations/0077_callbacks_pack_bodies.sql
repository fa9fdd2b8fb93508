-- contract: after 0076: bodies of events that are stored as they are sent
-- They are packed from now on. Versions before 0076 would send them as they find them.

comment on column events.body is
  'The bytes that are sent and signed, packed (callbacks/packed-body.ts). Those from before begin with "{" and are not. They never change.';
