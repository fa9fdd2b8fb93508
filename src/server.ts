// The gateway in one process: opens what a machine has once, then the gateway itself. With several processes supervisor.ts does
// the first part, and each of them the second.

import { openFoundation, type ServerOptions } from './foundation.ts';
import { type Gateway, type StopOptions, startGateway } from './gateway.ts';
import type { Config } from './platform/config.ts';

export type Server = Gateway;

export async function startServer(settings: Config, options: ServerOptions = {}): Promise<Server> {
  // A process that only answers requests hardly calls its operator, and runs it itself.
  const hasSandbox = settings.mode === 'sandbox' && settings.role !== 'api';
  const foundation = await openFoundation(settings, { ...options, hasSandbox });
  const { config, database, log, sandbox } = foundation;
  try {
    const gateway = await startGateway({
      config,
      databaseUrl: database.url,
      log: log.logger,
      openSandbox: async (warnings) => (await sandbox?.open(config, database.url, warnings)) ?? null,
      // The embedded database has no other process that could leave work.
      hasOthers: config.databaseUrl !== '',
    });
    foundation.setUrl(gateway.url);
    let stopping: Promise<void> | null = null;
    const stop = async (how?: StopOptions) => {
      // A lock without an address tells the next process on this DATA_DIR that this one is stopping, and to wait.
      foundation.clearUrl();
      await gateway.stop(how);
      await foundation.close();
    };
    return {
      ...gateway,
      stop(how) {
        stopping ??= stop(how);
        return stopping;
      },
    };
  } catch (error) {
    await foundation.close();
    throw error;
  }
}
