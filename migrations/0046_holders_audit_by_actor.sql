-- The audit log of one person, without reading everybody else's entries.

create index audit_log_by_actor on audit_log (holder_id, actor, id desc);
