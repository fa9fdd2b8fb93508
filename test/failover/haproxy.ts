// HAProxy in front of the cluster, as deploy/haproxy.cfg has it: one address, behind it the server that Patroni calls the primary.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../scripts/tree.ts';
import type { Cluster } from './cluster.ts';
import { type Launched, launch } from './processes.ts';

const PORT = 23_300;

export function startHaproxy(program: string, cluster: Cluster, folder: string): { process: Launched; url: string } {
  const servers = cluster
    .addresses()
    .map(({ node, host, postgres, rest }) => `  server node${node} ${host}:${postgres} check port ${rest}`)
    .join('\n');
  const settings = readFileSync(join(ROOT, 'deploy/haproxy.cfg'), 'utf8')
    .replace(/^ {2}bind .*$/m, `  bind 127.0.0.1:${PORT}`)
    .replace(/(?:^ {2}server .*\n)+/m, `${servers}\n`);
  const file = join(folder, 'haproxy.cfg');
  writeFileSync(file, settings);
  const process = launch({
    command: [program, '-db', '-f', file],
    log: join(folder, 'log', 'haproxy.log'),
    cwd: folder,
    env: { PATH: '/usr/bin:/bin:/usr/sbin:/sbin' },
  });
  return { process, url: cluster.serverUrl(1).replace(/@[^/]+/, `@127.0.0.1:${PORT}`) };
}
