// An upgrade without a stop, proven: npm run upgrade-check [-- --seconds 3] [--journeys <pattern>]. The version before is the commit
// of migrations/released.json. Two things are shown, and the exit code is 1 when one of them fails:
//
//   journeys   the tests of the version before, its own code, on a database that this version has migrated
//   rolling    two gateways of the version before take requests without a pause while this version checks and applies its
//              migrations, and are replaced one after the other; where the version before can, also back and forth again

import { randomBytes } from 'node:crypto';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createEmptyDatabase, createTemplate, dropDatabase, startTestPostgres } from '../database.ts';
import { reservePort } from '../ports.ts';
import { readReleased } from './released.ts';
import { startTraffic, type Traffic } from './traffic.ts';
import { checkOut, type Gateway, run, type Settings, startGateway, THIS_VERSION, type Version } from './versions.ts';

/**
 * Money, callbacks, people, pages and the walls between holders. Tests of the schema itself belong to their own version, and so do
 * those of the ledger that wait for a block to be sealed: what the version before seals on the new schema is dropped (migration 67).
 */
const JOURNEYS = [
  'test/{journeys,payouts,refunds,four-eyes,isolation,row-security,event-order,people,console,payment-rows}.test.ts',
  'src/callbacks/*.test.ts',
  'src/ledger/{ledger,postings}.test.ts',
];
/** They type commands, which a version from before a newer database was taken refuses. */
const WITH_COMMANDS = ['test/people.test.ts'];
/** A test that waits for something that the new schema never does is named, instead of waited for. */
const JOURNEY_TIMEOUT_MS = 600_000;

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '3' },
    journeys: { type: 'string', multiple: true, default: JOURNEYS },
  },
});
const phaseMs = Number(values.seconds) * 1000;
const released = readReleased();
const problems: string[] = [];

function expect(holds: boolean, problem: string): void {
  if (!holds) problems.push(problem);
}

function say(sentence: string): void {
  console.log(sentence);
}

/** The tests of the version before clone their databases from a template that this version made. */
async function runJourneys(before: Version, serverUrl: string): Promise<void> {
  const template = await createTemplate(serverUrl);
  const leftOut = released.starts_on_newer ? [] : WITH_COMMANDS;
  const files = globSync(values.journeys, { cwd: before.folder, exclude: leftOut }).sort();
  const settings = { TEST_POSTGRES_URL: serverUrl, TEST_POSTGRES_TEMPLATE: template };
  const { code, text } = await run(
    before,
    ['--test', '--test-reporter=spec', '--test-concurrency=2', `--test-timeout=${JOURNEY_TIMEOUT_MS}`, ...files],
    settings,
  );
  const count = (name: string) => Number(new RegExp(`${name} (\\d+)`).exec(text)?.[1] ?? 0);
  say(
    `journeys  ${files.length} files of the version before on the new schema: ${count('pass')} passed, ${count('fail')} failed`,
  );
  if (code !== 0) say(text.slice(text.indexOf('failing tests')));
  expect(code === 0 && count('pass') > 0, 'tests of the version before fail on the new schema');
  await dropDatabase(serverUrl, template);
}

async function rollForward(
  before: Version,
  traffic: Traffic,
  start: (version: Version) => Promise<Gateway>,
): Promise<void> {
  const replace = async (version: Version) => {
    const [oldest] = traffic.rotation;
    const next = await start(version);
    traffic.rotation.push(next);
    if (!oldest) return;
    await traffic.drain(oldest);
    const code = await oldest.stop();
    expect(code === 0, `${oldest.version.name} ended with ${code}`);
    await pause(phaseMs);
    say(`rolling   ${oldest.version.name} replaced by ${version.name}; ${traffic.failures.length} failed requests`);
  };
  for (const version of [THIS_VERSION, THIS_VERSION]) await replace(version);
  if (released.starts_on_newer) for (const version of [before, THIS_VERSION]) await replace(version);
  else {
    const started = await start(before).catch((error: Error) => error);
    const refuses = started instanceof Error && started.message.includes('newer than this version');
    if (!(started instanceof Error)) await started.stop();
    expect(refuses, 'the version before starts on the new schema; record that in migrations/released.json');
    say('rolling   the version before does not start again: it is from before a newer database was taken');
  }
}

async function runRolling(before: Version, settings: Settings): Promise<void> {
  const simbi = (version: Version, ...args: string[]) => run(version, ['src/cli.ts', ...args], settings);
  const done = async (version: Version, ...args: string[]) => {
    const { code, text } = await simbi(version, ...args);
    say(`rolling   ${version.name}: simbi ${args.join(' ')} → ${code}`);
    if (code !== 0) say(text);
    expect(code === 0, `${version.name}: simbi ${args.join(' ')} ended with ${code}: ${text}`);
  };
  await done(before, 'migrate');
  const start = async (version: Version) => startGateway(version, { ...settings, PORT: String(await reservePort()) });
  const first = await start(before);
  const demo = JSON.parse(readFileSync(join(settings.DATA_DIR ?? '', 'demo.json'), 'utf8')) as Record<string, string>;
  const merchant = { clientId: demo.client_id ?? '', secretKey: demo.secret_key ?? '', title: demo.sender ?? '' };
  const traffic = await startTraffic(merchant, [first, await start(before)]);
  try {
    await pause(phaseMs);
    await done(THIS_VERSION, 'migrate', '--check');
    await done(THIS_VERSION, 'migrate');
    await pause(phaseMs);
    say(`rolling   two of the version before on the new schema; ${traffic.failures.length} failed requests`);
    await rollForward(before, traffic, start);
  } finally {
    const ended = await traffic.finish();
    const sent = [...traffic.sent].map(([name, count]) => `${count} to ${name}`).join(', ');
    say(`rolling   ${sent}; ${traffic.failures.length} failed`);
    say(
      `rolling   ${ended.collections} collections, ${ended.refunds} refunds, ${ended.callbacks} callbacks, ${ended.doubled} doubled`,
    );
    for (const failure of traffic.failures.slice(0, 10)) say(`          ${failure}`);
    expect(traffic.failures.length === 0, `${traffic.failures.length} requests failed`);
    expect(ended.callbacks === ended.collections && ended.doubled === 0, 'callbacks are missing or doubled');
    for (const gateway of traffic.rotation) await gateway.stop();
  }
  await done(THIS_VERSION, 'ledger', 'verify');
}

const server = await startTestPostgres();
const folder = mkdtempSync(join(tmpdir(), 'simbi-upgrade-'));
// Before anything asks for a database: helpers of tests would start a server of their own.
process.env.TEST_POSTGRES_URL = server.url;
const before = checkOut(released.commit);
try {
  say(`before    ${released.commit.slice(0, 12)}, which ends at migration ${released.migration}`);
  const database = await createEmptyDatabase();
  await runRolling(before, {
    DATABASE_URL: database.url,
    DATA_DIR: folder,
    MODE: 'sandbox',
    MASTER_KEY: randomBytes(32).toString('hex'),
    LOG_LEVEL: 'error',
    RATE_LIMIT_PER_SECOND: '1000',
  });
  await runJourneys(before, server.url);
} finally {
  before.remove();
  rmSync(folder, { recursive: true, force: true });
  await server.stop();
}
for (const problem of problems) console.error(problem);
process.exitCode = problems.length > 0 ? 1 : 0;
