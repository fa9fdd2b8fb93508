// How closes are hashed, as parts of SQL statements: signing and verifying use the same text. None of it may ever change, because
// signed days depend on it.

const micros = (column: string) => `(extract(epoch from ${column}) * 1000000)::bigint`;

/** The hash before the first close of a connection and currency. */
export const FIRST_HASH = `decode(repeat('00', 32), 'hex')`;

/**
 * Over the lines that counted on the day of a close, of the given name, when it was signed, and what each was matched with then. Those of
 * a statement that was withdrawn later counted too: the day was reopened first, and its row stays in the chain.
 */
export const contentHash = (close: string) => `(
  select sha256(coalesce(string_agg(m.line_key || m.line_seal || int8send(m.moved) || int8send(m.fee)
      || case when m.matched_at <= ${close}.signed_at then m.match_seal else '' end, ''::bytea order by m.line_key), ''))
  from (
    select connection, currency, day, seen_at, line_key, line_seal, moved, fee, matched_at, match_seal from statement_matches
    union all
    select w.connection, w.currency, w.day, w.seen_at, w.line_key, w.line_seal, w.moved, w.fee, w.matched_at, w.match_seal
    from withdrawn_matches w join statement_withdrawals s on s.id = w.withdrawal_id and s.withdrawn_at > ${close}.signed_at
  ) m
  where m.connection = ${close}.connection and m.currency = ${close}.currency and m.day = ${close}.day
    and m.seen_at <= ${close}.signed_at)`;

/** Over a row `c`, the hash of the row before it, and what explained its difference. */
export const CLOSE_HASH = `sha256(c.previous_hash || convert_to(concat_ws('|', c.connection, c.currency, c.number, c.kind, c.day,
  ${micros('c.from_at')}, ${micros('c.to_at')}, c.opening_theirs, c.lines_in, c.lines_out, c.fees, c.closing_theirs, c.balance_source,
  c.opening_ours, c.closing_ours, c.lines, c.late_lines, c.reason, encode(c.content_hash, 'hex'), c.signed_by,
  ${micros('c.signed_at')}, c.items), 'UTF8'))`;

/** The items of a close as the text that is hashed. */
export const closeItems = (
  close: string,
) => `coalesce((select string_agg(concat_ws(',', i.place, i.kind, coalesce(i.break_id::text, ''), i.lines,
    i.difference), ';' order by i.place)
  from close_items i where i.connection = ${close}.connection and i.currency = ${close}.currency and i.number = ${close}.number), '')`;
