// Runs the stories of places in lanes, each with a database and two processes of its own.

import { compareWithOperator, createCompany, createSetup, type Setup, verifyByCommand } from './setup.ts';
import { strikeAt } from './stories.ts';

/** A place can be missed: the other process was faster. The next time both are to die there. */
const TRIES = 4;

export type Strike = { place: string; both: boolean };
export type Strikes = { struck: Map<string, number>; failures: string[] };

export async function runPlaces(
  strikes: readonly Strike[],
  lanes: number,
  onStrike: (done: number) => void = () => undefined,
): Promise<Strikes> {
  const waiting = [...strikes];
  const result: Strikes = { struck: new Map(), failures: [] };
  let done = 0;
  async function lane(): Promise<void> {
    const setup = await createSetup();
    try {
      for (let next = waiting.shift(); next && result.failures.length === 0; next = waiting.shift()) {
        await strikeOnce(setup, next, result);
        onStrike(++done);
      }
      await verifyByCommand(setup);
    } catch (error) {
      result.failures.push(String(error instanceof Error ? error.stack : error));
    } finally {
      await setup.close();
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane));
  return result;
}

async function strikeOnce(setup: Setup, { place, both }: Strike, { struck, failures }: Strikes): Promise<void> {
  try {
    for (let tries = 0, died = 0; tries < TRIES && died === 0; tries++) {
      died = await strikeAt(setup, await createCompany(setup), place, both || tries > 0);
      struck.set(place, (struck.get(place) ?? 0) + died);
      await compareWithOperator(setup);
    }
  } catch (error) {
    failures.push(`${place}${both ? ' (both)' : ''}: ${String(error instanceof Error ? error.stack : error)}`);
  }
}
