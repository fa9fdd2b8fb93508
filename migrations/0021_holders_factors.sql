-- Second factors: passkeys beside one-time codes, recovery codes for a lost phone, the browsers a person has used, and
-- notices of what happened to an account.

alter table members
  add column passkey_user_id bytea constraint member_passkey_user_id_length check (octet_length(passkey_user_id) = 32);
comment on column members.passkey_user_id is
  'The name of this person in their passkeys: random, so that a passkey tells nobody who its owner is.';

alter table sessions add column enrol_until timestamptz;
comment on column sessions.enrol_until is
  'Until then the first second factor may be set up: the person has just typed the password, or used a login link.';

create table passkeys (
  id bigint generated always as identity,
  member_id bigint not null,
  credential_id bytea not null,
  public_key bytea not null,
  counter bigint not null,
  transports text[] not null,
  name text not null,
  created_at timestamptz not null,
  last_used_at timestamptz,
  constraint passkeys_pkey primary key (id),
  constraint passkey_credential_unique unique (credential_id),
  constraint passkey_credential_length check (octet_length(credential_id) between 1 and 1023),
  constraint passkey_counter_sane check (counter >= 0),
  constraint passkey_name_length check (char_length(name) between 1 and 60),
  constraint passkeys_member_id_fkey foreign key (member_id) references members (id)
);
create index passkeys_by_member on passkeys (member_id, id);
comment on table passkeys is 'Credentials of WebAuthn: a device that signs in for a person. Only public keys are stored.';
comment on column passkeys.counter is
  'The last counter of the device. One that does not grow comes from a copy and is refused; 0: the device has none.';

create table passkey_challenges (
  challenge_hash bytea not null,
  purpose text not null,
  member_id bigint,
  browser_hash bytea not null,
  address text not null,
  expires_at timestamptz not null,
  constraint passkey_challenges_pkey primary key (challenge_hash),
  constraint passkey_challenge_purpose_known check (purpose in ('sign_in', 'second_step', 'confirm', 'register')),
  constraint passkey_challenge_member_known check ((purpose = 'sign_in') = (member_id is null)),
  constraint passkey_challenges_member_id_fkey foreign key (member_id) references members (id)
);
create index passkey_challenges_by_address on passkey_challenges (address, expires_at);
create index passkey_challenges_by_expiry on passkey_challenges (expires_at);
comment on table passkey_challenges is 'What a passkey was asked to sign. A challenge is deleted when it is answered, so it works once.';
comment on column passkey_challenges.browser_hash is 'The browser that asked: no other may answer.';
comment on column passkey_challenges.address is
  'The caller''s address (IPv6: its /64), which may have a limited number of open challenges.';

create table recovery_codes (
  member_id bigint not null,
  code_hash bytea not null,
  created_at timestamptz not null,
  used_at timestamptz,
  constraint recovery_codes_pkey primary key (member_id, code_hash),
  constraint recovery_codes_member_id_fkey foreign key (member_id) references members (id)
);
comment on table recovery_codes is 'Codes that replace the second factor once each. They have 80 random bits, so a plain hash is enough.';

create table known_browsers (
  member_id bigint not null,
  token_hash bytea not null,
  first_seen_at timestamptz not null,
  last_seen_at timestamptz not null,
  constraint known_browsers_pkey primary key (member_id, token_hash),
  constraint known_browsers_member_id_fkey foreign key (member_id) references members (id)
);
create index known_browsers_by_age on known_browsers (last_seen_at);
comment on table known_browsers is 'Browsers in which a person has signed in before, by the hash of a random cookie.';

create table security_notices (
  id bigint generated always as identity,
  member_id bigint not null,
  kind text not null,
  detail text not null default '',
  address text not null,
  user_agent text not null,
  at timestamptz not null,
  read_at timestamptz,
  constraint security_notices_pkey primary key (id),
  constraint security_notice_kind_known check (kind in (
    'new_browser', 'password_changed', 'factor_on', 'factor_off', 'passkey_added', 'passkey_removed',
    'recovery_code_used', 'recovery_codes_created')),
  constraint security_notice_detail_length check (char_length(detail) <= 60),
  constraint security_notices_member_id_fkey foreign key (member_id) references members (id)
);
create index security_notices_unread on security_notices (member_id, id) where read_at is null;
create index security_notices_by_age on security_notices (at);
comment on table security_notices is 'What happened to an account, shown to its owner until they say that they have read it.';
comment on column security_notices.detail is 'The name of a passkey, or how many recovery codes are left.';
