// The log: what it never shows, when its lines are written, and rotation of its file.

import assert from 'node:assert/strict';
import { closeSync, existsSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createLogger, createRoutineLog, openLogFile, openStandardLog } from './log.ts';

/** What a logger writes, line by line. */
function logged(write: (log: ReturnType<typeof createLogger>) => void): Record<string, unknown>[] {
  const lines: string[] = [];
  write(createLogger('trace', { write: (line) => void lines.push(line) }));
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

test('security S21: a secret is not written, whatever holds it, and the object that held it is not changed', () => {
  const names = [
    'secret_key',
    'secretKey',
    'secret',
    'token',
    'signature',
    'password',
    'masterKey',
    'masterKeyPrevious',
  ];
  names.push('awsSecretAccessKey', 'vaultToken', 'backupPassphrase', 'authorization', 'cookie', 'pin', 'otp');
  for (const name of names) {
    const held = { [name]: 'kept-from-the-log' };
    const failure = Object.assign(new Error('failed'), held, { config: held, list: [held] });
    const lines = logged((log) => {
      log.info(held, 'itself');
      log.info({ body: held, more: { headers: held } }, 'inside');
      log.info({ list: [1, held], number: { [name]: 7 } }, 'in a list, and of another type');
      log.warn({ err: failure }, 'in an error');
      log.warn({ failure }, 'in an error under another name');
      log.error(failure);
    });
    assert.ok(!JSON.stringify(lines).includes('kept-from-the-log'), name);
    assert.deepEqual([lines[0]?.[name], lines[2]?.number], ['[secret]', { [name]: '[secret]' }]);
    assert.match(JSON.stringify(lines[3]?.err), /"message":"failed"/);
    assert.equal(held[name], 'kept-from-the-log');
  }
});

test('other members are written as they are, and numbers of phones are masked', () => {
  const at = new Date(0);
  const [line] = logged((log) => log.info({ at, mobile: '254712345678', list: [1, { a: null }] }, 'x'));
  assert.deepEqual(line, {
    ...line,
    at: '1970-01-01T00:00:00.000Z',
    mobile: '*********678',
    list: [1, { a: null }],
    msg: 'x',
  });
});

test('a routine line is the one that the logger writes, and follows its level', () => {
  for (const base of [null, { process: 2 }])
    for (const level of ['info', 'warn', 'silent']) {
      const lines: string[] = [];
      const log = createLogger(level, { write: (line) => void lines.push(line) }, base);
      const write = createRoutineLog(log, 'request');
      for (const line of [{}, { ms: 1.5, route: 'say "é"\n', client_id: undefined, status: 200 }]) {
        log.info(line, 'request');
        write(line);
      }
      assert.equal(lines.length, level === 'info' ? 4 : 0);
      const shown = lines.map((line) => line.replace(/"time":"[^"]+"/, ''));
      assert.deepEqual([shown[1], shown[3]], [shown[0], shown[2]]);
    }
});

test('routine lines wait for each other, a warning is written at once with those before it', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'simbi-log-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'simbi.log');
  const file = openLogFile(path);
  const log = createLogger('info', file);
  log.info({ number: 1 }, 'routine');
  file.flushSync();
  log.info({ number: 2 }, 'routine');
  assert.deepEqual(readNumbers(path), [1]);
  log.warn({ number: 3 }, 'warning');
  assert.deepEqual(readNumbers(path), [1, 2, 3]);
  log.info({ number: 4 }, 'routine');
  file.flushSync();
  assert.deepEqual(readNumbers(path), [1, 2, 3, 4]);
});

const LINES = 2_000;

/** The numbers of the lines of the last two files. */
function readNumbers(path: string): number[] {
  const text = ['.1', ''].map((end) => (existsSync(path + end) ? readFileSync(path + end, 'utf8') : '')).join('');
  const lines = text.split('\n').filter((line) => line.endsWith('}'));
  return lines.map((line) => (JSON.parse(line) as { number: number }).number);
}

test('security S21: the file is rotated by size while the process runs, and a limited number of files is kept', () => {
  const folder = mkdtempSync(join(tmpdir(), 'simbi-log-'));
  try {
    const path = join(folder, 'simbi.log');
    const file = openLogFile(path, 10_000);
    const log = createLogger('info', file);
    for (let number = 0; number < LINES; number++) log.info({ number }, 'x'.repeat(100));
    file.flushSync();
    const names = readdirSync(folder).sort();
    assert.deepEqual(names, ['simbi.log', 'simbi.log.1', 'simbi.log.2', 'simbi.log.3', 'simbi.log.4']);
    for (const name of names) {
      assert.ok(statSync(join(folder, name)).size < 100_000, name);
      assert.equal(statSync(join(folder, name)).mode & 0o777, 0o600, name);
    }
    const numbers = readNumbers(path);
    assert.deepEqual(
      numbers,
      Array.from(numbers, (_, index) => (numbers[0] ?? 0) + index),
      'no line is lost between two files',
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('standard output on a full disk does not end the process', {
  skip: !existsSync('/dev/full') && 'no /dev/full',
}, () => {
  const fd = openSync('/dev/full', 'w');
  const logger = createLogger('info', openStandardLog(fd));
  for (let line = 0; line < 3; line++) logger.warn('no room');
  closeSync(fd);
});
