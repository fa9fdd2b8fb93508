import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { appendFile, chown, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import pg from 'pg';
import { cacheMb } from './cluster.ts';
import { isAlive } from './processes.ts';
import { type EmbeddedPostgres, findEmbeddedPostgres, keepEmbeddedPostgres, startEmbeddedPostgres } from './server.ts';

const SOURCE = JSON.stringify(import.meta.resolve('./server.ts'));
const isRoot = process.getuid?.() === 0;
const NOBODY = 65_534;

/** A program of its own that starts the database, prints `pid url`, and then does what `rest` says. */
function startProgram(dataDir: string, rest: string, user: { uid?: number; gid?: number } = {}): ChildProcess {
  const program = `
    const { startEmbeddedPostgres } = await import(${SOURCE});
    const postgres = await startEmbeddedPostgres({ dataDir: ${JSON.stringify(dataDir)} });
    console.log(postgres.pid + ' ' + postgres.url);
    ${rest}`;
  const args = ['--input-type=module', '--eval', program];
  return spawn(process.execPath, args, { ...user, cwd: '/', stdio: ['ignore', 'pipe', 'inherit'] });
}

async function readAnswer(child: ChildProcess): Promise<{ pid: number; url: string }> {
  const { stdout } = child;
  assert.ok(stdout);
  for await (const chunk of stdout) {
    const [pid, url] = String(chunk).trim().split(' ');
    return { pid: Number(pid), url: url ?? '' };
  }
  assert.fail('the program ended without an answer');
}

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await new Promise((resolve) => child.once('exit', resolve));
}

/** Waits as long as it takes; the time-out of the file ends a wait for something that never happens. */
async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await new Promise((resolve) => setTimeout(resolve, 10));
}

const untilDead = (pid: number) => until(() => !isAlive(pid));

describe('the embedded PostgreSQL', () => {
  let folder: string;
  let dataDir: string;
  let postgres: EmbeddedPostgres;
  const sentences: string[] = [];
  const start = async () => {
    postgres = await startEmbeddedPostgres({ dataDir, onProgress: (sentence) => sentences.push(sentence) });
    return postgres;
  };

  before(async () => {
    // A folder that only we may enter, as /root and temporary folders are.
    folder = await mkdtemp(join(tmpdir(), 'simbi-embedded-'));
    dataDir = join(folder, 'data', 'postgres');
    await start();
  });

  after(async () => {
    await postgres.stop();
    await rm(folder, { recursive: true, force: true });
  });

  test('is made at the first start, with a word about it', () => {
    assert.equal(postgres.adopted, false);
    assert.match(sentences.join('\n'), /Creating the embedded PostgreSQL 18 database/);
  });

  test('has an eighth of the memory as its cache, within limits', async () => {
    const gigabytes = [0.5, 1, 2, 4, 8, 64, Infinity];
    assert.deepEqual(
      gigabytes.map((each) => cacheMb(each * 2 ** 30)),
      [128, 128, 256, 512, 1024, 1024, 1024],
    );
    const [row] = await query(postgres.url, 'show shared_buffers');
    const megabytes = cacheMb();
    assert.deepEqual(row, { shared_buffers: megabytes === 1024 ? '1GB' : `${megabytes}MB` });
  });

  test('keeps its password to itself, asks for it, and listens on loopback only', async () => {
    assert.equal((await stat(join(dataDir, 'password'))).mode & 0o777, 0o600);
    assert.equal((await stat(join(dataDir, 'cluster'))).mode & 0o777, 0o700);
    assert.equal((await stat(join(dataDir, 'postgres.log'))).mode & 0o777, 0o600);
    const url = new URL(postgres.url);
    url.password = 'guess';
    await assert.rejects(query(url.toString(), 'select 1'), /password authentication failed/);
    const [settings] = await query(
      postgres.url,
      `select current_setting('listen_addresses') as listen, current_setting('fsync') as fsync,
        current_setting('synchronous_commit') as commit, current_setting('full_page_writes') as pages,
        current_setting('unix_socket_directories') as sockets, usesuper as super
       from pg_user where usename = current_user`,
    );
    const safe = { listen: '127.0.0.1', fsync: 'on', commit: 'on', pages: 'on', sockets: '', super: false };
    assert.deepEqual(settings, safe);
  });

  test('security S21: its log has no rows', async () => {
    await query(postgres.url, 'create table people (email text, age int check (age > 0))');
    await assert.rejects(query(postgres.url, `insert into people values ('ada@example.org', -1)`), /people_age_check/);
    const log = await readFile(join(dataDir, 'postgres.log'), 'utf8');
    assert.match(log, /people_age_check/);
    assert.doesNotMatch(log, /ada@example\.org/);
  });

  test('has a process group of its own, so that Ctrl-C does not reach it', () => {
    // A negative number asks for the group of that number; it exists only when PostgreSQL leads it.
    assert.equal(process.kill(-postgres.pid, 0), true);
  });

  test('keeps its data and its port over a stop and a start', async () => {
    await query(postgres.url, 'create table kept (word text)');
    await query(postgres.url, `insert into kept values ('restart')`);
    const { port, pid } = postgres;
    await postgres.stop();
    assert.equal(isAlive(pid), false);
    assert.equal(await findEmbeddedPostgres(dataDir), null);
    await start();
    assert.equal(postgres.adopted, false);
    assert.equal(postgres.port, port);
    assert.deepEqual(await query(postgres.url, 'select word from kept'), [{ word: 'restart' }]);
    const { url, serviceUrl } = postgres;
    assert.deepEqual(await findEmbeddedPostgres(dataDir), { url, serviceUrl, pid: postgres.pid });
  });

  test('has a login for the service that owns nothing; a cluster of before gets it, also when it was left running', async () => {
    assert.match(postgres.serviceUrl, /simbi_service:/);
    assert.equal((await stat(join(dataDir, 'service-password'))).mode & 0o777, 0o600);
    await assert.rejects(query(postgres.serviceUrl, 'create table mine (n int)'), /permission denied/);
    await assert.rejects(query(postgres.serviceUrl, 'create role friend'), /permission denied/);
    const { serviceUrl, pid } = postgres;
    await rm(join(dataDir, 'service-password'));
    await start();
    assert.notEqual(postgres.pid, pid);
    assert.equal(isAlive(pid), false);
    assert.notEqual(postgres.serviceUrl, serviceUrl);
    assert.deepEqual(await query(postgres.serviceUrl, 'select session_user::text as name'), [
      { name: 'simbi_service' },
    ]);
    await assert.rejects(query(serviceUrl, 'select 1'), /password/);
  });

  test('survives a kill -9 of the process that started it and is adopted with its data', async () => {
    await postgres.stop();
    const program = startProgram(dataDir, 'setInterval(() => {}, 1000);');
    const first = await readAnswer(program);
    await query(first.url, `insert into kept values ('kill')`);
    program.kill('SIGKILL');
    await ended(program);
    assert.equal(isAlive(first.pid), true);
    await start();
    assert.equal(postgres.adopted, true);
    assert.equal(postgres.pid, first.pid);
    assert.deepEqual(await query(postgres.url, 'select word from kept'), [{ word: 'restart' }, { word: 'kill' }]);
    await postgres.stop();
    assert.equal(isAlive(first.pid), false);
  });

  test('is stopped when our process ends without having stopped it', async () => {
    const program = startProgram(dataDir, 'process.exit(0);');
    const { pid } = await readAnswer(program);
    await ended(program);
    await untilDead(pid);
  });

  test('a start while it is on its way out waits for its end', async () => {
    await start();
    const stopped = postgres;
    // The stop signal is sent and not read yet: the pid file still says that the server is ready.
    process.kill(stopped.pid, 'SIGSTOP');
    const stopping = stopped.stop();
    assert.match(await readFile(join(dataDir, 'cluster', 'postmaster.pid'), 'utf8'), /ready/);
    const starting = start();
    await new Promise((resolve) => setTimeout(resolve, 200));
    process.kill(stopped.pid, 'SIGCONT');
    await Promise.all([starting, stopping]);
    assert.notEqual(postgres.pid, stopped.pid);
    assert.equal(postgres.adopted, false);
    assert.deepEqual(await query(postgres.url, 'select count(*)::int as rows from kept'), [{ rows: 2 }]);
  });

  test('recovers what was committed after the database itself was killed', async () => {
    await query(postgres.url, `insert into kept values ('crash')`);
    process.kill(postgres.pid, 'SIGKILL');
    await untilDead(postgres.pid);
    await start();
    assert.equal(postgres.adopted, false);
    assert.deepEqual(await query(postgres.url, 'select count(*)::int as rows from kept'), [{ rows: 3 }]);
  });

  test('waits for a statement that the killed one had under way', async () => {
    const client = new pg.Client({ connectionString: postgres.url });
    client.on('error', () => undefined);
    await client.connect();
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    const lost = assert.rejects(client.query('do $$ begin loop perform 1; end loop; end $$'));
    process.kill(postgres.pid, 'SIGKILL');
    await untilDead(postgres.pid);
    const waiting = /a statement in it has not ended yet/;
    const started = start();
    await until(() => sentences.some((sentence) => waiting.test(sentence)));
    process.kill(rows[0]?.pid ?? 0, 'SIGKILL');
    await Promise.all([started, lost]);
    assert.deepEqual(await query(postgres.url, 'select count(*)::int as rows from kept'), [{ rows: 3 }]);
  });

  test('is started again at its address when it ends by itself while a gateway keeps it', async () => {
    await postgres.stop();
    const problems: string[] = [];
    const kept = await keepEmbeddedPostgres({ dataDir }, (sentence) => problems.push(sentence));
    const { pid } = kept;
    process.kill(pid, 'SIGKILL');
    await until(() => kept.pid !== pid);
    assert.deepEqual(await query(kept.url, 'select count(*)::int as rows from kept'), [{ rows: 3 }]);
    assert.equal(problems[0], 'PostgreSQL has ended; it is started again');
    await kept.stop();
    assert.equal(isAlive(kept.pid), false);
    await start();
  });

  test('is not fooled by a stale pid file, even when another program has the number now', async () => {
    const pidFile = join(dataDir, 'cluster', 'postmaster.pid');
    const content = await readFile(pidFile, 'utf8');
    await postgres.stop();
    const { uid, gid } = await stat(join(dataDir, 'cluster'));
    const other = spawn('sleep', ['60'], { stdio: 'ignore', cwd: '/', ...(isRoot ? { uid, gid } : {}) });
    try {
      await writeFile(pidFile, content.replace(/^\d+/, String(other.pid)));
      await chown(pidFile, uid, gid);
      await start();
      assert.equal(postgres.adopted, false);
      assert.equal(other.exitCode, null);
    } finally {
      other.kill();
      await ended(other);
    }
  });

  test('a half-made database is made again', async () => {
    const other = await mkdtemp(join(tmpdir(), 'simbi-embedded-'));
    const program = startProgram(other, '');
    try {
      await until(async () => (await readdir(other)).some((name) => name.startsWith('cluster.new')));
      program.kill('SIGKILL');
      await ended(program);
      const second = await startEmbeddedPostgres({ dataDir: other });
      assert.deepEqual(await query(second.url, 'select 1 as one'), [{ one: 1 }]);
      await second.stop();
    } finally {
      await rm(other, { recursive: true, force: true });
    }
  });

  test('a folder of which parts are missing is refused, and nothing in it is changed', async () => {
    const other = await mkdtemp(join(tmpdir(), 'simbi-embedded-'));
    const look = async () => [(await readdir(other)).sort(), await readFile(join(other, 'password'), 'utf8')];
    try {
      await writeFile(join(other, 'password'), 'kept\n');
      const before = await look();
      await assert.rejects(startEmbeddedPostgres({ dataDir: other }), {
        name: 'EmbeddedPostgresError',
        message: new RegExp(`A part of the database in ${other} is missing: there is no cluster/PG_VERSION`),
      });
      assert.deepEqual(await look(), before);
      // Copied up to its middle.
      await mkdir(join(other, 'cluster', 'base'), { recursive: true });
      await assert.rejects(startEmbeddedPostgres({ dataDir: other }), /A part of the database/);
      assert.equal(await readFile(join(other, 'password'), 'utf8'), 'kept\n');
    } finally {
      await rm(other, { recursive: true, force: true });
    }
  });

  test("shows the last lines of PostgreSQL's log when it does not start", async () => {
    await postgres.stop();
    const file = join(dataDir, 'cluster', 'postgresql.conf');
    const good = await readFile(file, 'utf8');
    await appendFile(file, 'shared_buffers = plenty\n');
    await assert.rejects(start(), {
      name: 'EmbeddedPostgresError',
      message: /failed to start\. Last log lines:[\s\S]*invalid value for parameter "shared_buffers": "plenty"/,
    });
    await writeFile(file, good);
    await start();
  });

  test('refuses the data of another major version', async () => {
    await postgres.stop();
    const file = join(dataDir, 'cluster', 'PG_VERSION');
    await writeFile(file, '17\n');
    await assert.rejects(start(), /was created by PostgreSQL 17; this version of Simbi includes PostgreSQL 18/);
    await writeFile(file, '18\n');
    await start();
  });

  test('takes over a cluster that root restored', { skip: !isRoot && 'not root' }, async () => {
    await postgres.stop();
    const cluster = join(dataDir, 'cluster');
    spawnSync('chown', ['-R', '0:0', cluster]);
    await start();
    assert.notEqual((await stat(cluster)).uid, 0);
  });

  test('runs for an ordinary user too', { skip: nobodyCannotRun() }, async () => {
    const home = await mkdtemp(join(tmpdir(), 'simbi-embedded-'));
    await chown(home, NOBODY, NOBODY);
    try {
      const program = startProgram(join(home, 'postgres'), 'await postgres.stop();', { uid: NOBODY, gid: NOBODY });
      const { pid } = await readAnswer(program);
      await ended(program);
      assert.equal(program.exitCode, 0);
      assert.equal(isAlive(pid), false);
      assert.equal((await stat(join(home, 'postgres', 'cluster'))).uid, NOBODY);
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  });
});

/** Only root can become somebody else, and that user must be able to reach Node and the sources. */
function nobodyCannotRun(): string | false {
  if (!isRoot) return 'not root: the other tests ran as an ordinary user';
  const options = { uid: NOBODY, gid: NOBODY, cwd: '/' };
  const probe = spawnSync(process.execPath, ['--input-type=module', '--eval', `await import(${SOURCE})`], options);
  return probe.status === 0 ? false : 'the user nobody cannot reach this folder';
}
