// Runs the attacks that it is told, until it is told to end. A process of its own, so that the strangers' work does not delay the
// clock of the merchant.

import { ATTACKS, drawLogos, type Target } from './attacks.ts';

export type StrangersOrder = { target: Omit<Target, 'millis' | 'pictures'>; attacks: string[] };

const end = new AbortController();
process.once('message', (order: StrangersOrder) => void attack(order));

async function attack({ target, attacks }: StrangersOrder): Promise<void> {
  const pictures = attacks.includes('logos') ? await drawLogos() : [];
  process.once('message', () => end.abort());
  const running = attacks.map((name) =>
    Promise.resolve(ATTACKS[name]?.({ ...target, pictures, millis: () => Date.now() }, end.signal)),
  );
  process.send?.('attacking');
  await Promise.all(running);
  process.exit(0);
}
