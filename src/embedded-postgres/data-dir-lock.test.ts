import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, describe, test } from 'node:test';
import { DataDirInUseError, dataDirOwner, lockDataDir } from './data-dir-lock.ts';

const SOURCE = JSON.stringify(import.meta.resolve('./data-dir-lock.ts'));

/** A program that takes the lock, says `taken` or the refusal, and lives on while it holds it. */
function startHolder(dataDir: string): ChildProcess {
  const program = `
    const { lockDataDir } = await import(${SOURCE});
    try {
      lockDataDir(${JSON.stringify(dataDir)}, { url: 'http://localhost:8080' });
      console.log('taken');
      setInterval(() => {}, 1000);
    } catch (error) {
      console.log(error.message);
    }`;
  return spawn(process.execPath, ['--input-type=module', '--eval', program], { stdio: ['ignore', 'pipe', 'inherit'] });
}

async function readAnswer(child: ChildProcess): Promise<string> {
  const { stdout } = child;
  assert.ok(stdout);
  for await (const chunk of stdout) return String(chunk).trim();
  assert.fail('the program ended without an answer');
}

async function kill(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL');
  if (child.exitCode === null && child.signalCode === null) await new Promise((resolve) => child.once('exit', resolve));
}

describe('the lock on DATA_DIR', () => {
  let dataDir: string;
  const made: string[] = [];

  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'simbi-lock-'));
    made.push(dataDir);
  });

  after(async () => {
    for (const folder of made) await rm(folder, { recursive: true, force: true });
  });

  test('refuses a second server while the first lives, and names it; a kill -9 frees it', async () => {
    const holder = startHolder(dataDir);
    assert.equal(await readAnswer(holder), 'taken');
    assert.deepEqual(dataDirOwner(dataDir), { pid: holder.pid, url: 'http://localhost:8080' });
    assert.throws(
      () => lockDataDir(dataDir, { url: 'http://localhost:9090' }),
      (error) => {
        assert.ok(error instanceof DataDirInUseError);
        assert.equal(error.pid, holder.pid);
        const expected = `Simbi is already running on this DATA_DIR (process ${holder.pid}, http://localhost:8080).`;
        assert.equal(error.message, expected);
        return true;
      },
    );
    await kill(holder);
    assert.equal(dataDirOwner(dataDir), null);
    const lock = lockDataDir(dataDir, { url: '' });
    lock.setUrl('http://localhost:9090');
    assert.deepEqual(dataDirOwner(dataDir), { pid: process.pid, url: 'http://localhost:9090' });
    lock.release();
    assert.deepEqual(await readdir(dataDir), []);
  });

  test('does not take another process with the same number for the owner', async () => {
    const file = join(dataDir, 'simbi.lock');
    await writeFile(file, JSON.stringify({ pid: process.ppid, startMark: '1', url: 'http://localhost:8080' }));
    const lock = lockDataDir(dataDir, { url: 'http://localhost:9090' });
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    assert.equal(JSON.parse(await readFile(file, 'utf8')).pid, process.pid);
    lock.release();
  });

  test('a torn lock file does not lock anybody out', async () => {
    await writeFile(join(dataDir, 'simbi.lock'), '{"pid":');
    lockDataDir(dataDir, { url: '' }).release();
  });

  test('of several starters at once exactly one gets it, also over a dead owner', async () => {
    await writeFile(join(dataDir, 'simbi.lock'), JSON.stringify({ pid: 2 ** 30, startMark: '1', url: '' }));
    const holders = Array.from({ length: 4 }, () => startHolder(dataDir));
    const answers = await Promise.all(holders.map(readAnswer));
    assert.equal(answers.filter((answer) => answer === 'taken').length, 1);
    assert.equal(answers.filter((answer) => answer.startsWith('Simbi is already running')).length, 3);
    await Promise.all(holders.map(kill));
  });
});
