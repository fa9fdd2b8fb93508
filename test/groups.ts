// Several files of tests in one process, one after the other. Most of the time of a short file is the loading of the gateway:
// a group of them loads it once.

import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe } from 'node:test';
import { pathToFileURL } from 'node:url';

const ROOT = resolve(import.meta.dirname, '..');
const GROUP_FILES = 12;
/**
 * What looks at its process, changes it, or starts others has a process of its own: another file could change the memory that
 * it measures, or read the exit code that it left.
 */
const NEEDS_ITS_PROCESS =
  /\bprocess\.|\bglobalThis\b|node:child_process|\brunCommand\b|\/processes\.ts'|\/browser\.ts'|startTestPostgres|\/journey\.ts'/;

const needsItsProcess = (file: string) => NEEDS_ITS_PROCESS.test(readFileSync(resolve(ROOT, file), 'utf8'));

/** Writes a program for each group to the folder. Returns the programs, and the files that are run alone. */
export function groupFiles(files: readonly string[], folder: string): { groups: string[]; alone: string[] } {
  const alone = files.filter(needsItsProcess);
  const shared = files.filter((file) => !alone.includes(file));
  const groups: string[] = [];
  for (let first = 0; first < shared.length; first += GROUP_FILES) {
    const program = join(folder, `group-${groups.length + 1}.mjs`);
    const names = JSON.stringify(shared.slice(first, first + GROUP_FILES));
    writeFileSync(program, `import { runTogether } from '${import.meta.url}';\nawait runTogether(${names});\n`);
    groups.push(program);
  }
  return { groups, alone };
}

/** Each file is a suite, so that what it does before and after its tests concerns no other file. */
export async function runTogether(files: readonly string[]): Promise<void> {
  // Every port that a test reserves is given back at the end of the process.
  process.setMaxListeners(0);
  for (const file of files)
    await describe(file, async () => {
      await import(pathToFileURL(resolve(ROOT, file)).href);
    });
}
