-- How far the statements of a connection reach is asked for each of its currencies: the wallets of a connection have files of their own.

create index concurrently if not exists statement_lines_by_currency on statement_lines (connection, currency, occurred_at);
