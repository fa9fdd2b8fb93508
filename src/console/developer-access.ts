// What the documentation shows of a signed-in developer, in a sandbox only: the keys of the integration in the examples, and
// requests that are signed here and sent to this gateway like any other.

import { randomUUID } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { signatureOf } from '../holders/envelope.ts';
import { DEFAULT_KEY } from '../holders/integration-secrets.ts';
import { type LiveIntegration, listIntegrations, loadLiveIntegration } from '../holders/integrations.ts';
import { exchangeCredentials } from '../holders/tokens.ts';
import { publicUrl } from '../platform/config.ts';
import { Problem } from '../platform/errors.ts';
import { addressOf, type HttpServer } from '../platform/http.ts';
import type { JsonObject, JsonValue } from '../platform/strict-json.ts';
import {
  type ConsoleRequest,
  hasSession,
  isConfirmed,
  openRequest,
  requireActive,
  requireOwnForm,
  requireShownHolder,
} from './console-request.ts';
import { createConsoleServices, type GatewayServices } from './console-services.ts';
import { ownFields } from './form-components.ts';
import { BUILDERS } from './route.ts';
import { writeSamples } from './samples.ts';

/** What the tabs of the samples are called, and the language that colours them. Others have the name of their tab. */
const LABELS: Readonly<Record<string, readonly [label: string, language: string]>> = {
  sdk: ['TypeScript (SDK)', 'typescript'],
  curl: ['curl', 'bash'],
  typescript: ['TypeScript', 'typescript'],
  python: ['Python', 'python'],
  php: ['PHP', 'php'],
};

type Call = { method: string; url: string; security: 'signed' | 'token' | 'none'; body: unknown };
type Keys = { clientId: string; sender: string; secretKey: string };

/** Call it with the app that serves the API. */
export function createDeveloperAccess(app: HttpServer, gateway: GatewayServices) {
  const { ctx } = gateway;
  const services = createConsoleServices(gateway);
  return {
    async find(raw: FastifyRequest, reply: FastifyReply) {
      if (ctx.config.mode !== 'sandbox' || !(await hasSession(ctx, raw))) return null;
      return describeDeveloper(app, await openRequest(services, raw, reply));
    },
    samples(keys: Readonly<Keys>, path: string, params: unknown) {
      const samples = writeSamples({ baseUrl: publicUrl(ctx.config), ...keys }, params as JsonObject, path);
      return Object.entries(samples).map(([name, code]) => {
        const [label = name, language = name] = LABELS[name] ?? [];
        return { label, language, code };
      });
    },
  };
}

async function describeDeveloper(app: HttpServer, request: ConsoleRequest) {
  const { role, session } = request;
  if (!session || !role || !BUILDERS.includes(role)) return null;
  const integration = await findIntegration(request);
  const secretKey = integration && secretOf(integration);
  if (!integration || !secretKey) return null;
  const keys = { clientId: integration.clientId, sender: integration.title, secretKey };
  // As in the console: who has a password or a second factor proves it before a secret is shown.
  const isShown = isConfirmed(request);
  return {
    id: String(session.member.id),
    keys: {
      ...keys,
      secretKey: isShown ? secretKey : null,
      callbackSecret: isShown ? (integration.callbackSecrets[0] ?? null) : null,
    },
    formFields: ownFields(request),
    requireOwnForm() {
      requireOwnForm(request);
      requireShownHolder(request);
      requireActive(request);
    },
    send: (call: Call) => send(app, request, keys, call),
  };
}

/** Through the same door as a request from outside, from the address of the person, so that every check and limit applies. */
async function send(app: HttpServer, { ctx, raw }: ConsoleRequest, keys: Keys, call: Call) {
  const sent = call.security === 'signed' ? signParams(keys, call.body, ctx.clock.millis()) : call.body;
  const address = addressOf(raw);
  const token =
    call.security === 'token' ? (await exchangeCredentials(ctx, keys.clientId, keys.secretKey, address)).token : null;
  const answer = await app.inject({
    method: call.method as 'GET',
    url: call.url,
    remoteAddress: address,
    headers: {
      host: raw.headers.host ?? 'localhost',
      ...(sent === null ? {} : { 'content-type': 'application/json' }),
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
    },
    ...(sent === null ? {} : { payload: JSON.stringify(sent) }),
  });
  const requestId = answer.headers['x-request-id'];
  return {
    sent,
    status: answer.statusCode,
    requestId: typeof requestId === 'string' ? requestId : null,
    text: answer.body,
  };
}

function signParams({ clientId, sender, secretKey }: Keys, params: unknown, millis: number): JsonObject {
  if (typeof params !== 'object' || params === null || Array.isArray(params))
    throw new Problem('invalid_params', { message: 'params must be a JSON object.' });
  const body: JsonObject = {
    client_id: clientId,
    sender,
    timestamp: Math.floor(millis / 1000),
    salt: randomUUID(),
    params: params as JsonValue,
  };
  return { ...body, signature: signatureOf(secretKey, body) };
}

/** The integration of the holder that was used last, or the newest one. */
async function findIntegration({ ctx, holder }: ConsoleRequest): Promise<LiveIntegration | null> {
  if (!holder) return null;
  const active = (await listIntegrations(ctx.db, holder.id)).filter(({ status }) => status === 'active');
  const usedAt = ({ lastUsedAt, createdAt }: (typeof active)[number]) => (lastUsedAt ?? createdAt).getTime();
  const [first] = active.sort((left, right) => usedAt(right) - usedAt(left));
  return first ? loadLiveIntegration(ctx, { id: first.id }) : null;
}

function secretOf({ keys }: LiveIntegration): string | null {
  const key = keys.find(({ name }) => name === DEFAULT_KEY) ?? keys[0];
  return key?.secret.export().toString('utf8') ?? null;
}
