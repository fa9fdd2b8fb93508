// Writes what docs/rails says from the definitions of the rails: the settings of each, and which rail serves which method.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadCatalog } from '../src/catalog/catalog.ts';
import { RAILS } from '../src/rails/registry.ts';
import { withMethodsTable, withSettingsTable } from '../src/rails/settings-reference.ts';
import { ROOT } from './tree.ts';

for (const rail of RAILS) {
  const file = join(ROOT, 'docs/rails', `${rail.name}.md`);
  await writeFile(file, withSettingsTable(await readFile(file, 'utf8'), rail));
}

const overview = join(ROOT, 'docs/rails/README.md');
await writeFile(overview, withMethodsTable(await readFile(overview, 'utf8'), loadCatalog(), RAILS));
