// Several processes of one gateway: on the embedded database behind one port, and on two "machines" behind a load balancer.
// Real commands, real signals, real kills.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, createServer, request, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { isAlive } from '../src/embedded-postgres/processes.ts';
import { findEmbeddedPostgres } from '../src/embedded-postgres/server.ts';
import { connectDatabase } from '../src/platform/db.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { reservePort } from './ports.ts';
import { patiently, type RunningProcess, type Settings, simbi } from './processes.ts';
import { signBody } from './shop.ts';

const folder = mkdtempSync(join(tmpdir(), 'simbi-several-'));
const running = new Set<RunningProcess>();
after(async () => {
  for (const each of running) {
    each.child.kill('SIGTERM');
    await each.ended;
  }
  rmSync(folder, { recursive: true, force: true });
});

function launch(args: string[], settings: Settings): RunningProcess {
  const started = simbi(args, settings);
  running.add(started);
  void started.ended.then(() => running.delete(started));
  return started;
}

/** The gateway processes that a supervisor has at the moment. */
function gatewayPids(supervisor: number): number[] {
  const children = readFileSync(`/proc/${supervisor}/task/${supervisor}/children`, 'utf8').trim().split(' ');
  return children.filter((pid) => pid && commandOf(pid).includes('gateway-child')).map(Number);
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

const turn = () => new Promise((resolve) => setTimeout(resolve, 20));

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await turn();
}

/**
 * Lanes of requests, each on a connection that it keeps, until `stop`. A failure is all but a 200 or a database that is slow. Some
 * hundred requests a second are enough to meet every moment of a change; more would only take the processors from the processes.
 */
function load(url: string, lanes: number) {
  let stopped = false;
  let answered = 0;
  const failures: string[] = [];
  const lane = async () => {
    while (!stopped)
      try {
        const answer = await fetch(url);
        const { errors = {} } = (await answer.json()) as { errors?: Record<string, string[]> };
        // On a busy machine the database may be slow to commit for a moment. The processes have no part in that.
        const isBusy = Object.keys(errors).join() === 'database';
        if (answer.status === 200) answered++;
        else if (!isBusy) failures.push(`status ${answer.status}: ${JSON.stringify(errors)}`);
      } catch (error) {
        failures.push(String((error as Error).cause ?? error));
      } finally {
        await turn();
      }
  };
  const ended = Promise.all(Array.from({ length: lanes }, lane));
  return {
    answered: () => answered,
    async stop() {
      stopped = true;
      await ended;
      return failures;
    },
  };
}

describe('two processes on the embedded database', () => {
  const dataDir = join(folder, 'data');
  let url: string;
  let service: RunningProcess;
  const supervisor = () => (JSON.parse(readFileSync(join(dataDir, 'simbi.lock'), 'utf8')) as { pid: number }).pid;
  const pids = () => gatewayPids(supervisor());
  const metrics = async () => (await fetch(`${url}/metrics`, { headers: { connection: 'close' } })).text();
  const postgresPid = () =>
    Number(readFileSync(join(dataDir, 'postgres/cluster/postmaster.pid'), 'utf8').split('\n')[0]);
  /** Whether both processes are ready, by the count of the one that supervises. */
  const isWhole = async () => /^simbi_processes_ready 2$/m.test(await metrics());

  before(async () => {
    const port = await reservePort();
    url = `http://127.0.0.1:${port}`;
    const settings = {
      DATA_DIR: dataDir,
      PORT: String(port),
      // Clients must see it in time also on a machine that stands still for seconds.
      STOP_DELAY_MS: '3000',
      RATE_LIMIT_PER_ADDRESS_PER_SECOND: '0',
    };
    service = launch(['serve', '--processes', '2'], settings);
    await service.printed(/Listening: \S+/);
  });

  test('both answer, and each is told apart in metrics and log lines', async () => {
    assert.equal(pids().length, 2);
    await until(async () => {
      await Promise.all(Array.from({ length: 8 }, () => fetch(`${url}/livez`, { headers: { connection: 'close' } })));
      const text = await metrics();
      return [1, 2].every((process) =>
        new RegExp(`^simbi_http_requests_total\\{[^}]*route="/livez"[^}]*process="${process}"`, 'm').test(text),
      );
    });
    // On a busy machine the figures of a process, or of the database, may come too late for one look.
    const shown = [
      /^simbi_processes_wanted 2$/m,
      /^simbi_http_request_seconds_bucket\{[^}]*process="1"/m,
      /^simbi_backlog\{queue="payments"\} 0$/m,
    ];
    await until(async () => {
      const text = await metrics();
      return shown.every((line) => line.test(text));
    });
    assert.equal((await patiently(() => fetch(`${url}/readyz`))).status, 200);
    await service.printed(/"process":1.*"ready"/);
    await service.printed(/"process":2.*"ready"/);
  });

  test('each listens for work that another leaves', async () => {
    const postgres = await findEmbeddedPostgres(join(dataDir, 'postgres'));
    assert.ok(postgres);
    const db = connectDatabase({ url: postgres.url, as: 'owner', poolSize: 2 });
    const listening = `select pid from pg_stat_activity where application_name = 'simbi-listen' and query ilike 'listen %'`;
    await until(async () => (await db.query(listening)).length === 2);
    await db.close();
  });

  test('a limit holds over both: of ten prompts for one phone three are made', async () => {
    const demo = JSON.parse(readFileSync(join(dataDir, 'demo.json'), 'utf8')) as Record<string, string>;
    const shop = { clientId: demo.client_id ?? '', title: demo.sender ?? '', secretKey: demo.secret_key ?? '' };
    const params = { amount: 1_000, mobile: '256772123456', country_id: 11, currency: 'UGX' };
    const codes = await Promise.all(
      Array.from({ length: 10 }, async () => {
        const answer = await patiently(() =>
          fetch(`${url}/api/v3/service-unified-collections`, {
            method: 'POST',
            headers: { 'content-type': 'application/json', connection: 'close' },
            body: JSON.stringify(signBody(shop, Date.now(), params)),
          }),
        );
        return ((await answer.json()) as { code?: string }).code ?? 'accepted';
      }),
    );
    assert.deepEqual(codes.sort(), [...Array(3).fill('accepted'), ...Array(7).fill('number_limited')]);
  });

  test('one is killed: the other answers, and it is started again', async () => {
    const [killed = 0, other = 0] = pids();
    process.kill(killed, 'SIGKILL');
    await until(() => !isAlive(killed));
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => patiently(() => fetch(`${url}/readyz`, { headers: { connection: 'close' } }))),
    );
    assert.deepEqual([...new Set(answers.map((answer) => answer.status))], [200]);
    await until(isWhole);
    assert.ok(pids().includes(other) && !pids().includes(killed));
    await until(async () => /^simbi_processes_ended_total 1$/m.test(await metrics()));
  });

  test('SIGHUP under load: every process is replaced, and no request fails', async () => {
    const old = pids();
    const requests = load(`${url}/readyz`, 8);
    await until(() => requests.answered() > 50);
    process.kill(supervisor(), 'SIGHUP');
    await service.printed(/all processes were replaced/);
    const after = requests.answered();
    await until(() => requests.answered() > after + 50);
    assert.deepEqual(await requests.stop(), []);
    assert.equal(pids().length, 2);
    assert.deepEqual(
      pids().filter((pid) => old.includes(pid)),
      [],
    );
  });

  test('SIGTERM: it exits with 0, and nothing of it is left', async () => {
    const all = [...pids(), postgresPid()];
    service.child.kill('SIGTERM');
    assert.equal((await service.ended).code, 0);
    assert.deepEqual(all.filter(isAlive), []);
  });
});

describe('processes that cannot start', () => {
  let database: TestDatabase;
  before(async () => {
    database = await createTestDatabase();
  });
  after(() => database.drop());

  test('the reason is that of the process, and nothing is left running', async () => {
    const catalog = join(folder, 'catalog.json');
    writeFileSync(catalog, '[]');
    const settings = {
      DATABASE_URL: database.url,
      DATA_DIR: join(folder, 'keys'),
      PORT: '0',
      CATALOG_FILE: catalog,
    };
    const service = launch(['serve', '--processes', '2'], settings);
    const { code, stderr } = await service.ended;
    assert.equal(code, 2);
    assert.match(stderr, /The catalogue file .* must be a JSON object/);
  });

  test('a wrong key is refused before a process is started', async () => {
    const settings = { DATABASE_URL: database.url, PORT: '0', PROCESSES: '2' };
    const first = launch(['serve'], { ...settings, DATA_DIR: join(folder, 'keys') });
    await first.printed(/Listening: \S+/);
    // Another DATA_DIR has another master key.
    const { code, stderr } = await launch(['serve'], { ...settings, DATA_DIR: join(folder, 'second') }).ended;
    assert.equal(code, 2);
    assert.match(stderr, /encrypted with another master key/);
    assert.doesNotMatch(stderr, /\.ts:/, 'no stack is shown to a person');
    first.child.kill('SIGTERM');
    assert.equal((await first.ended).code, 0);
  });

  test('more processes than the database has connections for', async () => {
    const settings = { DATA_DIR: join(folder, 'keys'), DATABASE_URL: database.url, PORT: '0' };
    const { code, stderr } = await launch(['serve', '--processes', '64'], settings).ended;
    assert.equal(code, 2);
    assert.match(stderr, /PROCESSES=64 needs \d+ connections to PostgreSQL, which takes \d+/);
    const wrong = await launch(['serve', '--processes', 'many'], settings).ended;
    assert.equal(wrong.code, 2);
    assert.match(wrong.stderr, /PROCESSES must be auto or a whole number from 1 to 64/);
  });
});

describe('two machines behind a load balancer', () => {
  let database: TestDatabase;
  let balancer: Balancer;
  before(async () => {
    database = await createTestDatabase();
  });
  after(async () => {
    balancer?.close();
    await database.drop();
  });

  test('one is restarted after the other: no request fails', async () => {
    const ports = [await reservePort(), await reservePort()];
    const startOn = async (port: number) => {
      const settings = {
        DATABASE_URL: database.url,
        DATA_DIR: join(folder, 'machines'),
        PORT: String(port),
        // The balancer must see it in time also on a machine that stands still for seconds.
        STOP_DELAY_MS: '6000',
        RATE_LIMIT_PER_ADDRESS_PER_SECOND: '0',
      };
      const started = launch(['serve'], settings);
      await started.printed(/Listening: \S+/);
      return started;
    };
    const machines = new Map<number, RunningProcess>();
    for (const port of ports) machines.set(port, await startOn(port));
    balancer = await startBalancer(ports);
    await until(() => balancer.ready().length === 2);
    const requests = load(`${balancer.url}/livez`, 6);
    await until(() => requests.answered() > 50);
    for (const port of ports) {
      machines.get(port)?.child.kill('SIGTERM');
      await until(() => !balancer.ready().includes(port));
      assert.equal((await machines.get(port)?.ended)?.code, 0);
      machines.set(port, await startOn(port));
      await until(() => balancer.ready().length === 2);
    }
    assert.deepEqual(await requests.stop(), []);
    for (const each of machines.values()) each.child.kill('SIGTERM');
    for (const each of machines.values()) assert.equal((await each.ended).code, 0);
  });
});

type Balancer = { url: string; ready(): number[]; close(): void };

/** Round robin over those whose /readyz does not say that they stop, over connections that are kept. It sends nothing twice. */
async function startBalancer(ports: number[]): Promise<Balancer> {
  const CHECK_EVERY_MS = 200;
  const agent = new Agent({ keepAlive: true });
  let ready: number[] = [];
  let next = 0;
  const isReady = (port: number) =>
    fetch(`http://127.0.0.1:${port}/readyz`, { headers: { connection: 'close' } }).then(
      async (answer) => answer.ok || !/"process"/.test(await answer.text()),
      () => false,
    );
  let isClosed = false;
  const check = async () => {
    while (!isClosed) {
      const states = await Promise.all(ports.map(isReady));
      ready = ports.filter((_, index) => states[index]);
      await new Promise((resolve) => setTimeout(resolve, CHECK_EVERY_MS));
    }
  };
  const server: Server = createServer((incoming, outgoing) => {
    const port = ready[next++ % Math.max(1, ready.length)];
    const refuse = () => void outgoing.writeHead(502).end();
    if (!port) return refuse();
    const { connection: _, ...headers } = incoming.headers;
    const passed = request({ port, host: '127.0.0.1', path: incoming.url, headers, agent }, (answer) => {
      const { connection: __, ...kept } = answer.headers;
      outgoing.writeHead(answer.statusCode ?? 502, kept);
      answer.pipe(outgoing);
    });
    passed.on('error', refuse);
    incoming.pipe(passed);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  void check();
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`,
    ready: () => ready,
    close() {
      isClosed = true;
      agent.destroy();
      server.closeAllConnections();
      server.close();
    },
  };
}
