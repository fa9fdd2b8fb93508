// `npm run sbom`: the packages that the gateway runs on, with their hashes, as CycloneDX in sbom.cdx.json. npm writes the list; its
// --omit=dev also leaves out what a tool for developers uses as well (pg-protocol among it), so the lockfile decides here.

import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '..');
const FILE = join(ROOT, 'sbom.cdx.json');
const MAX_BYTES = 64 * 1024 * 1024;

export type Sbom = {
  readonly bomFormat: string;
  readonly components: readonly {
    readonly 'bom-ref': string;
    readonly name: string;
    readonly version: string;
    readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
  }[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn?: readonly string[] }[];
};

type LockedPackage = { readonly version: string; readonly dev?: true; readonly devOptional?: true };

export function makeSbom(): Sbom {
  const args = ['sbom', '--sbom-format', 'cyclonedx', '--sbom-type', 'application', '--package-lock-only'];
  const all = JSON.parse(execFileSync('npm', args, { cwd: ROOT, encoding: 'utf8', maxBuffer: MAX_BYTES })) as Sbom;
  const runs = runtimePackages();
  const components = all.components.filter(({ name, version }) => runs.has(`${name}@${version}`));
  const kept = new Set(components.map((each) => each['bom-ref']));
  const dependencies = all.dependencies.flatMap(({ ref, dependsOn }) => {
    if (!kept.has(ref) && all.components.some((each) => each['bom-ref'] === ref)) return [];
    return [{ ref, ...(dependsOn ? { dependsOn: dependsOn.filter((each) => kept.has(each)) } : {}) }];
  });
  return { ...all, components, dependencies };
}

function runtimePackages(): Set<string> {
  const text = readFileSync(join(ROOT, 'package-lock.json'), 'utf8');
  const { packages } = JSON.parse(text) as { packages: Record<string, LockedPackage> };
  return new Set(
    Object.entries(packages)
      .filter(([path, { dev, devOptional }]) => path !== '' && !dev && !devOptional)
      .map(([path, { version }]) => `${path.slice(path.lastIndexOf('node_modules/') + 13)}@${version}`),
  );
}

// Not import.meta.main: `npm run sbom` imports this file from its own start script.
if (process.argv[1] === import.meta.filename) {
  const sbom = makeSbom();
  writeFileSync(FILE, `${JSON.stringify(sbom, null, 2)}\n`);
  console.log(`Wrote sbom.cdx.json: ${sbom.components.length} packages.`);
}
