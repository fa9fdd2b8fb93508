// simbi migrate: applies the migrations of this version to the database.

import type { Command } from 'commander';
import { migrateDatabase, openCommandDatabase } from '../open-context.ts';
import { readConfig } from '../platform/config.ts';
import { connectDatabase } from '../platform/db.ts';
import { pendingMigrations } from '../platform/migrate.ts';
import { print, type Terminal, withExamples } from './terminal.ts';

export function migrateCommand(command: Command, terminal: Terminal): void {
  withExamples(command, ['npx simbi migrate', 'npx simbi migrate --dry-run'])
    .option('--dry-run', 'only list the missing migrations')
    .action(async (options: { json?: boolean; dryRun?: boolean }) => {
      const say = (sentence: string) => terminal.say(`  ${sentence}`);
      const database = await openCommandDatabase(readConfig(terminal.environment), say);
      try {
        const files = options.dryRun ? await listPending(database.ownerUrl) : await migrateDatabase(database, say);
        const data = options.dryRun ? { pending: files } : { applied: files };
        print(terminal, options, data, files.length > 0 ? files.join('\n') : 'The database is up to date.');
      } finally {
        await database.close();
      }
    });
}

async function listPending(url: string): Promise<string[]> {
  const db = connectDatabase({ url, as: 'owner', poolSize: 2 });
  try {
    return await pendingMigrations(db);
  } finally {
    await db.close();
  }
}
