-- Who a person is: whether somebody showed that they read mail at the address, rights that are given by a link, roles that
-- wait for a second owner or a day, mails to send, and guesses of secrets, counted over all processes.

alter table members
  add column email_proven_at timestamptz,
  add column credentials_version bigint not null default 0;
comment on column members.email_proven_at is
  'When somebody used a link that only the reader of this mailbox, or the host, could have given them. Null: the person may be '
  'anybody, and gets no rights from another holder or from the host.';
comment on column members.credentials_version is
  'Grows when password, second factor and sessions are forgotten: a sign-in that was on its way then opens no session.';

alter table sessions add column credentials_version bigint not null default 0;
comment on column sessions.credentials_version is 'That of the member when the sign-in began. A session with an older one is over.';

alter table invitations
  alter column holder_id drop not null,
  alter column role drop not null,
  add column proves_email boolean not null default false,
  add constraint invitation_holder_has_role check ((holder_id is null) = (role is null));
comment on table invitations is 'An offer to join a holder. Without a holder: the offer to be an admin of the gateway.';
comment on column invitations.proves_email is
  'The link was sent by mail, or made on the host: who uses it has the address. A link that an inviter saw proves nothing.';

create table sign_ups (
  token_hash bytea constraint sign_up_token primary key,
  business text not null constraint sign_up_business_length check (char_length(business) between 1 and 120),
  name text not null constraint sign_up_name_length check (char_length(name) between 1 and 120),
  email text not null constraint sign_up_email_plain check (email = lower(email) and char_length(email) between 3 and 254),
  created_at timestamptz not null,
  expires_at timestamptz not null,
  used_at timestamptz
);
comment on table sign_ups is
  'Sign-ups that wait for their e-mail to be confirmed. The password is chosen after that: who typed the address may not be its owner.';

create table role_changes (
  holder_id bigint not null references holders,
  id uuid not null,
  member_id bigint not null references members,
  role text not null constraint role_change_role_known check (role in ('owner', 'finance')),
  requested_by text not null,
  requested_by_member bigint,
  requested_at timestamptz not null,
  effective_at timestamptz not null,
  confirmed_by text,
  confirmed_by_member bigint,
  applied_at timestamptz,
  withdrawn_by text,
  withdrawn_at timestamptz,
  constraint role_change_id primary key (holder_id, id),
  constraint role_change_waits_a_day check (effective_at >= requested_at + interval '24 hours'),
  constraint role_change_by_two_people check (
    confirmed_by_member is null or (confirmed_by_member <> member_id and confirmed_by_member is distinct from requested_by_member)),
  constraint role_change_confirmed_whole check ((confirmed_by is null) = (confirmed_by_member is null)),
  constraint role_change_applied_late check (applied_at is null or confirmed_by is not null or applied_at >= effective_at),
  constraint role_change_withdrawn_or_applied check (withdrawn_at is null or applied_at is null),
  constraint role_change_withdrawn_whole check ((withdrawn_by is null) = (withdrawn_at is null))
);
create unique index role_change_open_once on role_changes (holder_id, member_id) where applied_at is null and withdrawn_at is null;
create index role_changes_due on role_changes (effective_at) where applied_at is null and withdrawn_at is null;
comment on table role_changes is
  'A role that lets a person approve money, at a holder that requires two people. It holds when a second owner confirms it, '
  'or after a day.';

create table mails (
  id bigint generated always as identity constraint mail_id primary key,
  to_address text not null constraint mail_to_length check (char_length(to_address) between 3 and 254),
  subject text not null constraint mail_subject_plain check (char_length(subject) between 1 and 200 and subject !~ '[[:cntrl:]]'),
  text text,
  text_sealed bytea,
  attempts integer not null default 0 constraint mail_attempts_sane check (attempts >= 0),
  created_at timestamptz not null,
  due_at timestamptz not null,
  constraint mail_text_once check ((text is null) <> (text_sealed is null))
);
create index mails_due on mails (due_at);
comment on table mails is 'Mails to send. A row is deleted when the mail server took it, or when it did not for a day.';
comment on column mails.text_sealed is 'A text with a link that signs in, sealed under the master key.';
comment on column mails.due_at is 'When it is tried next. A process that sends it moves this, so that no other one does.';

create unlogged table guesses (
  key bytea constraint guess_key primary key,
  since timestamptz not null,
  guesses integer not null constraint guesses_sane check (guesses >= 0)
);
create index guesses_by_age on guesses (since);
comment on table guesses is
  'Guesses of passwords and codes, counted before they are compared. Unlogged: after a crash of PostgreSQL counting begins again.';
comment on column guesses.key is 'Hash of what is limited: a person or an address, the kind of guess, and the length of the window.';
comment on column guesses.since is 'When the window began: with its first guess.';
