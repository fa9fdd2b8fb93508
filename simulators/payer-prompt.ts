// A prompt on the payer's phone that ends after its time.

import type { SimulatorContext } from './frame.ts';
import type { Decision, Prompt } from './phones.ts';

/** How often the time of an open prompt is looked at. Nothing is planned any more once the payer has decided. */
const CHECK_EVERY_MS = 50;

/** Rings, and calls `decided` once: with the payer's decision, or with `ignore` when the time is over. */
export function askPayer(
  context: SimulatorContext,
  prompt: Omit<Prompt, 'id' | 'openedAt'>,
  seconds: number,
  decided: (decision: Decision) => void,
): Prompt {
  const endsAt = context.now() + seconds * 1000;
  let isOpen = true;
  const end = (decision: Decision) => {
    if (!isOpen) return;
    isOpen = false;
    decided(decision);
  };
  const rung = context.phones.ring(prompt, (decision) => {
    // A person who presses "ignore" on the test phone lets the time run out.
    if (decision !== 'ignore') end(decision);
  });
  const watch = () => {
    if (!isOpen) return;
    const left = endsAt - context.now();
    if (left > 0) {
      context.after(Math.min(left, CHECK_EVERY_MS), watch);
      return;
    }
    context.phones.close(rung.id);
    end('ignore');
  };
  watch();
  return rung;
}
