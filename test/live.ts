// A test gateway that lives on real time, for programs that run beside the test and know nothing of its clock.

import type { TestGateway } from './gateway.ts';

const TICK_MS = 20;

/** Keeps the clock on the present and the background work going until the answer is called. */
export function runLive(world: TestGateway): () => Promise<void> {
  const stop = new AbortController();
  world.ctx.clock.set(new Date());
  const life = (async () => {
    while (!stop.signal.aborted) {
      world.ctx.clock.set(new Date());
      await world.settle();
      await new Promise((resolve) => setTimeout(resolve, TICK_MS));
    }
  })();
  return async () => {
    stop.abort();
    await life;
  };
}
