// The process as people meet it: real commands, real signals, real kills.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { isAlive } from '../src/embedded-postgres/processes.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { createTestContext } from './harness.ts';
import { reservePort } from './ports.ts';
import { machineNode, patiently, type RunningProcess, type Settings, simbi, start } from './processes.ts';
import { createShop, type Shop, signBody } from './shop.ts';

const DEMO_KEYS = [
  'base_url',
  'client_id',
  'secret_key',
  'sender',
  'callback_secret',
  'console_url',
  'login_link',
  'wallet_accounts',
  'payment_link',
  'phone_url',
];

type Demo = Record<string, string>;

const folder = mkdtempSync(join(tmpdir(), 'simbi-process-'));
const running = new Set<RunningProcess>();
after(async () => {
  for (const each of running) {
    each.child.kill('SIGTERM');
    await each.ended;
  }
  rmSync(folder, { recursive: true, force: true });
});

function launch(args: string[], settings: Settings, node?: string): RunningProcess {
  const started = simbi(args, settings, node);
  running.add(started);
  void started.ended.then(() => running.delete(started));
  return started;
}

const run = async (args: string[], settings: Settings, node?: string) => await launch(args, settings, node).ended;

async function postJson(url: string, body: unknown): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await patiently(() =>
    fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
  );
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

const getToken = (demo: Demo) =>
  postJson(`${demo.base_url}/api/integration/get-token`, {
    client_id: demo.client_id,
    secret_key: demo.secret_key,
  });

/** Of a request with this token. */
const statusOf = async (demo: Demo, token: string): Promise<number> => {
  const ask = () =>
    fetch(`${demo.base_url}/api/service-signature`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ client_id: demo.client_id, sender: demo.sender, params: {} }),
    });
  return (await patiently(ask)).status;
};

/** A signed read of the balance, as the demo account. */
function signBalance(demo: Demo) {
  const { client_id: clientId = '', sender: title = '', secret_key: secretKey = '' } = demo;
  return signBody({ clientId, title, secretKey }, Date.now());
}

const readBalance = async (url: string | undefined, body: object) => {
  const answer = await postJson(`${url}/api/v3/get-unified-balance`, body);
  return [answer.status, answer.body.code];
};

describe('settings that are wrong', () => {
  test('all faults in one message, code 2, nothing made', async () => {
    const dataDir = join(folder, 'never');
    for (const command of ['up', 'serve', 'doctor']) {
      const { code, out, stderr } = await run([command], {
        DATA_DIR: dataDir,
        PORT: 'eighty',
        MODE: 'live',
        ROLE: 'king',
      });
      assert.equal(code, 2);
      assert.equal(out, '');
      for (const name of ['PORT', 'ROLE', 'MASTER_KEY', 'DATABASE_URL', 'PUBLIC_URL'])
        assert.match(stderr, new RegExp(`- ${name} `));
      assert.doesNotMatch(stderr, /at .*\.ts:/, 'no stack is shown to a person');
    }
    assert.equal(existsSync(dataDir), false);
  });

  test('usage: code 2, with the nearest command; help shows examples first and the exit codes', async () => {
    const typo = await run(['tokne'], {});
    assert.equal(typo.code, 2);
    assert.match(typo.stderr, /Did you mean token\?/);
    const help = await run(['--help'], {});
    assert.equal(help.code, 0);
    assert.match(help.out, /^Examples:/);
    assert.match(help.out, /Exit codes:/);
  });

  test('output that nobody reads to its end, and output that finds no room', async () => {
    const left = launch(['--help'], {});
    left.child.stdout?.destroy();
    assert.deepEqual(await left.ended, { code: 0, out: '', stderr: '' });
    if (!existsSync('/dev/full')) return;
    const args = [join(import.meta.dirname, '../bin/run.mjs'), 'src/cli.ts', '--help'];
    const full = spawnSync(process.execPath, args, { stdio: ['ignore', openSync('/dev/full', 'w'), 'pipe'] });
    assert.equal(full.status, 1);
    assert.equal(
      String(full.stderr),
      'The output cannot be written. The disk is full. Free some space and run it again.\n',
    );
  });

  test('a database that is not there: code 6, with a reason', async () => {
    const settings = {
      DATA_DIR: join(folder, 'away'),
      DATABASE_URL: 'postgres://u:topsecret@127.0.0.1:1/x',
      PORT: '0',
    };
    const { code, stderr } = await run(['serve'], settings);
    assert.equal(code, 6);
    assert.ok(!stderr.includes('topsecret') && !stderr.includes('.ts:'));
  });

  test('doctor names each server of a database that several may hold, or that this machine has', async () => {
    for (const [url, servers] of [
      ['postgres://u:topsecret@127.0.0.1:1,127.0.0.1:2/x', '127.0.0.1:1, 127.0.0.1:2'],
      ['postgres://u@/x?host=/nowhere', 'localhost'],
    ]) {
      const settings = { DATA_DIR: join(folder, 'away'), DATABASE_URL: url, PORT: '0' };
      const { code, out, stderr } = await run(['doctor'], settings);
      assert.equal(code, 1, stderr);
      assert.ok(out.includes(`FAILED database     ${servers}: `), out);
      assert.ok(!`${out}${stderr}`.includes('topsecret') && !stderr.includes('.ts:'));
    }
  });
});

describe('the embedded database', () => {
  const dataDir = join(folder, 'data');
  let settings: Settings;
  let server: RunningProcess;
  const demo = () => JSON.parse(readFileSync(join(dataDir, 'demo.json'), 'utf8')) as Demo;
  /** The pid of the server itself, whatever launched it. */
  const serverPid = () => (JSON.parse(readFileSync(join(dataDir, 'simbi.lock'), 'utf8')) as { pid: number }).pid;
  const postgresPid = () =>
    Number(readFileSync(join(dataDir, 'postgres/cluster/postmaster.pid'), 'utf8').split('\n')[0]);

  before(async () => {
    settings = { DATA_DIR: dataDir, PORT: String(await reservePort()) };
    server = launch(['up'], settings, machineNode());
    await server.printed(/Stop: Ctrl-C/);
  });

  test('the first start is ready, writes demo.json for its owner only, and shows the secret once', async () => {
    const ready = await patiently(() => fetch(`http://127.0.0.1:${settings.PORT}/readyz`));
    assert.equal(ready.status, 200);
    assert.deepEqual(Object.keys(demo()), DEMO_KEYS);
    assert.equal(statSync(join(dataDir, 'demo.json')).mode & 0o777, 0o600);
    assert.equal(statSync(join(dataDir, 'master.key')).mode & 0o777, 0o600);
    await server.printed(new RegExp(demo().secret_key ?? 'missing'));
    assert.equal((await getToken(demo())).status, 200);
  });

  test('a second start on the same folder is refused with a reason, and shows where the first one is', async () => {
    // Through a launcher on an older Node, which once waited for ever for the process that had been refused.
    const { code, out, stderr } = await run(['up'], settings, machineNode());
    assert.equal(code, 5);
    assert.match(
      stderr,
      new RegExp(`is already running on this DATA_DIR \\(process ${serverPid()}, http://localhost:${settings.PORT}\\)`),
    );
    assert.ok(out.includes(demo().console_url ?? '') && !out.includes(demo().secret_key ?? ''));
    assert.ok(!out.includes(demo().login_link ?? ''), 'a link that was used already is not offered');
    assert.equal((await patiently(() => fetch(`http://127.0.0.1:${settings.PORT}/readyz`))).status, 200);
  });

  test('a port that is taken: says so, names PORT, makes nothing', async () => {
    const other = join(folder, 'other');
    const { code, stderr } = await run(['serve'], { DATA_DIR: other, PORT: settings.PORT });
    assert.equal(code, 5);
    assert.match(stderr, new RegExp(`Port ${settings.PORT} .* PORT`));
    assert.deepEqual(readdirSync(other), []);
    const up = await run(['up'], { DATA_DIR: other, PORT: settings.PORT });
    assert.equal(up.code, 5);
    assert.match(up.stderr, new RegExp(`Port ${settings.PORT} .* PORT`));
    assert.doesNotMatch(up.stderr, /\.ts:|Error/, 'no stack is shown to a person');
    const doctor = await run(['doctor'], { DATA_DIR: other, PORT: settings.PORT });
    assert.equal(doctor.code, 1);
    assert.match(doctor.out, new RegExp(`FAILED port +${settings.PORT} is used by another Simbi`));
  });

  test('commands work beside the running server', async () => {
    const [token, holder, doctor, link, signed] = await Promise.all([
      run(['token'], settings),
      run(['holder', 'create', 'Made by command', '--json'], settings),
      run(['doctor', '--json'], settings),
      run(['login-link'], settings),
      run(
        ['sign', '--explain', '--json', '--params', '{"b":1.0,"a":"é"}', '--timestamp', '1', '--salt', 's'],
        settings,
      ),
    ]);
    assert.match(token.out, /^\d+\|[\w-]{40,}\n$/);
    assert.equal((JSON.parse(holder.out) as { name: string }).name, 'Made by command');
    const findings = JSON.parse(doctor.out) as { check: string; ok: boolean }[];
    assert.deepEqual(
      findings.map((finding) => `${finding.check} ${finding.ok}`),
      [
        'Node',
        'brand',
        'disk',
        'port',
        'database',
        'migrations',
        'login',
        'rights',
        'row security',
        'database TLS',
        'mode',
      ]
        .concat('master key', 'clock', 'history', 'methods', 'public URL')
        .map((name) => `${name} true`),
    );
    assert.match(link.out, /^http:\/\/localhost:\d+\/console\/login\/otl_/);
    const steps = JSON.parse(signed.out) as { canonical: string; signature: string; sha256: string };
    assert.equal(
      steps.canonical,
      `{"client_id":"${demo().client_id}","params":{"a":"é","b":1},"salt":"s","sender":"Demo shop","timestamp":1}`,
    );
    assert.match(steps.signature, /^[0-9a-f]{64}$/);
    for (const { code } of [token, holder, doctor, link, signed]) assert.equal(code, 0);
    const missing = await run(['login-link', 'nobody@example.org'], settings);
    assert.equal(missing.code, 4);
  });

  test('killed with -9 under load, it starts again within seconds and has lost nothing', async () => {
    const tokens: string[] = [];
    const spent = signBalance(demo());
    assert.deepEqual(await readBalance(demo().base_url, spent), [200, undefined]);
    const busy = Array.from({ length: 4 }, async () => {
      for (;;) {
        const answer = await getToken(demo()).catch(() => null);
        if (!answer) return;
        if (answer.status === 200) tokens.push((answer.body.data as { token: string }).token);
      }
    });
    while (tokens.length < 20) await new Promise((resolve) => setImmediate(resolve));
    process.kill(serverPid(), 'SIGKILL');
    await Promise.all([...busy, server.ended]);
    const orphan = postgresPid();
    assert.ok(isAlive(orphan), 'PostgreSQL outlives its killed server');
    server = launch(['up'], settings);
    await server.printed(/Stop: Ctrl-C/);
    assert.equal(postgresPid(), orphan, 'and is adopted');
    for (const token of tokens)
      assert.equal(await statusOf(demo(), token), 200, 'every token that was answered is in the database');
    assert.deepEqual(await readBalance(demo().base_url, spent), [403, 'signature_reused']);
    assert.ok(!(await server.printed(/Secrets .*demo\.json/)).input.includes(demo().secret_key ?? ''));
  });

  test('SIGTERM under requests: what was taken is answered, it exits 0, and PostgreSQL is gone', async () => {
    let answered = 0;
    const statuses = new Set<number>();
    const busy = Array.from({ length: 8 }, async () => {
      for (;;) {
        const answer = await getToken(demo()).catch((error: Error & { cause?: { code?: string } }) => error);
        // Refused or reset before an answer began is how a closed door looks; half an answer would be a parse error.
        if (answer instanceof Error) return answer.cause?.code ?? answer.message;
        statuses.add(answer.status);
        answered++;
      }
    });
    while (answered < 50) await new Promise((resolve) => setImmediate(resolve));
    const postgres = postgresPid();
    server.child.kill('SIGTERM');
    const { code } = await server.ended;
    assert.equal(code, 0);
    assert.deepEqual([...statuses], [200]);
    for (const end of await Promise.all(busy)) assert.match(String(end), /ECONNREFUSED|ECONNRESET|UND_ERR_SOCKET/);
    assert.equal(isAlive(postgres), false);
    assert.equal(existsSync(join(dataDir, 'simbi.lock')), false);
  });

  test('SIGTERM while nothing can be written to DATA_DIR: it stops all the same', async () => {
    server = launch(['serve'], settings);
    await server.printed(/Listening/);
    // Where the lock file is written; as on a full disk it cannot be.
    const draft = join(dataDir, `simbi.lock.${serverPid()}`);
    mkdirSync(draft);
    server.child.kill('SIGTERM');
    const { code, stderr } = await server.ended;
    rmSync(draft, { recursive: true });
    assert.equal(code, 0, stderr);
  });

  test('a command without a server starts the database for the moment and stops it again', async () => {
    const { code, out } = await run(['holder', 'list', '--json'], settings);
    assert.equal(code, 0);
    assert.deepEqual(
      (JSON.parse(out) as { name: string }[]).map((holder) => holder.name),
      ['Made by command', 'Demo shop'],
    );
    assert.equal(existsSync(join(dataDir, 'postgres/cluster/postmaster.pid')), false);
  });

  test('when its launcher is killed the server stops too, and the next start waits for that', async () => {
    const older = machineNode();
    server = launch(['serve'], settings, older);
    await server.printed(/Listening/);
    server.child.kill('SIGKILL');
    const again = launch(['serve'], settings);
    await again.printed(/Listening/);
    assert.equal((await patiently(() => fetch(`${demo().base_url}/readyz`))).status, 200);
    again.child.kill('SIGINT');
    assert.equal((await again.ended).code, 0);
  });
});

describe('one outside database, several processes', () => {
  let database: TestDatabase;
  before(async () => {
    database = await createTestDatabase();
  });
  after(() => database.drop());

  test('two servers and a worker share it: one demo account, tokens good everywhere, a wrong master key refused', async () => {
    const settings = { DATABASE_URL: database.url, DATA_DIR: join(folder, 'shared'), PORT: '0' };
    const both = [launch(['serve'], settings), launch(['serve'], settings), launch(['worker'], settings)];
    const urls = await Promise.all(both.map(async (each) => (await each.printed(/Listening: (\S+)/))[1] ?? ''));
    const demo = JSON.parse(readFileSync(join(folder, 'shared/demo.json'), 'utf8')) as Demo;
    const { body } = await getToken({ ...demo, base_url: urls[0] ?? '' });
    const { token } = body.data as { token: string };
    assert.equal(await statusOf({ ...demo, base_url: urls[1] ?? '' }, token), 200);
    const spent = signBalance(demo);
    assert.deepEqual(await readBalance(urls[0], spent), [200, undefined]);
    assert.deepEqual(await readBalance(urls[1], spent), [403, 'signature_reused']);
    assert.equal((await patiently(() => fetch(`${urls[2]}/readyz`))).status, 200);
    assert.equal((await fetch(`${urls[2]}/api/integration/get-token`, { method: 'POST' })).status, 404);
    const list = await run(['integration', 'list', '--json'], settings);
    assert.equal((JSON.parse(list.out) as unknown[]).length, 1);
    const stranger = await run(['serve'], { ...settings, DATA_DIR: join(folder, 'stranger') });
    assert.equal(stranger.code, 2);
    assert.match(stranger.stderr, /encrypted with another master key/);
    for (const each of both) each.child.kill('SIGTERM');
    for (const each of both) assert.equal((await each.ended).code, 0);
  });

  test('one signature, fifty times at once through two processes, then after a restart: it passes once', async () => {
    const masterKey = randomBytes(32).toString('hex');
    const ctx = await createTestContext({ MASTER_KEY: masterKey });
    const { createVault } = await import('../src/platform/secrets.ts');
    const shop: Shop = await createShop({ ...ctx, vault: createVault(Buffer.from(masterKey, 'hex')) });
    const settings = { DATABASE_URL: ctx.databaseUrl, MASTER_KEY: masterKey, DATA_DIR: join(folder, 'probe') };
    const open = async () => {
      const probe = start('test/probe-server.ts', [], settings);
      running.add(probe);
      return { probe, url: (await probe.printed(/Listening: (\S+)/))[1] ?? '' };
    };
    const close = async (opened: { probe: RunningProcess }) => {
      opened.probe.child.kill('SIGKILL');
      await opened.probe.ended;
      running.delete(opened.probe);
    };
    const pair = await Promise.all([open(), open()]);
    const body = signBody(shop, Date.now());
    const results = await Promise.all(
      Array.from({ length: 50 }, (_, index) => postJson(`${pair[index % 2]?.url}/probe`, body)),
    );
    assert.equal(results.filter((result) => result.status === 200).length, 1);
    assert.equal(results.filter((result) => result.body.code === 'signature_reused').length, 49);
    await Promise.all(pair.map(close));
    const restarted = await open();
    const again = await postJson(`${restarted.url}/probe`, body);
    assert.deepEqual(
      [again.status, again.body.message, again.body.code],
      [403, 'Request was not verified.', 'signature_reused'],
    );
    await close(restarted);
    await ctx.close();
  });
});
