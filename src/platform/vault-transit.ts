// Data keys wrapped by a key of HashiCorp Vault's transit engine, which never leaves it: its operations encrypt and decrypt. The
// token may come from a file that Vault Agent keeps renewed.

import { readFileSync } from 'node:fs';
import type { Config, KeyProvider } from './config.ts';
import { callKeyService, requireBytes } from './key-service.ts';
import { type KeyWrapper, KeyWrapperError } from './key-wrapper.ts';

const SERVICE = 'HashiCorp Vault';

export function createTransitWrapper(
  config: Config,
  { place: mount, key }: KeyProvider,
  timeoutMs?: number,
): KeyWrapper {
  const headers = () => ({
    'content-type': 'application/json',
    'x-vault-request': 'true',
    'x-vault-token': readToken(config),
    ...(config.vaultNamespace ? { 'x-vault-namespace': config.vaultNamespace } : {}),
  });

  async function call(operation: 'encrypt' | 'decrypt', content: object): Promise<Record<string, unknown>> {
    const path = `/v1/${mount}/${operation}/${encodeURIComponent(key)}`;
    const body = JSON.stringify(content);
    const request = {
      service: SERVICE,
      origin: new URL(config.vaultAddr).origin,
      path,
      headers,
      body,
      ...(timeoutMs ? { timeoutMs } : {}),
    };
    const { data } = await callKeyService(request, reasonOf);
    return typeof data === 'object' && data !== null ? (data as Record<string, unknown>) : {};
  }

  return {
    name: `vault-transit:${mount}/${key}`,
    async wrap(plain) {
      const { ciphertext } = await call('encrypt', { plaintext: plain.toString('base64') });
      // Text such as vault:v1:…, which names the version of the key in Vault.
      if (typeof ciphertext !== 'string') throw new KeyWrapperError(`${SERVICE} answered without ciphertext.`);
      return Buffer.from(ciphertext, 'utf8');
    },
    async unwrap(wrapped) {
      const { plaintext } = await call('decrypt', { ciphertext: wrapped.toString('utf8') });
      return requireBytes(SERVICE, plaintext, 'plaintext');
    },
  };
}

function readToken({ vaultToken, vaultTokenPath }: Config): string {
  if (!vaultTokenPath) return vaultToken;
  try {
    return readFileSync(vaultTokenPath, 'utf8').trim();
  } catch {
    throw new KeyWrapperError(`VAULT_TOKEN_PATH names a file that cannot be read: ${vaultTokenPath}.`);
  }
}

/** `{"errors": ["permission denied"]}` */
function reasonOf({ errors }: Record<string, unknown>): string {
  return Array.isArray(errors) ? errors.filter((error) => typeof error === 'string').join('; ') : '';
}
