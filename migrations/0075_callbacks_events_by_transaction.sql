-- The id of an event begins with the moment of its transaction, as that of the transaction does. So an event is found by the key of the
-- table, and every payment has one index entry less to write.

drop index if exists events_by_id;
