// Every command as scripts depend on it: its arguments and options, its help, the output of --json, its exit code.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, mock, test } from 'node:test';
import type { Command } from 'commander';
import { Webhook } from 'standardwebhooks';
import { createProgram, runCommand } from '../src/cli.ts';
import type { Terminal } from '../src/commands/terminal.ts';
import { DAY_MS } from '../src/platform/clock.ts';
import { parseCsv } from '../src/platform/csv.ts';
import { withClient } from '../src/platform/migrate.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { reservePort } from './ports.ts';
import { type RunningProcess, type Settings, simbi } from './processes.ts';

/** Every command. Scripts depend on them, so a change of a line must be a decision. Indented lines continue the one above. */
const TABLE = `
simbi [-V, --version]
up [--json] [-v, --verbose]
status [--json] [--env]
doctor [--json]
collect <amount> <currency> [--json] [--phone <number>] [--country <name or id>] [--method <name>] [--reference <text>]
  [--callback-url <url>] [--idempotency-key <key>] [--wait [seconds]]
transaction <ref> [--json] [--wait [seconds]] [--token <digits>]
balance [--json] [--currency <code>]
link
link create <currency> [--json] [--amount <amount>] [--country <name or id>] [--payer-country <name or id>] [--item <name>]
  [--business <name>] [--phone <number>] [--email <address>] [--first-name <name>] [--last-name <name>] [--callback-url <url>]
  [--redirect-url <url>] [--expires <moment>] [--reusable]
link list [--json] [--status <status>] [--limit <number>]
link disable <id> [--json] [--holder <id>]
pay [link] [--json]
payout
payout create <amount> <currency> [--json] [--phone <number>] [--method <name>] [--payee <name>] [--invoice <number>]
  [--detail <text>] [--callback-url <url>] [--as <email>] [--dry-run] [--yes] [--holder <id>]
payout import <file> [--json] [--dry-run] [--to-fix <file>] [--as <email>] [--confirm-repeats] [--yes] [--holder <id>]
payout approve <ref> [--json] [--as <email>] [--holder <id>]
payout cancel <ref> [--json] [--as <email>] [--yes] [--holder <id>]
payout list [--json] [--limit <number>] [--holder <id>]
refund
refund create <collection> [--json] [--amount <amount>] [--reason <text>] [--as-payout] [--as <email>] [--yes] [--holder <id>]
refund approve <ref> [--json] [--as <email>] [--holder <id>]
refund cancel <ref> [--json] [--as <email>] [--yes] [--holder <id>]
refund list <collection> [--json] [--holder <id>]
dispute
dispute open <ref> <reason> [--json] [--amount <amount>] [--notice <number>] [--answer-by <day>]
dispute list [--json] [--open]
reconcile <connection> [--json] [--day <day>] [--dry-run]
breaks
breaks list [--json] [--connection <name>] [--day <day>] [--all] [--limit <count>]
breaks resolve <id> <reason> [--json]
close <connection> [--json] [--day <day>] [--currency <code>] [--balance <amount>] [--sign] [--as <email>] [--reopen <reason>]
  [--zone <zone>] [--cut-off <time>]
float [--json]
float set <connection> [--json] [--currency <code>] [--low <amount>] [--stop <amount>] [--account <name>] [--shared]
float remove <connection> [--json] [--currency <code>]
float waiting <connection> [--json] [--currency <code>]
settle
settle run [currency] [--json] [--holder <id>] [--amount <amount>] [--again]
settle list [--json] [--holder <id>] [--open] [--limit <number>]
settle show <ref> [--json]
settle confirm <ref> [--json] [--as <email>] [--bank <name>] [--reference <reference>] [--reject]
settle cancel <ref> [--json] [--reason <text>] [--as <email>]
settle operator <connection> [--json] [--bank <name>] [--reference <reference>] [--amount <amount>] [--received <amount>] [--to-operator]
settle report <ref> [--json] [--language <code>]
settle batch <currency> [--json] [--day <day>]
settle rule [currency] [--json] [--holder <id>] [--as <email>] [--bank <bank>] [--branch <code>]
  [--account <number>] [--phone <number>] [--method <code>] [--name <name>] [--schedule <schedule>] [--weekday <day>] [--minimum <amount>]
bank
bank add <name> <currency> [--json] [--bank <bank>] [--zone <zone>] [--number <number>]
bank list [--json]
margin [--json] [--from <day>] [--to <day>] [--zone <zone>]
phone <number> [--json] [--dial <code>] [--pin <digits>] [--cancel] [--ignore] [--off] [--on]
trigger <event> [--json] [--amount <amount>] [--reason <code>]
clock [--json]
clock forward <time> [--json]
topup <amount> <currency> [--json] [--holder <id>]
simulate <rail> [--json] [--port <number>] [--manual]
sign [--json] [--params <json>] [--explain] [--timestamp <seconds>] [--salt <text>]
token [--json]
token list [--json] [--client-id <client_id>] [--key <name>] [--limit <number>]
token revoke <id> [--json]
logs [--json] [-f, --follow] [--status <family>] [--code <code>] [--client-id <client_id>] [--limit <number>]
  [--count <number>] [--holder <id>]
callbacks
callbacks list [--json] [--status <status>] [--transaction <ref>] [--limit <number>] [--holder <id>]
callbacks listen [--json] [--forward-to <url>] [--secret <whsec>] [--after <event>] [--from-start] [--count <number>]
callbacks resend <event> [--json]
callbacks replay [--json] [--since <moment>]
integration
integration create <holder> <title> [--json] [--callback-url <url>]
integration rotate <client_id> [--json] [--kind <kind>] [--overlap <seconds>]
integration key
integration key add <client_id> [--json] [--name <name>] [--scopes <list>] [--allow <list>]
integration key rotate <client_id> <name> [--json] [--overlap <seconds>]
integration key list <client_id> [--json]
integration key revoke <client_id> <name> [--json] [--yes]
integration list [--json] [--holder <id>]
integration revoke <client_id> [--json] [--yes]
login-link [email] [--json] [--reset]
holder
holder create <name> [--json] [--owner <email>] [--time-zone <name>]
holder invite <id> <email> [--json] [--role <role>]
holder list [--json] [--limit <number>] [--before <id>]
holder reserve <id> [--json] [--percent <share>] [--days <number>] [--none]
holder suspend <id> [--json]
holder resume <id> [--json]
holder close <id> [--json] [--yes]
admin
admin add <email> [--json]
admin remove <email> [--json]
audit
audit export [--json] [--since <moment>] [--follow]
audit verify [--json] [--known <stream:position:hash>]
serve [--json] [--processes <number>]
worker [--json] [--processes <number>]
migrate [--json] [--dry-run] [--check] [--since <number>]
distribute [--json] [--check] [--shards <number>]
rail
rail add <rail> [--json] [--name <name>] [--environment <name>] [--holder <id>] [--route] [--set <name=value>]
  [--set-file <name=path>] [--methods <list>] [--matched-callbacks <rule>] [--simulator [url]]
rail set <name> [--json] [--set <name=value>] [--set-file <name=path>] [--methods <list>] [--matched-callbacks <rule>]
  [--simulator <url>]
rail list [--json] [--all]
rail show <name> [--json]
rail test <name> [--json]
rail pause <name> [--json]
rail resume <name> [--json]
rail remove <name> [--json] [--yes]
rail route
rail route list [--json] [--holder <id>]
rail route set <method> <direction> [connections] [--json] [--holder <id>]
statement
statement import <file> [--json] [--connection <name>] [--format <name>] [--mapping <name>] [--currency <code>]
  [--zone <name>] [--account <number>] [--date-order <order>] [--dry-run]
statement fetch <connection> [--json] [--day <day>]
statement daily [connection] [--json] [--on] [--off]
statement list [--json] [--connection <name>] [--limit <n>]
statement show <id> [--json] [--limit <n>] [--after <line>]
statement problems <id> [--json] [--limit <n>] [--after <line>]
statement original <id> [--json] [--to <file>]
statement withdraw <id> <reason> [--json]
statement map <name> <file> [--json]
statement mappings [--json]
ledger
ledger verify [--json] [--known-block <number:hash>] [--since <moment>] [--resume]
ledger head [--json]
block
block add <number> <reason> [--json] [--holder <id>] [--gateway]
block remove <number> [--json] [--holder <id>] [--gateway]
block list [--json] [--holder <id>] [--gateway]
limits [--json]
limits list [--json] [--holder <id>]
limits set <direction> <currency> [--json] [--holder <id>] [--of <whose>] [--amount <amount>] [--count <number>] [--none]
keys
keys list [--json]
keys rotate [--json] [--master]
keys reseal [--json]
keys retire <version> [--json] [--now] [--yes]
keys backup-key <file> [--json]
archive
archive write <folder> [--json] [--before <month>]
archive verify <folder> [--json]
archive remove <folder> [--json] [--before <month>] [--yes]
backup <file> [--json] [--recipient <key...>] [--unencrypted] [--include-master-key] [--force] [--yes]
restore <file> [--json] [--data-dir <folder>] [--identity-file <file>] [--allow-unsigned] [--dry-run]
after-restore [--json] [--yes]
`
  .trim()
  .replaceAll('\n  ', ' ');

type Ran = { code: number; out: string; messages: string; json: unknown };

function createTestTerminal(environment: Settings): Terminal & { printed: { out: string; messages: string } } {
  const printed = { out: '', messages: '' };
  return {
    printed,
    environment,
    interactive: false,
    out: (text) => {
      printed.out += `${text}\n`;
    },
    say: (text) => {
      printed.messages += `${text}\n`;
    },
    bold: (text) => text,
    readInput: () => Promise.resolve(null),
  };
}

const MOST_TRIES = 5;
const STARTED_IN = new Date().getUTCMonth();

/** As a person who is told to try again: on a machine that stands still for seconds a request finds no connection. */
async function run(args: string[], environment: Settings = {}): Promise<Ran> {
  for (let tries = 1; ; tries++) {
    const ran = await runOnce(args, environment);
    const isBusy = /database_unavailable|overloaded|not_ready/.test(ran.messages + ran.out);
    if (!isBusy || tries >= MOST_TRIES) return ran;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

async function runOnce(args: string[], environment: Settings): Promise<Ran> {
  const terminal = createTestTerminal(environment);
  process.exitCode = 0;
  const code = await runCommand(terminal, args);
  process.exitCode = 0;
  const { out, messages } = terminal.printed;
  return { code, out, messages, json: readJson(out) };
}

/** Null for text, and for one JSON value per line. */
function readJson(out: string): unknown {
  try {
    return JSON.parse(out);
  } catch {
    return null;
  }
}

type CommandRow = {
  command: string;
  arguments: string[];
  options: string[];
};

/** Every command with its arguments and options, in the order of the table. */
function describeCommands(command: Command, path: string[] = []): CommandRow[] {
  const row: CommandRow = {
    command: path.join(' '),
    arguments: command.registeredArguments.map((argument) =>
      argument.required ? `<${argument.name()}>` : `[${argument.name()}]`,
    ),
    options: command.options.map((option) => option.flags),
  };
  return [row, ...command.commands.flatMap((child) => describeCommands(child, [...path, child.name()]))];
}

const rows = describeCommands(await createProgram(createTestTerminal({})));
/** Without groups such as `simbi holder`, which only hold others. */
const leaves = rows.filter((row) => row.options.includes('--json'));
/** The required options of a command. */
const REQUIRED: Record<string, string[]> = {
  'integration key add': ['--name', 'x'],
  collect: ['--phone', '1'],
  'payout create': ['--phone', '1'],
  'payout approve': ['--as', 'a@b.c'],
  'refund approve': ['--as', 'a@b.c'],
  'callbacks replay': ['--since', '2026-01-01'],
  'archive remove': ['--before', '2024-01'],
  'callbacks listen': ['--forward-to', 'http://localhost'],
  reconcile: ['--day', '2026-01-01'],
  margin: ['--from', '2026-01-01'],
};
const lineOf = (row: CommandRow) =>
  [row.command || 'simbi', ...row.arguments, ...row.options.map((option) => `[${option}]`)].join(' ');

describe('the table', () => {
  test('lists every command, argument and option', () => {
    assert.equal(rows.map(lineOf).join('\n'), TABLE);
  });

  test('help starts with examples of the command and names --json', async () => {
    for (const row of leaves) {
      const { code, out } = await run([...row.command.split(' '), '--help']);
      assert.equal(code, 0, row.command);
      assert.match(out, /^Examples:\n {2}\$ /, row.command);
      assert.match(out, /--json/, row.command);
      const examples = out.split('\n\n')[0]?.split('\n').slice(1) ?? [];
      for (const example of examples)
        assert.ok(example.includes(`simbi ${row.command}`) || example.includes('$(npx simbi'), example);
    }
  });

  test('an unknown option: code 2, an error with the nearest option', async () => {
    for (const row of leaves) {
      const { code, out, messages } = await run([
        ...row.command.split(' '),
        ...row.arguments.map(() => 'x'),
        ...(REQUIRED[row.command] ?? []),
        '--jsno',
      ]);
      assert.equal(code, 2, row.command);
      assert.equal(out, '', row.command);
      assert.match(messages, /unknown option '--jsno'/, row.command);
      assert.match(messages, /Did you mean/, row.command);
    }
  });

  test('each command loads only what it needs', () => {
    // A count, because times depend on the machine: a command once loaded 307 files, and took a second.
    const hook = `import { registerHooks } from 'node:module';
      let files = 0;
      registerHooks({ load: (url, context, next) => ((files += Number(!url.startsWith('node:'))), next(url, context)) });
      process.on('exit', () => process.stdout.write('files ' + files));`;
    const options = { env: { SIMBI_URL: 'http://127.0.0.1:1', SIMBI_CLIENT_ID: 'c', SIMBI_SECRET_KEY: 's' } };
    for (const [command, most] of Object.entries({ '--help': 25, balance: 32, status: 32 })) {
      const args = ['--import', `data:text/javascript,${encodeURIComponent(hook)}`, 'src/cli.ts', command];
      const { stdout } = spawnSync(process.execPath, args, options);
      const files = Number(/files (\d+)$/.exec(String(stdout))?.[1]);
      assert.ok(files <= most, `${command} loads ${files} files`);
    }
  });

  test('collect alone: what is needed, in its order', async () => {
    const { code, messages } = await run(['collect']);
    assert.equal(code, 2);
    assert.match(
      messages,
      /missing required argument 'amount'\nUsage: npx simbi collect <amount> <currency> --phone <number>/,
    );
    assert.match(messages, /Help: npx simbi collect --help/);
    assert.match((await run(['payout', 'create', '1', 'UGX'])).messages, /missing option '--phone <number>'/);
  });

  test('no command, a group alone and a misspelt command: code 2', async () => {
    for (const args of [[], ['payout'], ['payout', 'crate'], ['balnce']]) assert.equal((await run(args)).code, 2);
    assert.match((await run(['payout', 'crate'])).messages, /Did you mean create\?/);
  });
});

describe('beside a running gateway', () => {
  const folder = mkdtempSync(join(tmpdir(), 'simbi-commands-'));
  let database: TestDatabase;
  let server: RunningProcess;
  let settings: Settings;

  before(async () => {
    database = await createTestDatabase();
    settings = { DATA_DIR: join(folder, 'data'), DATABASE_URL: database.url, PORT: String(await reservePort()) };
    server = simbi(['serve'], { ...settings, LOG_LEVEL: 'warn' });
    await server.printed(/Listening/);
  });

  after(async () => {
    server.child.kill('SIGTERM');
    await server.ended;
    await database.drop();
    rmSync(folder, { recursive: true, force: true });
  });

  const simbiJson = async <T>(code: number, ...args: string[]): Promise<T> => {
    const ran = await run([...args, '--json'], settings);
    assert.equal(ran.code, code, `${args.join(' ')}: ${ran.messages} ${JSON.stringify(ran.json)}`);
    return ran.json as T;
  };
  const keys = (value: unknown) => Object.keys(value as object);

  test('collect, transaction, phone: success is 0, a failed payment 7, an unknown one 4', async () => {
    const paid = await simbiJson<{ status: string; ref: string }>(
      0,
      'collect',
      '2500',
      'ugx',
      '--phone',
      '256772123000',
      '--wait',
    );
    assert.equal(paid.status, 'success');
    const failed = await simbiJson<{ failureReason: { failureCode: string } }>(
      7,
      'collect',
      '2500',
      'UGX',
      '--phone',
      '0772 123 001',
      '--wait',
    );
    assert.equal(failed.failureReason.failureCode, 'INSUFFICIENT_FUNDS');
    const rings = await simbiJson<{ ref: string; mobile: string }>(
      0,
      'collect',
      '900',
      'UGX',
      '--phone',
      '0772123456',
      '--reference',
      'order-1',
    );
    assert.deepEqual(keys(rings).slice(0, 3), ['ref', 'status', 'amount']);
    const seen = await simbiJson<{ msisdn: string }>(0, 'phone', rings.mobile);
    assert.deepEqual(keys(seen), ['msisdn', 'is_on', 'version', 'messages', 'prompts']);
    assert.deepEqual(await simbiJson(0, 'phone', rings.mobile, '--pin', '1234'), { ok: true, messages: ['Paid.'] });
    const record = await simbiJson<{ status: string }>(0, 'transaction', rings.ref, '--wait');
    assert.equal(record.status, 'success');
    const refused = await simbiJson<{ ref: string; mobile: string }>(
      0,
      'collect',
      '900',
      'UGX',
      '--phone',
      '0772123457',
    );
    assert.equal((await run(['phone', refused.mobile, '--cancel'], settings)).code, 0);
    assert.equal((await run(['transaction', refused.ref, '--wait'], settings)).code, 7);
    for (const unknown of ['TX_01JNAFQ7M0E9SRC45Y6Z8XKBDT', 'nope']) {
      const { code, messages } = await run(['transaction', unknown], settings);
      assert.equal(code, 4);
      assert.match(messages, new RegExp(`^There is no transaction ${unknown}\\.`));
    }
    const limits = await run(['collect', '1', 'UGX', '--phone', '256772123000'], settings);
    assert.equal(limits.code, 1);
    assert.match(limits.messages, /amount/);
    for (const args of [
      ['collect', '1', 'ABC', '--phone', '1'],
      ['collect', '1', 'UGX'],
      ['transaction', 'x', '--wait', 'long'],
      ['phone', 'abc'],
    ])
      assert.equal((await run(args, settings)).code, 2, args.join(' '));
  });

  test('refund: confirmation, a part, the rest, the list', async () => {
    const paid = await simbiJson<{ ref: string }>(0, 'collect', '3000', 'UGX', '--phone', '0772123000', '--wait');
    await simbiJson(0, 'topup', '1000', 'UGX');
    const unconfirmed = await run(['refund', 'create', paid.ref, '--amount', '500'], settings);
    assert.equal(unconfirmed.code, 2);
    assert.match(unconfirmed.messages, /Give 500 UGX back to 256772123000.*Add --yes to confirm/s);
    const part = await simbiJson<{ ref: string; amount: number; waits_for_approval: boolean }>(
      0,
      'refund',
      'create',
      paid.ref,
      '--amount',
      '500',
      '--reason',
      'One item was missing',
      '--yes',
    );
    assert.deepEqual([part.amount, part.waits_for_approval], [500, false]);
    const rest = await simbiJson<{ amount: number }>(0, 'refund', 'create', paid.ref, '--yes');
    assert.equal(rest.amount, 2500);
    const listed = await simbiJson<{ reason: string | null }[]>(0, 'refund', 'list', paid.ref);
    assert.deepEqual(
      listed.map(({ reason }) => reason),
      ['One item was missing', null],
    );
    assert.equal((await run(['refund', 'create', paid.ref, '--yes'], settings)).code, 1);
    assert.equal((await run(['refund', 'create', 'TX_nothing', '--yes'], settings)).code, 4);
    assert.equal((await run(['refund', 'create', paid.ref, '--amount', '1,500', '--yes'], settings)).code, 2);
    assert.equal((await run(['refund', 'approve', part.ref, '--as', 'demo@simbi.local'], settings)).code, 4);
  });

  test('the phone: off, on, and a code that nothing waits for', async () => {
    assert.deepEqual(await simbiJson(0, 'phone', '256772123999', '--off'), {
      ok: true,
      messages: ['The phone is off.'],
    });
    assert.deepEqual(await simbiJson(0, 'phone', '256772123999', '--on'), { ok: true, messages: ['The phone is on.'] });
    const nothing = await simbiJson<{ ok: boolean }>(7, 'phone', '256772123999', '--dial', '*999#');
    assert.equal(nothing.ok, false);
  });

  test('no credentials is 3, no gateway is 6', async () => {
    assert.equal((await run(['balance'], { DATA_DIR: join(folder, 'nothing') })).code, 3);
    const away = { SIMBI_URL: 'http://127.0.0.1:1', SIMBI_CLIENT_ID: 'c', SIMBI_SECRET_KEY: 's', SIMBI_SENDER: 'x' };
    for (const args of [
      ['balance'],
      ['collect', '1', 'UGX', '--phone', '1'],
      ['link', 'list'],
      ['phone', '256772123000'],
    ])
      assert.equal((await run(args, away)).code, 6, args.join(' '));
    const wrong = await run(['balance', '--json'], { ...away, SIMBI_URL: `http://127.0.0.1:${settings.PORT}` });
    assert.equal(wrong.code, 3);
    assert.deepEqual(keys(JSON.parse(wrong.messages)), ['success', 'message', 'exit_code']);
  });

  test('topup, balance, payouts: dry run, confirmation, order, list, cancel', async () => {
    const wallet = await simbiJson<{ available: number }>(0, 'topup', '100000', 'UGX');
    assert.ok(wallet.available >= 100_000);
    const wallets = await simbiJson<{ currency: string }[]>(0, 'balance', '--currency', 'ugx');
    assert.deepEqual(keys(wallets[0]).slice(0, 3), ['wallet_account', 'currency', 'balance']);
    assert.deepEqual(await simbiJson(0, 'balance', '--currency', 'zmw'), []);
    const nowhere = await run(['balance', '--currency', 'xxx'], settings);
    assert.equal(nowhere.code, 2);
    assert.match(nowhere.messages, /No country uses XXX\. Currencies: .*KES/);
    const payout = ['payout', 'create', '5000', 'UGX', '--phone', '0772123000', '--payee', 'Ada'];
    const dry = await simbiJson<{ fee: string }>(0, ...payout, '--dry-run');
    assert.deepEqual(keys(dry), [
      'amount',
      'fee',
      'currency',
      'method',
      'mobile',
      'registered_name',
      'payee',
      'invoice_no',
      'wallet_after',
    ]);
    const unconfirmed = await run(payout, settings);
    assert.equal(unconfirmed.code, 2);
    assert.match(
      unconfirmed.messages,
      /Pay 5000 UGX to Ada.*Fee: +50 UGX.*Balance after: +\d+ UGX.*Add --yes to confirm/s,
    );
    const ordered = await simbiJson<{ ref: string }>(0, ...payout, '--yes');
    assert.equal((await run(['transaction', ordered.ref, '--wait'], settings)).code, 0);
    const listed = await simbiJson<{ ref: string; status: string }[]>(0, 'payout', 'list');
    assert.deepEqual(
      listed.map(({ ref, status }) => [ref, status]),
      [[ordered.ref, 'success']],
    );
    const rich = await run(['payout', 'create', '4000000', 'UGX', '--phone', '0772123000', '--yes'], settings);
    assert.equal(rich.code, 7);
    assert.equal((await run(['payout', 'cancel', ordered.ref, '--yes'], settings)).code, 4);
    assert.equal((await run(['payout', 'approve', ordered.ref, '--as', 'nobody@example.org'], settings)).code, 4);
    assert.equal((await run(['payout', 'approve', ordered.ref, '--as', 'demo@simbi.local'], settings)).code, 4);
    assert.equal((await run(['payout', 'create', '5', 'ABC', '--phone', '1', '--yes'], settings)).code, 2);
    assert.equal((await run(['topup', 'much', 'UGX'], settings)).code, 2);
    const unclear = await run(['payout', 'create', '5,000', 'UGX', '--phone', '0772123000', '--yes'], settings);
    assert.equal(unclear.code, 2);
    assert.match(unclear.messages, /“5,000” can mean 5000 or 5\.00\. Write 5000 or 5\.00\./);
    for (const command of [
      ['topup', '5,000', 'UGX'],
      ['collect', '5.000', 'UGX', '--phone', '0772123456'],
      ['link', 'create', 'UGX', '--amount', '5,000'],
    ])
      assert.match((await run(command, settings)).messages, /can mean 5000 or 5\.00/, command.join(' '));
    const comma = await simbiJson<{ amount: string }>(0, ...payout.with(2, '5000,00'), '--dry-run');
    assert.equal(comma.amount, '5000');
    assert.equal((await run(['payout', 'list', '--holder', '999'], settings)).code, 4);
  });

  test('money 1: a file is read by the same rules as the console and the arguments', async () => {
    const file = join(folder, 'commas.csv');
    writeFileSync(file, 'amount;currency;mobile\n1500,00;UGX;0772123000\n1 500;UGX;0772123000\n1,500;UGX;0772123000\n');
    const dry = await simbiJson<{ total: string; to_fix: { file: string } }>(1, 'payout', 'import', file, '--dry-run');
    assert.match(dry.total, /^3000 UGX/);
    const fix = parseCsv(readFileSync(dry.to_fix.file, 'utf8'), 10);
    assert.equal(fix?.[1]?.cells.at(-1), 'amount: “1,500” can mean 1500 or 1.50. Write 1500 or 1.50.');
  });

  test('payout import: rows with problems are written to a file to fix, money 4: the same rows are not paid twice', async () => {
    const file = join(folder, 'salaries.csv');
    writeFileSync(
      file,
      'amount,currency,mobile,payee\n1000,UGX,0772123000,"Obi, Ada"\n1000,UGX,12,Nobody\n-5,UGX,0772123000,Less\n',
    );
    const dry = await simbiJson<{ ordered: number; to_fix: { file: string; rows: number } }>(
      1,
      'payout',
      'import',
      file,
      '--dry-run',
    );
    assert.deepEqual([dry.ordered, dry.to_fix.rows], [0, 2]);
    const fix = parseCsv(readFileSync(dry.to_fix.file, 'utf8'), 10);
    assert.deepEqual(fix?.[0]?.cells, ['amount', 'currency', 'mobile', 'payee', 'problem']);
    assert.match(fix?.[1]?.cells[4] ?? '', /^mobile: /);
    const refused = await simbiJson<{ ordered: number }>(1, 'payout', 'import', file, '--yes');
    assert.deepEqual(keys(refused), ['rows', 'ordered', 'dry_run', 'total', 'to_fix', 'file', 'refs']);
    assert.equal(refused.ordered, 0);
    writeFileSync(file, 'amount,currency,mobile,payee\n1000,UGX,0772123000,"Obi, Ada"\n');
    const done = await simbiJson<{ refs: string[]; file: string }>(0, 'payout', 'import', file, '--yes');
    assert.deepEqual(keys(done), ['rows', 'ordered', 'dry_run', 'total', 'to_fix', 'file', 'refs']);
    assert.equal(done.refs.length, 1);
    // The same rows under another name, written in another way.
    const copy = join(folder, 'salaries (1).csv');
    writeFileSync(copy, 'currency;mobile;amount;payee\nUGX;+256 772 123 000;1000.00;Obi, Ada\n');
    const again = await run(['payout', 'import', copy, '--yes', '--confirm-repeats'], settings);
    assert.equal(again.code, 5);
    assert.match(again.messages, /ordered on .* UTC by command line as "salaries\.csv".*invoice_no or detail/);
    writeFileSync(copy, 'amount,currency,mobile,payee,detail\n1000,UGX,0772123000,"Obi, Ada",April\n');
    const similar = await run(['payout', 'import', copy, '--yes'], settings);
    assert.equal(similar.code, 5);
    assert.match(similar.messages, /line 2: 1000 UGX to 256772123000, paid by TX_/);
    await simbiJson(0, 'payout', 'import', copy, '--yes', '--confirm-repeats');
    writeFileSync(copy, 'amount,currency,mobile\n4000000,UGX,0772123009\n');
    const short = await run(['payout', 'import', copy, '--yes'], settings);
    assert.equal(short.code, 5);
    assert.match(short.messages, /Nothing was ordered\..*UGX 40\d+ is needed, [\d.]+ is available, [\d.]+ is missing/);
    assert.equal((await run(['payout', 'approve', done.file, '--as', 'demo@simbi.local'], settings)).code, 4);
    assert.equal((await run(['payout', 'import', join(folder, 'none.csv')], settings)).code, 4);
    writeFileSync(file, 'sum,whom\n1,2\n');
    assert.equal((await run(['payout', 'import', file], settings)).code, 2);
  });

  test('links: create, list, disable', async () => {
    const link = await simbiJson<{ payment_link: string }>(
      0,
      'link',
      'create',
      'UGX',
      '--amount',
      '2500',
      '--item',
      'Tea',
      '--reusable',
    );
    assert.match(link.payment_link, /\/pay\/pl_/);
    const [newest] = await simbiJson<{ id: string; item_name: string }[]>(0, 'link', 'list', '--limit', '1');
    assert.equal(newest?.item_name, 'Tea');
    const disabled = await simbiJson<{ status: string }>(0, 'link', 'disable', newest?.id ?? '');
    assert.equal(disabled.status, 'disabled');
    assert.equal((await run(['link', 'disable', 'pl_01JNAFQ7M0E9SRC45Y6Z8XKBDT'], settings)).code, 4);
    assert.equal((await run(['link', 'create', 'XOF'], settings)).code, 2);
  });

  test('trigger makes a payment end as its event says; clock lets time pass', async () => {
    const names = await run(['trigger', 'collection.lost'], settings);
    assert.equal(names.code, 2);
    assert.match(names.messages, /collection\.success, collection\.failed, .*refund\.failed/);
    for (const [event, status, ...rest] of [
      ['collection.failed', 'failed', '--reason', 'WRONG_PIN'],
      ['collection.expired', 'expired'],
      ['payout.failed', 'failed'],
      ['refund.success', 'success'],
    ] as const) {
      const done = await simbiJson<Record<string, unknown>>(0, 'trigger', event, ...rest);
      assert.deepEqual([done.event, done.status], [event, status]);
    }
    assert.equal((await run(['trigger', 'collection.success', '--reason', 'WRONG_PIN'], settings)).code, 2);
    const { ref } = await simbiJson<{ ref: string }>(0, 'collect', '500', 'UGX', '--phone', '256772123007');
    const moved = await simbiJson<{ payments: number }>(0, 'clock', 'forward', '2m');
    assert.deepEqual(keys(moved), ['seconds', 'payments', 'callbacks', 'now']);
    assert.ok(moved.payments >= 1);
    // The first time may pass before the operator has heard of the payment.
    for (let more = 20; more > 0 && (await run(['transaction', ref, '--wait', '1'], settings)).code !== 0; more--)
      await simbiJson(0, 'clock', 'forward', '2m');
    await simbiJson(0, 'transaction', ref, '--wait');
    assert.deepEqual(keys(await simbiJson(0, 'clock')), ['now']);
    assert.equal((await run(['clock', 'forward', 'soon'], settings)).code, 2);
  });

  test('logs: requests with their codes, filtered; --follow ends after --count', async () => {
    const signed = await simbiJson<Record<string, unknown>>(0, 'sign', '--params', '{}');
    const wrong = { ...signed, signature: '0'.repeat(64) };
    const url = (await simbiJson<{ url: string }>(0, 'status')).url;
    const send = () =>
      fetch(`${url}/api/v3/get-unified-balance`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(wrong),
      });
    // Again and again, because a process that is too busy leaves a request out of its log.
    const sent = new Set<string>();
    const sendAgain = async () => {
      sent.add(((await (await send()).json()) as { request_id: string }).request_id);
    };
    await sendAgain();
    const repeated = setInterval(() => void sendAgain().catch(() => undefined), 2_000);
    const found = await run(
      ['logs', '--follow', '--count', '1', '--limit', '1', '--code', 'signature_mismatch', '--json'],
      settings,
    );
    clearInterval(repeated);
    const lines = found.out.trim().split('\n');
    const line = JSON.parse(lines.at(-1) ?? '') as { request_id: string; status: number };
    assert.equal(line.status, 403);
    assert.ok(sent.has(line.request_id));
    const earlier = (await run(['logs', '--limit', '1000', '--json'], settings)).out.trim().split('\n');
    assert.ok(earlier.length > 3);
    const later = run(['logs', '--follow', '--count', '1', '--limit', '1', '--json'], settings);
    const again = setInterval(() => void sendAgain().catch(() => undefined), 1_000);
    const [, next = ''] = (await later).out.trim().split('\n');
    clearInterval(again);
    assert.ok(!earlier.includes(next), 'a request from before is not a new one');
    assert.match((await run(['logs', '--status', '2xx', '--limit', '3'], settings)).out, /^.* 200 {2}POST \/api\//);
    assert.equal((await run(['logs', '--status', '3xx'], settings)).code, 2);
    assert.match((await run(['logs', '--follow', '--count', 'x'], settings)).messages, /--count must be a number/);
    assert.equal((await run(['logs', '--client-id', 'client_x'], settings)).code, 4);
  });

  test('pay: a QR code of the sample link, of an id and of an address', async () => {
    const sample = await simbiJson<{ payment_link: string }>(0, 'pay');
    const id = sample.payment_link.split('/').at(-1) ?? '';
    assert.deepEqual(await simbiJson(0, 'pay', id), sample);
    const { out } = await run(['pay', 'https://pay.example.org/p/7K3QM-9TWXA'], settings);
    assert.match(out, /█▀.*\n.*https:\/\/pay\.example\.org\/p\/7K3QM-9TWXA/s);
    assert.equal((await run(['pay', 'pl_01JNAFQ7M0E9SRC45Y6Z8XKBDT'], settings)).code, 4);
    assert.equal((await run(['pay', 'basket'], settings)).code, 2);
  });

  test('callbacks: list, resend, replay; listen forwards events signed with the same secret', async () => {
    const list = await simbiJson<{ eventId: string; type: string }[]>(0, 'callbacks', 'list', '--limit', '3');
    assert.equal(list.length, 3);
    assert.deepEqual(await simbiJson(0, 'callbacks', 'resend', list[0]?.eventId ?? ''), { id: list[0]?.eventId });
    assert.equal((await run(['callbacks', 'resend', 'evt_01JNAFQ7M0E9SRC45Y6Z8XKBDT'], settings)).code, 4);
    assert.deepEqual(keys(await simbiJson(0, 'callbacks', 'replay', '--since', '2100-01-01T00:00:00Z')), ['replayed']);
    assert.equal((await run(['callbacks', 'list', '--status', 'lost'], settings)).code, 2);
    const demo = JSON.parse(readFileSync(join(folder, 'data', 'demo.json'), 'utf8')) as { callback_secret: string };
    const verified: unknown[] = [];
    const receiver = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        verified.push(
          new Webhook(demo.callback_secret).verify(Buffer.concat(chunks), request.headers as Record<string, string>),
        );
        response.writeHead(204).end();
      });
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/callbacks`;
    const forwarded = await run(
      ['callbacks', 'listen', '--forward-to', url, '--from-start', '--count', '3', '--json'],
      settings,
    );
    receiver.close();
    receiver.closeAllConnections();
    assert.equal(forwarded.code, 0, forwarded.messages);
    const lines = forwarded.out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { status: number });
    assert.deepEqual(
      lines.map(({ status }) => status),
      [204, 204, 204],
    );
    assert.equal(verified.length, 3);
    const unreachable = await run(
      ['callbacks', 'listen', '--forward-to', 'http://127.0.0.1:1', '--from-start', '--count', '1'],
      settings,
    );
    assert.equal(unreachable.code, 1);
    assert.match(unreachable.out, /no connection/);
  });

  test('ledger verify: 0 if all matches, 1 if a known block is missing', async () => {
    const right = await simbiJson<{ ok: boolean; checked: { head: string | null } }>(0, 'ledger', 'verify');
    assert.deepEqual(keys(right), ['ok', 'since', 'checked', 'differences', 'differences_in_all']);
    await simbiJson(0, 'ledger', 'verify', '--since', '2026-03-02T00:00:00Z');
    assert.equal((await run(['ledger', 'verify', '--since', 'yesterday'], settings)).code, 2);
    assert.equal((await run(['ledger', 'verify', '--resume'], settings)).code, 4);
    assert.equal((await run(['ledger', 'verify', '--known-block', '9:1'], settings)).code, 2);
    assert.equal((await run(['ledger', 'verify', '--known-block', `99:${'0'.repeat(64)}`], settings)).code, 1);
  });

  test('audit export prints lines of JSON; audit verify: 0 if all is as written, 1 if a known link is missing', async () => {
    const { out } = await run(['audit', 'export', '--since', '2020-01-01T00:00:00Z'], settings);
    const rows = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { stream: number; position: number; hash: string });
    assert.ok(rows.length > 0 && rows.every(({ hash }) => /^[0-9a-f]{64}$/.test(hash)));
    const right = await simbiJson<{ ok: boolean; rows: number }>(0, 'audit', 'verify');
    assert.deepEqual(keys(right), ['ok', 'rows', 'streams', 'broken', 'restores', 'head']);
    assert.equal(right.rows, rows.length);
    const last = rows.at(-1);
    assert.equal(
      (await run(['audit', 'verify', '--known', `${last?.stream}:${last?.position}:${last?.hash}`], settings)).code,
      0,
    );
    assert.equal((await run(['audit', 'verify', '--known', `0:1:${'0'.repeat(64)}`], settings)).code, 1);
    assert.equal((await run(['audit', 'verify', '--known', 'x'], settings)).code, 2);
  });

  test('backup, check and restore into a new folder: the same rows and a verified ledger', async () => {
    const file = join(folder, 'all.backup');
    assert.equal((await run(['backup', file, '--include-master-key'], settings)).code, 2);
    const made = await simbiJson<{ rows: Record<string, number> }>(0, 'backup', file, '--include-master-key', '--yes');
    assert.deepEqual(keys(made), ['file', 'bytes', 'rows', 'sha256', 'made_at', 'schema', 'master_key', 'encrypted']);
    assert.equal((await run(['backup', file], settings)).code, 5);
    const checked = await simbiJson<{ rows: Record<string, number> }>(0, 'restore', file, '--dry-run');
    assert.deepEqual(checked.rows, made.rows);
    const place = join(folder, 'restored');
    const restored = await simbiJson<{ rows: Record<string, number>; ledger_ok: boolean }>(
      0,
      'restore',
      file,
      '--data-dir',
      place,
    );
    assert.deepEqual(restored.rows, made.rows);
    assert.equal(restored.ledger_ok, true);
    const there = { DATA_DIR: place };
    assert.equal((await run(['ledger', 'verify'], there)).code, 0);
    const full = await run(['restore', file, '--data-dir', place], {
      ...settings,
      // What names another database does not matter for a folder.
      DATABASE_URL: 'postgres://app@db/simbi?pooler=transaction',
      MIGRATION_DATABASE_URL: 'postgres://owner@db/simbi?pooler=transaction',
      DATABASE_LISTEN_URL: 'postgres://app@db/simbi',
    });
    assert.equal(full.code, 1, full.messages);
    assert.match(full.messages, /The database is not empty/);
    rmSync(join(place, 'master.key'));
    assert.equal((await run(['restore', file, '--data-dir', place], {})).code, 1);
    assert.ok(!existsSync(join(place, 'master.key')), 'what is refused leaves no key behind');
    assert.equal((await run(['restore', join(folder, 'none'), '--data-dir', place], settings)).code, 1);
    assert.equal((await run(['backup', join(folder, 'x')], { DATA_DIR: join(folder, 'empty') })).code, 4);
    assert.ok(!existsSync(join(folder, 'empty')));
  });

  test('no command makes a database in a wrong folder', async () => {
    const wrong = join(folder, 'wrong');
    for (const args of [
      ['ledger', 'verify'],
      ['ledger', 'head'],
      ['audit', 'verify'],
      ['audit', 'export'],
      ['archive', 'write', join(folder, 'never')],
      ['archive', 'remove', join(folder, 'never'), '--before', '2024-01', '--yes'],
      ['after-restore', '--yes'],
      ['backup', join(folder, 'never.backup')],
      ['migrate'],
      ['migrate', '--dry-run'],
      ['migrate', '--check'],
      ['admin', 'add', 'ops@example.org'],
      ['holder', 'create', 'Somebody'],
      ['holder', 'list'],
      ['login-link', 'owner@example.org'],
      ['rail', 'list'],
      ['block', 'list'],
      ['float'],
      ['keys', 'list'],
      ['limits'],
      ['payout', 'list'],
      ['reconcile', 'any', '--day', '2026-03-01'],
    ]) {
      const { code, out, messages } = await run(args, { DATA_DIR: wrong });
      assert.deepEqual([code, out], [4, ''], `${args.join(' ')}: ${messages}`);
      assert.ok(messages.startsWith(`There is no gateway in ${wrong}.`), messages);
      assert.match(messages, /DATA_DIR.*DATABASE_URL.*npx simbi up/s);
    }
    // Whatever the arguments: nothing is left behind.
    for (const row of leaves) {
      if (['up', 'serve', 'worker', 'simulate', 'keys backup-key'].includes(row.command)) continue;
      const args = [...row.command.split(' '), ...row.arguments.map(() => '1'), ...(REQUIRED[row.command] ?? [])];
      const { code, messages } = await run(args, { DATA_DIR: wrong, SIMBI_URL: 'http://127.0.0.1:1' });
      assert.ok(!existsSync(wrong), `${args.join(' ')}: ${messages}`);
      assert.ok(code > 0 || row.command === 'doctor', args.join(' '));
    }
  });

  test('what only reads does not migrate the database of a version that may be running', async () => {
    const database = await createTestDatabase();
    const there = { DATA_DIR: join(folder, 'behind'), DATABASE_URL: database.url };
    const behind =
      'delete from schema_migrations where version = (select max(version) from schema_migrations) returning name';
    const [last] = (await withClient(database.url, (client) => client.query<{ name: string }>(behind))).rows;
    for (const args of [
      ['ledger', 'verify'],
      ['audit', 'verify'],
    ]) {
      const { code, messages } = await run(args, there);
      assert.equal(code, 1, messages);
      assert.match(messages, new RegExp(`The database lacks \\d+_${last?.name}\\.sql\\. Run first: npx simbi migrate`));
    }
    await database.drop();
  });

  test('a path that cannot be used: a sentence with the path, and no stack', async () => {
    const nowhere = join(folder, 'no', 'such', 'folder');
    const file = join(folder, 'a-file');
    writeFileSync(file, 'x');
    for (const [path, args, more] of [
      [nowhere, ['backup', join(nowhere, 'x.backup')]],
      [nowhere, ['keys', 'backup-key', join(nowhere, 'x.key')]],
      [folder, ['payout', 'import', folder]],
      [folder, ['statement', 'import', folder, '--connection', 'sandbox']],
      [file, ['archive', 'write', join(file, 'x')]],
      [file, ['holder', 'list'], { DATA_DIR: join(file, 'x') }],
      [file, ['up'], { DATA_DIR: file, DATABASE_URL: '' }],
      [folder, ['payout', 'list'], { CATALOG_FILE: folder }],
    ] as [string, string[], Settings?][]) {
      const { code, messages } = await run(args, { ...settings, ...more });
      assert.notEqual(code, 0, args.join(' '));
      assert.ok(messages.includes(path), `${args.join(' ')}: ${messages}`);
      assert.doesNotMatch(messages, /Internal error|\.ts:\d/, args.join(' '));
    }
  });

  test('what is broken beside a command: a sentence and its code, and no stack', async () => {
    const broken = join(folder, 'broken');
    mkdirSync(broken);
    writeFileSync(join(broken, 'demo.json'), '{"base_url');
    const demo = await run(['balance'], { DATA_DIR: broken });
    assert.deepEqual([demo.code, demo.messages.startsWith('No credentials found.')], [3, true], demo.messages);
    assert.equal((await run(['status'], { DATA_DIR: broken, PORT: '1' })).code, 6);
    const credentials = { SIMBI_CLIENT_ID: 'c', SIMBI_SECRET_KEY: 's', SIMBI_SENDER: 'x' };
    for (const SIMBI_URL of ['file:///etc/passwd', 'mailto:a@b.c', 'nonsense']) {
      const { code, messages } = await run(['balance'], { DATA_DIR: broken, SIMBI_URL, ...credentials });
      assert.deepEqual([code, messages], [2, 'SIMBI_URL must begin with http:// or https://.\n']);
    }
    const catalog = await run(['payout', 'list'], { ...settings, CATALOG_FILE: join(broken, 'demo.json') });
    assert.equal(catalog.code, 2, catalog.messages);
    assert.match(catalog.messages, /demo\.json \(CATALOG_FILE\) is not acceptable JSON/);
    const file = join(broken, 'a-file');
    writeFileSync(file, 'x');
    const doctor = await run(['doctor'], { DATA_DIR: file, PORT: '0' });
    assert.match(doctor.out, /FAILED disk +\S+a-file is not a folder/);
    // As an editor or a script that went wrong leaves it.
    mkdirSync(join(broken, '.env'));
    const args = [join(import.meta.dirname, '../src/cli.ts'), 'status'];
    const { status, stderr } = spawnSync(process.execPath, args, { cwd: broken, env: {}, encoding: 'utf8' });
    assert.deepEqual([status, stderr.trim()], [2, '.env cannot be read. It is a folder, not a file.']);
  });

  test('archive: months that have ended, nothing removed without confirmation', async () => {
    const archive = join(folder, 'archive');
    const written = await simbiJson<{ months: unknown[] }>(0, 'archive', 'write', archive, '--before', '2999-01');
    assert.deepEqual(keys(written), ['folder', 'months']);
    // Unless the month of the payments above has just ended.
    if (new Date().getUTCMonth() === STARTED_IN)
      assert.deepEqual(written.months, [], 'the present month has not ended');
    mock.timers.enable({ apis: ['Date'], now: Date.now() + 40 * DAY_MS });
    try {
      const ahead = await simbiJson<{ months: unknown[] }>(0, 'archive', 'write', archive);
      if (new Date(Date.now() - 40 * DAY_MS).getUTCMonth() === STARTED_IN)
        assert.deepEqual(ahead.months, [], 'nor where the clock of the machine is wrong: the time is the database’s');
    } finally {
      mock.timers.reset();
    }
    assert.equal((await run(['archive', 'write', archive, '--before', 'yesterday'], settings)).code, 2);
    assert.equal((await run(['archive', 'verify', archive], settings)).code, 1);
    assert.equal((await run(['archive', 'remove', archive, '--before', '2024-01'], settings)).code, 2);
    const typo = await run(['archive', 'remove', `${archive}s`, '--before', '2024-01', '--yes'], settings);
    assert.equal(typo.code, 1, 'who mistyped a folder must not believe that nothing is left to remove');
    assert.match(typo.messages, /has no archive/);
    mkdirSync(join(archive, '2999-01'), { recursive: true });
    const removed = await simbiJson(0, 'archive', 'remove', archive, '--before', '2024-01', '--yes');
    assert.deepEqual(removed, { folder: archive, months: [] });
  });

  test('a name that is empty or too long: a sentence, and no stack', async () => {
    const long = 'n'.repeat(300);
    for (const args of [
      ['holder', 'create', ' '],
      ['holder', 'create', long],
      ['integration', 'create', '1', ''],
      ['integration', 'create', '1', long],
    ]) {
      const { code, messages } = await run(args, settings);
      assert.equal(code, 2, `${args.join(' ')}: ${messages}`);
      assert.match(messages, /^A (name|title) has 1 to 120 characters\.\n$/);
    }
    const { code, messages } = await run(['keys', 'backup-key', join(folder, long)], settings);
    assert.equal(code, 1);
    assert.match(messages, /n: The name is too long\. Choose a shorter one\.\n$/);
  });

  test('what is named and does not exist: code 4', async () => {
    for (const args of [
      ['keys', 'retire', '99', '--yes'],
      ['rail', 'show', 'nobody'],
      ['holder', 'suspend', '999999'],
      ['link', 'disable', 'pl_01ARZ3NDEKTSV4RRFFQ69G5FAV'],
      ['integration', 'revoke', 'nobody', '--yes'],
      ['transaction', 'TX_01ARZ3NDEKTSV4RRFFQ69G5FAV'],
    ]) {
      const { code, messages } = await run(args, settings);
      assert.equal(code, 4, `${args.join(' ')}: ${messages}`);
    }
    assert.match(
      (await run(['keys', 'retire', '99', '--yes'], settings)).messages,
      /There is no version 99\. List them/,
    );
  });

  test('status, holder, token and admin: what --json prints', async () => {
    assert.deepEqual(keys(await simbiJson(0, 'status')), ['running', 'ready', 'url', 'pid']);
    const without = await run(['status', '--env'], { DATA_DIR: join(folder, 'no-demo') });
    assert.deepEqual([without.code, without.out], [4, ''], 'a shell runs what it prints');
    const holders = await simbiJson<{ id: number }[]>(0, 'holder', 'list');
    assert.equal(holders.length, 1);
    assert.deepEqual(await simbiJson(0, 'holder', 'list', '--before', String(holders[0]?.id)), []);
    assert.equal((await run(['holder', 'list', '--limit', '1001'], settings)).code, 2);
    const { token } = await simbiJson<{ token: string }>(0, 'token');
    const revoked = await simbiJson<{ id: number }>(0, 'token', 'revoke', token);
    assert.deepEqual(keys(revoked), ['id', 'client_id', 'revoked_at']);
    assert.equal((await run(['token', 'revoke', String(revoked.id)], settings)).code, 4);
    assert.equal((await run(['token', 'revoke', 'x'], settings)).code, 2);
    assert.deepEqual(keys(await simbiJson(0, 'migrate', '--dry-run')), ['pending']);
    const added = await simbiJson<{ account: string; admin: boolean }>(0, 'admin', 'add', 'Ops@example.org');
    assert.deepEqual(keys(added), ['email', 'account', 'link', 'expires_at', 'admin']);
    assert.deepEqual([added.account, added.admin], ['new', false], 'the right holds when the link is used');
    assert.deepEqual(keys(await simbiJson(0, 'login-link')), ['login_link', 'expires_at']);
    assert.deepEqual(keys(await simbiJson(0, 'login-link', '--reset')), ['login_link', 'expires_at']);
    assert.deepEqual(await simbiJson(0, 'admin', 'remove', 'ops@example.org'), {
      email: 'ops@example.org',
      admin: false,
    });
    const typo = await run(['admin', 'remove', 'opps@example.org'], settings);
    assert.equal(typo.code, 4, 'who mistyped an address must not believe that the rights are gone');
    assert.match(typo.messages, /opps@example\.org is no admin.*Nothing was changed/);
    assert.equal((await run(['admin', 'add', 'nobody'], settings)).code, 2);
    assert.equal((await run(['holder', 'create', 'Kiosk', '--owner', 'nobody'], settings)).code, 2);
  });

  test('keys and tokens of an integration: what --json prints', async () => {
    const { token } = await simbiJson<{ token: string }>(0, 'token');
    const tokens = await simbiJson<{ id: number; client_id: string }[]>(0, 'token', 'list', '--key', 'default');
    assert.equal(tokens[0]?.id, Number(token.split('|')[0]));
    const listedToken = [
      'id',
      'client_id',
      'key',
      'secret_id',
      'created_at',
      'expires_at',
      'last_used_at',
      'address',
      'last_address',
    ];
    assert.deepEqual(keys(tokens[0] ?? {}), listedToken);
    const clientId = tokens[0]?.client_id ?? '';
    assert.deepEqual(await simbiJson(0, 'token', 'list', '--client-id', clientId, '--key', 'shop'), []);
    const key = (...args: string[]) => ['integration', 'key', ...args];
    const add = key('add', clientId, '--name', 'shop', '--scopes', 'collect,read', '--allow', '203.0.113.0/24');
    const added = await simbiJson<{ scopes: string[] }>(0, ...add);
    assert.deepEqual(keys(added), ['client_id', 'name', 'scopes', 'allowed_addresses', 'secret_key']);
    assert.deepEqual(added.scopes, ['collect', 'read']);
    assert.equal((await run(add, settings)).code, 1, 'the name is taken');
    assert.equal((await run(key('add', clientId, '--name', 'x', '--scopes', 'all'), settings)).code, 2);
    const rotated = await simbiJson(0, ...key('rotate', clientId, 'shop', '--overlap', '0'));
    assert.deepEqual(keys(rotated), ['client_id', 'name', 'secret_key', 'previous_expires_at']);
    const listed = await simbiJson<{ name: string; status: string }[]>(0, ...key('list', clientId));
    assert.deepEqual(
      listed.map(({ name, status }) => `${name} ${status}`),
      ['shop active', 'default active', 'shop ended'],
    );
    const revoked = await simbiJson(0, ...key('revoke', clientId, 'shop', '--yes'));
    assert.deepEqual(keys(revoked), ['client_id', 'name', 'revoked_at']);
    assert.equal((await run(key('revoke', clientId, 'shop', '--yes'), settings)).code, 4);
    assert.equal((await run(key('list', 'client_x'), settings)).code, 4);
  });

  test('a holder and its integration from creation to closing: what --json prints', async () => {
    const holderKeys = ['id', 'name', 'status', 'payouts_need_approval', 'time_zone', 'created_at'];
    const integration = [
      'client_id',
      'sender',
      'holder_id',
      'status',
      'allowed_addresses',
      'default_callback_url',
      'created_at',
    ];
    const holder = await simbiJson<{ id: number }>(0, 'holder', 'create', 'Kiosk', '--owner', 'ada@example.org');
    assert.deepEqual(keys(holder), [...holderKeys, 'owner']);
    const id = String(holder.id);
    const invited = await simbiJson(0, 'holder', 'invite', id, 'ben@example.org', '--role', 'viewer');
    assert.deepEqual(keys(invited), ['email', 'account', 'link', 'expires_at']);
    const made = await simbiJson<{ client_id: string }>(0, 'integration', 'create', id, 'Till');
    assert.deepEqual(keys(made), [...integration, 'secret_key', 'callback_secret']);
    const listed = await simbiJson<object[]>(0, 'integration', 'list', '--holder', id);
    assert.deepEqual(listed.map(keys), [integration], 'secrets are shown once');
    const rotated = await simbiJson(0, 'integration', 'rotate', made.client_id);
    assert.deepEqual(keys(rotated), ['client_id', 'kind', 'secret', 'previous_expires_at']);
    assert.deepEqual(keys(await simbiJson(0, 'integration', 'revoke', made.client_id, '--yes')), integration);
    for (const [command, status] of [
      ['suspend', 'suspended'],
      ['resume', 'active'],
      ['close', 'closed'],
    ] as const) {
      const sure = command === 'close' ? ['--yes'] : [];
      const changed = await simbiJson<{ status: string }>(0, 'holder', command, id, ...sure);
      assert.equal(changed.status, status);
      assert.deepEqual(keys(changed), holderKeys);
    }
    assert.deepEqual(keys(await simbiJson(0, 'limits')), ['held_back']);
    const float = ['sandbox', '--currency', 'KES'];
    await simbiJson(0, 'float', 'set', ...float, '--low', '5000', '--stop', '100');
    const { floats } = await simbiJson<{ floats: { connection: string; low: string; stop: string }[] }>(0, 'float');
    assert.deepEqual(
      floats.map(({ connection, low, stop }) => [connection, low, stop]),
      [['sandbox', '5000', '100']],
    );
    assert.deepEqual(keys(await simbiJson(0, 'float', 'waiting', ...float)), ['payouts']);
    await simbiJson(0, 'float', 'remove', ...float);
    assert.deepEqual(await simbiJson(0, 'statement', 'daily'), { fetches: [] });
    const signed = ['client_id', 'sender', 'timestamp', 'salt', 'params', 'signature'];
    assert.deepEqual(keys(await simbiJson(0, 'sign', '--params', '{}')), signed);
    const checks = await simbiJson<object[]>(0, 'doctor');
    assert.ok(checks.length > 5);
    // A check may also have a fix.
    for (const check of checks) assert.deepEqual(keys(check).slice(0, 3), ['check', 'ok', 'detail']);
  });

  test('after-restore: needs confirmation, asks about open payments first, and ends API tokens', async () => {
    const unconfirmed = await run(['after-restore'], settings);
    assert.equal(unconfirmed.code, 2);
    const { token } = await simbiJson<{ token: string }>(0, 'token');
    const result = await simbiJson<{ asked_again: number; ended: object }>(0, 'after-restore', '--yes');
    assert.deepEqual(keys(result), ['asked_again', 'ended']);
    const url = settings.SIMBI_URL ?? (await simbiJson<{ url: string }>(0, 'status')).url;
    const answer = await fetch(`${url}/api/v3/countries`, { headers: { authorization: `Bearer ${token}` } });
    assert.equal(answer.status, 401);
  });
});
