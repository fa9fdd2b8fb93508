-- Payment links, and the logos they show.

create table logos (
  hash bytea primary key constraint logo_hash_length check (octet_length(hash) = 32),
  webp bytea not null constraint logo_size_bounded check (octet_length(webp) between 1 and 65536),
  created_at timestamptz not null
);
comment on table logos is 'Logos of payment links, under the SHA-256 of their bytes: the same picture is stored once and never changes.';

create table payment_links (
  holder_id bigint not null references holders,
  id uuid not null,
  integration_id bigint references integrations,
  business_name text constraint link_business_name_length check (char_length(business_name) between 1 and 120),
  item_name text constraint link_item_name_length check (char_length(item_name) between 1 and 120),
  callback_url text constraint link_callback_url_http check (callback_url ~* '^https?://' and char_length(callback_url) <= 2048),
  redirection_url text constraint link_redirection_url_http
    check (redirection_url ~* '^https?://' and char_length(redirection_url) <= 2048),
  currency text not null constraint link_currency_form check (currency ~ '^[A-Z]{3}$'),
  amount bigint constraint link_amount_positive check (amount > 0),
  logo_hash bytea references logos,
  country_id smallint not null,
  currency_country_id smallint,
  first_name text constraint link_first_name_length check (char_length(first_name) between 1 and 120),
  last_name text constraint link_last_name_length check (char_length(last_name) between 1 and 120),
  email text constraint link_email_length check (char_length(email) between 3 and 254),
  phone text constraint link_phone_digits check (phone ~ '^[0-9]{7,15}$'),
  accent_colour text constraint link_accent_colour_form check (accent_colour ~ '^#[0-9a-f]{6}$'),
  expires_at timestamptz,
  reusable boolean not null default false,
  status text not null default 'active' constraint link_status_known
    check (status in ('active', 'paid', 'expired', 'disabled')),
  payments_count bigint not null default 0 constraint link_payments_counted check (payments_count >= 0),
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint payment_link_id primary key (holder_id, id)
);
comment on table payment_links is 'Payment links. A link past expires_at reads as expired; no job writes that status.';
comment on column payment_links.id is
  'UUIDv7 that carries the holder. Its public form is the address of the link: anyone who has it can pay.';
comment on column payment_links.integration_id is 'Null: made by a person, in the console or on the command line.';
comment on column payment_links.amount is 'Null: the payer types the amount.';
comment on column payment_links.country_id is 'The country of the merchant.';
comment on column payment_links.currency_country_id is 'The country of the payer. Null: the payer chooses it on the page.';
comment on column payment_links.phone is 'Digits with the dial code.';
