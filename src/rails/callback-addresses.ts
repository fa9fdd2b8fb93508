// Addresses that only the operator of a connection was given. The token is an HMAC of the rest of the path, so that nobody can
// make an address, and nothing has to be stored to recognise one.

import { createHmac } from 'node:crypto';
import { publicUrl as publicUrlOf } from '../platform/config.ts';
import type { Context } from '../platform/context.ts';
import { constantTimeEqual } from '../platform/secrets.ts';
import type { CallbackAddresses } from './connection.ts';

const TOKEN_BYTES = 15;
/** Stands for the whole connection where an address has no reference. */
const NO_REFERENCE = '-';
const PATH = /^\/operators\/([a-z0-9-]+)\/([a-z0-9-]+)\/([A-Za-z0-9_-]+)\/([A-Za-z0-9_-]+)(?:\?.*)?$/;

export type CallbackAddressOptions = {
  connection: string;
  publicUrl: string;
  /** The newest key first. Addresses of an older key are still recognised. */
  keys: () => readonly [Buffer, ...Buffer[]];
};

export function createCallbackAddresses({ connection, publicUrl, keys }: CallbackAddressOptions): CallbackAddresses {
  const pathOf = (topic: string, reference: string) => `/operators/${connection}/${topic}/${reference}`;
  const token = (key: Buffer, path: string) =>
    createHmac('sha256', key).update(path).digest().subarray(0, TOKEN_BYTES).toString('base64url');

  return {
    url(topic, reference) {
      const path = pathOf(topic, reference ?? NO_REFERENCE);
      return `${publicUrl}${path}/${token(keys()[0], path)}`;
    },
    read(path) {
      const [, name, topic = '', reference = '', given = ''] = PATH.exec(path) ?? [];
      if (name !== connection) return null;
      const signed = pathOf(topic, reference);
      const isOurs = keys().some((key) => constantTimeEqual(Buffer.from(token(key, signed)), Buffer.from(given)));
      return isOurs ? { topic, reference: reference === NO_REFERENCE ? null : reference } : null;
    },
  };
}

/** The addresses of a connection of this gateway. */
export function callbackAddressesOf(ctx: Pick<Context, 'vault' | 'config'>, connection: string): CallbackAddresses {
  return createCallbackAddresses({
    connection,
    publicUrl: publicUrlOf(ctx.config),
    // Registered with operators for years, so the key must never change.
    keys: () => [ctx.vault.deriveKey('operator callback addresses')],
  });
}

/** The one address that is entered on an operator's dashboard, for everything that it sends to this connection. */
export const dashboardAddress = (addresses: CallbackAddresses) => addresses.url('callbacks', null);
