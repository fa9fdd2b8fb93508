-- The kinds of transfers that refunds, debts and decisions about money in suspense need. A new value of an enumeration can
-- only be used after its commit, so they have a file of their own.

alter type transfer_kind rename value 'suspense_resolution' to 'suspense_credit';
alter type transfer_kind rename value 'suspense_resolution_fee' to 'suspense_income';
alter type transfer_kind add value 'refund_reserve';
alter type transfer_kind add value 'refund';
alter type transfer_kind add value 'refund_fee';
alter type transfer_kind add value 'refund_release';
alter type transfer_kind add value 'debt';
alter type transfer_kind add value 'debt_recovery';
alter type transfer_kind add value 'debt_recovery_reversal';
alter type transfer_kind add value 'debt_write_off';
