// The HTTP routes for events, with a bearer token: the feed, resend and replay.

import Type from 'typebox';
import { requireToken } from '../holders/authentication.ts';
import { answerOf, moment, nullable } from '../platform/api-schemas.ts';
import type { Context } from '../platform/context.ts';
import type { HttpServer } from '../platform/http.ts';
import type { JsonValue } from '../platform/strict-json.ts';
import { isCalendarDay, isMoment } from '../platform/time-zones.ts';
import { convertQuery, createReader, EXPECTED } from '../platform/validation.ts';
import { listEvents, MAX_FEED_LIMIT } from './feed.ts';
import { replayFailed, resendEvent } from './resend.ts';

const tags = ['Callbacks'];
const security = [{ bearerAuth: [] }];

const FeedQuery = Type.Object({
  after: Type.Optional(
    Type.String({ description: 'Id of the last event you have seen. Without it the feed begins with the oldest.' }),
  ),
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: MAX_FEED_LIMIT, description: 'Events in one answer; 100 by default.' }),
  ),
});

const EventParams = Type.Object({ id: Type.String({ description: 'Id of the event, evt_…' }) });

const ReplayRequest = Type.Object(
  {
    since: Type.Refine(
      Type.String({
        pattern: '^\\d{4}-\\d{2}-\\d{2}',
        description:
          'Events from this moment on that were never delivered are sent again. A date with time and zone, or a day, which begins at ' +
          'midnight UTC.',
        [EXPECTED]: 'a moment with its zone such as 2026-03-02T09:00:00Z',
      }),
      (text) => isMoment(text) || isCalendarDay(text),
    ),
  },
  { examples: [{ since: '2026-03-01T00:00:00Z' }] },
);

const feedQuery = createReader(FeedQuery);
const replayRequest = createReader(ReplayRequest);

const FeedAnswer = Type.Object(
  {
    success: Type.Boolean(),
    message: Type.String(),
    data: Type.Array(
      Type.Object({
        id: Type.String({ description: 'The same in the callback: evt_…' }),
        type: Type.String({ examples: ['collection.success'] }),
        created_at: moment('When it happened.'),
        data: Type.Object(
          {},
          { additionalProperties: true, description: 'The transaction as status v3 shows it, or the refund.' },
        ),
      }),
    ),
    meta: Type.Object({
      next_after: nullable(Type.String(), 'Give it as `after` next time.'),
      restored: Type.Optional(
        Type.Literal(true, {
          description:
            'The gateway was restored from a backup since `after`. The events begin where the backup ended; ' +
            'some may repeat, with the same ids.',
        }),
      ),
    }),
  },
  { description: 'Success.' },
);
const EXAMPLE_EVENT = 'evt_01JNAFQ7M0E9SRC45Y6Z8XKBDT';
const ResendAnswer = answerOf(Type.Object({ id: Type.String() }), 'The event is sent again.', { id: EXAMPLE_EVENT });
const ReplayAnswer = answerOf(
  Type.Object({ replayed: Type.Integer({ description: 'How many events are sent again.' }) }),
  '3 events are sent again.',
  { replayed: 3 },
);

export function callbackRoutes(app: HttpServer, ctx: Context): void {
  listRoute(app, ctx);
  resendRoute(app, ctx);
  replayRoute(app, ctx);
}

function listRoute(app: HttpServer, ctx: Context): void {
  app.get(
    '/api/v3/events',
    {
      schema: {
        summary: 'List events',
        description: 'The events that callbacks carry, in one fixed order without gaps. Events are kept for 90 days.',
        tags,
        operationId: 'listEvents',
        querystring: FeedQuery,
        security,
        response: { 200: FeedAnswer },
      },
      config: { problems: { invalid_params: {}, event_not_found: {} } },
    },
    async (request, reply) => {
      const { integration, own } = await requireToken(ctx, request, reply);
      const { after, limit } = feedQuery.require(convertQuery(FeedQuery, request.query));
      const page = await listEvents(own.db, integration.holderId, {
        ...(after ? { after } : {}),
        ...(limit === undefined ? {} : { limit }),
      });
      return {
        success: true,
        message: 'Events retrieved.',
        data: page.events.map((event) => JSON.parse(event.body.toString('utf8')) as JsonValue),
        meta: { next_after: page.nextAfter, ...(page.restored ? { restored: true } : {}) },
      };
    },
  );
}

function resendRoute(app: HttpServer, ctx: Context): void {
  app.post(
    '/api/v3/events/:id/resend',
    {
      schema: {
        summary: 'Send an event again',
        description: 'Whether it was delivered before or not; under the same id.',
        tags,
        operationId: 'resendEvent',
        params: EventParams,
        security,
        response: { 200: ResendAnswer },
      },
      config: {
        problems: {
          event_not_found: {},
          invalid_params: {
            message: 'This event has no callback address, so there is nowhere to send it. It is in the feed.',
          },
        },
      },
    },
    async (request, reply) => {
      const { integration, own } = await requireToken(ctx, request, reply);
      const { id } = request.params as { id: string };
      await resendEvent(own, integration.holderId, id);
      return { success: true, message: 'The event is sent again.', data: { id } };
    },
  );
}

function replayRoute(app: HttpServer, ctx: Context): void {
  app.post(
    '/api/v3/events/replay',
    {
      schema: {
        summary: 'Send all failed events again',
        description: 'Those that were never delivered, since a moment.',
        tags,
        operationId: 'replayEvents',
        body: ReplayRequest,
        security,
        response: { 200: ReplayAnswer },
      },
      config: { problems: { invalid_params: {} } },
    },
    async (request, reply) => {
      const { integration, own } = await requireToken(ctx, request, reply);
      const { since } = replayRequest.require(request.body);
      const replayed = await replayFailed(own, integration.holderId, new Date(since));
      const message = replayed === 1 ? '1 event is sent again.' : `${replayed} events are sent again.`;
      return { success: true, message, data: { replayed } };
    },
  );
}
