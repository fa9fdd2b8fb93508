// Runs a test gateway in real time, for programs that run beside the test and do not know its clock.

import type { TestGateway } from './gateway.ts';

const TICK_MS = 20;

/** Keeps the clock at the present time and the background work running until the returned function is called. */
export function runInRealTime(gateway: TestGateway): () => Promise<void> {
  const stop = new AbortController();
  gateway.ctx.clock.set(new Date());
  const running = (async () => {
    while (!stop.signal.aborted) {
      gateway.ctx.clock.set(new Date());
      await gateway.settle();
      await new Promise((resolve) => setTimeout(resolve, TICK_MS));
    }
  })();
  return async () => {
    stop.abort();
    await running;
  };
}
