// Settings: the defaults stand, every error is reported at once, secrets come from files and are not shown,
// and live mode refuses what would be unsafe.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import {
  ConfigError,
  dataPath,
  type Environment,
  environmentExample,
  localUrl,
  masterKeyBytes,
  publicUrl,
  readConfig,
  SETTINGS,
  sessionIdleMs,
} from './config.ts';

const HEX_KEY = 'ab'.repeat(32);
const LIVE = {
  MODE: 'live',
  MASTER_KEY: HEX_KEY,
  DATABASE_URL: 'postgres://u:p@db/simbi?sslmode=verify-full',
  PUBLIC_URL: 'https://pay.example.org',
};

const folder = mkdtempSync(join(tmpdir(), 'simbi-config-'));
after(() => rmSync(folder, { recursive: true }));

function file(name: string, content: string): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

function errorsOf(environment: Environment): string[] {
  try {
    readConfig(environment);
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    for (const line of error.errors) assert.ok(error.message.includes(`  - ${line}`));
    return error.errors;
  }
  return [];
}

describe('settings', () => {
  test('an empty environment gives the defaults', () => {
    const config = readConfig({});
    assert.deepEqual(
      [config.port, config.host, config.mode, config.dataDir, config.databaseUrl, config.brandName, config.role],
      [8080, '127.0.0.1', 'sandbox', './data', '', 'Service', 'all'],
    );
    assert.deepEqual(
      [config.signatureToleranceSeconds, config.tokenTtlSeconds, config.rateLimitPerSecond],
      [300, 86_400, 100],
    );
    assert.deepEqual(config, readConfig(Object.fromEntries(Object.keys(SETTINGS).map((name) => [name, '']))));
  });

  test('every setting parses its own default and is explained in .env.example', () => {
    const example = environmentExample();
    const given: Environment = {};
    for (const [name, setting] of Object.entries(SETTINGS)) {
      assert.doesNotThrow(() => setting.parse(setting.fallback), name);
      assert.match(setting.about, /^[a-zA-Z0-9].*\.$/, name);
      assert.ok(example.includes(`# ${setting.about}\n#${name}=${setting.fallback}\n`), name);
      given[name] = setting.fallback;
    }
    assert.deepEqual(readConfig(given), readConfig({}));
  });

  const WRONG: Record<string, string[]> = {
    PORT: ['x', '-1', '65536', '80.5', ' 80', '1e3', '0x50'],
    DATABASE_POOL_SIZE: ['1', '201'],
    MODE: ['production', 'LIVE', 'sandbox '],
    LOG_LEVEL: ['verbose'],
    ROLE: ['both'],
    ALLOW_SIGN_UP: ['yes', '1', 'TRUE'],
    PUBLIC_URL: ['pay.example.org', 'ftp://x', 'https://x/path', 'https://x?a', 'https://u@x', 'https://x#a'],
    TRUSTED_PROXIES: ['10.0.0.0/33', 'localhost', '10.0.0.1,,nonsense'],
    CALLBACK_ALLOWED_PORTS: ['0', '65536', '80-90'],
    SIGNATURE_TOLERANCE_SECONDS: ['0', '3601'],
    DATABASE_URL: ['mysql://x', 'localhost:5432', 'postgres://u:p/w@db/simbi', 'postgres://u:p@a:5432,b:x/simbi'],
    MASTER_KEY: ['short', HEX_KEY.slice(1), `${HEX_KEY.slice(1)}g`, `${'pass'.repeat(5)} ${'pass'.repeat(5)}wor`],
    CATALOG_FILE: [join(folder, 'missing.json')],
  };
  for (const [name, values] of Object.entries(WRONG))
    test(`${name} refuses ${values.length} wrong values, each with one line that names it`, () => {
      for (const value of values) {
        const errors = errorsOf({ [name]: value });
        assert.equal(errors.length, 1, `${name}=${value}`);
        assert.ok(errors[0]?.startsWith(`${name} `), errors[0]);
      }
    });

  test('all errors are told in one message', () => {
    const wrong = Object.fromEntries(Object.entries(WRONG).map(([name, values]) => [name, values[0]]));
    const errors = errorsOf(wrong);
    assert.deepEqual(new Set(errors.map((error) => error.split(' ')[0])), new Set(Object.keys(WRONG)));
    assert.equal(errors.length, Object.keys(WRONG).length);
    assert.throws(() => readConfig(wrong), new RegExp(`has ${errors.length} errors:`));
    assert.throws(() => readConfig({ PORT: 'x' }), /has an error:\n {2}- PORT must be a whole number .*"x"/);
  });

  test('a secret can come from a file, without its last line break, and never both ways', () => {
    const path = file('key', `${HEX_KEY}\n`);
    assert.equal(readConfig({ MASTER_KEY_FILE: path }).masterKey, HEX_KEY);
    assert.equal(readConfig({ DATABASE_URL_FILE: file('url', 'postgres://db/x\n') }).databaseUrl, 'postgres://db/x');
    assert.match(errorsOf({ MASTER_KEY_FILE: path, MASTER_KEY: HEX_KEY }).join(), /given twice/);
    assert.match(errorsOf({ MASTER_KEY_FILE: join(folder, 'none') }).join(), /does not exist/);
    assert.equal(errorsOf({ MASTER_KEY_FILE: folder }).length, 1);
  });

  test('a secret is never shown, not even when it is wrong', () => {
    for (const name of ['MASTER_KEY', 'DATABASE_URL'])
      for (const given of [{ [name]: 'hunter2' }, { [`${name}_FILE`]: file('wrong', 'hunter2') }])
        assert.ok(!errorsOf(given).join().includes('hunter2'), name);
  });

  test('this machine reaches the service where it listens', () => {
    const hosts = {
      '127.0.0.1': '127.0.0.1',
      '0.0.0.0': '127.0.0.1',
      '::': '127.0.0.1',
      '10.0.0.5': '10.0.0.5',
      '::1': '[::1]',
    };
    for (const [HOST, host] of Object.entries(hosts))
      assert.equal(localUrl(readConfig({ HOST, PORT: '8081' })), `http://${host}:8081`);
  });

  test('a password that is not written as in a URL: the sentence says how', () => {
    const [error = ''] = errorsOf({ DATABASE_URL: 'postgres://u:hunter/2@db/simbi' });
    assert.match(error, /^DATABASE_URL must be postgres:.* \/ is %2F/);
    assert.deepEqual(errorsOf({ DATABASE_URL: 'postgres://u:hunter%2F2@db/simbi' }), []);
  });

  test('a server that cannot be read, of several, is an error of the settings in every mode', () => {
    for (const more of [{}, LIVE])
      assert.match(
        errorsOf({ ...more, DATABASE_URL: 'postgres://u:p@a:5432,b:x/simbi' })[0] ?? '',
        /^DATABASE_URL must be/,
      );
  });

  test('live mode asks for verified TLS to a database of another machine', () => {
    const TLS = 'must end with ?sslmode=verify-full';
    const urls = [
      'postgres://u:p@db/simbi',
      'postgres://u:p@10.0.0.7/simbi?sslmode=require',
      'postgres://u:p@/x?host=db',
    ];
    for (const DATABASE_URL of urls) {
      assert.ok(errorsOf({ ...LIVE, DATABASE_URL })[0]?.includes(TLS), DATABASE_URL);
      assert.deepEqual(errorsOf({ ...LIVE, DATABASE_URL, ALLOW_DATABASE_WITHOUT_TLS: 'true' }), []);
      assert.deepEqual(errorsOf({ DATABASE_URL }), [], 'the sandbox may do without');
    }
    const own = ['127.0.0.1:5432', 'localhost', '[::1]', '%2Fvar%2Frun%2Fpostgresql', ''];
    for (const host of own)
      assert.deepEqual(errorsOf({ ...LIVE, DATABASE_URL: `postgres://u:p@${host}/simbi` }), [], host);
    const [error] = errorsOf({ ...LIVE, MIGRATION_DATABASE_URL: 'postgres://owner:p@db/simbi' });
    assert.ok(error?.startsWith('MIGRATION_DATABASE_URL must end with'));
    assert.equal(errorsOf({ MIGRATION_DATABASE_URL: 'postgres://owner:p@db/simbi' }).length, 1);
  });

  test('a URL may say that a pooler lends connections by transaction; LISTEN cannot go through one', () => {
    const url = 'postgres://app:p@db:6432/simbi';
    assert.deepEqual(errorsOf({ DATABASE_URL: `${url}?pooler=transaction`, DATABASE_LISTEN_URL: url }), []);
    assert.match(
      errorsOf({ DATABASE_URL: `${url}?pooler=yes` })[0] ?? '',
      /^DATABASE_URL may say \?pooler=transaction/,
    );
    const listening = { DATABASE_URL: url, DATABASE_LISTEN_URL: `${url}?pooler=transaction` };
    assert.match(errorsOf(listening)[0] ?? '', /^DATABASE_LISTEN_URL must go to PostgreSQL itself/);
  });

  test('live mode asks for a key, a database and an https address', () => {
    assert.deepEqual(errorsOf(LIVE), []);
    const table: [given: Environment, error: RegExp][] = [
      [{ MASTER_KEY: undefined }, /^MASTER_KEY is required/],
      [{ DATABASE_URL: undefined }, /^DATABASE_URL is required/],
      [{ PUBLIC_URL: undefined }, /^PUBLIC_URL must be an https/],
      [{ PUBLIC_URL: 'http://pay.example.org' }, /^PUBLIC_URL must be an https/],
      // A setting that is faulty already is told once, not twice.
      [{ PUBLIC_URL: 'nonsense' }, /^PUBLIC_URL must be an http or https origin/],
      [{ MASTER_KEY: undefined, MASTER_KEY_FILE: join(folder, 'none') }, /^MASTER_KEY cannot be read/],
      [{ DATABASE_URL: undefined, DATABASE_URL_FILE: join(folder, 'none') }, /^DATABASE_URL cannot be read/],
    ];
    for (const [given, error] of table) {
      const errors = errorsOf({ ...LIVE, ...given });
      assert.equal(errors.length, 1, errors.join());
      assert.match(errors[0] ?? '', error);
    }
    assert.equal(errorsOf({ MODE: 'live' }).length, 3);
    assert.match(errorsOf({ ...LIVE, FAILPOINT: 'accept-committed' }).join(), /FAILPOINT is for crash tests/);
    assert.deepEqual(errorsOf({ ...LIVE, DATABASE_URL: '', ALLOW_EMBEDDED_LIVE: 'true' }), []);
  });

  test('values are read into what the code uses', () => {
    const config = readConfig({
      TRUSTED_PROXIES: ' 10.0.0.0/8, ::1 ',
      PUBLIC_URL: 'https://Pay.Example.org/',
      ALLOW_SIGN_UP: 'true',
    });
    assert.deepEqual(config.trustedProxies, ['10.0.0.0/8', '::1']);
    assert.equal(publicUrl(config), 'https://pay.example.org');
    for (const HOST of ['127.0.0.1', '0.0.0.0', '::', '::1', 'localhost'])
      assert.equal(publicUrl(readConfig({ HOST, PORT: '9' })), 'http://localhost:9');
    assert.equal(
      publicUrl(readConfig({ HOST: '127.0.0.2', PORT: '9' })),
      'http://127.0.0.2:9',
      'localhost is not there',
    );
    assert.equal(publicUrl(readConfig({ HOST: 'fd00::5', PORT: '9' })), 'http://[fd00::5]:9');
    assert.equal(config.allowSignUp, true);
    const idleMinutes = (environment: Environment) => sessionIdleMs(readConfig(environment)) / 60_000;
    assert.deepEqual(
      [idleMinutes({}), idleMinutes(LIVE), idleMinutes({ ...LIVE, SESSION_IDLE_MINUTES: '5' })],
      [60, 15, 5],
    );
    assert.equal(dataPath(readConfig({ DATA_DIR: '/var/simbi' }), 'a', 'b'), '/var/simbi/a/b');
    assert.deepEqual(masterKeyBytes(HEX_KEY), Buffer.alloc(32, 0xab));
    for (const encoding of ['base64', 'base64url'] as const)
      assert.deepEqual(masterKeyBytes(Buffer.alloc(32, 0xfb).toString(encoding)), Buffer.alloc(32, 0xfb));
  });

  test('processes: a number, or one per processor', () => {
    assert.equal(readConfig({}).processes, 1);
    assert.equal(readConfig({ PROCESSES: '4' }).processes, 4);
    assert.ok(readConfig({ PROCESSES: 'auto' }).processes >= 1);
    for (const PROCESSES of ['0', '65', 'many'])
      assert.throws(() => readConfig({ PROCESSES }), /PROCESSES must be auto or a whole number from 1 to 64/);
  });

  test('a mail server needs a sender, and its password is in no message', () => {
    const mail = { SMTP_URL: 'smtps://ama:hunter2@mail.example.org', MAIL_FROM: 'pay@example.org' };
    assert.equal(readConfig(mail).mailFrom, 'pay@example.org');
    assert.throws(() => readConfig({ ...mail, MAIL_FROM: '' }), /MAIL_FROM is required with SMTP_URL/);
    for (const broken of [
      { ...mail, SMTP_URL: 'https://ama:hunter2@mail.example.org' },
      { ...mail, MAIL_FROM: 'Pay <pay@example.org>' },
      { ...mail, MAIL_FROM: 'pay@example.org\r\nBcc: eve@example.org' },
    ])
      assert.throws(
        () => readConfig(broken),
        (error: Error) => !error.message.includes('hunter2'),
      );
  });
});
