// Callers who come once: each opens a connection, sends one request, and tells how long it waited for a refusal. They are a process of
// their own, because the one that signs the load is busy with its garbage.

import { setTimeout as pause } from 'node:timers/promises';
import { runOwnLoad } from './load.ts';

export type NewCallers = { port: number; path: string; perSecond: number; requests: string[] };

async function call({ port, path, perSecond, requests }: NewCallers): Promise<number[]> {
  const waits = requests.map(async (request, index) => {
    await pause((index * 1000) / perSecond);
    const { refusalLatencies } = await runOwnLoad({
      host: '127.0.0.1',
      port,
      path,
      connections: 1,
      rate: null,
      requests: [Buffer.from(request, 'latin1')],
      maxSeconds: 60,
    });
    return refusalLatencies;
  });
  return (await Promise.all(waits)).flat();
}

process.once('message', (callers: NewCallers) => {
  void call(callers).then((waits) => {
    process.send?.(waits);
    process.disconnect();
  });
});
