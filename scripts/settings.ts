// Writes what is generated from the table of settings: .env.example and docs/configuration.md.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { configurationReference, environmentExample } from '../src/platform/config.ts';
import { ROOT } from './tree.ts';

await writeFile(join(ROOT, '.env.example'), environmentExample());
await writeFile(join(ROOT, 'docs/configuration.md'), configurationReference());
