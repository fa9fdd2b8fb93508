// The programs of a cluster, from Debian's packages: PostgreSQL, Patroni, etcd and, where it is wanted, HAProxy.

import { execFileSync } from 'node:child_process';
import { existsSync, globSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { env, getuid } from 'node:process';

export type Programs = {
  /** The folder with postgres, pg_rewind and the others. */
  postgresFolder: string;
  postgresVersion: string;
  patroni: string;
  patroniVersion: string;
  etcd: string;
  haproxy: string | null;
};

type Options = { install: boolean; haproxy: boolean; say: (sentence: string) => void };

/** Services that a package brings are not started while this file says no. */
const SERVICE_POLICY = '/usr/sbin/policy-rc.d';
/** Another installation may be under way. */
const LOCK_SECONDS = 300;
/** From here on a leader key is written only where nobody else has it, also by etcd's API v3. */
const SAFE_WITH_API_V3 = [3, 0, 3];

export function findPrograms({ install, haproxy, say }: Options): Programs {
  const missing = missingPackages(haproxy);
  if (missing.length > 0) {
    const command = `apt-get install --no-install-recommends ${missing.join(' ')}`;
    if (!install || !existsSync('/etc/debian_version') || getuid?.() !== 0)
      throw new Error(`The cluster needs packages that are not installed. As root, on Debian: ${command}`);
    say(`installing: ${command}`);
    installPackages(missing);
  }
  const postgres = findPostgres();
  const patroni = find('patroni');
  const etcd = find('etcd');
  if (!postgres || !patroni || !etcd) throw new Error(`still missing: ${missingPackages(haproxy).join(', ')}`);
  return {
    postgresFolder: dirname(postgres),
    postgresVersion: versionOf(postgres),
    patroni,
    patroniVersion: versionOf(patroni),
    etcd,
    haproxy: haproxy ? find('haproxy') : null,
  };
}

/**
 * Patroni before 3.0.3 writes the leader key by etcd's API v3 without comparing it: a primary that stood still for longer than the
 * ttl takes the lead back, and what was acknowledged meanwhile is lost. By the API v2 it compares.
 */
export function safeStore(patroniVersion: string): 'etcd' | 'etcd3' {
  const parts = patroniVersion.split('.').map(Number);
  for (const [index, least] of SAFE_WITH_API_V3.entries())
    if (parts[index] !== least) return (parts[index] ?? 0) > least ? 'etcd3' : 'etcd';
  return 'etcd3';
}

function missingPackages(haproxy: boolean): string[] {
  const patroni = find('patroni');
  const needsApiV2 = !patroni || safeStore(versionOf(patroni)) === 'etcd';
  const wanted: [string, boolean][] = [
    ['postgresql', findPostgres() !== null],
    ['patroni', patroni !== null],
    ['python3-etcd', !needsApiV2 || existsSync('/usr/lib/python3/dist-packages/etcd')],
    ['etcd-server', find('etcd') !== null],
    ['haproxy', !haproxy || find('haproxy') !== null],
  ];
  return wanted.filter(([, isThere]) => !isThere).map(([name]) => name);
}

function installPackages(names: string[]): void {
  const isOurs = !existsSync(SERVICE_POLICY);
  if (isOurs) writeFileSync(SERVICE_POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  const apt = (...args: string[]) =>
    execFileSync('apt-get', ['-qq', '-y', '-o', `DPkg::Lock::Timeout=${LOCK_SECONDS}`, ...args], {
      env: { ...env, DEBIAN_FRONTEND: 'noninteractive' },
      stdio: ['ignore', 'inherit', 'inherit'],
    });
  try {
    apt('update');
    apt('install', '--no-install-recommends', ...names);
  } finally {
    if (isOurs) rmSync(SERVICE_POLICY);
  }
}

/** The newest one that has pg_rewind, without which a lost primary cannot come back. */
function findPostgres(): string | null {
  const found = globSync('/usr/lib/postgresql/*/bin/pg_rewind').sort((left, right) =>
    left.localeCompare(right, 'en', { numeric: true }),
  );
  return found.at(-1)?.replace(/pg_rewind$/, 'postgres') ?? null;
}

function find(name: string): string | null {
  return ['/usr/bin', '/usr/sbin'].map((folder) => `${folder}/${name}`).find((file) => existsSync(file)) ?? null;
}

function versionOf(program: string): string {
  return /\d+(?:\.\d+)+/.exec(execFileSync(program, ['--version'], { encoding: 'utf8' }))?.[0] ?? '';
}
