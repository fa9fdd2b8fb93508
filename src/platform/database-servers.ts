// Connections to a database that several servers hold, of which one takes changes: the URL names all of them, and a connection
// is made to the one that does. With one server this is what the driver does.

import { Socket } from 'node:net';
import pg from 'pg';
import { serversOf } from './database-url.ts';

/** The servers of one URL, and which of them took changes last. Shared by all connections of a pool. */
export class DatabaseServers {
  readonly #urls: string[];
  /** Of the connections that are open, with the server of each. */
  readonly #sockets = new Map<Socket, string>();
  #current = 0;

  constructor(databaseUrl: string) {
    this.#urls = serversOf(databaseUrl);
  }

  get count(): number {
    return this.#urls.length;
  }

  get current(): string {
    return this.#urls[this.#current] ?? '';
  }

  get others(): string[] {
    return this.#urls.filter((url) => url !== this.current);
  }

  /** This one is away or a standby: the next connection goes to another. */
  leave(url: string): void {
    if (url === this.current) this.#current = (this.#current + 1) % this.#urls.length;
  }

  /** This one has taken over. Connections to the others end, whatever they wait for: nothing that they send will be committed. */
  moveTo(url: string): void {
    this.#current = Math.max(0, this.#urls.indexOf(url));
    for (const [socket, server] of this.#sockets) if (server !== url) socket.destroy();
  }

  openSocket(url: string): Socket {
    const socket = new Socket();
    this.#sockets.set(socket, url);
    socket.once('close', () => this.#sockets.delete(socket));
    return socket;
  }
}

type Connected = ((error: null, client: pg.Client) => void) & ((error: Error) => void);

/** A class of connections for `pg.Pool`, each to the server that takes changes. */
export function clientOf(servers: DatabaseServers): typeof pg.Client {
  if (servers.count === 1) return pg.Client;
  return class WritableClient extends pg.Client {
    readonly #url: string;

    constructor(config: pg.ClientConfig = {}) {
      const url = servers.current;
      super({ ...config, connectionString: url, stream: () => servers.openSocket(url) });
      this.#url = url;
      // The pool listens only after `connect`. A connection that breaks before rejects the question below; without a listener
      // Node would stop the process.
      this.on('error', () => undefined);
    }

    override connect(): Promise<pg.Client>;
    override connect(callback: Connected): void;
    override connect(callback?: Connected): Promise<pg.Client> | undefined {
      const connected = this.#connectForChanges();
      if (!callback) return connected;
      connected.then((client) => callback(null, client), callback);
      return undefined;
    }

    async #connectForChanges(): Promise<pg.Client> {
      try {
        await super.connect();
        const { rows } = await this.query<{ standby: boolean }>('select pg_is_in_recovery() as standby');
        if (rows[0]?.standby === false) return this;
      } catch (error) {
        servers.leave(this.#url);
        throw error;
      }
      servers.leave(this.#url);
      await this.end();
      throw new Error('the server is a standby and takes no changes');
    }
  };
}

/** One connection outside a pool, to the server that takes changes. `servers`: those of a pool, to go where it goes. */
export async function connectClient(
  config: pg.ClientConfig & { connectionString: string },
  servers = new DatabaseServers(config.connectionString),
): Promise<pg.Client> {
  const Client = clientOf(servers);
  for (let left = servers.count; ; left--) {
    const client = new Client(servers.count === 1 ? config : { ...config, connectionString: servers.current });
    // A connection that breaks rejects the running query; without a listener Node would stop the process.
    client.on('error', () => undefined);
    try {
      await client.connect();
      return client;
    } catch (error) {
      if (left <= 1) throw error;
    }
  }
}
