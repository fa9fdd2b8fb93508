// DATA_DIR/demo.json: the addresses and credentials of the demo holder, for commands and scripts on this machine. Beside
// demo.ts, because a command that reads the file needs nothing of the gateway.

import { renameSync, writeFileSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { type Config, dataPath } from './platform/config.ts';

export type DemoFile = {
  base_url: string;
  client_id: string;
  secret_key: string;
  sender: string;
  callback_secret: string;
  console_url: string;
  login_link: string;
  wallet_accounts: number[];
  payment_link: string | null;
  phone_url: string;
};

export async function writeDemoFile(config: Config, file: DemoFile): Promise<string> {
  const path = dataPath(config, 'demo.json');
  await mkdir(dataPath(config), { recursive: true, mode: 0o700 });
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600 });
  renameSync(draft, path);
  return path;
}

export async function readDemoFile(config: Config): Promise<DemoFile | null> {
  const text = await readFile(dataPath(config, 'demo.json'), 'utf8').catch(() => null);
  try {
    return text === null ? null : (JSON.parse(text) as DemoFile);
  } catch {
    // Cut off, by a full disk or by hand. The next start writes it again.
    return null;
  }
}
