// Three machines on one: each node has an etcd, a Patroni and the PostgreSQL that Patroni runs, with the settings of
// deploy/patroni.yml. A laboratory: every connection is trusted, and nothing is encrypted.

import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { getuid } from 'node:process';
import { parse } from 'yaml';
import { ROOT } from '../../scripts/tree.ts';
import type { Network } from './network.ts';
import { type Launched, launch, signal, treeOf, until } from './processes.ts';
import { type Programs, safeStore } from './programs.ts';

export const NODES = [1, 2, 3] as const;
const FIRST_PORT = 23_300;
/** PostgreSQL refuses to run as root. */
const RUN_AS = 'postgres';
const START_MS = 180_000;
/** A lost primary on a slow disk recovers, is rewound and catches up. */
const HEALTHY_MS = 300_000;
const REST_MS = 1_000;
const STOP_MS = 30_000;

type Port = 'postgres' | 'rest' | 'client' | 'peer';
type Service = 'etcd' | 'patroni';

export type Member = { name: string; role: string; state: string };

export interface Cluster {
  readonly store: 'etcd' | 'etcd3';
  readonly databaseUrl: string;
  serverUrl(node: number, database?: string): string;
  /** Host and port of each PostgreSQL, and of its Patroni. */
  addresses(): { node: number; host: string; postgres: number; rest: number }[];
  primary(): Promise<number>;
  synchronousStandby(): Promise<number>;
  /** Waits for one leader and two standbys that follow, one of them synchronous. */
  healthy(): Promise<void>;
  startServices(node: number): void;
  signalPostgres(node: number, name: NodeJS.Signals): void;
  signalService(node: number, service: Service, name: NodeJS.Signals): void;
  switchover(from: number, to: number): Promise<void>;
  stop(): Promise<void>;
}

type Options = { folder: string; programs: Programs; network: Network };

export async function startCluster({ folder, programs, network }: Options): Promise<Cluster> {
  const store = safeStore(programs.patroniVersion);
  const place = createPlace(folder, network);
  const services = new Map<string, Launched>();
  const start = (node: number, service: Service, args: string[]) => {
    const running = services.get(`${service}${node}`);
    if (running && !running.hasEnded()) return;
    services.set(`${service}${node}`, place.launch(node, `${service}${node}`, args, programs.postgresFolder));
  };
  const startEtcd = (node: number) => start(node, 'etcd', etcdCommand(programs.etcd, place, node, store));
  const startPatroni = (node: number) => start(node, 'patroni', [programs.patroni, place.file(`patroni${node}.json`)]);
  const cluster = createCluster(place, { store, services, startEtcd, startPatroni });
  try {
    for (const node of NODES) {
      writeFileSync(place.file(`patroni${node}.json`), JSON.stringify(patroniSettings(place, node, store, programs)));
      startEtcd(node);
    }
    await until('etcd answers', START_MS, () => answers(`http://${place.at(1, 'client')}/health`));
    // The first makes the cluster, the others copy it.
    startPatroni(1);
    await until('the first node is a primary', START_MS, () => answers(`http://${place.at(1, 'rest')}/primary`));
    startPatroni(2);
    startPatroni(3);
    await cluster.healthy();
    return cluster;
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

/** Where things are: addresses and ports of the nodes, files of the run. */
type Place = {
  at(node: number, port: Port): string;
  port(node: number, port: Port): number;
  host(node: number): string;
  file(name: string): string;
  launch(node: number, name: string, args: string[], programFolder: string): Launched;
};

function createPlace(folder: string, network: Network): Place {
  mkdirSync(join(folder, 'log'), { recursive: true });
  const isRoot = getuid?.() === 0;
  const as = isRoot ? ['setpriv', '--reuid', RUN_AS, '--regid', RUN_AS, '--init-groups'] : [];
  chmodSync(folder, 0o700);
  if (isRoot) execFileSync('chown', [RUN_AS, folder]);
  const offsets: Record<Port, number> = { postgres: 10, rest: 20, client: 30, peer: 40 };
  const port = (node: number, name: Port) => FIRST_PORT + offsets[name] + node;
  return {
    port,
    host: (node) => network.addressOf(node),
    at: (node, name) => `${network.addressOf(node)}:${port(node, name)}`,
    file: (name) => join(folder, name),
    launch: (node, name, args, programFolder) =>
      launch({
        command: [...network.prefix(node), ...as, ...args],
        log: join(folder, 'log', `${name}.log`),
        cwd: folder,
        env: {
          PATH: `${programFolder}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin`,
          HOME: folder,
          LC_ALL: 'C.UTF-8',
          // etcd 3.4 starts on arm64 only where somebody says that this is known.
          ETCD_UNSUPPORTED_ARCH: process.arch,
        },
      }),
  };
}

function etcdCommand(program: string, place: Place, node: number, store: Cluster['store']): string[] {
  const members = NODES.map((each) => `etcd${each}=http://${place.at(each, 'peer')}`).join(',');
  const client = `http://${place.at(node, 'client')}`;
  const peer = `http://${place.at(node, 'peer')}`;
  const settings = {
    name: `etcd${node}`,
    'data-dir': place.file(`etcd${node}`),
    'listen-client-urls': client,
    'advertise-client-urls': client,
    'listen-peer-urls': peer,
    'initial-advertise-peer-urls': peer,
    'initial-cluster': members,
    'initial-cluster-state': 'new',
    logger: 'zap',
    'log-level': 'warn',
  };
  const options = Object.entries(settings).map(([name, value]) => `--${name}=${value}`);
  return [program, ...options, ...(store === 'etcd' ? ['--enable-v2'] : [])];
}

/** JSON is YAML, too. */
function patroniSettings(place: Place, node: number, store: Cluster['store'], { postgresFolder }: Programs): object {
  const { bootstrap } = parse(readFileSync(join(ROOT, 'deploy/patroni.yml'), 'utf8')) as { bootstrap: object };
  const trusted = ['all', 'replication'].map((database) => `host ${database} all all trust`);
  return {
    scope: 'simbi',
    name: `node${node}`,
    restapi: { listen: place.at(node, 'rest'), connect_address: place.at(node, 'rest') },
    [store]: { hosts: NODES.map((each) => place.at(each, 'client')).join(',') },
    bootstrap,
    postgresql: {
      listen: place.at(node, 'postgres'),
      connect_address: place.at(node, 'postgres'),
      data_dir: place.file(`data${node}`),
      bin_dir: postgresFolder,
      pgpass: place.file(`pgpass${node}`),
      authentication: {
        superuser: { username: RUN_AS },
        replication: { username: RUN_AS },
        rewind: { username: RUN_AS },
      },
      pg_hba: ['local all all trust', ...trusted],
      parameters: { unix_socket_directories: '', shared_buffers: '128MB' },
    },
  };
}

type ClusterParts = {
  store: Cluster['store'];
  services: Map<string, Launched>;
  startEtcd: (node: number) => void;
  startPatroni: (node: number) => void;
};

function createCluster(place: Place, { store, services, startEtcd, startPatroni }: ClusterParts): Cluster {
  const members = () => readMembers(place);
  const nodeWith = async (what: string, role: string[]): Promise<number> => {
    const found = (await members()).find((member) => role.includes(member.role));
    if (!found) throw new Error(`no ${what}`);
    return Number(found.name.replace('node', ''));
  };
  const serverUrl = (node: number, database = 'simbi') =>
    `postgres://${RUN_AS}@${place.at(node, 'postgres')}/${database}`;
  return {
    store,
    serverUrl,
    databaseUrl: `postgres://${RUN_AS}@${NODES.map((node) => place.at(node, 'postgres')).join(',')}/simbi`,
    addresses: () =>
      NODES.map((node) => ({
        node,
        host: place.host(node),
        postgres: place.port(node, 'postgres'),
        rest: place.port(node, 'rest'),
      })),
    primary: () => nodeWith('primary', ['leader', 'master']),
    synchronousStandby: () => nodeWith('synchronous standby', ['sync_standby']),
    healthy: () => until('one primary and two standbys', HEALTHY_MS, async () => isHealthy(await members())),
    startServices(node) {
      startEtcd(node);
      startPatroni(node);
    },
    signalPostgres(node, name) {
      for (const pid of postgresProcesses(place, node)) signal(pid, name);
    },
    signalService(node, service, name) {
      const running = services.get(`${service}${node}`);
      if (running) signal(running.pid, name);
    },
    async switchover(from, to) {
      const answer = await fetch(`http://${place.at(from, 'rest')}/switchover`, {
        method: 'POST',
        body: JSON.stringify({ leader: `node${from}`, candidate: `node${to}` }),
      });
      if (!answer.ok) throw new Error(`Patroni refused the switchover: ${await answer.text()}`);
    },
    stop: () => stopAll(place, services),
  };
}

/** Nobody needs the data any more, so nothing is asked to end by itself. Patroni first: it would start its PostgreSQL again. */
async function stopAll(place: Place, services: Map<string, Launched>): Promise<void> {
  const running = [...services.values()].filter((each) => !each.hasEnded());
  for (const { pid } of running) signal(pid, 'SIGKILL');
  for (const node of NODES) for (const pid of postgresProcesses(place, node)) signal(pid, 'SIGKILL');
  // By looking: nothing else keeps Node waiting for children that it was told not to wait for.
  await until('the end of the cluster', STOP_MS, () => running.every((each) => each.hasEnded()));
}

function postgresProcesses(place: Place, node: number): number[] {
  try {
    const pid = Number(readFileSync(place.file(`data${node}/postmaster.pid`), 'utf8').split('\n')[0]);
    // The file stays after a kill, and its number may be another's by now.
    const isOurs = readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(place.file(`data${node}`));
    return isOurs ? treeOf(pid) : [];
  } catch {
    return [];
  }
}

async function readMembers(place: Place): Promise<Member[]> {
  for (const node of NODES)
    try {
      const url = `http://${place.at(node, 'rest')}/cluster`;
      const answer = await fetch(url, { signal: AbortSignal.timeout(REST_MS) });
      return ((await answer.json()) as { members: Member[] }).members;
    } catch {
      // This one is away: another knows.
    }
  return [];
}

function isHealthy(members: readonly Member[]): boolean {
  const count = (role: string[]) =>
    members.filter((member) => role.includes(member.role) && ['running', 'streaming'].includes(member.state)).length;
  const standbys = count(['replica', 'sync_standby']);
  return count(['leader', 'master']) === 1 && standbys === NODES.length - 1 && count(['sync_standby']) === 1;
}

async function answers(url: string): Promise<boolean> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(REST_MS) }).catch(() => null);
  await answer?.body?.cancel();
  return answer?.ok ?? false;
}
