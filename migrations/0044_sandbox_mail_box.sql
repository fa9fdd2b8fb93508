-- The mail box of the sandbox: every mail that the gateway sends there, so that nobody needs a mail server to try it.

create unlogged table sandbox_mails (
  id bigint generated always as identity primary key,
  to_address text not null,
  subject text not null,
  body text not null,
  received_at timestamptz not null
);

comment on table sandbox_mails is
  'Mails that the sandbox caught, by a real SMTP exchange on loopback. The newest are kept.';
