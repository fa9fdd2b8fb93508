// A mail server on loopback that keeps what it takes, for tests.

import { SMTPServer } from 'smtp-server';
import { readMail } from '../src/sandbox/mail-text.ts';

export type ReceivedMail = { from: string; to: string[]; source: string; text: string };

export type MailServer = {
  readonly url: string;
  /** What arrived since the last call, oldest first. */
  takeMails(): ReceivedMail[];
  /** Refuses every recipient with this code; null: takes them again. */
  refuse(code: number | null): void;
  close(): Promise<void>;
};

export async function createMailServer(): Promise<MailServer> {
  let mails: ReceivedMail[] = [];
  let refusal: number | null = null;
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    logger: false,
    onRcptTo(_address, _session, done) {
      done(refusal === null ? null : Object.assign(new Error('refused'), { responseCode: refusal }));
    },
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const source = Buffer.concat(chunks).toString('utf8');
        const { mailFrom, rcptTo } = session.envelope;
        const to = rcptTo.map(({ address }) => address);
        mails.push({ from: mailFrom === false ? '' : mailFrom.address, to, source, text: readMail(source).body });
        done();
      });
    },
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  return {
    url: `smtp://127.0.0.1:${port}`,
    takeMails() {
      const taken = mails;
      mails = [];
      return taken;
    },
    refuse(code) {
      refusal = code;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
      }),
  };
}
