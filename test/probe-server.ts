// A server process with the signed probe of test/shop.ts: `node test/probe-server.ts`, settings in the environment.

import { createContext } from '../src/open-context.ts';
import { readConfig } from '../src/platform/config.ts';
import { createHttpServer } from '../src/platform/http.ts';
import { createLogger } from '../src/platform/log.ts';
import { probeRoute } from './shop.ts';

const config = readConfig(process.env);
const ctx = await createContext(config, config.databaseUrl, createLogger('silent'));
const app = createHttpServer(ctx);
probeRoute(app, ctx);
console.log(`Listening: ${await app.listen({ port: 0, host: '127.0.0.1' })}`);
