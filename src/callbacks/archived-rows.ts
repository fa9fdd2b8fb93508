// Callbacks of a month, for an archive: events by the time they were written and attempts by the time they were made, so that a late
// event is in the month in which it happened. Both are kept for ninety days, so reading all of them for one month is little work.

import { type ArchivedRows, inMonth } from '../platform/months.ts';
import { unpackBody } from './packed-body.ts';

export const EVENT_ROWS: ArchivedRows = {
  name: 'events',
  query: (month) => `
    select holder_id, position, id, transaction_id, type, sequence, integration_id, url, encode(body, 'hex') as body, created_at
    from events where ${inMonth('created_at', month)} order by holder_id, position`,
  readable: { body: (hex) => unpackBody(Buffer.from(hex, 'hex')).toString('utf8') },
};

export const ATTEMPT_ROWS: ArchivedRows = {
  name: 'callback_attempts',
  query: (month) => `
    select holder_id, event_id, at, number, delivered, signature, status, answer_headers, answer_start, latency_ms, error
    from callback_attempts where ${inMonth('at', month)} order by holder_id, event_id, at, number, signature`,
};
