// Runs the attacks named on the command line until it is told to end. A process of its own, so that the strangers' work does
// not delay the clock of the merchant.

import { ATTACKS, type Target } from './attacks.ts';

const end = new AbortController();
process.once('message', (message: { target: Omit<Target, 'millis'>; attacks: string[] }) => {
  const target: Target = { ...message.target, millis: () => Date.now() };
  process.once('message', () => end.abort());
  const running = message.attacks.map((name) => Promise.resolve(ATTACKS[name]?.(target, end.signal)));
  void Promise.all(running).then(() => process.exit(0));
});
