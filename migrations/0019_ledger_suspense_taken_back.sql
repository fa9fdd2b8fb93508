-- An operator may take money back after people decided whose it was: then it leaves the account that it went to.

alter type transfer_kind add value 'suspense_credit_reversal';
alter type transfer_kind add value 'suspense_income_reversal';
