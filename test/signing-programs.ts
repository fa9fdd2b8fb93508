// The programs of docs/signing.md as real programs: taken out of the page, written to a folder, and run by
// the languages this machine has. What a program does not claim (its `without`) stands in its own fence.

import { execFile } from 'node:child_process';
import { accessSync, constants, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const GUIDE = new URL('../docs/signing.md', import.meta.url);
const FENCE = /^```(\w+) file=(\S+)(?: without=(\S+))?\n([\s\S]*?)^```$/gm;
/** Compiling Go's own library on a cold cache is the slowest step. */
const RUN_TIMEOUT_MS = 120_000;

/** `compiled` is used after the first run, where running the source compiles it every time. */
type Language = {
  command: string[];
  tools: string[];
  environment?: Record<string, string>;
  compiled?: { build: string[]; command: string[] };
};

const JAVA_FLAGS = ['-XX:TieredStopAtLevel=1', '-Xshare:auto'];

const LANGUAGES: Record<string, Language> = {
  ts: { command: [process.execPath, 'sign.ts'], tools: [] },
  python: { command: ['python3', 'sign.py'], tools: ['python3'] },
  php: { command: ['php', 'sign.php'], tools: ['php'] },
  java: {
    command: ['java', ...JAVA_FLAGS, 'Sign.java'],
    tools: ['java', 'javac'],
    compiled: { build: ['javac', 'Sign.java'], command: ['java', ...JAVA_FLAGS, 'Sign'] },
  },
  go: {
    command: ['go', 'run', 'sign.go'],
    tools: ['go'],
    // Kept between runs; nothing is ever fetched, because the program imports the standard library only.
    environment: { GOFLAGS: '-mod=mod', GOPROXY: 'off', GOCACHE: join(tmpdir(), 'simbi-go-cache') },
  },
  bash: { command: ['bash', 'sign.sh'], tools: ['bash', 'jq', 'openssl', 'curl'] },
};

export type Credentials = { url?: string; clientId?: string; secretKey: string; sender?: string };

export type SigningProgram = {
  language: string;
  file: string;
  source: string;
  /** Corners of RFC 8785 that the program does not claim. */
  without: string[];
  /** Tools the machine lacks; empty when the program can run. */
  missing: string[];
  /** What it printed. '' does everything; --print only prints a signed body; --sign reads bodies by lines. */
  run(mode: '' | '--print' | '--sign', credentials: Credentials, input?: string): Promise<string>;
};

export function readSigningPrograms(): SigningProgram[] {
  const folder = mkdtempSync(join(tmpdir(), 'simbi-signing-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  return Array.from(
    readFileSync(GUIDE, 'utf8').matchAll(FENCE),
    ([, language = '', file = '', without = '', source = '']) => {
      const known = LANGUAGES[language];
      if (!known) throw new Error(`docs/signing.md has a program in ${language}, which no test can run`);
      const home = join(folder, language);
      mkdirSync(home);
      writeFileSync(join(home, file), source);
      return {
        language,
        file,
        source,
        without: without.split(',').filter(Boolean),
        missing: known.tools.filter((tool) => !isOnPath(tool)),
        run: createRunner(known, home),
      };
    },
  );
}

function isOnPath(tool: string): boolean {
  return (process.env.PATH ?? '').split(':').some((folder) => folder !== '' && canExecute(join(folder, tool)));
}

function canExecute(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The first run starts the source as the guide says. */
function createRunner(language: Language, folder: string): SigningProgram['run'] {
  const { compiled, command } = language;
  let first = true;
  let built: Promise<string> | null = null;
  return async (mode, credentials, input = '') => {
    const args = mode === '' ? [] : [mode];
    const environment = environmentOf(language, folder, credentials);
    if (first || !compiled) {
      first = false;
      return start([...command, ...args], folder, environment, input);
    }
    built ??= start(compiled.build, folder, environment);
    await built;
    return start([...compiled.command, ...args], folder, environment, input);
  };
}

function environmentOf(language: Language, folder: string, credentials: Credentials): NodeJS.ProcessEnv {
  return {
    PATH: process.env.PATH,
    HOME: folder,
    // Java reads its environment in the encoding of the locale.
    LC_ALL: 'C.UTF-8',
    SIMBI_URL: credentials.url,
    SIMBI_CLIENT_ID: credentials.clientId,
    SIMBI_SECRET_KEY: credentials.secretKey,
    SIMBI_SENDER: credentials.sender,
    ...language.environment,
  };
}

/** Runs a command to its end and returns what it printed. */
function start(line: string[], folder: string, env: NodeJS.ProcessEnv, input = ''): Promise<string> {
  const [command = '', ...args] = line;
  const options = { cwd: folder, env, timeout: RUN_TIMEOUT_MS, maxBuffer: 16 * 1024 * 1024 };
  return new Promise((resolve, reject) => {
    const child = execFile(command, args, options, (error, stdout, stderr) => {
      if (error) reject(new Error(`${line.join(' ')} failed: ${error.message}\n${stderr}`));
      else resolve(stdout);
    });
    // A program that ends early closes its input; its exit code tells the story.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input);
  });
}
