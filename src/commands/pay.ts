// simbi pay: a payment link in the terminal, with a QR code for the camera of a phone.

import type { Command } from 'commander';
import { encodeQR } from 'qr';
import { readDemoFile } from '../demo-file.ts';
import { readConfig } from '../platform/config.ts';
import { findGateway } from './remote.ts';
import { CommandError, EXIT, print, type Terminal, withExamples } from './terminal.ts';

const TIMEOUT_MS = 10_000;

export function payCommand(command: Command, terminal: Terminal): void {
  withExamples(command, [
    'npx simbi pay',
    'npx simbi pay pl_01J…',
    'npx simbi pay "$(npx simbi link create KES --amount 250)"',
  ])
    .addHelpText('after', '\nThe link is an id or an address; without it, the sample link of the sandbox.')
    .action(async (given: string | undefined, options: { json?: boolean }) => {
      const url = given === undefined ? await sampleLink(terminal) : await addressOf(terminal, given);
      print(terminal, options, { payment_link: url }, `${encodeQR(url, 'ascii', { ecc: 'low', border: 2 })}\n${url}`);
    });
}

async function sampleLink({ environment }: Terminal): Promise<string> {
  const { DATA_DIR } = environment;
  const demo = await readDemoFile(readConfig(DATA_DIR ? { DATA_DIR } : {}));
  if (demo?.payment_link) return demo.payment_link;
  throw new CommandError(
    'There is no sample link. Create a link: npx simbi link create KES --amount 250',
    EXIT.notFound,
  );
}

async function addressOf(terminal: Terminal, given: string): Promise<string> {
  if (/^https?:\/\//.test(given) && URL.canParse(given)) return given;
  if (!/^pl_[0-9A-Z]+$/.test(given)) throw new CommandError('Give the id of a link (pl_…) or its address.', EXIT.usage);
  const url = new URL(`/pay/${given}`, await findGateway(terminal)).href;
  await requireLink(url);
  return url;
}

/** A QR code that leads nowhere is worse than none. Asks for the picture: the page would count a visit. */
async function requireLink(url: string): Promise<void> {
  const response = await fetch(`${url}/qr.svg`, { signal: AbortSignal.timeout(TIMEOUT_MS) }).catch(() => null);
  if (response === null)
    throw new CommandError(
      `No response from ${new URL(url).origin}. Check that the gateway is running: npx simbi status`,
      EXIT.unavailable,
    );
  await response.body?.cancel();
  if (!response.ok) throw new CommandError(`There is no payment page at ${url}.`, EXIT.notFound);
}
