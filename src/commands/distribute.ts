// simbi distribute: spreads the tables of holders over the servers of a Citus cluster, or says what stands in the way.

import type { Command } from 'commander';
import { DistributionError, distribute } from '../distribution/distribute.ts';
import { findObstacles } from '../distribution/obstacles.ts';
import { migrateDatabase, openCommandDatabase } from '../open-context.ts';
import { readConfig } from '../platform/config.ts';
import { connectDatabase } from '../platform/db.ts';
import { pendingMigrations } from '../platform/migrate.ts';
import { CommandError, EXIT, print, type Terminal, withExamples } from './terminal.ts';

const DEFAULT_SHARDS = '64';
const MOST_SHARDS = 1_024;

const HELP = `
DATABASE_URL names the coordinator of a Citus cluster whose workers were added with citus_add_node. The service must be stopped. What is
distributed already is left alone, so it can run again after it broke off, and after an update that brings tables. It cannot be undone.
--check works on any PostgreSQL, changes nothing, and prints nothing when nothing stands in the way. See docs/sharding.md.
`;

type Options = { json?: boolean; check?: boolean; shards: string };

export function distributeCommand(command: Command, terminal: Terminal): void {
  withExamples(command, ['npx simbi distribute --check', 'npx simbi distribute --shards 128'])
    .option('--check', 'only print what stands in the way; works on any PostgreSQL')
    .option('--shards <number>', 'how many parts the holders are spread over; cannot change later', DEFAULT_SHARDS)
    .addHelpText('after', HELP)
    .action(async (options: Options) => {
      const shards = readShards(options.shards);
      const say = (sentence: string) => terminal.say(`  ${sentence}`);
      const database = await openCommandDatabase(readConfig(terminal.environment), say);
      try {
        if (options.check) return await check(terminal, options, database.ownerUrl);
        await migrateDatabase(database, say);
        await run(terminal, options, database.ownerUrl, shards);
      } finally {
        await database.close();
      }
    });
}

function readShards(text: string): number {
  const shards = Number(text);
  if (Number.isInteger(shards) && shards >= 1 && shards <= MOST_SHARDS) return shards;
  throw new CommandError(`--shards must be a whole number from 1 to ${MOST_SHARDS}.`, EXIT.usage);
}

async function check(terminal: Terminal, options: Options, url: string): Promise<void> {
  const db = connectDatabase({ url, as: 'owner', poolSize: 2 });
  try {
    const pending = await pendingMigrations(db);
    if (pending.length > 0)
      throw new CommandError(
        `The database is not that of this version: it lacks ${pending.length} migrations. Run npx simbi migrate first.`,
        EXIT.conflict,
      );
    const obstacles = await findObstacles(db);
    if (options.json || obstacles.length > 0) print(terminal, options, { obstacles }, obstacles.join('\n'));
    if (obstacles.length > 0) throw new CommandError('The schema cannot be distributed.', EXIT.conflict);
  } finally {
    await db.close();
  }
}

async function run(terminal: Terminal, options: Options, url: string, shards: number): Promise<void> {
  const say = (sentence: string) => terminal.say(`  ${sentence}`);
  try {
    const { distributed, before } = await distribute(url, shards, say);
    const sentence = `${distributed.length} tables were distributed; ${before} were before.`;
    print(terminal, options, { distributed, before }, sentence);
  } catch (error) {
    if (error instanceof DistributionError) throw new CommandError(error.message, EXIT.conflict);
    throw error;
  }
}
