// simbi audit: exports the audit log as lines of JSON for a log collector, and verifies its chain of hashes.

import type { Command } from 'commander';
import { type AuditVerification, exportAudit, type KnownLink, verifyAudit } from '../holders/audit-chain.ts';
import type { Context } from '../platform/context.ts';
import { addCommand, CommandError, EXIT, print, readTime, type Terminal, withContext } from './terminal.ts';

type ExportOptions = { since?: Date; follow?: boolean };
type VerifyOptions = { json?: boolean; known?: string };

const EXPORT_HELP = `
Each line is one row: what happened, then previous_hash and hash. hash is the SHA-256 of previous_hash, a line feed and the line
without its last two members, so a copy can be checked without this database. position counts without gaps in each stream:
stream 0 is the gateway, the others are holders. --follow goes on with new rows until it is stopped.
`;

export function auditCommands(group: Command, terminal: Terminal): void {
  addCommand(group, 'export', 'print the audit log as lines of JSON', [
    'npx simbi audit export --since 2026-03-02T00:00:00Z > audit.jsonl',
    'npx simbi audit export --follow | your-log-collector',
  ])
    .option('--since <moment>', 'only rows from this time on', readTime)
    .option('--follow', 'go on with new rows')
    .addHelpText('after', EXPORT_HELP)
    .action((options: ExportOptions) => exportLines(terminal, options));

  addCommand(group, 'verify', 'recompute every hash and say which row is not what was written', [
    'npx simbi audit verify',
    'npx simbi audit verify --known 0:1042:9f86d081…',
  ])
    .option('--known <stream:position:hash>', 'a link recorded earlier, to prove that older rows were not changed')
    .action(async (options: VerifyOptions) => {
      const known = readKnown(options.known);
      const result = await withContext(terminal, (ctx) => verifyAudit(ctx.db, known), 'asItIs');
      report(terminal, options, result);
      if (result.broken) process.exitCode = EXIT.error;
    });
}

async function exportLines(terminal: Terminal, options: ExportOptions): Promise<void> {
  const stop = new AbortController();
  const onSignal = () => stop.abort();
  if (options.follow) for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, onSignal);
  const write = async (ctx: Context) => {
    const asked = { since: options.since ?? null, ...(options.follow ? { follow: stop.signal } : {}) };
    for await (const lines of exportAudit(ctx.db, asked)) terminal.out(lines.join('\n'));
  };
  await withContext(terminal, write, 'asItIs');
}

function report(terminal: Terminal, options: VerifyOptions, result: AuditVerification): void {
  const lines = [
    `${result.rows} rows in ${result.streams} streams.`,
    ...(result.head ? [`Newest row of the gateway, to record outside the database: ${result.head}`] : []),
    ...result.restores.map(
      ({ at, position }) => `Restored from a backup ${at.toISOString()}, noted as row ${position} of stream 0.`,
    ),
    ...(result.broken ? [`BROKEN  ${result.broken.sentence}`] : []),
  ];
  print(terminal, options, { ok: result.broken === null, ...result }, lines.join('\n'));
  terminal.say(result.broken ? 'The audit log was changed.' : 'Audit log verified: every row is what was written.');
}

function readKnown(text: string | undefined): KnownLink | null {
  if (text === undefined) return null;
  const match = /^(\d{1,18}):(\d{1,18}):([0-9a-f]{64})$/.exec(text);
  if (!match?.[1] || !match[2] || !match[3])
    throw new CommandError('--known must be <stream>:<position>:<64 hexadecimal digits>.', EXIT.usage);
  return { stream: BigInt(match[1]), position: BigInt(match[2]), hash: match[3] };
}
