// simbi doctor: looks at everything a start depends on, and says for each fault what to do.

import { existsSync } from 'node:fs';
import { access, constants, mkdir, statfs } from 'node:fs/promises';
import type { Command } from 'commander';
import { createContext, openCommandDatabase, runningServer } from '../open-context.ts';
import { type Config, dataPath, publicUrl, readConfig } from '../platform/config.ts';
import type { Context } from '../platform/context.ts';
import { connectDatabase } from '../platform/db.ts';
import { measureClockSkew } from '../platform/health-routes.ts';
import { createLogger } from '../platform/log.ts';
import { pendingMigrations } from '../platform/migrate.ts';
import { addCommand, EXIT, type Terminal, toJson } from './terminal.ts';

const OLDEST_NODE = 24;
const LEAST_FREE_BYTES = 512 * 1024 * 1024;
const MAX_SKEW_MS = 30_000;
const REACH_TIMEOUT_MS = 5_000;

type Finding = { check: string; ok: boolean; detail: string; fix?: string };

export function doctorCommand(program: Command, terminal: Terminal): void {
  addCommand(program, 'doctor', 'check everything a start depends on, with the fix for each fault', [
    'npx simbi doctor',
    'MODE=live npx simbi doctor',
    'npx simbi doctor --json',
  ]).action(async (options: { json?: boolean }) => {
    const config = readConfig(terminal.environment);
    const findings = await examine(config, (sentence) => terminal.say(`  ${sentence}`));
    if (options.json) terminal.out(toJson(findings));
    else terminal.out(findings.map(lineOf).join('\n'));
    if (findings.some((finding) => !finding.ok)) process.exitCode = EXIT.fault;
    else terminal.say('\nEverything is in order.');
  });
}

function lineOf(finding: Finding): string {
  const line = `${finding.ok ? 'ok    ' : 'FAULT '} ${finding.check.padEnd(11)} ${finding.detail}`;
  return finding.fix && !finding.ok ? `${line}\n       ${' '.repeat(11)} Fix: ${finding.fix}` : line;
}

async function examine(config: Config, onProgress: (sentence: string) => void): Promise<Finding[]> {
  return [
    examineNode(),
    await examineDisk(config),
    await examinePort(config),
    ...(await examineDatabase(config, onProgress)),
    await examinePublicUrl(config),
  ];
}

function examineNode(): Finding {
  return {
    check: 'Node',
    ok: Number(process.versions.node.split('.')[0]) >= OLDEST_NODE,
    detail: process.version,
    fix: `Use the Node that the project pins: npx simbi, or node bin/run.mjs.`,
  };
}

async function examineDisk(config: Config): Promise<Finding> {
  const folder = dataPath(config);
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await access(folder, constants.W_OK);
    const { bavail, bsize } = await statfs(folder);
    const free = bavail * bsize;
    return {
      check: 'disk',
      ok: free >= LEAST_FREE_BYTES,
      detail: `${(free / 1024 ** 3).toFixed(1)} GiB free in ${folder}`,
      fix: 'Free at least half a GiB, or move DATA_DIR to a larger disk.',
    };
  } catch {
    return {
      check: 'disk',
      ok: false,
      detail: `${folder} cannot be written`,
      fix: 'Give this user the folder, or set DATA_DIR to another.',
    };
  }
}

async function examinePort(config: Config): Promise<Finding> {
  const running = runningServer(config);
  if (running) return { check: 'port', ok: true, detail: `our server (process ${running.pid}) at ${running.url}` };
  try {
    const { findPort } = await import('../server.ts');
    await findPort(config);
    return { check: 'port', ok: true, detail: `${config.port} of ${config.host} is free` };
  } catch (error) {
    if (await answersAsOurs(`http://127.0.0.1:${config.port}`))
      return { check: 'port', ok: true, detail: `a Simbi answers on ${config.port}` };
    return {
      check: 'port',
      ok: false,
      detail: error instanceof Error ? error.message : String(error),
      fix: 'Set PORT (and HOST) to something that is free.',
    };
  }
}

async function examineDatabase(config: Config, onProgress: (sentence: string) => void): Promise<Finding[]> {
  const isNew = !config.databaseUrl && !existsSync(dataPath(config, 'postgres', 'cluster', 'PG_VERSION'));
  if (isNew) return [{ check: 'database', ok: true, detail: 'embedded, not made yet: the first start makes it' }];
  const where = config.databaseUrl ? new URL(config.databaseUrl).host : 'embedded';
  try {
    const database = await openCommandDatabase(config, onProgress);
    try {
      return await examineOpened(config, database.url, where);
    } finally {
      await database.close();
    }
  } catch (error) {
    const fix = config.databaseUrl
      ? 'Check DATABASE_URL: host, port, name, user, password, and that PostgreSQL 15 or newer runs there.'
      : `Read ${dataPath(config, 'postgres', 'postgres.log')}.`;
    const detail = `${where}: ${error instanceof Error ? error.message : String(error)}`;
    return [{ check: 'database', ok: false, detail, fix }];
  }
}

async function examineOpened(config: Config, url: string, where: string): Promise<Finding[]> {
  const log = createLogger('silent');
  const db = connectDatabase({ url, poolSize: 2 });
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
      fix: 'npx simbi migrate (a start also does it).',
    });
    if (pending.length > 0) return findings;
    const ctx = await createContext(config, url, log).catch((error: unknown) => error);
    if (ctx instanceof Error)
      return [...findings, { check: 'master key', ok: false, detail: 'does not fit this database', fix: ctx.message }];
    return [...findings, ...(await examineContext(ctx as Context))];
  } finally {
    await db.close();
  }
}

async function examineContext(ctx: Context): Promise<Finding[]> {
  try {
    const skew = await measureClockSkew(ctx);
    return [
      { check: 'master key', ok: true, detail: ctx.config.masterKey ? 'from MASTER_KEY' : 'in DATA_DIR/master.key' },
      {
        check: 'clock',
        ok: Math.abs(skew) <= MAX_SKEW_MS,
        detail: `${skew} ms from the database's`,
        fix: 'Let NTP set the clocks of this machine and of the database.',
      },
    ];
  } finally {
    await ctx.db.close();
  }
}

async function examinePublicUrl(config: Config): Promise<Finding> {
  const running = runningServer(config);
  const url = config.publicUrl || running?.url || publicUrl(config);
  if (await answersAsOurs(url)) return { check: 'public URL', ok: true, detail: `${url} leads to us` };
  if (!config.publicUrl && !running) return { check: 'public URL', ok: true, detail: `${url}, once it is started` };
  return {
    check: 'public URL',
    ok: false,
    detail: `${url} does not lead to a running Simbi`,
    fix: 'Start the service; check DNS, certificate and reverse proxy; set PUBLIC_URL to what people open.',
  };
}

async function answersAsOurs(url: string): Promise<boolean> {
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
