// One HTTP request on a pool, bounded in time and in size. It uses undici's bare dispatch: the stream and the signal that
// `request` creates for every call cost more than the exchange itself.

import type { Dispatcher } from 'undici';

export type ExchangeLimits = {
  /** For everything: waiting for a connection, sending, and the answer to its last byte. */
  timeoutMs: number;
  maxAnswerBytes: number;
};

export type ExchangeAnswer = {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  /** As received, never decompressed; at most `maxAnswerBytes`. */
  body: Buffer;
  /** The answer was longer than `maxAnswerBytes`; the connection was closed there. */
  truncated: boolean;
};

/** The deadline passed. `status` is 0 unless the answer had begun. */
export class ExchangeTimeoutError extends Error {
  override readonly name = 'ExchangeTimeoutError';
  readonly status: number;
  constructor(status: number) {
    super('timed out');
    this.status = status;
  }
}

/** The answer, or a rejection with the network's error or an `ExchangeTimeoutError`. */
export function exchangeBounded(
  pool: Pick<Dispatcher, 'dispatch'>,
  request: Dispatcher.DispatchOptions,
  limits: ExchangeLimits,
): Promise<ExchangeAnswer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    let status = 0;
    let headers: ExchangeAnswer['headers'] = {};
    let running: Dispatcher.DispatchController | undefined;
    let isOver = false;
    // One deadline for the whole exchange: undici's own time-outs start again with every byte received.
    const deadline = setTimeout(() => giveUp(new ExchangeTimeoutError(status)), Math.max(limits.timeoutMs, 0));

    function end(settle: () => void): void {
      if (isOver) return;
      isOver = true;
      clearTimeout(deadline);
      settle();
    }

    function giveUp(error: Error): void {
      end(() => reject(error));
      running?.abort(error);
    }

    function answer(truncated: boolean): void {
      const [first] = chunks;
      const body = chunks.length === 1 && first ? first : Buffer.concat(chunks);
      end(() => resolve({ status, headers, body, truncated }));
    }

    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(controller) {
        running = controller;
        // The deadline passed before a connection was free: the request is not sent at all.
        if (isOver) controller.abort(new ExchangeTimeoutError(0));
      },
      onResponseStart(_, code, received) {
        status = code;
        headers = received;
      },
      onResponseData(controller, chunk) {
        if (isOver) return;
        const room = limits.maxAnswerBytes - bytes;
        chunks.push(chunk.length > room ? chunk.subarray(0, room) : chunk);
        bytes += chunk.length;
        if (bytes <= limits.maxAnswerBytes) return;
        answer(true);
        controller.abort(new Error('The answer is too large.'));
      },
      onResponseEnd: () => answer(false),
      onResponseError: (_, error) => end(() => reject(error)),
    };
    try {
      pool.dispatch(request, handler);
    } catch (error) {
      end(() => reject(error instanceof Error ? error : new Error(String(error))));
    }
  });
}
