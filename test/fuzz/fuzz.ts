// Fuzzing of the whole gateway. Stories run side by side, few at a time, so that nothing is refused for overload; each part of a
// long run has its own database. At the end of a part the books must be right.

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { HttpServer } from '../../src/platform/http.ts';
import { differencesOf } from '../books.ts';
import { createTestGateway, type TestGateway } from '../gateway.ts';
import { type Operation, operationsOf } from './api-requests.ts';
import { type Failure, runStory, STORY_REQUESTS, type StoryOptions } from './story.ts';

const SIDE_BY_SIDE = 4;
/** Stories on one database. */
const PART_STORIES = 100;
const SETTLE_ROUNDS = 20;
/** How far the clock goes on after each story: what was accepted is then decided. */
const BETWEEN_STORIES_MS = 5_000;
/** Some numbers of the sandbox never answer, in real time: the operator hangs up. */
const IMPATIENT = { operator: { silenceMs: 1_500 } };

export type FuzzOptions = {
  readonly seed: string;
  readonly requests: number;
  /** The number of the first request; stories are never cut at their beginning. */
  readonly from?: number;
  readonly onProgress?: (sent: number, failures: number) => void;
  /** A long run shows a failure when it happens. */
  readonly onFailure?: (failure: Failure) => void;
  readonly onRequest?: StoryOptions['onRequest'];
  /** For tests of the fuzzer itself: routes to find. */
  readonly plant?: (app: HttpServer) => void;
  readonly operations?: readonly Operation[];
};

export type FuzzResult = {
  readonly sent: number;
  readonly failures: readonly Failure[];
  /** How often each route was reached, as `GET /console/links/:id`. */
  readonly reached: ReadonlyMap<string, number>;
};

export async function runFuzz(options: FuzzOptions): Promise<FuzzResult> {
  const firstStory = Math.floor(((options.from ?? 1) - 1) / STORY_REQUESTS);
  const until = (options.from ?? 1) + options.requests - 1;
  const lastStory = Math.floor((until - 1) / STORY_REQUESTS);
  const failures: Failure[] = [];
  const reached = new Map<string, number>();
  let sent = 0;
  for (let story = firstStory; story <= lastStory; story += PART_STORIES) {
    const stories = Array.from(
      { length: Math.min(PART_STORIES, lastStory - story + 1) },
      (_, offset) => story + offset,
    );
    const part = await runPart(options, stories, until, reached, (progress) => {
      options.onProgress?.(sent + progress.sent, failures.length + progress.failures.length);
    });
    sent += part.sent;
    failures.push(...part.failures);
  }
  return { sent, failures, reached };
}

type Progress = { sent: number; failures: Failure[] };

async function runPart(
  options: FuzzOptions,
  stories: readonly number[],
  until: number,
  reached: Map<string, number>,
  onProgress: (progress: Progress) => void,
): Promise<Progress> {
  const progress: Progress = { sent: 0, failures: [] };
  const note = (failures: readonly Failure[]) => {
    progress.failures.push(...failures);
    for (const failure of failures) options.onFailure?.(failure);
  };
  const fail = (what: string) => {
    const number = Math.min(until, ((stories.at(-1) ?? 0) + 1) * STORY_REQUESTS);
    note([{ number, what, request: 'the whole part', answer: '' }]);
  };
  const onRejection = (error: unknown) => fail(`an error nobody handled: ${describeError(error)}`);
  process.on('unhandledRejection', onRejection);
  const gateway = await createTestGateway({ BRAND_NAME: 'Fuzzed' }, IMPATIENT, (app) => watch(app, options, reached));
  try {
    const left = [...stories];
    const operations = [...operationsOf(readApi()), ...(options.operations ?? [])];
    await Promise.all(
      Array.from({ length: SIDE_BY_SIDE }, async () => {
        for (let story = left.shift(); story !== undefined; story = left.shift()) {
          const { onRequest } = options;
          const result = await runStory(gateway, {
            seed: options.seed,
            story,
            operations,
            until,
            ...(onRequest ? { onRequest } : {}),
          });
          progress.sent += result.sent;
          note(result.failures);
          await settle(gateway);
          onProgress(progress);
        }
      }),
    );
    for (const { sentence, where } of await differencesOf(gateway.ctx))
      fail(`the books are wrong: ${sentence} ${where}`);
  } finally {
    await gateway.close();
    process.off('unhandledRejection', onRejection);
  }
  return progress;
}

function watch(app: HttpServer, options: FuzzOptions, reached: Map<string, number>): void {
  app.addHook('onResponse', (request, _reply, done) => {
    const route = `${request.method} ${request.routeOptions.url ?? '?'}`;
    reached.set(route, (reached.get(route) ?? 0) + 1);
    done();
  });
  app.addHook('onError', (_request, reply, error, done) => {
    // What a 500 hides from strangers is what a report needs.
    if (!('code' in error && 'status' in error))
      void reply.header('x-fuzz-error', encodeURIComponent(describeError(error)).slice(0, 3_000));
    done();
  });
  options.plant?.(app);
}

/** Payments go on as far as they can; callbacks to strange addresses are not sent. */
async function settle({ services, ctx }: TestGateway): Promise<void> {
  ctx.clock.advance(BETWEEN_STORIES_MS);
  await services.payments.engine.idle();
  for (let round = 0; round < SETTLE_ROUNDS; round++) {
    const handled = (await services.payments.engine.pass()) + ((await services.operator?.runDueOutcomes()) ?? 0);
    await services.payments.engine.idle();
    if (handled + (await services.payments.inbox.pass()) === 0) return;
    await services.payments.inbox.idle();
  }
}

const readApi = () =>
  JSON.parse(readFileSync(resolve(import.meta.dirname, '../../docs/openapi.json'), 'utf8')) as Parameters<
    typeof operationsOf
  >[0];

const describeError = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error);

/** A failure with the command that repeats it: its story from the beginning, up to this request. */
export function describeFailure(seed: string, failure: Failure): string {
  const { number, what, request, answer } = failure;
  const story = Math.floor((number - 1) / STORY_REQUESTS) * STORY_REQUESTS + 1;
  return [
    `Request ${number}: ${what}`,
    request,
    `  → ${answer.replace(/"x-fuzz-error":"([^"]*)"/, (_, text: string) => `\n${decodeURIComponent(text)}\n`)}`,
    `Replay (requests ${story} to ${number}, on which it depends): npm run fuzz -- --seed ${seed} --request ${number}`,
  ].join('\n');
}
