// simbi doctor: checks everything a start depends on and prints a fix for each failed check.

import { existsSync, statSync } from 'node:fs';
import { access, constants, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Command } from 'commander';
import { ModeError, modeOfRows } from '../database-mode.ts';
import { refuseRemains } from '../embedded-postgres/cluster.ts';
import { listShipped } from '../ledger/head-keeper.ts';
import { readLostHead } from '../ledger/lost-history.ts';
import { createContext, findPort, type OpenDatabase, openCommandDatabase } from '../open-context.ts';
import { openPayments } from '../open-payments.ts';
import { lookAtConnections } from '../payments/connection-report.ts';
import type { PaymentsContext } from '../payments/context.ts';
import { listGoneMethods } from '../payments/gone-methods.ts';
import {
  type Config,
  DEFAULT_BRAND,
  dataPath,
  localUrl,
  publicUrl,
  readConfig,
  shownBrand,
} from '../platform/config.ts';
import type { Context } from '../platform/context.ts';
import { MAX_CLOCK_SKEW_MS } from '../platform/database-time.ts';
import { isTrustedConnection, serverNames } from '../platform/database-url.ts';
import { connectDatabase, type Database } from '../platform/db.ts';
import { readMode } from '../platform/gateway-mode.ts';
import { createLogger } from '../platform/log.ts';
import { pendingMigrations } from '../platform/migrate.ts';
import { readRoleFacts } from '../platform/role-facts.ts';
import { runningServer } from '../running-server.ts';
import { EXIT, type Terminal, toJson, withExamples } from './terminal.ts';

const OLDEST_NODE = 24;
const LEAST_FREE_BYTES = 512 * 1024 * 1024;
const REACH_TIMEOUT_MS = 5_000;

type Finding = { check: string; ok: boolean; detail: string; fix?: string };

export function doctorCommand(command: Command, terminal: Terminal): void {
  withExamples(command, ['npx simbi doctor', 'MODE=live npx simbi doctor', 'npx simbi doctor --json']).action(
    async (options: { json?: boolean }) => {
      const config = readConfig(terminal.environment);
      const findings = await runChecks(config, (sentence) => terminal.say(`  ${sentence}`));
      if (options.json) terminal.out(toJson(findings));
      else terminal.out(findings.map(lineOf).join('\n'));
      if (findings.some((finding) => !finding.ok)) process.exitCode = EXIT.error;
      else terminal.say('\nAll checks passed.');
    },
  );
}

function lineOf(finding: Finding): string {
  const line = `${finding.ok ? 'ok    ' : 'FAILED'} ${finding.check.padEnd(12)} ${finding.detail}`;
  return finding.fix && !finding.ok ? `${line}\n       ${' '.repeat(12)} Fix: ${finding.fix}` : line;
}

async function runChecks(config: Config, onProgress: (sentence: string) => void): Promise<Finding[]> {
  return [
    checkNode(),
    checkBrand(config),
    await checkDisk(config),
    await checkPort(config),
    ...(await checkDatabase(config, onProgress)),
    await checkPublicUrl(config),
  ];
}

function checkNode(): Finding {
  return {
    check: 'Node',
    ok: Number(process.versions.node.split('.')[0]) >= OLDEST_NODE,
    detail: process.version,
    fix: 'Use the pinned version of Node: start with npx simbi or node bin/run.mjs.',
  };
}

/** With the name of the product, customers do not know whom they pay. */
function checkBrand(config: Config): Finding {
  const name = shownBrand(config);
  return {
    check: 'brand',
    ok: config.mode === 'sandbox' || config.brandName !== DEFAULT_BRAND,
    detail: `pages and mails say "${name}"`,
    fix: 'Set BRAND_NAME to the name that your customers know.',
  };
}

async function checkDisk(config: Config): Promise<Finding> {
  const folder = dataPath(config);
  try {
    // The first start makes what is missing; who only asks makes nothing.
    let place = folder;
    while (!existsSync(place)) place = dirname(place);
    if (!statSync(place).isDirectory())
      return { check: 'disk', ok: false, detail: `${place} is not a folder`, fix: 'Change DATA_DIR.' };
    await access(place, constants.W_OK);
    const { bavail, bsize } = await statfs(place);
    const free = bavail * bsize;
    return {
      check: 'disk',
      ok: free >= LEAST_FREE_BYTES,
      detail: `${(free / 1024 ** 3).toFixed(1)} GiB free in ${folder}`,
      fix: 'Free at least 0.5 GiB, or move DATA_DIR to a larger disk.',
    };
  } catch {
    return {
      check: 'disk',
      ok: false,
      detail: `${folder} is not writable`,
      fix: 'Make the folder writable for this user, or change DATA_DIR.',
    };
  }
}

async function checkPort(config: Config): Promise<Finding> {
  const running = runningServer(config);
  if (running)
    return { check: 'port', ok: true, detail: `Simbi (process ${running.pid}) is running at ${running.url}` };
  try {
    await findPort(config);
    return { check: 'port', ok: true, detail: `${config.port} on ${config.host} is free` };
  } catch (error) {
    const isOurs = await isSimbi(localUrl(config));
    // On a database of its own DATA_DIR has no lock that could name the process.
    if (isOurs && config.databaseUrl !== '')
      return { check: 'port', ok: true, detail: `Simbi is running at port ${config.port}` };
    if (isOurs)
      return {
        check: 'port',
        ok: false,
        detail: `${config.port} is used by another Simbi, which has another DATA_DIR`,
        fix: `Use that one, or start this one on another port: PORT=${config.port + 1} npm start`,
      };
    return {
      check: 'port',
      ok: false,
      detail: error instanceof Error ? error.message : String(error),
      fix: 'Set PORT (and HOST) to a free port.',
    };
  }
}

async function checkDatabase(config: Config, onProgress: (sentence: string) => void): Promise<Finding[]> {
  const isNew = !config.databaseUrl && !existsSync(dataPath(config, 'postgres', 'cluster', 'PG_VERSION'));
  const where = config.databaseUrl ? serverNames(config.databaseUrl) : 'embedded';
  try {
    if (isNew) {
      await refuseRemains(dataPath(config, 'postgres'));
      return [{ check: 'database', ok: true, detail: 'embedded; the first start creates it' }];
    }
    const database = await openCommandDatabase(config, onProgress);
    try {
      return await checkOpenDatabase(config, database, where);
    } finally {
      await database.close();
    }
  } catch (error) {
    const fix = config.databaseUrl
      ? 'Check DATABASE_URL (host, port, name, user, password) and that PostgreSQL 15 or newer is running there. ' +
        'Behind a pooler that refuses a startup parameter, add ?pooler=transaction.'
      : `Look into ${dataPath(config, 'postgres')}; PostgreSQL writes postgres.log there.`;
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const detail = `${where}: ${cause instanceof Error ? cause.message : String(cause)}`;
    return [{ check: 'database', ok: false, detail, fix }];
  }
}

async function checkOpenDatabase(config: Config, { url, ownerUrl }: OpenDatabase, where: string): Promise<Finding[]> {
  const log = createLogger('silent');
  const db = connectDatabase({ url: ownerUrl, as: 'owner', poolSize: 2 });
  try {
    const [server] = await db.query<{ version: string }>(`select current_setting('server_version') as version`);
    const findings: Finding[] = [
      { check: 'database', ok: true, detail: `${where}, PostgreSQL ${server?.version ?? ''}` },
    ];
    const pending = await pendingMigrations(db);
    findings.push({
      check: 'migrations',
      ok: pending.length === 0,
      detail: pending.length === 0 ? 'all applied' : `missing: ${pending.join(', ')}`,
      fix: 'Run npx simbi migrate, or start the service.',
    });
    if (pending.length > 0) return findings;
    findings.push(...(await checkRoles(config, url)));
    // Only a start marks it, for ever, and makes its keys.
    if ((await readMode(db)) === null) return [...findings, await checkUnmarked(db, config)];
    const ctx = await createContext(config, url, log).catch((error: unknown) => error);
    if (ctx instanceof ModeError)
      return [...findings, { check: 'mode', ok: false, detail: `not ${config.mode}`, fix: ctx.message }];
    findings.push({ check: 'mode', ok: true, detail: `${config.mode}, for ever: the database is marked` });
    if (ctx instanceof Error)
      return [
        ...findings,
        { check: 'master key', ok: false, detail: 'cannot open the keys of this database', fix: ctx.message },
      ];
    return [...findings, ...(await checkContext(ctx as Context))];
  } finally {
    await db.close();
  }
}

async function checkUnmarked(db: Database, { mode }: Config): Promise<Finding> {
  const expected = await modeOfRows(db, mode);
  return {
    check: 'mode',
    ok: expected === mode,
    detail: `not marked yet: the first start marks the database as ${expected}, for ever`,
    fix: `Set MODE=${expected}, or use another DATABASE_URL or DATA_DIR.`,
  };
}

function describeKey({ keyProvider, masterKey }: Config): string {
  if (keyProvider) return `${keyProvider.service}, ${keyProvider.key}`;
  return masterKey ? 'from MASTER_KEY' : 'in DATA_DIR/master.key';
}

/** What somebody could do who takes over the service's connection to the database, or reads along. */
async function checkRoles(config: Config, url: string): Promise<Finding[]> {
  const db = connectDatabase({ url, poolSize: 2 });
  try {
    const { login, isSuperuser, owned, unguarded, bypasses, mayCreate, mayChange } = await readRoleFacts(db);
    const owns = isSuperuser ? 'is a superuser' : `owns ${owned} tables`;
    return [
      {
        check: 'login',
        // A sandbox may be simple. With real money the service must not be able to take more rights than it needs.
        ok: config.mode === 'sandbox' || (!isSuperuser && owned === 0),
        detail:
          isSuperuser || owned > 0 ? `"${login}" ${owns}; the service only gives that up` : `"${login}" owns nothing`,
        fix:
          'Give the service a login that owns nothing (DATABASE_URL), and migrations their own (MIGRATION_DATABASE_URL): ' +
          'docs/going-live.md.',
      },
      {
        check: 'rights',
        ok: !mayCreate && mayChange.length === 0,
        detail: mayCreate
          ? 'the service may create tables'
          : `history that can be changed: ${mayChange.join(', ') || 'none'}`,
        fix: 'Run npx simbi migrate with the login that owns the tables; revoke what was granted to simbi_service by hand.',
      },
      {
        check: 'row security',
        ok: unguarded.length === 0,
        detail:
          unguarded.length > 0
            ? `missing on ${unguarded.join(', ')}`
            : `on every table with a holder${bypasses ? '' : '; ledger verify is slower: simbi_service has no bypassrls'}`,
        fix: 'Run npx simbi migrate with the login that owns the tables.',
      },
      {
        check: 'database TLS',
        ok: config.mode === 'sandbox' || isTrustedConnection(url),
        detail: isTrustedConnection(url) ? 'this machine, or sslmode=verify-full' : 'the connection is not verified',
        fix: 'Add ?sslmode=verify-full to DATABASE_URL, and &sslrootcert=/path/to/ca.pem for a private authority.',
      },
    ];
  } finally {
    await db.close();
  }
}

async function checkContext(ctx: Context): Promise<Finding[]> {
  try {
    const skew = await ctx.databaseTime.skewMs();
    return [
      { check: 'master key', ok: true, detail: describeKey(ctx.config) },
      {
        check: 'clock',
        ok: Math.abs(skew) <= MAX_CLOCK_SKEW_MS,
        detail: `${skew} ms apart from the clock of the database`,
        fix: 'Synchronise the clocks of this machine and of the database with NTP.',
      },
      await checkHistory(ctx),
      ...(await checkHeads(ctx)),
      ...(await checkPayments(ctx)),
    ];
  } finally {
    await ctx.db.close();
  }
}

/** What the gateway noticed when it compared the database with what is known outside. */
async function checkHistory(ctx: Context): Promise<Finding> {
  const lost = await readLostHead(ctx.db);
  return {
    check: 'history',
    ok: lost === null,
    detail: lost
      ? `ledger head ${lost.number}, known from ${lost.source}, is not in the database; no money leaves the gateway`
      : 'every ledger head that was seen is in the database',
    fix: 'Find out which copy of the database this is, and whether a newer one exists. To go on with this one: npx simbi after-restore.',
  };
}

/** Where the newest ledger head is sent. */
async function checkHeads(ctx: Context): Promise<Finding[]> {
  const places = await listShipped(ctx.db);
  return places.map(({ place, error, number }) => ({
    check: `heads ${place}`,
    ok: error === null,
    detail: error ?? `ledger head ${number ?? 'none'} was sent`,
    fix: 'Check LEDGER_HEAD_FILE, LEDGER_HEAD_URL and LEDGER_HEAD_MAIL.',
  }));
}

async function checkPayments(ctx: Context): Promise<Finding[]> {
  const payments = await openPayments(ctx, { sandboxOperatorUrl: () => null, sendCallbacksNow: () => undefined });
  try {
    return [await checkMethods(payments.ctx), ...(await checkConnections(payments.ctx))];
  } finally {
    await payments.close();
  }
}

/** The operator of a method that was taken out of the configuration cannot be asked about its open transactions. */
async function checkMethods(ctx: PaymentsContext): Promise<Finding> {
  const gone = await listGoneMethods(ctx);
  const transactions = gone.reduce((sum, each) => sum + each.transactions, 0);
  const names = gone.map(({ method, rail, transactions: count }) => `${method} on ${rail} (${count})`).join(', ');
  return {
    check: 'methods',
    ok: gone.length === 0,
    detail:
      gone.length === 0
        ? 'every open transaction has its rail and its method'
        : `${transactions} open transactions belong to methods that are gone: ${names}`,
    fix: 'Put the method back (CATALOG_FILE, or the version that has its rail) until they are final, or decide their cases.',
  };
}

/** Asked as `rail test` asks; nothing is registered at the operators. */
async function checkConnections(ctx: PaymentsContext): Promise<Finding[]> {
  const connections = await lookAtConnections(ctx);
  return connections.map(({ name, problems }) => ({
    check: `rail ${name}`,
    ok: problems.length === 0,
    detail: problems.length === 0 ? 'the operator takes its credentials' : problems.join(' '),
    fix: `Change it with npx simbi rail set ${name}, then run npx simbi rail test ${name}.`,
  }));
}

async function checkPublicUrl(config: Config): Promise<Finding> {
  const running = runningServer(config);
  const url = config.publicUrl || running?.url || publicUrl(config);
  if (await isSimbi(url)) return { check: 'public URL', ok: true, detail: `${url} reaches this service` };
  if (!config.publicUrl && !running) return { check: 'public URL', ok: true, detail: `${url} (not started)` };
  return {
    check: 'public URL',
    ok: false,
    detail: `${url} does not reach a running Simbi`,
    fix: 'Start the service, check DNS, certificate and reverse proxy, and set PUBLIC_URL to the address that people open.',
  };
}

async function isSimbi(url: string): Promise<boolean> {
  try {
    const response = await fetch(new URL('/healthz', url), {
      signal: AbortSignal.timeout(REACH_TIMEOUT_MS),
      redirect: 'error',
    });
    const body = (await response.json()) as { message?: unknown };
    return body.message === 'Alive.';
  } catch {
    return false;
  }
}
