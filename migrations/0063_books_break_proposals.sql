-- What people decide about breaks: one proposes for many at once, another one approves, and each break has its result.

create table break_proposals (
  id uuid not null,
  action text not null constraint break_proposal_action_known
    check (action in ('outcome', 'suspense', 'fee', 'other_day', 'explain')),
  reason text not null constraint break_proposal_reason_length check (char_length(reason) between 3 and 500),
  breaks integer not null constraint break_proposal_size check (breaks between 1 and 200),
  status text not null default 'proposed' constraint break_proposal_status_known check (status in ('proposed', 'approved', 'rejected')),
  proposed_by text not null,
  proposed_by_member bigint not null,
  proposed_at timestamptz not null,
  decided_by text,
  decided_by_member bigint,
  decided_at timestamptz,
  constraint break_proposal_id primary key (id),
  constraint break_proposal_by_two_people check (status <> 'approved' or decided_by_member <> proposed_by_member),
  constraint break_proposal_decision_whole check (
    num_nulls(decided_by, decided_by_member, decided_at) = case when status = 'proposed' then 3 else 0 end)
);
create index break_proposals_waiting on break_proposals (proposed_at, id) where status = 'proposed';
comment on table break_proposals is
  'What one person proposes about breaks, and another one approves. Nothing happens before that.';
comment on column break_proposals.action is
  'outcome: the line becomes evidence of its payment; suspense: its money is held with a case; the others resolve and move nothing.';
create trigger break_proposals_stay before delete or truncate on break_proposals
  for each statement execute function refuse_change();
create trigger break_proposals_decided_once before update on break_proposals
  for each row when (old.status <> 'proposed'
    or (old.action, old.reason, old.breaks, old.proposed_by, old.proposed_by_member, old.proposed_at)
    is distinct from (new.action, new.reason, new.breaks, new.proposed_by, new.proposed_by_member, new.proposed_at))
  execute function refuse_change();

create table break_proposal_items (
  proposal_id uuid not null,
  break_id uuid not null,
  result text constraint break_proposal_result_known check (result in ('applied', 'resolved', 'unchanged', 'gone', 'rejected')),
  done_at timestamptz,
  constraint break_proposal_item_once primary key (proposal_id, break_id),
  constraint break_proposal_exists foreign key (proposal_id) references break_proposals (id),
  constraint break_proposal_break_exists foreign key (break_id) references breaks (id),
  constraint break_proposal_result_whole check ((result is null) = (done_at is null))
);
create unique index break_proposed_once on break_proposal_items (break_id) where result is null;
create index break_proposal_items_of_break on break_proposal_items (break_id);
comment on table break_proposal_items is 'The breaks of a proposal, and what became of each. A break waits in one proposal at a time.';
comment on column break_proposal_items.result is
  'Null: not decided, or not done yet. gone: the break had ended meanwhile. unchanged: the line changed nothing; its payment has a case.';
create trigger break_proposal_items_stay before delete or truncate on break_proposal_items
  for each statement execute function refuse_change();
create trigger break_proposal_items_done_once before update on break_proposal_items
  for each row when (old.result is not null) execute function refuse_change();
