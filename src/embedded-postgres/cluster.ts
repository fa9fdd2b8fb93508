// The folder of the embedded PostgreSQL and how it is created: initdb, settings, roles and a database. It contains cluster/
// (PostgreSQL's data directory), password (of the owner of the tables), service-password (of the service, which owns nothing),
// port and postgres.log.

import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync } from 'node:fs';
import { chmod, chown, mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { EmbeddedPostgresError, type Installation, runAsPostgresUser } from './installation.ts';

const MAJOR_VERSION = '18';
/** A cluster that is not complete yet. */
const DRAFT = 'cluster.new';
/** PostgreSQL's cache: this part of the memory, within these. The rest is for the gateway and for the files that the system keeps. */
const CACHE = { share: 8, leastMb: 128, mostMb: 1024 } as const;

export type DataFolder = {
  root: string;
  cluster: string;
  password: string;
  servicePassword: string;
  port: string;
  log: string;
};

export function describeDataFolder(root: string): DataFolder {
  const at = (name: string) => join(root, name);
  return {
    root,
    cluster: at('cluster'),
    password: at('password'),
    servicePassword: at('service-password'),
    port: at('port'),
    log: at('postgres.log'),
  };
}

export async function readText(path: string): Promise<string | null> {
  return await readFile(path, 'utf8').catch(() => null);
}

/** Creates the cluster at the first start; later only checks that this version of PostgreSQL can read it. */
export async function prepareCluster(
  folder: DataFolder,
  installation: Installation,
  durable: boolean,
  onProgress: (sentence: string) => void,
): Promise<void> {
  const version = await readText(join(folder.cluster, 'PG_VERSION'));
  if (version === null) {
    await refuseRemains(folder.root);
    return await createCluster(folder, installation, durable, onProgress);
  }
  if (version.trim() !== MAJOR_VERSION)
    throw new EmbeddedPostgresError(
      `The database in ${folder.cluster} was created by PostgreSQL ${version.trim()}; ` +
        `this version of Simbi includes PostgreSQL ${MAJOR_VERSION}. ` +
        'Make a backup with the earlier version of Simbi (simbi backup), then restore it into an empty DATA_DIR (simbi restore).',
    );
  // Created by a version that had one role for everything, or interrupted before the password was written.
  if ((await readText(folder.servicePassword)) !== null) return;
  onProgress('Giving the service a role of its own in the database');
  const password = randomBytes(24).toString('base64url');
  // In single-user mode, because only the superuser may create roles and nobody can log in as it.
  await runSingleUser(installation, folder.cluster, durable, serviceRole(password));
  await writePassword(folder.servicePassword, password);
}

/** Lines of single-user mode: each is one statement. They may be run again. */
function serviceRole(password: string): string {
  const ifMissing = (role: string) =>
    `do $$ begin if to_regrole('${role}') is null then create role ${role}; end if; end $$\n`;
  return [
    ifMissing('simbi_tenant'),
    ifMissing('simbi_service'),
    // Policies are for what a holder reads; the service works for all of them, and plans better without.
    `alter role simbi_service login noinherit bypassrls password '${password}'\n`,
    'grant simbi_tenant to simbi_service\n',
    'grant simbi_service to simbi\n',
  ].join('');
}

/**
 * Refuses a folder that a database was in, or is being copied to: an empty one in its place would have another password, and no
 * payments. A draft tells that a first start was interrupted.
 */
export async function refuseRemains(root: string): Promise<void> {
  const list = (path: string): Promise<string[]> => readdir(path).catch(() => []);
  const [names, inCluster] = [await list(root), await list(join(root, 'cluster'))];
  const hasPassword = names.includes('password') && !names.some((name) => name.startsWith(DRAFT));
  if (inCluster.length === 0 && !hasPassword) return;
  throw new EmbeddedPostgresError(
    `A part of the database in ${root} is missing: there is no cluster/PG_VERSION. Copy the whole folder again, or restore a ` +
      'backup into a new DATA_DIR (simbi restore). For a new, empty database move this folder away.',
  );
}

/** Created under another name and renamed when complete, so that an interrupted start leaves no incomplete cluster. */
async function createCluster(
  folder: DataFolder,
  installation: Installation,
  durable: boolean,
  onProgress: (sentence: string) => void,
): Promise<void> {
  onProgress(`Creating the embedded PostgreSQL ${MAJOR_VERSION} database in ${folder.root}`);
  // Of a start that was interrupted; before its draft, without which a password is what remains of a database.
  for (const path of [folder.password, folder.servicePassword]) await rm(path, { force: true });
  // An initdb whose parent was killed may still be writing there.
  for (const name of await readdir(folder.root))
    if (name.startsWith(DRAFT))
      await rm(join(folder.root, name), { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  // A unique name: an initdb that is still running after its process was killed must not write into this folder.
  const draft = `${folder.cluster}.new-${process.pid}`;
  await mkdir(draft, { mode: 0o700 });
  if (installation.owner) await chown(draft, installation.owner.uid, installation.owner.gid);
  // `trust` applies during initdb only: no port is open yet, and pg_hba.conf is replaced below.
  await runTool(
    installation,
    draft,
    'initdb',
    '--username=postgres --auth=trust --encoding=UTF8 --locale=C --locale-provider=builtin --builtin-locale=C.UTF-8 --no-instructions'
      .split(' ')
      .concat(durable ? [] : ['--no-sync']),
  );
  const lz4 = await runTool(installation, draft, 'postgres', ['-c', 'wal_compression=lz4', '-C', 'wal_compression'])
    .then(() => true)
    .catch(() => false);
  await writeOwned(installation, join(draft, 'postgresql.conf'), clusterSettings(lz4));
  await writeOwned(installation, join(draft, 'pg_hba.conf'), 'host all all 127.0.0.1/32 scram-sha-256\n');
  const [password, servicePassword] = [randomBytes(24).toString('base64url'), randomBytes(24).toString('base64url')];
  // In single-user mode, so that the superuser needs no password and nobody can log in as it.
  await runSingleUser(
    installation,
    draft,
    durable,
    `create role simbi login createdb password '${password}' in role pg_monitor, pg_checkpoint\n` +
      'create database simbi owner simbi\n' +
      serviceRole(servicePassword),
  );
  await writePassword(folder.password, password);
  await writePassword(folder.servicePassword, servicePassword);
  await rename(draft, folder.cluster);
  await sync(folder.root);
}

async function runSingleUser(installation: Installation, cluster: string, durable: boolean, statements: string) {
  const args = ['--single', '-c', `fsync=${durable ? 'on' : 'off'}`, '-c', 'log_checkpoints=off', 'postgres'];
  const output = await runTool(installation, cluster, 'postgres', args, statements);
  if (/ERROR|FATAL/.test(output))
    throw new EmbeddedPostgresError(`The database could not be created:\n${output.trim()}`);
}

async function writePassword(path: string, password: string): Promise<void> {
  await writeFile(path, `${password}\n`, { mode: 0o600 });
  await chmod(path, 0o600);
  await sync(path);
}

/** Flushes a file, or the entries of a folder, to disk: without the password the database cannot be opened. */
async function sync(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/** A container may have less memory than its machine. */
const machineMemory = () => Math.min(totalmem(), process.constrainedMemory() || Infinity);

/**
 * Each payment adds to twenty indexes, of most of them at the place of its merchant. With years of payments these places are a page
 * each, hundreds of megabytes for a thousand merchants, and what the cache does not hold is copied from the system's again and again.
 */
export function cacheMb(memoryBytes = machineMemory()): number {
  const share = Math.floor(memoryBytes / 2 ** 20 / CACHE.share);
  return Math.min(Math.max(share, CACHE.leastMb), CACHE.mostMb);
}

function clusterSettings(lz4: boolean): string {
  return `# Written once, when Simbi created this database. You may change it; port and address are set by Simbi.
max_connections = 100
shared_buffers = ${cacheMb()}MB
effective_io_concurrency = 16
random_page_cost = 1.1
jit = off

# A commit is acknowledged only when it is on disk.
fsync = on
synchronous_commit = on
full_page_writes = on
wal_compression = ${lz4 ? 'lz4' : 'off'}
max_wal_size = 2GB
min_wal_size = 128MB
checkpoint_timeout = 15min

password_encryption = scram-sha-256
timezone = 'UTC'
log_timezone = 'UTC'
lc_messages = 'C'
log_line_prefix = '%m [%p] '
log_min_duration_statement = 2s
log_lock_waits = on
log_checkpoints = off
# Statements and rows may contain phone numbers: they are not logged.
log_min_error_statement = panic
log_parameter_max_length = 0
log_parameter_max_length_on_error = 0
log_error_verbosity = terse
`;
}

async function writeOwned(installation: Installation, path: string, text: string): Promise<void> {
  await writeFile(path, text, { mode: 0o600 });
  if (installation.owner) await chown(path, installation.owner.uid, installation.owner.gid);
}

async function runTool(
  installation: Installation,
  cluster: string,
  tool: 'initdb' | 'postgres',
  args: string[],
  input = '',
): Promise<string> {
  const single = args[0] === '--single' ? ['--single'] : [];
  const rest = args.slice(single.length);
  const run = runAsPostgresUser(installation, cluster);
  const child = spawn(join(installation.bin, tool), [...single, '-D', run.path, ...rest], {
    ...run.options,
    stdio: ['pipe', 'pipe', 'pipe', run.folderFd],
  });
  closeSync(run.folderFd);
  const output: Buffer[] = [];
  child.stdout?.on('data', (chunk: Buffer) => output.push(chunk));
  child.stderr?.on('data', (chunk: Buffer) => output.push(chunk));
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(input);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  const text = Buffer.concat(output).toString('utf8');
  if (code !== 0) throw new EmbeddedPostgresError(`${tool} failed with code ${code}:\n${text.trim()}`);
  return text;
}
