// PostgreSQL's COPY, both ways, in bounded memory. The driver speaks the messages of the protocol but offers no
// streams for them; this is the little that is missing.

import type pg from 'pg';

/** Rows come one by one; they are handed on in pieces of about this size. */
const PIECE_BYTES = 64 * 1024;
/** More than this waiting for a slow reader, and the socket is paused. */
const MAX_WAITING_BYTES = 1024 * 1024;

/** What the driver has beyond its published types. */
type Connection = pg.Connection & {
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
  sendCopyFail(message: string): void;
};

/** The part of a query that the driver calls, as far as COPY goes. */
type CopyQuery = {
  submit(connection: pg.Connection): void;
  handleCopyInResponse(connection: Connection): void;
  handleCopyData(message: { chunk: Buffer }, connection: Connection): void;
  handleCommandComplete(message: { text: string }): void;
  handleError(error: Error): void;
  handleReadyForQuery(): void;
};

const rowsOf = (tag: string) => Number(/^COPY (\d+)/.exec(tag)?.[1] ?? 0);

/** Runs `copy … to stdout`, gives the bytes to `take` piece by piece, and answers the number of rows. */
export async function copyOut(
  client: pg.Client,
  statement: string,
  take: (piece: Buffer) => Promise<void>,
): Promise<number> {
  const ready: Buffer[] = [];
  let gathered: Buffer[] = [];
  let gatheredBytes = 0;
  let waitingBytes = 0;
  let rows = 0;
  let ended = false;
  let failure: Error | null = null;
  let socket: Connection['stream'] | null = null;
  let wake = () => {};

  function handOn(): void {
    if (gatheredBytes === 0) return;
    // The driver reuses its buffers: this is also the copy that keeps our rows.
    ready.push(Buffer.concat(gathered, gatheredBytes));
    gathered = [];
    gatheredBytes = 0;
    wake();
  }

  const query: CopyQuery = {
    submit(connection) {
      socket = connection.stream;
      connection.query(statement);
    },
    handleCopyInResponse: (connection) => connection.sendCopyFail('unexpected'),
    handleCopyData({ chunk }) {
      if (failure) return;
      gathered.push(Buffer.from(chunk));
      gatheredBytes += chunk.length;
      waitingBytes += chunk.length;
      if (gatheredBytes >= PIECE_BYTES) handOn();
      if (waitingBytes > MAX_WAITING_BYTES) socket?.pause();
    },
    handleCommandComplete({ text }) {
      rows = rowsOf(text);
    },
    handleError(error) {
      failure ??= error;
      ended = true;
      wake();
    },
    handleReadyForQuery() {
      handOn();
      ended = true;
      wake();
    },
  };
  client.query(query);
  for (;;) {
    const piece = ready.shift();
    if (piece) {
      await take(piece);
      waitingBytes -= piece.length;
      if (waitingBytes <= MAX_WAITING_BYTES) (socket as Connection['stream'] | null)?.resume();
    } else if (ended) break;
    else
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
  }
  if (failure) throw failure as Error;
  return rows;
}

/** Runs `copy … from stdin` with the pieces that `next` gives until null, and answers the number of rows. */
export function copyIn(client: pg.Client, statement: string, next: () => Promise<Buffer | null>): Promise<number> {
  return new Promise((resolve, reject) => {
    let rows = 0;
    let failure: Error | null = null;
    // A connection that breaks gives no other sign.
    const onEnd = () => reject(failure ?? new Error('The database closed the connection.'));
    client.once('end', onEnd);

    async function send(connection: Connection): Promise<void> {
      try {
        for (let piece = await next(); piece !== null; piece = await next()) {
          // The server has refused a row already; what follows would only be thrown away.
          if (failure) return;
          connection.sendCopyFromChunk(piece);
          if (connection.stream.writableNeedDrain) await drained(connection);
        }
        connection.endCopyFrom();
      } catch (error) {
        failure ??= error instanceof Error ? error : new Error(String(error));
        connection.sendCopyFail('the source ended early');
      }
    }

    const query: CopyQuery = {
      submit: (connection) => connection.query(statement),
      handleCopyInResponse: (connection) => void send(connection),
      handleCopyData: () => undefined,
      handleCommandComplete({ text }) {
        rows = rowsOf(text);
      },
      handleError(error) {
        // The last that we hear of this query. After a failure of ours the server only repeats our own words.
        client.off('end', onEnd);
        failure ??= error;
        reject(failure);
      },
      handleReadyForQuery() {
        client.off('end', onEnd);
        resolve(rows);
      },
    };
    client.query(query);
  });
}

function drained(connection: Connection): Promise<void> {
  const { stream } = connection;
  return new Promise((resolve) => {
    const done = () => {
      stream.off('drain', done);
      stream.off('close', done);
      resolve();
    };
    stream.once('drain', done);
    stream.once('close', done);
  });
}
