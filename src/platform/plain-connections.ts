// Connections on which programs send one plain request after the other (plain-request.ts). They are answered here, without the
// streams that Node makes for every request, which cost more than all that an operation does. A connection on which anything
// else arrives is given to Node's own HTTP server with the bytes that were read, and stays there: Node decides everything that
// is not plain, with its limits of time and size.

import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { type PlainHead, type PlainRequest, readPlainRequest } from './plain-request.ts';
import { type Entry, UnderWay } from './under-way.ts';

/** A request that comes in more chunks is not waited for here. */
const MAX_CHUNKS = 8;
/** Unused connections are looked for so many times while one may stay open. */
const LOOKS = 10;

/** Whom a plain request is answered to. */
export type Peer = {
  readonly socket: Socket;
  /** Whether the connection stays open after this answer. */
  lasts(): boolean;
  /** Once a request. Nothing happens if the connection is gone. The next request is read after the pause. */
  answer(text: string, encoding: 'latin1' | 'utf8', pauseMs?: number): void;
};

export type PlainService = {
  readonly isServed: (path: string) => boolean;
  /** Calls `peer.answer` at some time. */
  readonly serve: (request: PlainRequest, peer: Peer) => void;
};

export type PlainOptions = {
  /** The first bytes of a connection have this long, and the rest of a request. Then Node waits for them. */
  readonly firstBytesMs: number;
  readonly arrivalMs: number;
  /** Until an unused connection is closed; up to a tenth longer. */
  readonly keepAliveMs: number;
  /** Whether answers end their connections. */
  readonly isEnding: () => boolean;
  /** Half a request, after which nothing comes. */
  readonly answerHalf: (socket: Socket) => void;
};

/** What the connections of a server have in common. */
type Shared = {
  readonly open: UnderWay<PlainConnection>;
  readonly service: PlainService;
  readonly options: PlainOptions;
  readonly giveToNode: (socket: Socket) => void;
  /** How often unused connections were looked for. */
  looks: number;
};

/** Takes the connections of a server before Node does. */
export function servePlainRequests(server: Server, service: PlainService, options: PlainOptions): void {
  const open = new UnderWay<PlainConnection>();
  // Node's own listener is the first one. It is called later, with connections on which something else arrives.
  const [serveByNode] = server.listeners('connection') as ((this: Server, socket: Socket) => void)[];
  if (!serveByNode) throw new Error('the server has no listener of its own');
  server.removeListener('connection', serveByNode);
  const giveToNode = (socket: Socket) => serveByNode.call(server, socket);
  const shared: Shared = { open, service, options, giveToNode, looks: 0 };
  server.prependListener('connection', (socket: Socket) => {
    new PlainConnection(socket, shared).listen();
  });
  closeWith(server, open);
  closeUnused(server, shared);
}

/** A timer of each socket would be set anew three times by every request. */
function closeUnused(server: Server, shared: Shared): void {
  const timer = setInterval(() => {
    shared.looks++;
    for (const connection of shared.open.all()) connection.closeIfUnused();
  }, shared.options.keepAliveMs / LOOKS).unref();
  server.once('close', () => clearInterval(timer));
}

class PlainConnection implements Peer {
  readonly socket: Socket;
  readonly #shared: Shared;
  readonly #entry: Entry<PlainConnection>;
  /** Bytes that were not served yet, and in how many chunks they came. */
  #received: Buffer | null = null;
  #chunks = 0;
  /** Of the request before. */
  #head: PlainHead | null = null;
  #isBusy = false;
  /** A request was answered on it. */
  #isUsed = false;
  /** By the number of the look before. */
  #usedAt = 0;
  /** The other side sends nothing more. */
  #hasEnded = false;
  #timeoutMs = 0;
  /** Until the next request is read. */
  #pause: NodeJS.Timeout | null = null;

  constructor(socket: Socket, shared: Shared) {
    this.socket = socket;
    this.#shared = shared;
    this.#entry = shared.open.add(this);
  }

  /** Closes it unless a request is under way. One in a pause may have been sent the next request: it is read first. */
  closeIfIdle(): void {
    if (this.#pause) this.#goOn();
    else if (!this.#isBusy && this.#received === null) this.socket.destroy();
  }

  closeIfUnused(): void {
    if (this.#isUsed && this.#shared.looks - this.#usedAt > LOOKS) this.#timeOut();
  }

  listen(): void {
    this.socket.on('data', this.#receive).on('end', this.#end).on('timeout', this.#timeOut);
    this.socket.on('error', ignore).on('close', this.#close);
    this.#waitFor(this.#shared.options.firstBytesMs);
  }

  lasts(): boolean {
    return !this.#hasEnded && !this.#shared.options.isEnding();
  }

  answer(text: string, encoding: 'latin1' | 'utf8', pauseMs = 0): void {
    this.#isBusy = false;
    this.#usedAt = this.#shared.looks;
    if (this.socket.destroyed) return;
    if (!this.lasts()) {
      this.socket.end(text, encoding);
    } else if (!this.socket.write(text, encoding)) {
      // Who does not read the answers gets no further ones.
      this.socket.pause();
      this.socket.once('drain', this.#goOn);
    } else if (pauseMs > 0) {
      this.socket.pause();
      this.#pause = setTimeout(this.#goOn, pauseMs);
    } else if (this.#received) {
      this.#goOn();
    }
  }

  readonly #receive = (bytes: Buffer): void => {
    this.#received = this.#received ? Buffer.concat([this.#received, bytes]) : bytes;
    this.#chunks++;
    // The next request before the answer to this one: it waits in the system.
    if (this.#isBusy) this.socket.pause();
    else this.#readNext(this.#received);
  };

  #readNext(bytes: Buffer): void {
    const { service, options } = this.#shared;
    const reading = options.isEnding() ? 'other' : readPlainRequest(bytes, service.isServed, this.#head);
    if (reading === 'other' || (reading === 'unfinished' && this.#chunks >= MAX_CHUNKS)) {
      this.#leave();
    } else if (reading === 'unfinished') {
      this.#waitFor(options.arrivalMs);
    } else {
      this.#received = null;
      this.#chunks = 0;
      this.#head = reading.head;
      this.#isBusy = true;
      this.#isUsed = true;
      this.#waitFor(0);
      service.serve(reading, this);
    }
  }

  readonly #goOn = (): void => {
    this.#endPause();
    if (this.#received) this.#readNext(this.#received);
    this.socket.resume();
  };

  readonly #end = (): void => {
    this.#hasEnded = true;
    if (this.#isBusy) return;
    if (this.#received) this.#shared.options.answerHalf(this.socket);
    else this.socket.end();
  };

  readonly #timeOut = (): void => {
    if (this.#isBusy) return;
    if (this.#isUsed && !this.#received) this.socket.destroy();
    else this.#leave();
  };

  #endPause(): void {
    if (this.#pause) clearTimeout(this.#pause);
    this.#pause = null;
  }

  readonly #close = (): void => {
    this.#endPause();
    this.#shared.open.end(this.#entry);
  };

  #waitFor(milliseconds: number): void {
    if (this.#timeoutMs !== milliseconds) this.socket.setTimeout(milliseconds);
    this.#timeoutMs = milliseconds;
  }

  /** From here on the connection is Node's. */
  #leave(): void {
    const { socket } = this;
    this.#waitFor(0);
    socket.off('data', this.#receive).off('end', this.#end).off('timeout', this.#timeOut).off('drain', this.#goOn);
    socket.off('error', ignore).off('close', this.#close);
    this.#close();
    // Node reads from the system itself. What was read already is put back, and comes first.
    socket.pause();
    if (this.#received) socket.unshift(this.#received);
    this.#shared.giveToNode(socket);
    socket.resume();
  }
}

/** An error closes the socket, and there is nobody to tell. */
function ignore(): void {}

/** Node closes the connections that it knows. */
function closeWith(server: Server, open: UnderWay<PlainConnection>): void {
  const closeIdle = server.closeIdleConnections.bind(server);
  const closeAll = server.closeAllConnections.bind(server);
  server.closeIdleConnections = () => {
    for (const connection of open.all()) connection.closeIfIdle();
    closeIdle();
  };
  server.closeAllConnections = () => {
    for (const { socket } of open.all()) socket.destroy();
    closeAll();
  };
}
