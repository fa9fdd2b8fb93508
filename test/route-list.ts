// Every route of the gateway, read from the router itself.

import { withApp } from '../scripts/openapi.ts';

export async function listRoutes(): Promise<string[]> {
  const text = await withApp((app) => app.printRoutes({ commonPrefix: false }));
  const routes: string[] = [];
  const path: string[] = [];
  for (const line of text.split('\n')) {
    const entry = /^((?:[│ ] {3})*)[├└]── (\S+)(?: \(([A-Z, ]+)\))?/.exec(line);
    if (!entry) continue;
    const [, indent = '', part = '', methods = ''] = entry;
    const depth = indent.length / 4;
    path.length = depth;
    path[depth] = part;
    for (const method of methods.split(', ').filter((name) => name !== '' && name !== 'HEAD' && name !== 'OPTIONS'))
      routes.push(`${method} ${path.join('')}`);
  }
  return routes;
}
