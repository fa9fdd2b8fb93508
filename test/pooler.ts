// Poolers for tests, which lend a connection of PostgreSQL for one transaction only, as PgBouncer does with
// pool_mode = transaction: a small one of our own, which is always there, and PgBouncer where it is installed.

import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { reservePort } from './ports.ts';

export type Pooler = {
  /** The URL of the database through the pooler, without ?pooler=transaction. */
  readonly url: string;
  close(): Promise<void>;
};

export type PoolerOptions = {
  /** Connections to PostgreSQL, however many clients there are. */
  connections?: number;
  /** Drops the parameters that it does not know instead of refusing them (ignore_startup_parameters). */
  ignoresParameters?: boolean;
};

/** What PgBouncer sets for each client; everything else it refuses. */
const KNOWN_PARAMETERS =
  /^(user|database|client_encoding|application_name|datestyle|timezone|standard_conforming_strings)$/i;
const SSL_REQUEST = 80_877_103;
const CONNECTIONS = 3;
const START_TRIES = 200;

/** The URL that the service is given. */
export function pooled(url: string): string {
  const parsed = new URL(url);
  parsed.searchParams.set('pooler', 'transaction');
  return parsed.href;
}

function through(databaseUrl: string, port: number): string {
  const url = new URL(databaseUrl);
  url.hostname = '127.0.0.1';
  url.port = String(port);
  return url.href;
}

/** A connection to PostgreSQL, lent to one client at a time. */
type Lent = { readonly socket: Socket; borrower: Borrower | null };

type Borrower = {
  readonly socket: Socket;
  lent: Lent | null;
  /** Messages that wait for a connection. */
  waiting: Buffer[];
  /** Answers that are still to come: one ReadyForQuery for each simple query and each Sync. */
  answers: number;
};

/** Messages of the protocol: a letter, a length that counts itself, a body. */
function createFramer(onMessage: (type: string, message: Buffer) => void): (chunk: Buffer) => void {
  let rest = Buffer.alloc(0);
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 5) {
      const length = rest.readInt32BE(1) + 1;
      if (rest.length < length) return;
      const message = rest.subarray(0, length);
      rest = rest.subarray(length);
      onMessage(String.fromCharCode(message[0] ?? 0), message);
    }
  };
}

function message(type: string, ...parts: (string | number)[]): Buffer {
  const body = Buffer.concat(parts.map(bytesOf));
  const head = Buffer.alloc(5);
  head.write(type, 0, 'latin1');
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

/** A text ends with a zero byte; a number has four bytes. */
function bytesOf(part: string | number): Buffer {
  if (typeof part === 'string') return Buffer.from(`${part}\0`);
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(part);
  return bytes;
}

/** The letter I: no transaction is open. */
const IDLE = 0x49;
const READY = Buffer.from([0x5a, 0, 0, 0, 5, IDLE]);
const WELCOME = Buffer.concat([
  message('R', 0),
  message('S', 'server_version', '18.0'),
  message('S', 'client_encoding', 'UTF8'),
  message('S', 'standard_conforming_strings', 'on'),
  READY,
]);

export async function startPooler(databaseUrl: string, options: PoolerOptions = {}): Promise<Pooler> {
  const lender = new Lender(databaseUrl);
  for (let count = 0; count < (options.connections ?? CONNECTIONS); count++) await lender.open();
  // Without delay: the parts of an answer are small and written one by one.
  const server = createServer({ noDelay: true }, (socket) => {
    socket.on('error', () => undefined);
    readStartup(socket, (names) => {
      const unknown = options.ignoresParameters ? undefined : names.find((name) => !KNOWN_PARAMETERS.test(name));
      if (unknown === undefined) lender.welcome(socket);
      else refuse(socket, `unsupported startup parameter: ${unknown}`);
    });
  });
  const port = await listen(server);
  return {
    url: through(databaseUrl, port),
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      lender.close();
      await closed;
    },
  };
}

/** Lends the connections of PostgreSQL, each for one transaction. */
class Lender {
  readonly #databaseUrl: string;
  readonly #idle: Lent[] = [];
  readonly #connections = new Set<Lent>();
  readonly #queue: Borrower[] = [];
  readonly #borrowers = new Set<Borrower>();
  #isClosed = false;

  constructor(databaseUrl: string) {
    this.#databaseUrl = databaseUrl;
  }

  async open(): Promise<void> {
    const client = new pg.Client({ connectionString: this.#databaseUrl, application_name: 'simbi-test-pooler' });
    client.on('error', () => undefined);
    await client.connect();
    // The driver has signed in; from here on the connection belongs to the client that it is lent to.
    const { stream: socket } = (client as unknown as { connection: { stream: Socket } }).connection;
    socket.removeAllListeners('data');
    const lent: Lent = { socket, borrower: null };
    socket.on(
      'data',
      createFramer((type, bytes) => this.#fromServer(lent, type, bytes)),
    );
    this.#connections.add(lent);
    this.#idle.push(lent);
    this.#lend();
  }

  welcome(socket: Socket): void {
    const borrower: Borrower = { socket, lent: null, waiting: [], answers: 0 };
    this.#borrowers.add(borrower);
    socket.on('close', () => this.#leave(borrower));
    socket.on(
      'data',
      createFramer((type, bytes) => this.#fromClient(borrower, type, bytes)),
    );
    socket.write(WELCOME);
  }

  close(): void {
    this.#isClosed = true;
    for (const { socket } of [...this.#borrowers, ...this.#connections]) socket.destroy();
  }

  /** The connection that was idle longest comes first, so that two transactions of a client seldom have the same. */
  #lend(): void {
    while (this.#idle.length > 0 && this.#queue.length > 0) {
      const [lent, borrower] = [this.#idle.shift(), this.#queue.shift()];
      if (!lent || !borrower) return;
      lent.borrower = borrower;
      borrower.lent = lent;
      for (const bytes of borrower.waiting.splice(0)) lent.socket.write(bytes);
    }
  }

  #fromServer(lent: Lent, type: string, bytes: Buffer): void {
    const { borrower } = lent;
    if (!borrower) return;
    borrower.socket.write(bytes);
    if (type !== 'Z') return;
    borrower.answers--;
    // Not between transactions, or there are more answers to come.
    if (bytes[5] !== IDLE || borrower.answers > 0) return;
    lent.borrower = null;
    borrower.lent = null;
    this.#idle.push(lent);
    this.#lend();
  }

  #fromClient(borrower: Borrower, type: string, bytes: Buffer): void {
    if (type === 'X') {
      borrower.socket.end();
      return;
    }
    if (type === 'Q' || type === 'S') borrower.answers++;
    if (borrower.lent) {
      borrower.lent.socket.write(bytes);
      return;
    }
    if (borrower.waiting.push(bytes) === 1) this.#queue.push(borrower);
    this.#lend();
  }

  /** A client that goes away in the middle of a transaction takes the connection with it: PostgreSQL rolls back. */
  #leave(borrower: Borrower): void {
    this.#borrowers.delete(borrower);
    const place = this.#queue.indexOf(borrower);
    if (place >= 0) this.#queue.splice(place, 1);
    const { lent } = borrower;
    if (!lent || this.#isClosed) return;
    this.#connections.delete(lent);
    lent.borrower = null;
    lent.socket.destroy();
    void this.open().catch(() => undefined);
  }
}

function refuse(socket: Socket, text: string): void {
  const fields = Buffer.from(`SFATAL\0C08P01\0M${text}\0\0`);
  socket.end(Buffer.concat([Buffer.from('E'), bytesOf(fields.length + 4), fields]));
}

/** The names of the parameters that a client asks for when it connects. */
function readStartup(socket: Socket, onRead: (names: string[]) => void): void {
  let rest = Buffer.alloc(0);
  const read = (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk]);
    if (rest.length < 8 || rest.length < rest.readInt32BE(0)) return;
    if (rest.readInt32BE(4) === SSL_REQUEST) {
      rest = rest.subarray(8);
      socket.write('N');
      return;
    }
    socket.off('data', read);
    const texts = rest.toString('utf8', 8).split('\0');
    onRead(texts.filter((text, index) => index % 2 === 0 && text !== ''));
  };
  socket.on('data', read);
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      resolve(typeof address === 'object' && address ? address.port : 0);
    });
  });
}

const PGBOUNCER = ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer', '/usr/local/bin/pgbouncer'].find((file) =>
  existsSync(file),
);
export const hasPgBouncer = PGBOUNCER !== undefined;

export async function startPgBouncer(databaseUrl: string, options: PoolerOptions = {}): Promise<Pooler> {
  const folder = mkdtempSync(join(tmpdir(), 'simbi-pgbouncer-'));
  const { hostname, port: serverPort, username, password } = new URL(databaseUrl);
  const port = await reservePort();
  const file = join(folder, 'pgbouncer.ini');
  const login = `user=${decodeURIComponent(username)} password=${decodeURIComponent(password)}`;
  writeFileSync(
    file,
    `[databases]
* = host=${hostname} port=${serverPort} ${login}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${options.connections ?? CONNECTIONS}
max_client_conn = 200
server_round_robin = 1
${options.ignoresParameters ? 'ignore_startup_parameters = options,statement_timeout,lock_timeout,idle_in_transaction_session_timeout' : ''}
`,
  );
  chmodSync(folder, 0o755);
  // It refuses to run as root.
  const isRoot = process.getuid?.() === 0;
  const child = spawn(PGBOUNCER ?? '', [...(isRoot ? ['-u', 'nobody'] : []), file], { stdio: 'ignore' });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const url = through(databaseUrl, port);
  await connects(url);
  return {
    url,
    async close() {
      child.kill('SIGKILL');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function connects(url: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    const client = new pg.Client({ connectionString: url });
    client.on('error', () => undefined);
    try {
      await client.connect();
      await client.query('select 1');
      return;
    } catch (error) {
      if (tries >= START_TRIES) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    } finally {
      await client.end().catch(() => undefined);
    }
  }
}
