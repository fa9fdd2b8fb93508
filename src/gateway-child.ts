// The first file of a process that gateway-process.ts starts. The rest is loaded after the cache of compiled code is known.

import { enableCompileCache } from 'node:module';

const [, , cache] = process.argv;
if (cache) enableCompileCache(cache);
const { serveGateway } = await import('./gateway-service.ts');
serveGateway();
