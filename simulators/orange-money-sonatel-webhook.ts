// The signed webhook of the simulated Sonatel API: repeated after a 5xx or no answer, never after a 4xx.

import { createHmac, randomUUID } from 'node:crypto';
import type { SimulatorRoute } from './frame.ts';
import { checkSonatelShape, type SonatelAccess, sonatelProblem } from './orange-money-sonatel-access.ts';
import type { OrangeTools } from './orange-money-web.ts';

const PROBE_TIMEOUT_MS = 2_000;

export interface SonatelWebhook {
  route: SimulatorRoute;
  /** To `url`, or to the registered address when there is none. */
  send(body: object, url: string | null): void;
  /** Signed with a secret that Sonatel never had. */
  sendForged(body: object, url: string | null): void;
  /** From now on callbacks carry the signatures of the new secret and of the one before. */
  rotateSecret(secret: string): void;
}

type Registration = { url: string; apiKey: string };

export function createSonatelWebhook({ context, settings }: OrangeTools, access: SonatelAccess): SonatelWebhook {
  let registered: Registration | null = null;
  const ownSecrets = [settings.sonatelWebhookSecret ?? ''];
  const secrets = () =>
    settings.sonatelSigning === 'apiKey' && registered !== null ? [registered.apiKey] : ownSecrets.slice(-2);

  function deliver(body: object, url: string, signing: string[], key: string, attempt: number): void {
    const t = Math.floor(context.now() / 1000);
    const text = JSON.stringify(body);
    const hashes = signing.map((secret) => createHmac('sha256', secret).update(`${t},${text}`).digest('hex'));
    void context.send({
      url,
      body,
      headers: {
        'x-sonatel-signature': [`t=${t}`, ...hashes.map((hash) => `v1=${hash}`)].join(','),
        'x-sonatel-idempotency-key': key,
        ...(registered === null ? {} : { authorization: `Basic ${registered.apiKey}` }),
      },
      answered(answer) {
        const isFinal = answer !== null && answer.status < 500;
        if (isFinal || attempt >= Number(settings.sonatelAttempts)) return;
        context.after(Number(settings.sonatelRetrySeconds) * 1000, () => deliver(body, url, signing, key, attempt + 1));
      },
    });
  }

  function start(body: object, url: string | null, signing: string[]): void {
    const target = url ?? registered?.url;
    if (target !== undefined) deliver(body, target, signing, randomUUID(), 1);
  }

  return {
    route: {
      method: 'POST',
      path: '/api/notification/v1/merchantcallback',
      operation: 'other',
      async handle(request) {
        access.enter(request, 'other');
        checkSonatelShape(request, { code: 'string', name: 'string', callbackUrl: 'string', apiKey: 'string' });
        const { code, callbackUrl: url = '', apiKey = '' } = request.json as Record<string, string>;
        if (code !== settings.sonatelMerchantCode) throw sonatelProblem(403, '2041', 'The code is not yours');
        if (!URL.canParse(url)) throw sonatelProblem(400, '24', 'callbackUrl is not an address');
        registered = { url, apiKey };
        await probe(url);
        return { status: 200, body: { code, callbackUrl: url } };
      },
    },
    send: (body, url) => start(body, url, secrets()),
    sendForged: (body, url) => start(body, url, ['the secret of a stranger']),
    rotateSecret: (secret) => void ownSecrets.push(secret),
  };
}

/** The address is looked at before anything is sent to it; the answer is not known to matter. */
async function probe(url: string): Promise<void> {
  for (const method of ['OPTIONS', 'HEAD']) {
    await fetch(url, { method, signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) }).catch(() => null);
  }
}
