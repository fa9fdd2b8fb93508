// The ways to run it in deploy/: each file is read by the tool that uses it where this machine has it, and in any case compared with the
// gateway (settings, ports, commands) and with the others.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, describe, type TestContext, test } from 'node:test';
import { parse } from 'yaml';
import { ROOT } from '../scripts/tree.ts';

type Value = Record<string, unknown>;

const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');
const readYaml = <T>(file: string) => parse(read(file), { merge: true }) as T;
const folder = mkdtempSync(join(tmpdir(), 'simbi-deploy-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** Null: this machine does not have the program, or this part of it. */
function runTool(t: TestContext, program: string, probe: string[], args: string[]): string | null {
  try {
    execFileSync(program, probe, { stdio: 'ignore' });
  } catch {
    t.skip(`this machine has no ${[program, ...probe].join(' ')}`);
    return null;
  }
  return execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

const settings = new Set([...read('.env.example').matchAll(/^#([A-Z_]+)=/gm)].map(([, name = '']) => name));
/** Of Node, not of the gateway. */
const OF_NODE = ['NODE_ENV', 'NODE_OPTIONS'];

function requireSettings(names: readonly string[], where: string): void {
  for (const name of names)
    assert.ok(
      settings.has(name.replace(/_FILE$/, '')) || OF_NODE.includes(name),
      `${where}: there is no setting ${name}`,
    );
}

/** The port that the image offers. */
const PORT = Number(/^EXPOSE (\d+)$/m.exec(read('Dockerfile'))?.[1]);

function requireVersion(image: string): void {
  assert.match(image, /:v?\d+(\.\d+)*(-\w+)?$/, `${image} has no version`);
}

describe('the image', () => {
  const dockerfile = read('Dockerfile');

  test('copies only what the build is given', () => {
    const given = new Set([...read('.dockerignore').matchAll(/^!(.+)$/gm)].map(([, path]) => path));
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, paths = '']) =>
      paths.split(' '),
    );
    assert.ok(copied.length > 5);
    for (const path of copied) {
      assert.ok(given.has(path), `.dockerignore keeps ${path} from the build`);
      assert.ok(existsSync(join(ROOT, path)), path);
    }
  });

  test('has every folder that the code reads', () => {
    const folders = ['bin', 'docs', 'migrations', 'sdk', 'simulators', 'src'];
    for (const name of folders) assert.match(dockerfile, new RegExp(`^COPY ${name} ${name}$`, 'm'));
  });

  test('the image with Patroni has a safe version', () => {
    const text = read('deploy/patroni.Dockerfile');
    requireVersion(/^ARG BASE=(.+)$/m.exec(text)?.[1] ?? '');
    assert.match(text, /patroni\)" ge 3\.0\.3$/m);
    assert.match(text, /^USER postgres$/m);
  });
});

type Service = {
  image: string;
  build?: string | { context: string; dockerfile: string };
  read_only: boolean;
  user?: string;
  cap_drop: string[];
  security_opt: string[];
  volumes?: string[];
  secrets?: string[];
  networks?: string[];
  ports?: string[];
  depends_on?: string[] | Record<string, unknown>;
  environment?: Record<string, string>;
};
type Compose = Record<'services', Record<string, Service>> &
  Record<'volumes' | 'networks' | 'secrets', Value | undefined>;

const COMPOSE = ['deploy/compose.yaml', 'deploy/compose.cluster.yaml'];

describe('compose', () => {
  for (const file of COMPOSE) {
    const { services, ...top } = readYaml<Compose>(file);

    test(`${file}: no container has rights or writes to its root`, () => {
      for (const [name, service] of Object.entries(services)) {
        requireVersion(service.image);
        assert.equal(service.read_only, true, name);
        assert.deepEqual(service.cap_drop, ['ALL'], name);
        assert.deepEqual(service.security_opt, ['no-new-privileges:true'], name);
        // The image of etcd has no other user.
        if (!name.startsWith('etcd')) assert.match(service.user ?? 'root', /^(node|postgres|haproxy)$/, name);
        for (const port of service.ports ?? []) assert.match(port, /^127\.0\.0\.1:/, `${name} is open to everybody`);
      }
    });

    test(`${file}: everything that it names is there`, () => {
      for (const [name, service] of Object.entries(services)) {
        for (const each of Object.keys(arrayToObject(service.depends_on)))
          assert.ok(services[each], `${name}: ${each}`);
        for (const each of service.networks ?? []) assert.ok(each in (top.networks ?? {}), `${name}: ${each}`);
        for (const each of service.secrets ?? []) assert.ok(each in (top.secrets ?? {}), `${name}: ${each}`);
        for (const volume of service.volumes ?? []) requireVolume(volume, top.volumes ?? {});
      }
    });

    test(`${file}: the settings of the gateway exist`, () => {
      const gateways = Object.entries(services).filter(([, { image }]) => image.startsWith('simbi:'));
      assert.ok(gateways.length > 0);
      const { version } = JSON.parse(read('package.json')) as { version: string };
      for (const [name, { environment = {}, image }] of gateways) {
        requireSettings(Object.keys(environment), name);
        assert.equal(image, `simbi:${version}`);
      }
    });

    test(`${file}: docker compose reads it`, (t) => {
      const environment = ['PUBLIC_URL=https://pay.example.org', 'DATABASE_PASSWORD=x', 'MASTER_KEY=x'];
      const file_ = join(folder, 'compose.env');
      writeFileSync(file_, environment.join('\n'));
      runTool(
        t,
        'docker',
        ['compose', 'version'],
        ['compose', '--env-file', file_, '-f', join(ROOT, file), 'config', '-q'],
      );
    });
  }

  test('the roles of the database are those of the guide', () => {
    const sql = /```sql\n([\s\S]*?)```/.exec(read('docs/going-live.md'))?.[1] ?? '';
    const ours = /<<'SQL'\n([\s\S]*?)SQL/.exec(read('deploy/compose.roles.sh'))?.[1] ?? '';
    const plain = (text: string) => text.replaceAll(/password \S+;/g, 'password;').trim();
    assert.equal(plain(ours), plain(sql));
  });
});

function arrayToObject(value: string[] | Value | undefined): Value {
  return Array.isArray(value) ? Object.fromEntries(value.map((name) => [name, true])) : (value ?? {});
}

function requireVolume(volume: string, volumes: Value): void {
  const [source = ''] = volume.split(':');
  if (source.startsWith('./')) assert.ok(existsSync(join(ROOT, 'deploy', source)), volume);
  else assert.ok(source in volumes, volume);
}

type Patroni = {
  scope: string;
  bootstrap: { dcs: Record<string, number | boolean> };
  postgresql: { data_dir: string; parameters: Record<string, string> };
};

describe('Patroni', () => {
  const patroni = readYaml<Patroni>('deploy/patroni.yml');
  const { dcs } = patroni.bootstrap;

  test('a change is acknowledged only when a second machine has it', () => {
    assert.equal(dcs.synchronous_mode, true);
    assert.equal(dcs.synchronous_mode_strict, true);
    assert.ok(Number(dcs.ttl) >= 20, 'Patroni 4 refuses less');
    assert.ok(
      Number(dcs.ttl) >= Number(dcs.loop_wait) + 2 * Number(dcs.retry_timeout),
      'or the lead is lost by slowness',
    );
  });

  test('containers run with the same settings', () => {
    assert.deepEqual(readYaml<Patroni>('deploy/compose.patroni.yml').bootstrap.dcs, dcs);
  });

  test('pgBackRest archives the same files', () => {
    const text = read('deploy/pgbackrest.conf');
    const stanza = /--stanza=(\w+)/.exec(patroni.postgresql.parameters.archive_command ?? '')?.[1];
    assert.ok(text.includes(`\n[${stanza}]\n`));
    for (const [, path] of text.matchAll(/^pg\d-path=(.+)$/gm)) assert.equal(path, patroni.postgresql.data_dir);
    assert.match(text, /^repo1-cipher-type=aes-256-cbc$/m);
  });

  test('HAProxy takes its configuration', (t) => {
    const files = ['haproxy.cfg', 'haproxy.gateway.cfg'].flatMap((name) => ['-f', join(ROOT, 'deploy', name)]);
    runTool(t, 'haproxy', ['-v'], ['-c', '-q', ...files]);
    assert.match(read('deploy/haproxy.gateway.cfg'), new RegExp(`server api1 api1:${PORT} check`));
  });
});

describe('systemd', () => {
  const units = globSync('deploy/systemd/*.service', { cwd: ROOT }).sort();

  test('each unit runs a command of the gateway with settings that exist', () => {
    const commands = read('src/commands/command-table.ts');
    assert.ok(units.length >= 3);
    for (const unit of units) {
      const text = read(unit);
      const [, command = ''] = /^ExecStart=\S+\/node .*?src\/cli\.ts (\w+)/m.exec(text) ?? [];
      assert.match(commands, new RegExp(`\\b${command}\\b`), unit);
      const named = [...text.matchAll(/^Environment=(.+)$/gm)].flatMap(([, line = '']) => line.split(' '));
      requireSettings(
        named.map((each) => each.split('=')[0] ?? ''),
        unit,
      );
      assert.match(text, /^User=simbi$/m);
      assert.match(text, /^NoNewPrivileges=true$/m);
      assert.match(text, /^ProtectSystem=strict$/m);
    }
  });

  test('the nightly verification reads the head that the service keeps in its folder', () => {
    const folderOf = (unit: string) => {
      const text = readFileSync(join(ROOT, 'deploy/systemd', unit), 'utf8');
      return [/DATA_DIR=(\S+)/.exec(text)?.[1], /^StateDirectory=(\S+)/m.exec(text)?.[1]];
    };
    assert.deepEqual(folderOf('simbi-verify.service'), folderOf('simbi.service'));
  });

  test('systemd takes the units', (t) => {
    const files = globSync('deploy/systemd/*', { cwd: ROOT }).map((unit) => {
      const name = basename(unit).replace('@.', '@api.');
      const file = join(folder, name);
      // The programs are looked for.
      writeFileSync(file, read(unit).replaceAll('/opt/simbi', ROOT));
      return file;
    });
    runTool(t, 'systemd-analyze', ['--version'], ['verify', '--man=no', ...files]);
  });
});

describe('alert rules', () => {
  test('promtool reads them, and they fire when they should', (t) => {
    runTool(t, 'promtool', ['--version'], ['test', 'rules', join(ROOT, 'ops/alerts.test.yml')]);
  });

  test('a share is of what went wrong: where all of it does, nothing else is counted', () => {
    const { groups } = readYaml<{ groups: { rules: { alert: string; expr: string }[] }[] }>('ops/alerts.yml');
    const shares = groups.flatMap(({ rules }) => rules).filter(({ expr }) => / \/ /.test(expr.replaceAll('\n', ' ')));
    assert.ok(shares.length >= 3);
    for (const { alert, expr } of shares) assert.doesNotMatch(expr.split(' / ')[0] ?? '', /success|ok/, alert);
  });
});
