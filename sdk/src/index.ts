// The one entry of the package: what a program may import from '@simbi/client'.

export {
  type Client,
  type ClientOptions,
  type CreateOptions,
  createClient,
  type StatusOptions,
  type WaitOptions,
  type WithResponse,
} from './client.ts';
export type { ByCountry, CountryCode } from './countries.ts';
export { type ClientCode, type ErrorCode, type LastResponse, SimbiError } from './error.ts';
export type { List } from './list.ts';
export type { CallOptions, Runtime } from './transport.ts';
export type * from './types.ts';
export { type RawBody, type VerifyOptions, type WebhookHeaders, type Webhooks, webhooks } from './webhooks.ts';
