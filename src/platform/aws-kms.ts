// Data keys wrapped by a key of AWS KMS, which never leaves it: the operations Encrypt and Decrypt of its JSON protocol. The
// encryption context is part of what KMS authenticates and shows in its audit trail.

import { type AwsCredentials, signAwsRequest } from './aws-signature.ts';
import { systemClock } from './clock.ts';
import type { Config, KeyProvider } from './config.ts';
import { callKeyService, requireBytes } from './key-service.ts';
import type { KeyWrapper } from './key-wrapper.ts';

const SERVICE = 'AWS KMS';
const CONTEXT = { application: 'simbi', purpose: 'vault data key' };

export function createKmsWrapper(config: Config, { place: region, key }: KeyProvider, timeoutMs?: number): KeyWrapper {
  const origin = new URL(config.awsEndpointUrlKms || `https://kms.${region}.amazonaws.com`).origin;
  const credentials: AwsCredentials = {
    accessKeyId: config.awsAccessKeyId,
    secretAccessKey: config.awsSecretAccessKey,
    sessionToken: config.awsSessionToken,
  };

  function call(operation: 'Encrypt' | 'Decrypt', content: object): Promise<Record<string, unknown>> {
    const body = JSON.stringify({ KeyId: key, EncryptionContext: CONTEXT, ...content });
    const headers = () =>
      signAwsRequest(
        {
          method: 'POST',
          path: '/',
          headers: {
            host: new URL(origin).host,
            'content-type': 'application/x-amz-json-1.1',
            'x-amz-target': `TrentService.${operation}`,
          },
          body,
        },
        { region, service: 'kms' },
        credentials,
        systemClock.now(),
      );
    const request = { service: SERVICE, origin, path: '/', headers, body, ...(timeoutMs ? { timeoutMs } : {}) };
    return callKeyService(request, reasonOf);
  }

  return {
    name: `aws-kms:${region}/${key}`,
    async wrap(plain) {
      const answer = await call('Encrypt', { Plaintext: plain.toString('base64') });
      return requireBytes(SERVICE, answer.CiphertextBlob, 'CiphertextBlob');
    },
    async unwrap(wrapped) {
      const answer = await call('Decrypt', { CiphertextBlob: wrapped.toString('base64') });
      return requireBytes(SERVICE, answer.Plaintext, 'Plaintext');
    },
  };
}

/** `{"__type": "AccessDeniedException", "message": …}`; some answers write Message. */
function reasonOf(answer: Record<string, unknown>): string {
  return [answer.__type, answer.message ?? answer.Message].filter((part) => typeof part === 'string').join(': ');
}
