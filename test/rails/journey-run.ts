// npm run rails-journey: the whole journey, 5,000 payments with 5 % of every fault and three kills. `--payments 500` for fewer.

import { parseArgs } from 'node:util';
import { everyFault, openJourney } from './journey.ts';
import { compareBooks, payEverywhere, payMany, settleAll } from './journey-payments.ts';

const { values } = parseArgs({
  options: {
    payments: { type: 'string', default: '5000' },
    seed: { type: 'string', default: '1' },
    share: { type: 'string', default: '0.05' },
  },
});
const count = Number(values.payments);
const kills = [1, 2, 3].map((quarter) => Math.floor((count * quarter) / 4));
const say = (sentence: string) => console.log(`${new Date().toISOString().slice(11, 19)} ${sentence}`);

const journey = await openJourney(Number(values.seed));
try {
  await payEverywhere(journey);
  say('every method: a collection, a payout and a refund');
  await journey.plan(everyFault(Number(values.share)));
  const pages = await payMany(journey, count, async (index) => {
    if (!kills.includes(index)) return;
    await journey.killGateway();
    say(`killed at payment ${index}`);
  });
  say(`${count} payments ordered`);
  await journey.plan([]);
  await settleAll(journey, pages);
  const problems = await compareBooks(journey);
  for (const problem of problems) say(problem);
  say(problems.length === 0 ? 'the books agree' : `${problems.length} differences`);
  process.exitCode = problems.length === 0 ? 0 : 1;
} finally {
  await journey.close();
}
