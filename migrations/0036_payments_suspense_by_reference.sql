-- A success without a receipt is looked up among the payments that are in suspense under the same account reference.

create index incoming_payments_in_suspense on incoming_payments (rail, account_reference) where outcome = 'suspense';
