// Builds the package: ESM and types from src into dist, which is what `npm pack` takes. `node sdk/build.ts [folder]`
// builds into another folder, so that tests never disturb each other.

import { execFileSync } from 'node:child_process';
import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const HOME = import.meta.dirname;
const COMPILER = join(HOME, '../node_modules/typescript/bin/tsc');

export function buildSdk(folder = join(HOME, 'dist')): void {
  rmSync(folder, { recursive: true, force: true });
  const project = join(HOME, 'tsconfig.build.json');
  const compile = (...flags: string[]) =>
    execFileSync(process.execPath, [COMPILER, '-p', project, '--outDir', folder, ...flags], { stdio: 'inherit' });
  compile('--emitDeclarationOnly');
  // Comments stay in the types only.
  compile('--declaration', 'false', '--removeComments');
  // The compiler rewrites the imports of code only; older ones do not follow .ts from a declaration.
  for (const file of globSync(join(folder, '*.d.ts')))
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll(/(from '\.\/[\w-]+)\.ts'/g, "$1.js'"));
}

if (import.meta.main) buildSdk(process.argv[2] === undefined ? undefined : resolve(process.argv[2]));
