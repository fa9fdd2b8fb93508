// simbi rail: what it prints, what it refuses and with which exit code; secrets are in no output.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { startSimulator } from '../simulators/frame.ts';
import { createPaystackSimulator } from '../simulators/paystack.ts';
import { runCommand } from '../src/cli.ts';
import { RAILS } from '../src/rails/registry.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';

const SECRET = 'sk_test_this_is_nobodys_business';

let database: TestDatabase;
let simulator: Awaited<ReturnType<typeof startSimulator>>;
const folder = mkdtempSync(join(tmpdir(), 'simbi-rail-'));
/** Everything that any command printed. */
const output: string[] = [];

before(async () => {
  database = await createTestDatabase();
  simulator = await startSimulator(createPaystackSimulator, {});
});
after(async () => {
  await simulator.close();
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
});

const rail = (args: string[], input: string | null = null, settings: Record<string, string> = {}) =>
  simbi(['rail', ...args], input, settings);

async function simbi(args: string[], input: string | null = null, settings: Record<string, string> = {}) {
  const printed = { out: '', messages: '' };
  const environment = { DATABASE_URL: database.url, DATA_DIR: folder, LOG_LEVEL: 'silent', ...settings };
  process.exitCode = 0;
  const code = await runCommand(
    {
      environment,
      interactive: false,
      out: (text) => {
        printed.out += `${text}\n`;
      },
      say: (text) => {
        printed.messages += `${text}\n`;
      },
      bold: (text) => text,
      readInput: async () => (input === null ? null : Buffer.from(input)),
    },
    args,
  );
  process.exitCode = 0;
  output.push(printed.out, printed.messages);
  return { code, ...printed };
}

async function railJson<T>(args: string[], input: string | null = null): Promise<T> {
  const ran = await rail([...args, '--json'], input);
  assert.equal(ran.code, 0, ran.messages);
  return JSON.parse(ran.out) as T;
}

test('the examples in the help name settings that there are', async () => {
  for (const command of ['add', 'set']) {
    const { out } = await rail([command, '--help']);
    const examples = [...out.matchAll(/rail (?:add|set) ([\w-]+)(.*)/g)].flatMap(([, name, rest = '']) =>
      [...rest.matchAll(/--set(?:-file)? (\w+)=/g)].map(([, setting]) => ({ name, setting })),
    );
    assert.ok(examples.length > 0, out);
    for (const { name, setting } of examples) {
      const definition = RAILS.find((each) => each.name === name) ?? assert.fail(name);
      assert.ok(
        definition.settings.some((each) => each.name === setting),
        `${name} has no setting ${setting}`,
      );
    }
  }
});

describe('simbi rail', () => {
  test('a connection to a simulator, routed: one line', async () => {
    const made = await railJson<{ name: string; simulator: string; routes: string[]; secrets: string[] }>([
      'add',
      'paystack',
      '--simulator',
      simulator.url,
      '--route',
    ]);
    assert.deepEqual([made.name, made.simulator, made.secrets], ['paystack', simulator.url, ['secret_key']]);
    assert.ok(made.routes.includes('MTN_MOMO_GHA collection'));
    const { routes } = await railJson<{ routes: { method: string; connections: string[] }[] }>(['route', 'list']);
    assert.deepEqual(new Set(routes.map(({ connections }) => connections.join())), new Set(['paystack']));
  });

  test('every error of a new connection is named at once', async () => {
    const ran = await rail(['add', 'paystack', '--name', 'P', '--set', 'secret_kee=x', '--methods', 'MTN_MOMO_GHB']);
    assert.equal(ran.code, 1);
    for (const part of [
      /secret_kee: .*Did you mean "secret_key"\?/,
      /secret_key: .*is missing/,
      /name: /,
      /MTN_MOMO_GHB/,
    ])
      assert.match(ran.messages, part);
    assert.match((await rail(['add', 'paystak'])).messages, /no rail "paystak"\. Did you mean "paystack"\?/);
    assert.equal((await rail(['add', 'paystack', '--set', SECRET])).code, 2, 'the form is name=value');
  });

  test('secrets come from a file or standard input and are never shown', async () => {
    const path = join(folder, 'key');
    writeFileSync(path, `${SECRET}\n`);
    const sandbox = ['add', 'paystack', '--name', 'pay-two', '--set', 'payer_email_domain=shop.example.com'];
    assert.equal((await rail([...sandbox, '--set-file', `secret_key=${path}`])).code, 0);
    assert.equal((await rail(['set', 'pay-two', '--set-file', 'secret_key=-'], `${SECRET}_two`)).code, 0);
    assert.equal((await rail(['set', 'pay-two', '--set-file', 'secret_key=-'])).code, 2, 'nothing was piped in');
    assert.equal((await rail(['set', 'pay-two', '--set-file', `secret_key=${path}.gone`])).code, 4);
    assert.equal((await rail(['set', 'pay-two'])).code, 2, 'nothing to change');
    const shown = await rail(['show', 'pay-two']);
    assert.match(shown.out, /secret_key +\(secret, set\)/);
    assert.match(shown.out, /payer_email_domain +shop\.example\.com/);
    assert.match(shown.out, /callbacks +http:\/\/localhost:\d+\/operators\/pay-two/);
    const shownJson = await railJson<{ settings: object; secrets: string[] }>(['show', 'pay-two']);
    assert.deepEqual(shownJson.secrets, ['secret_key']);
    await rail(['list']);
    assert.doesNotMatch(output.join('\n'), /nobodys_business/);
  });

  test('production is refused in a sandbox', async () => {
    const ran = await rail([
      'add',
      'paystack',
      '--name',
      'real',
      '--environment',
      'production',
      '--set',
      'secret_key=sk_live_x',
    ]);
    assert.equal(ran.code, 1);
    assert.match(ran.messages, /only in live mode/);
  });

  test('pause, resume, remove', async () => {
    const stateOf = async () => {
      const { connections } = await railJson<{ connections: { name: string; state: string }[] }>(['list']);
      return connections.find(({ name }) => name === 'pay-two')?.state;
    };
    await rail(['pause', 'pay-two']);
    assert.equal(await stateOf(), 'paused');
    await rail(['resume', 'pay-two']);
    assert.equal(await stateOf(), 'in_use');
    assert.equal((await rail(['remove', 'pay-two'])).code, 2, 'it needs --yes');
    assert.equal((await rail(['remove', 'pay-two', '--yes'])).code, 0);
    assert.equal(await stateOf(), undefined);
    assert.match((await rail(['list', '--all'])).out, /pay-two.*removed/);
    assert.equal((await rail(['pause', 'pay-two'])).code, 4);
  });

  test('routes: replaced, removed, and refused where a connection cannot serve the method', async () => {
    assert.match((await rail(['route', 'set', 'MTN_MOMO_GHA', 'payout', 'paystack'])).out, /payouts go to paystack\./);
    const wrong = await rail(['route', 'set', 'MTN_MOMO_UGA', 'collection', 'paystack', 'nobody']);
    assert.equal(wrong.code, 1);
    assert.match(wrong.messages, /"paystack" does not serve MTN_MOMO_UGA.*There is no connection "nobody"/s);
    assert.equal((await rail(['route', 'set', 'MTN_MOMO_GHA', 'sideways'])).code, 2);
    assert.match((await rail(['route', 'set', 'MTN_MOMO_GHA', 'payout'])).out, /has no route for payouts any more/);
  });

  test('the test of a connection: what works, what is missing, and exit code 1', async () => {
    const tested = await rail(['test', 'paystack', '--json']);
    const report = JSON.parse(tested.out) as { ok: boolean; checks: { name: string; problem: string | null }[] };
    assert.equal(tested.code, 1, 'no gateway runs here, so callbacks reach nobody');
    assert.match(report.checks.find(({ problem }) => problem !== null)?.problem ?? '', /does not answer from here/);
    assert.equal((await rail(['test', 'nobody'])).code, 4);
  });

  test('doctor names a connection whose credentials the operator refuses', async () => {
    const findings = async () => {
      const { out } = await simbi(['doctor', '--json']);
      const all = JSON.parse(out) as { check: string; ok: boolean; detail: string }[];
      return all.filter(({ check }) => check.startsWith('rail '));
    };
    assert.deepEqual(
      (await findings()).map(({ check, ok }) => [check, ok]),
      [['rail paystack', true]],
      'those that were removed are left out',
    );
    await simulator.act('roll_key', { secretKey: 'sk_test_another' });
    const [refused] = await findings();
    assert.equal(refused?.ok, false);
    assert.match(refused?.detail ?? '', /refuses the secret key/);
    assert.doesNotMatch(refused?.detail ?? '', /callbacks|does not answer from here/);
  });
});
