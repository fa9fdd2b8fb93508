// The first file of the process that sandbox-process.ts starts. The rest is loaded after the cache of compiled code is known.

import { enableCompileCache } from 'node:module';

const [, , cache] = process.argv;
if (cache) enableCompileCache(cache);
const { serveSandbox } = await import('./sandbox-service.ts');
serveSandbox();
