#!/usr/bin/env node
// Starts a script of this repository on the Node it pins, installing what is missing first. It is the only
// plain JavaScript here, because it must run on whatever Node the machine has (20 or newer).
//   node bin/run.mjs [--dev] [--install-only] <script.ts> [arguments]

import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import module from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const OLDEST_MAJOR = 20;
const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
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
  if (options.has('--install-only')) return;
  const [script, ...rest] = argv;
  const file = resolve(root, script);
  const pinned = join(root, 'node_modules/node/bin/node');
  watchNpm();
  if (major >= 24) {
    module.enableCompileCache(compileCache);
    process.argv = [process.argv[0], file, ...rest];
    await import(pathToFileURL(file).href);
    return;
  }
  // The channel lets the child notice that we are gone, however we went.
  const child = spawn(pinned, [file, ...rest], {
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
  const args = ['install', '--no-save'];
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
  const missing = names.filter((name) => {
    const file = join(root, 'node_modules', name, 'package.json');
    return (
      !existsSync(file) || JSON.parse(readFileSync(file, 'utf8')).version !== locked[`node_modules/${name}`]?.version
    );
  });
  if (!existsSync(join(root, 'node_modules/node/bin/node')) && !missing.includes('node')) missing.push('node');
  return missing;
}

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

if (resolve(process.argv[1] ?? '') === fileURLToPath(import.meta.url)) await run(process.argv.slice(2));
