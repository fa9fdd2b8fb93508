-- The time zone of a holder: its days begin and end there, and its people read times in it.

alter table holders add column time_zone text not null default 'UTC';
alter table holders add constraint holder_time_zone_length check (char_length(time_zone) between 1 and 64);

comment on column holders.time_zone is
  'A name of the IANA database, such as Africa/Nairobi. Days of reports begin at its midnight.';
