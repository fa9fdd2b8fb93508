// Follows docs/quickstart.md to the letter, as a newcomer would: a fresh clone of what is committed, an empty npm cache,
// and the network cut after the installation (in a network namespace of its own, which needs root, unshare and ip). Prints
// each step with its time, and how long the first successful payment and its verified callback took.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';

const ROOT = resolve(import.meta.dirname, '..');
const TOOLS = ['git', 'npm', 'bash', 'curl', 'jq', 'openssl'];
const INSTALL_TIMEOUT_MS = 10 * 60_000;
const START_TIMEOUT_MS = 2 * 60_000;
const BLOCKS_TIMEOUT_MS = 3 * 60_000;
const FIVE_MINUTES_S = 300;
const STEP_MARK = '@@step ';
/** Nobody has this address (RFC 5737); without a network it is refused at once. */
const NOWHERE = '192.0.2.1';

type Block = { language: string; heading: string; code: string };

/** A newcomer's environment: nothing of the npm script that started us, and the machine's own Node. */
function newcomer(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(npm_|NODE_|DATABASE_URL$|DATA_DIR$|MODE$)/.test(name),
  );
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => !folder.includes('node_modules'));
  return { ...Object.fromEntries(kept), PATH: folders.join(delimiter), NO_COLOR: '1' };
}

const environment = newcomer();
const started = Number(process.env.FIVE_MINUTES_STARTED ?? performance.timeOrigin);
const elapsed = () => ((performance.timeOrigin + performance.now() - started) / 1000).toFixed(1);
const say = (text: string) => console.log(`${elapsed().padStart(6)} s  ${text}`);

function has(tool: string): boolean {
  return (environment.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, tool)));
}

function blocksOf(text: string): Block[] {
  let heading = '';
  const blocks: Block[] = [];
  for (const [, title, language, code] of text.matchAll(/^## (.+)$|^```(\w+)\n([\s\S]*?)^```$/gm)) {
    heading = title ?? heading;
    if (language !== undefined) blocks.push({ language, heading, code: code ?? '' });
  }
  return blocks;
}

/** Ends a process and everything it started. */
function stop(child: ChildProcess): Promise<void> {
  return new Promise((done) => {
    if (child.exitCode !== null || child.signalCode !== null) return done();
    child.once('close', () => done());
    child.kill('SIGTERM');
  });
}

function fail(text: string): never {
  throw new Error(text);
}

/** Runs to the end, showing nothing unless it fails. */
function run(command: string, args: string[], cwd: string, timeout: number, extra: NodeJS.ProcessEnv = {}): void {
  try {
    execFileSync(command, args, { cwd, timeout, env: { ...environment, ...extra }, stdio: ['ignore', 'pipe', 'pipe'] });
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: Buffer; stderr?: Buffer };
    fail(`${command} ${args.join(' ')} failed:\n${String(stdout ?? '')}${String(stderr ?? error)}`);
  }
}

/** The first part, with a network: clone and install. Answers how the second part ended. */
async function outside(): Promise<number> {
  const missing = TOOLS.filter((tool) => !has(tool));
  if (missing.length > 0) fail(`This machine has no ${missing.join(', ')}.`);
  const folder = mkdtempSync(join(tmpdir(), 'simbi-five-minutes-'));
  const clone = join(folder, 'simbi');
  try {
    const pending = execFileSync('git', ['-C', ROOT, 'status', '--porcelain'], { encoding: 'utf8' });
    if (pending !== '') say('note: what is not committed is not in the clone');
    run('git', ['clone', '--quiet', '--no-hardlinks', ROOT, clone], folder, INSTALL_TIMEOUT_MS);
    say('cloned');
    // What `npm start` does first when something is missing; apart, so that the network can be cut before the rest.
    const cache = join(folder, 'npm-cache');
    mkdirSync(cache);
    run('node', ['bin/run.mjs', '--install-only'], clone, INSTALL_TIMEOUT_MS, { npm_config_cache: cache });
    say('installed, with an empty npm cache');
    const canCut = process.getuid?.() === 0 && has('unshare') && has('ip');
    if (!canCut) say('the network could not be cut: that needs root, unshare and ip');
    const script = [process.execPath, import.meta.filename, clone];
    const inner = canCut ? ['unshare', '--net', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh', ...script] : script;
    const [command = '', ...args] = inner;
    const child = spawn(command, args, {
      stdio: 'inherit',
      env: { ...process.env, FIVE_MINUTES_STARTED: String(started), FIVE_MINUTES_CUT: canCut ? 'yes' : '' },
    });
    return await new Promise((done) => child.once('close', (code) => done(code ?? 1)));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The second part, in the clone: everything that the guide says. */
async function inside(clone: string): Promise<void> {
  if (process.env.FIVE_MINUTES_CUT) {
    await assertNoNetwork();
    say('the network is cut: only loopback is left');
  }
  const guide = readFileSync(join(clone, 'docs/quickstart.md'), 'utf8');
  const blocks = blocksOf(guide);
  const start = blocks.find(({ language }) => language === 'sh') ?? fail('The guide does not say how to start.');
  const server = spawn('bash', ['-c', `exec ${start.code}`], {
    cwd: clone,
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  try {
    await waitUntilReady(server);
    say(`${start.heading}: ready`);
    const demo = JSON.parse(readFileSync(join(clone, 'data/demo.json'), 'utf8')) as { base_url: string };
    const steps = blocks
      .filter(({ language }) => language === 'bash')
      .map(({ heading, code }) => ({ heading, code: code.replaceAll('http://localhost:8080', demo.base_url) }));
    const verifiedAt = await followSteps(clone, steps);
    say('the whole guide is done');
    console.log(`first successful payment and verified callback after ${verifiedAt} s`);
    if (Number(verifiedAt) > FIVE_MINUTES_S) fail('That is more than five minutes.');
  } finally {
    await stop(server);
  }
}

function assertNoNetwork(): Promise<void> {
  return new Promise((done, refuse) => {
    const socket = connect({ host: NOWHERE, port: 80 });
    socket.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'ENETUNREACH' ? done() : refuse(new Error(`expected no network: ${error.message}`)),
    );
    socket.once('connect', () => refuse(new Error('there is still a network')));
  });
}

function waitUntilReady(server: ChildProcess): Promise<void> {
  return new Promise((ready, refuse) => {
    let printed = '';
    const timer = setTimeout(() => refuse(new Error(`not ready in time:\n${printed}`)), START_TIMEOUT_MS);
    const look = (chunk: Buffer) => {
      printed += String(chunk);
      // The last line of the block: it says what to do next.
      if (!printed.includes('npx simbi doctor')) return;
      clearTimeout(timer);
      ready();
    };
    server.stdout?.on('data', look);
    server.stderr?.on('data', look);
    server.once('close', () => refuse(new Error(`npm start ended:\n${printed}`)));
  });
}

/** The blocks of the second terminal, in one bash. Answers when the receiver called the first callback verified. */
async function followSteps(cwd: string, steps: { heading: string; code: string }[]): Promise<string> {
  const script = ['set -euo pipefail', ...steps.map(({ code }, index) => `echo '${STEP_MARK}${index}'\n${code}`)];
  const shell = spawn('bash', ['-c', script.join('\n')], {
    cwd,
    env: environment,
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: BLOCKS_TIMEOUT_MS,
  });
  const ended = new Promise<number>((done) => shell.once('close', (code) => done(code ?? 1)));
  let paid = false;
  let verifiedAt: string | null = null;
  for await (const line of createInterface({ input: shell.stdout })) {
    if (line.startsWith(STEP_MARK)) {
      const step = steps[Number(line.slice(STEP_MARK.length))];
      say(`${step?.heading}: ${step?.code.split('\n')[0]}`);
      continue;
    }
    console.log(`          ${line}`);
    paid ||= /^status +success$/.test(line);
    if (paid && /"verified": ?true/.test(line)) verifiedAt ??= elapsed();
  }
  const code = await ended;
  if (code !== 0) fail(`a block of the guide failed with code ${code}`);
  return verifiedAt ?? fail('the guide was followed, but no verified callback of a successful payment was seen');
}

try {
  const [clone] = process.argv.slice(2);
  if (clone === undefined) process.exitCode = await outside();
  else await inside(clone);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
