// Databases for tests on a Citus cluster, when CITUS_URL names its coordinator: one is migrated and distributed once, and each test gets a
// copy of it, made on every server of the cluster. The cluster's own database (the one of CITUS_URL) says which servers there are.

import pg from 'pg';
import { DATABASE_SETTINGS, distribute } from '../src/distribution/distribute.ts';

const SHARDS = 4;
const CLONE_TRIES = 50;
const CLONE_PAUSE_MS = 100;

type Server = { host: string; port: number; isCoordinator: boolean };

async function serversOf(url: string): Promise<Server[]> {
  const { hostname, port } = new URL(url);
  const workers = await onServer(url, async (client) => {
    const { rows } = await client.query<{ host: string; port: number }>(
      'select nodename as host, nodeport as port from pg_dist_node where groupid > 0 order by nodeport',
    );
    return rows;
  });
  return [
    { host: hostname, port: Number(port), isCoordinator: true },
    ...workers.map((worker) => ({ ...worker, isCoordinator: false })),
  ];
}

function urlOf(clusterUrl: string, { host, port }: Server, database: string): string {
  const url = new URL(clusterUrl);
  url.hostname = host;
  url.port = String(port);
  url.pathname = `/${database}`;
  return url.toString();
}

/** An empty database of that name on every server, joined to a cluster. */
export async function createClusterDatabase(clusterUrl: string, name: string): Promise<void> {
  const servers = await serversOf(clusterUrl);
  for (const server of servers) {
    await onServer(urlOf(clusterUrl, server, 'postgres'), (client) => client.query(`create database ${name}`));
    await onServer(urlOf(clusterUrl, server, name), (client) => client.query('create extension citus'));
  }
  const [coordinator, ...workers] = servers;
  if (!coordinator) return;
  await onServer(urlOf(clusterUrl, coordinator, name), async (client) => {
    await client.query('select citus_set_coordinator_host($1, $2)', [coordinator.host, coordinator.port]);
    for (const { host, port } of workers) await client.query('select citus_add_node($1, $2)', [host, port]);
  });
}

export async function distributeTemplate(url: string): Promise<void> {
  await distribute(url, SHARDS);
}

/** A copy on every server. Citus' own daemon is in each database for a moment now and then, and must be gone for that. */
export async function cloneClusterDatabase(clusterUrl: string, name: string, template: string): Promise<void> {
  for (const server of await serversOf(clusterUrl))
    await onServer(urlOf(clusterUrl, server, 'postgres'), async (client) => {
      for (let tries = 1; ; tries++)
        try {
          await client.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [template]);
          await client.query(`create database ${name} template ${template} strategy file_copy`);
          break;
        } catch (error) {
          if (tries >= CLONE_TRIES) throw error;
          await new Promise((resolve) => setTimeout(resolve, CLONE_PAUSE_MS));
        }
      // What `simbi distribute` sets on a database: a copy does not have it.
      if (server.isCoordinator)
        for (const [setting, value] of Object.entries(DATABASE_SETTINGS))
          await client.query(`alter database ${name} set ${setting} = '${value}'`);
    });
}

export async function dropClusterDatabase(clusterUrl: string, name: string): Promise<void> {
  for (const server of await serversOf(clusterUrl))
    await onServer(urlOf(clusterUrl, server, 'postgres'), (client) =>
      client.query(`drop database if exists ${name} with (force)`),
    );
}

async function onServer<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, application_name: 'simbi-test-citus' });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
