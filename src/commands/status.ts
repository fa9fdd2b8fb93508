// simbi status: whether the gateway is running and ready, and its addresses.

import type { Command } from 'commander';
import { readDemoFile } from '../demo-file.ts';
import { type Config, dataPath, localUrl, publicUrl, readConfig } from '../platform/config.ts';
import { runningServer } from '../running-server.ts';
import { CommandError, EXIT, print, type Terminal, withExamples } from './terminal.ts';

const TIMEOUT_MS = 5_000;

export function statusCommand(command: Command, terminal: Terminal): void {
  withExamples(command, ['npx simbi status', 'npx simbi status --json', 'eval "$(npx simbi status --env)"'])
    .option('--env', 'print the demo credentials as shell variables')
    .action(async (options: { json?: boolean; env?: boolean }) => {
      const config = readConfig(terminal.environment);
      const demo = await readDemoFile(config);
      if (options.env) {
        // Not the status instead: what is printed is run by a shell.
        if (!demo) throw new CommandError(`There are no demo credentials in ${dataPath(config)}.`, EXIT.notFound);
        const pairs = {
          SIMBI_URL: demo.base_url,
          SIMBI_CLIENT_ID: demo.client_id,
          SIMBI_SECRET_KEY: demo.secret_key,
          SIMBI_SENDER: demo.sender,
        };
        terminal.out(
          Object.entries(pairs)
            .map(([name, value]) => `export ${name}='${value.replaceAll("'", "'\\''")}'`)
            .join('\n'),
        );
        return;
      }
      const owner = runningServer(config);
      const url = owner?.url ?? demo?.base_url ?? publicUrl(config);
      const ready = await readReadiness(url, config);
      const data = { running: ready !== null, ready: ready?.ready ?? false, url, pid: owner?.pid ?? null };
      const lines = [
        ready === null ? `No response from ${url}. Start the service: npm start` : `${ready.message} ${url}`,
        ...(owner ? [`Process    ${owner.pid}`] : []),
        `Data       ${dataPath(config)}`,
        ...(demo ? [`Console    ${demo.console_url}   (sign-in link: npx simbi login-link)`] : []),
      ];
      print(terminal, options, data, lines.join('\n'));
      if (!data.ready) process.exitCode = EXIT.unavailable;
    });
}

async function readReadiness(url: string, config: Config): Promise<{ ready: boolean; message: string } | null> {
  // Asks the local port, because PUBLIC_URL may be behind a proxy that this machine cannot reach.
  const port = config.publicUrl ? config.port : Number(URL.parse(url)?.port);
  const local = port ? localUrl({ host: config.host, port }) : url;
  try {
    const response = await fetch(new URL('/readyz', local), { signal: AbortSignal.timeout(TIMEOUT_MS) });
    const body = (await response.json()) as { message?: unknown };
    return { ready: response.ok, message: String(body.message) };
  } catch {
    return null;
  }
}
