// Minifies the scripts of the pages. terser takes a third of a second to load and run, so its result is kept beside the
// installed packages, under the hash of what went in. Where that folder cannot be written, every start minifies again.

import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { MinifyOptions } from 'terser';

const PACKAGES = join(import.meta.dirname, '..', '..', 'node_modules');
const CACHE = join(PACKAGES, '.cache', 'simbi-scripts');

/** Old browsers are served, so nothing newer than the source uses is brought in by minifying it. */
const OPTIONS: MinifyOptions = { ecma: 5, ie8: false, toplevel: true, compress: { passes: 2 } };

/** `cache` is the folder of the kept results. */
export function minifyScript(source: string, cache = CACHE): string {
  const input = [source, JSON.stringify(OPTIONS), installedVersion()].join('\0');
  const file = join(cache, `${createHash('sha256').update(input).digest('hex')}.js`);
  const kept = readKept(file);
  if (kept !== null) return kept;
  const { minify_sync } = createRequire(import.meta.url)('terser') as typeof import('terser');
  // A copy: terser writes into its options.
  const text = minify_sync(source, structuredClone(OPTIONS)).code ?? '';
  keep(cache, file, text);
  return text;
}

function installedVersion(): string {
  return readKept(join(PACKAGES, 'terser', 'package.json')) ?? '';
}

function readKept(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}

/** Written under another name first: another process may read it at the same time. */
function keep(cache: string, file: string, text: string): void {
  try {
    mkdirSync(cache, { recursive: true });
    writeFileSync(`${file}.${process.pid}`, text);
    renameSync(`${file}.${process.pid}`, file);
  } catch {
    // A read-only installation.
  }
}
