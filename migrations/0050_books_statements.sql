-- What operators say of our accounts with them: the files as they came, and each of their lines.

create table statement_files (
  id bigint generated always as identity,
  connection text not null,
  name text not null,
  source text not null constraint statement_file_source_known check (source in ('console', 'command', 'rail')),
  format text not null,
  mapping jsonb,
  zone text not null,
  sha256 bytea not null,
  bytes bigint not null,
  status text not null constraint statement_file_status_known check (status in ('reading', 'read', 'broken_off')),
  problem text,
  lines integer not null default 0,
  lines_new integer not null default 0,
  lines_known integer not null default 0,
  lines_bad integer not null default 0,
  opening_balance bigint,
  closing_balance bigint,
  currency text,
  imported_by text not null,
  imported_at timestamptz not null,
  finished_at timestamptz,
  constraint statement_file_id primary key (id),
  constraint statement_file_once unique (connection, sha256)
);
create index statement_files_of_connection on statement_files (connection, id desc);
comment on table statement_files is
  'Statements of operators. The same bytes are one file of a connection, however often they are imported.';
comment on column statement_files.connection is 'Whose statement it is.';
comment on column statement_files.mapping is 'How the columns were read, where the format is "mapped".';
comment on column statement_files.zone is 'The time zone of the times that name none.';
comment on column statement_files.status is
  'A file that stays at "reading" without a process that reads it is finished by importing it again.';
comment on column statement_files.problem is 'Why the reading broke off.';
comment on column statement_files.currency is 'The currency of lines that name none.';

create table statement_file_parts (
  file_id bigint not null references statement_files (id),
  number integer not null,
  content bytea not null constraint statement_file_part_size check (length(content) between 1 and 1048576),
  constraint statement_file_part_once primary key (file_id, number)
);
comment on table statement_file_parts is 'The original file in order, in the database so that a backup has it.';
create trigger statement_file_parts_append_only before update or delete or truncate on statement_file_parts
  for each statement execute function refuse_change();

create table statement_lines (
  connection text not null,
  line_key bytea not null constraint statement_line_key_size check (length(line_key) = 16),
  file_id bigint not null references statement_files (id),
  line_number integer not null,
  occurred_at timestamptz not null,
  kind text not null constraint statement_line_kind_known
    check (kind in ('payment', 'fee', 'reversal', 'settlement', 'other')),
  direction text not null constraint statement_line_direction_known check (direction in ('in', 'out')),
  state text not null constraint statement_line_state_known check (state in ('succeeded', 'failed', 'pending')),
  gross bigint not null constraint statement_line_gross_positive check (gross >= 0),
  fee bigint,
  currency text not null,
  receipt text,
  reference text,
  msisdn text,
  balance bigint,
  description text not null default '',
  raw text not null,
  read_at timestamptz not null,
  constraint statement_line_once primary key (connection, line_key)
);
create index statement_lines_by_time on statement_lines (connection, occurred_at, line_key);
create index statement_lines_by_receipt on statement_lines (connection, receipt) where receipt is not null;
create index statement_lines_of_file on statement_lines (file_id, line_number);
comment on table statement_lines is 'Each line of an operator once, whichever file it came in first.';
comment on column statement_lines.line_key is
  'What makes the line the same line in another file: see src/books/line-keys.ts.';
comment on column statement_lines.direction is 'Into or out of our account with the operator.';
comment on column statement_lines.fee is 'Null: the file does not say. Zero: the file says that there was none.';
comment on column statement_lines.receipt is 'The id of the operator.';
comment on column statement_lines.reference is 'Our id, where the file has it.';
comment on column statement_lines.msisdn is 'May be masked: 2547****678.';
comment on column statement_lines.balance is 'Of the account after the line.';
comment on column statement_lines.raw is 'The line as it was.';
create trigger statement_lines_append_only before update or delete or truncate on statement_lines
  for each statement execute function refuse_change();

create table statement_problems (
  file_id bigint not null references statement_files (id),
  line_number integer not null,
  reason text not null,
  raw text not null,
  constraint statement_problem_once primary key (file_id, line_number)
);
comment on table statement_problems is
  'Lines that could not be read, and why, when the file was last read. The original file has them.';

create table statement_mappings (
  name text not null,
  mapping jsonb not null,
  created_by text not null,
  created_at timestamptz not null,
  constraint statement_mapping_name primary key (name)
);
comment on table statement_mappings is 'How to read the columns of a CSV file, under a name that people give.';
