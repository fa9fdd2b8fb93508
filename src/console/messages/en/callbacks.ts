// English: callbacks and the request log.

import { plural } from './plural.ts';

export const callbacks = {
  callbacks: {
    lead: 'Events sent to your server, and its responses. Failed deliveries are retried for 30 days.',
    none: 'No callbacks yet',
    noneText: 'When a payment ends, a signed message is sent to your callback URL. Set the URL in an integration.',
    noneYet: 'No callbacks yet.',
    event: 'Event',
    url: 'URL',
    attemptCount: 'Attempts',
    attempts: (count: number) => plural(count, 'attempt', 'attempts'),
    response: 'Response',
    body: 'Request body',
    feedOnly: 'no URL; in the event feed',
    next: 'Next attempt',
    resend: 'Resend',
    replay: 'Resend failed callbacks',
    replayText: 'Every callback since this day that was not delivered is sent again.',
    replaySince: 'Since',
    resume: 'Resume callbacks',
    paused: (url: string) => `${url} answered 410 Gone. Callbacks to it are paused since`,
    healthy: 'All callback URLs are working.',
    viewTransaction: 'View transaction',
    states: {
      waiting: 'Waiting',
      retrying: 'Retrying',
      paused: 'Paused',
      delivered: 'Delivered',
      given_up: 'Given up',
      feed_only: 'Event feed only',
    },
  },
  requests: {
    unverified: 'Not verified',
    unverifiedText:
      'Refused before the signature was verified, so anyone who knows the client_id may have sent them. A few are kept for a week.',
    debug: 'Check a signature',
    lead: 'API requests of your integrations in the last 30 days. Request bodies are not stored.',
    off: 'The request log is turned off (REQUEST_LOG=off).',
    none: 'No requests yet',
    noneText: 'Requests of your integrations appear here about a second after the response.',
    request: 'Request',
    result: 'Result',
    accepted: 'Accepted',
    rejected: 'Rejected',
    serverError: 'Server error',
    code: 'Error code',
    duration: 'Duration',
  },
};
