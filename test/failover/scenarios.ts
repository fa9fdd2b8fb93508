// What happens to the cluster in a run, and how it is put right again.

import { setTimeout as wait } from 'node:timers/promises';
import { type Cluster, NODES } from './cluster.ts';
import type { Network } from './network.ts';

const STALLED_MS = 40_000;
const CUT_MS = 45_000;
const FROZEN_MS = 60_000;

export type Lab = { cluster: Cluster; network: Network };

export type Scenario = {
  name: string;
  /** For the table. */
  title: string;
  /** Whether another server becomes the primary. */
  promotes: boolean;
  needsNamespaces?: true;
  /** Does it, and returns what puts it right: called when another primary is there, or at once where none is expected. */
  strike(lab: Lab, primary: number): Promise<() => Promise<void>>;
};

const nothing = async () => undefined;

export const SCENARIOS: readonly Scenario[] = [
  {
    name: 'machine',
    title: 'machine: kill -9 of PostgreSQL, Patroni and etcd of the primary',
    promotes: true,
    async strike({ cluster }, primary) {
      cluster.signalService(primary, 'patroni', 'SIGKILL');
      cluster.signalPostgres(primary, 'SIGKILL');
      cluster.signalService(primary, 'etcd', 'SIGKILL');
      return async () => cluster.startServices(primary);
    },
  },
  {
    name: 'postgres',
    title: 'postgres: kill -9 of PostgreSQL of the primary; Patroni starts it again',
    promotes: false,
    async strike({ cluster }, primary) {
      cluster.signalPostgres(primary, 'SIGKILL');
      return nothing;
    },
  },
  {
    name: 'standby',
    title: 'standby: kill -9 of PostgreSQL, Patroni and etcd of the synchronous standby',
    promotes: false,
    async strike({ cluster }) {
      const standby = await cluster.synchronousStandby();
      cluster.signalService(standby, 'patroni', 'SIGKILL');
      cluster.signalPostgres(standby, 'SIGKILL');
      cluster.signalService(standby, 'etcd', 'SIGKILL');
      return async () => {
        await wait(STALLED_MS / 2);
        cluster.startServices(standby);
      };
    },
  },
  {
    name: 'switchover',
    title: 'switchover: planned, to the synchronous standby',
    promotes: true,
    async strike({ cluster }, primary) {
      await cluster.switchover(primary, await cluster.synchronousStandby());
      return nothing;
    },
  },
  {
    name: 'frozen',
    title: `frozen: SIGSTOP of the primary's Patroni for ${FROZEN_MS / 1000} s; its PostgreSQL goes on`,
    promotes: true,
    async strike({ cluster }, primary) {
      const started = performance.now();
      cluster.signalService(primary, 'patroni', 'SIGSTOP');
      return async () => {
        await wait(Math.max(0, started + FROZEN_MS - performance.now()));
        cluster.signalService(primary, 'patroni', 'SIGCONT');
      };
    },
  },
  {
    name: 'stalled',
    title: `stalled: SIGSTOP of both standbys for ${STALLED_MS / 1000} s`,
    promotes: false,
    async strike({ cluster }, primary) {
      const standbys = NODES.filter((node) => node !== primary);
      for (const node of standbys) cluster.signalPostgres(node, 'SIGSTOP');
      return async () => {
        await wait(STALLED_MS);
        for (const node of standbys) cluster.signalPostgres(node, 'SIGCONT');
      };
    },
  },
  {
    name: 'network',
    title: `network: the primary's link is cut for ${CUT_MS / 1000} s`,
    promotes: true,
    needsNamespaces: true,
    strike: (lab, primary) => cut(lab, primary, 'everybody'),
  },
  {
    name: 'split',
    title: `split: the primary is cut off from the other nodes for ${CUT_MS / 1000} s; the gateway still reaches it`,
    promotes: true,
    needsNamespaces: true,
    strike: (lab, primary) => cut(lab, primary, 'nodes'),
  },
];

async function cut({ network }: Lab, node: number, from: 'nodes' | 'everybody'): Promise<() => Promise<void>> {
  const started = performance.now();
  network.cut(node, from);
  return async () => {
    await wait(Math.max(0, started + CUT_MS - performance.now()));
    network.heal(node);
  };
}
