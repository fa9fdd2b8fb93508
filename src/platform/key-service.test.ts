// Keys that live in AWS KMS or HashiCorp Vault. Both are played by servers in this file, written from their documentation: they
// share no code with the clients and check what a real one checks.

import assert from 'node:assert/strict';
import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createKmsWrapper } from './aws-kms.ts';
import { signAwsRequest } from './aws-signature.ts';
import { type Environment, readConfig } from './config.ts';
import { KeyWrapperError } from './key-wrapper.ts';
import { createTransitWrapper } from './vault-transit.ts';

const folder = mkdtempSync(join(tmpdir(), 'simbi-keys-'));
const dataKey = randomBytes(32);
after(() => rmSync(folder, { recursive: true, force: true }));

type Reply = { status: number; body: unknown };
type Service = {
  url: string;
  /** What the next requests get instead of an answer. */
  mode: 'work' | 'silent' | { status: number; body: unknown; times: number };
  requests: number;
  close(): Promise<void>;
};

async function startService(answer: (request: IncomingMessage, body: string) => Reply): Promise<Service> {
  const server: Server = createServer((request, response) => void handle(request, response));
  const service: Service = {
    url: '',
    mode: 'work',
    requests: 0,
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    service.requests++;
    let body = '';
    for await (const chunk of request) body += String(chunk);
    if (service.mode === 'silent') return;
    let reply: Reply;
    if (service.mode !== 'work' && service.mode.times > 0) {
      service.mode.times--;
      reply = service.mode;
    } else reply = answer(request, body);
    response.writeHead(reply.status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(reply.body));
  }
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  service.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return service;
}

/** The service's own encryption; `bound` is what must be given again. */
function seal(key: Buffer, plain: Buffer, bound: string): Buffer {
  const iv = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(bound));
  const body = Buffer.concat([cipher.update(plain), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), body]);
}

function unseal(key: Buffer, sealed: Buffer, bound: string): Buffer | null {
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, 12)).setAAD(Buffer.from(bound));
    decipher.setAuthTag(sealed.subarray(12, 28));
    return Buffer.concat([decipher.update(sealed.subarray(28)), decipher.final()]);
  } catch {
    return null;
  }
}

const refusal = (pattern: RegExp, isAway: boolean) => (error: unknown) => {
  assert.ok(error instanceof KeyWrapperError);
  assert.match(error.message, pattern);
  assert.equal(error.isAway, isAway);
  return true;
};

describe('AWS Signature Version 4', () => {
  const token =
    'AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7' +
    'mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d' +
    '+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA==';
  const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
  // Names and signatures of the test suite that AWS publishes.
  const vectors: [string, string, Record<string, string>, string, string, string, string][] = [
    ['get-vanilla', 'GET', {}, '', '', '', '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31'],
    ['post-vanilla', 'POST', {}, '', '', '', '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b'],
    [
      'get-vanilla-query-order-key-case',
      'GET',
      {},
      'Param1=value1&Param2=value2',
      '',
      '',
      'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500',
    ],
    [
      'post-header-value-case',
      'POST',
      { 'My-Header1': 'VALUE1' },
      '',
      '',
      '',
      'cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d',
    ],
    [
      'post-x-www-form-urlencoded',
      'POST',
      form,
      '',
      'Param1=value1',
      '',
      'ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a',
    ],
    [
      'post-sts-header-before',
      'POST',
      {},
      '',
      '',
      token,
      '85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead',
    ],
  ];
  for (const [name, method, headers, query, body, sessionToken, signature] of vectors)
    test(`gives the published signature of ${name}`, () => {
      const signed = signAwsRequest(
        { method, path: '/', query, headers: { Host: 'example.amazonaws.com', ...headers }, body },
        { region: 'us-east-1', service: 'service' },
        { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY', sessionToken },
        new Date('2015-08-30T12:36:00Z'),
      );
      assert.match(
        signed.authorization ?? '',
        /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/20150830\/us-east-1\/service\/aws4_request, /,
      );
      assert.ok(signed.authorization?.endsWith(`Signature=${signature}`), signed.authorization);
    });
});

describe('AWS KMS', () => {
  const credentials = { AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE', AWS_SECRET_ACCESS_KEY: 'a secret access key' };
  const customerKey = randomBytes(32);
  let kms: Service;

  before(async () => {
    kms = await startService(answerAsKms);
  });
  after(() => kms?.close());

  /** From the AWS KMS API reference and "Create a signed AWS API request". */
  function answerAsKms(request: IncomingMessage, body: string): Reply {
    const refuse = (type: string, message: string): Reply => ({ status: 400, body: { __type: type, message } });
    if (!isSigned(request, body)) return refuse('InvalidSignatureException', 'The request signature does not match.');
    if (request.headers['content-type'] !== 'application/x-amz-json-1.1') return refuse('SerializationException', '');
    const { KeyId, EncryptionContext, Plaintext, CiphertextBlob } = JSON.parse(body) as Record<string, string>;
    if (KeyId !== 'alias/simbi') return refuse('NotFoundException', `Alias ${KeyId} is not found.`);
    const context = JSON.stringify(EncryptionContext ?? {});
    if (request.headers['x-amz-target'] === 'TrentService.Encrypt') {
      const blob = seal(customerKey, Buffer.from(Plaintext ?? '', 'base64'), context);
      return { status: 200, body: { CiphertextBlob: blob.toString('base64'), KeyId: 'arn:aws:kms:eu-west-1:1:key/1' } };
    }
    const plain = unseal(customerKey, Buffer.from(CiphertextBlob ?? '', 'base64'), context);
    if (!plain) return refuse('InvalidCiphertextException', '');
    return { status: 200, body: { Plaintext: plain.toString('base64'), KeyId: 'arn:aws:kms:eu-west-1:1:key/1' } };
  }

  function isSigned(request: IncomingMessage, body: string): boolean {
    const found =
      /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([\w-]+)\/(\w+)\/aws4_request, SignedHeaders=([\w;-]+), Signature=(\w{64})$/.exec(
        request.headers.authorization ?? '',
      );
    if (!found) return false;
    const [, id, day = '', region = '', service = '', names = '', signature] = found;
    const moment = String(request.headers['x-amz-date']);
    const skew = Math.abs(Date.now() - Date.parse(moment.replace(/^(....)(..)(..T..)(..)(..Z)$/, '$1-$2-$3:$4:$5')));
    const lines = names.split(';').map((name) => `${name}:${String(request.headers[name]).trim()}\n`);
    const bodyHash = createHash('sha256').update(body).digest('hex');
    const canonical = `${request.method}\n${request.url}\n\n${lines.join('')}\n${names}\n${bodyHash}`;
    const canonicalHash = createHash('sha256').update(canonical).digest('hex');
    let key: Buffer = Buffer.from(`AWS4${credentials.AWS_SECRET_ACCESS_KEY}`);
    for (const part of [day, region, service, 'aws4_request']) key = createHmac('sha256', key).update(part).digest();
    const text = `AWS4-HMAC-SHA256\n${moment}\n${day}/${region}/${service}/aws4_request\n${canonicalHash}`;
    const right = createHmac('sha256', key).update(text).digest('hex') === signature;
    const covers = ['host', 'x-amz-date', 'x-amz-target'].every((name) => names.split(';').includes(name));
    return (
      right &&
      covers &&
      id === credentials.AWS_ACCESS_KEY_ID &&
      service === 'kms' &&
      region === 'eu-west-1' &&
      skew < 300_000
    );
  }

  const wrapper = (settings: Environment = {}, timeoutMs?: number) => {
    const config = readConfig({
      KEY_PROVIDER: 'aws-kms://eu-west-1/alias/simbi',
      AWS_ENDPOINT_URL_KMS: kms.url,
      ...credentials,
      ...settings,
    });
    return createKmsWrapper(config, config.keyProvider ?? assert.fail(), timeoutMs);
  };

  test('a key comes back as it was, and only its own blob opens', async () => {
    const wrapped = await wrapper().wrap(dataKey);
    assert.ok(!wrapped.includes(dataKey));
    assert.deepEqual(await wrapper().unwrap(wrapped), dataKey);
    assert.equal(wrapper().name, 'aws-kms:eu-west-1/alias/simbi');
    wrapped[20] = (wrapped[20] ?? 0) ^ 1;
    await assert.rejects(wrapper().unwrap(wrapped), refusal(/InvalidCiphertextException/, false));
  });

  test('wrong credentials and an unknown key are refusals with the words of KMS', async () => {
    const wrong = wrapper({ AWS_SECRET_ACCESS_KEY: 'another' });
    await assert.rejects(
      wrong.wrap(dataKey),
      refusal(/refused: 400 InvalidSignatureException: The request signature/, false),
    );
    const other = wrapper({ KEY_PROVIDER: 'aws-kms://eu-west-1/alias/other' });
    await assert.rejects(other.wrap(dataKey), refusal(/NotFoundException: Alias alias\/other is not found/, false));
    assert.equal(kms.mode, 'work');
  });

  test('one that fails is asked again once; one that is slow or down is given up with a sentence', async () => {
    kms.mode = { status: 500, body: { __type: 'KMSInternalException' }, times: 1 };
    const wrapped = await wrapper().wrap(dataKey);
    kms.mode = { status: 429, body: { __type: 'ThrottlingException' }, times: 2 };
    await assert.rejects(wrapper().unwrap(wrapped), refusal(/does not answer \(it answered 429\)/, true));
    kms.mode = 'silent';
    await assert.rejects(wrapper({}, 50).unwrap(wrapped), refusal(/does not answer \(timed out\)/, true));
    kms.mode = 'work';
    const nobody = wrapper({ AWS_ENDPOINT_URL_KMS: 'http://127.0.0.1:1' });
    await assert.rejects(nobody.unwrap(wrapped), refusal(/^AWS KMS at http:\/\/127\.0\.0\.1:1 does not answer/, true));
    assert.deepEqual(await wrapper().unwrap(wrapped), dataKey);
  });

  test('the settings are checked before anything starts', () => {
    const errors = (settings: Environment) => assert.throws(() => readConfig(settings));
    errors({ KEY_PROVIDER: 'aws-kms://eu-west-1/alias/simbi' });
    errors({ KEY_PROVIDER: 'gcp://somewhere/key' });
    errors({ KEY_PROVIDER: 'aws-kms://eu-west-1/k', ...credentials, MASTER_KEY: 'ab'.repeat(32) });
    errors({ KEY_PROVIDER: 'aws-kms://eu-west-1/k', ...credentials, AWS_ENDPOINT_URL_KMS: 'http://kms.example.org' });
    readConfig({ VAULT_ADDR: 'http://vault.internal:8200', AWS_ENDPOINT_URL_KMS: 'http://elsewhere' });
    readConfig({ KEY_PROVIDER: 'aws-kms://eu-west-1/k', ...credentials, MASTER_KEY_PREVIOUS: 'ab'.repeat(32) });
  });
});

describe('HashiCorp Vault', () => {
  const transitKey = randomBytes(32);
  const tokens = new Set(['hvs.first']);
  const tokenPath = join(folder, 'token');
  let vault: Service;

  before(async () => {
    vault = await startService(answerAsVault);
  });
  after(() => vault?.close());

  /** From the API documentation of the transit secrets engine. */
  function answerAsVault(request: IncomingMessage, body: string): Reply {
    const errors = (status: number, sentence: string): Reply => ({ status, body: { errors: [sentence] } });
    if (!tokens.has(String(request.headers['x-vault-token']))) return errors(403, 'permission denied');
    if (request.headers['x-vault-namespace'] !== 'team') return errors(404, 'no handler for route');
    const { plaintext, ciphertext } = JSON.parse(body) as Record<string, string>;
    if (request.url === '/v1/transit/encrypt/simbi') {
      const sealed = seal(transitKey, Buffer.from(plaintext ?? '', 'base64'), '').toString('base64');
      return { status: 200, body: { data: { ciphertext: `vault:v1:${sealed}`, key_version: 1 } } };
    }
    if (request.url !== '/v1/transit/decrypt/simbi') return errors(404, 'no handler for route');
    const sealed = /^vault:v1:(.+)$/.exec(ciphertext ?? '')?.[1];
    const plain = sealed ? unseal(transitKey, Buffer.from(sealed, 'base64'), '') : null;
    return plain
      ? { status: 200, body: { data: { plaintext: plain.toString('base64') } } }
      : errors(400, 'invalid ciphertext: unable to decrypt');
  }

  const wrapper = (settings: Environment = {}, timeoutMs?: number) => {
    const config = readConfig({
      KEY_PROVIDER: 'vault-transit://transit/simbi',
      VAULT_ADDR: vault.url,
      VAULT_NAMESPACE: 'team',
      VAULT_TOKEN: 'hvs.first',
      ...settings,
    });
    return createTransitWrapper(config, config.keyProvider ?? assert.fail(), timeoutMs);
  };

  test('a key comes back as it was, and only its own text opens', async () => {
    const wrapped = await wrapper().wrap(dataKey);
    assert.match(wrapped.toString(), /^vault:v1:/);
    assert.deepEqual(await wrapper().unwrap(wrapped), dataKey);
    await assert.rejects(wrapper().unwrap(Buffer.from('vault:v1:AAAA')), refusal(/400 invalid ciphertext/, false));
  });

  test('a wrong token and a wrong mount are refusals with the words of Vault', async () => {
    await assert.rejects(wrapper({ VAULT_TOKEN: 'hvs.wrong' }).wrap(dataKey), refusal(/403 permission denied/, false));
    const elsewhere = wrapper({ KEY_PROVIDER: 'vault-transit://elsewhere/simbi' });
    await assert.rejects(elsewhere.wrap(dataKey), refusal(/404 no handler for route/, false));
  });

  test('a token that was renewed in its file is used at the next call', async () => {
    writeFileSync(tokenPath, 'hvs.first\n');
    const renewed = wrapper({ VAULT_TOKEN: '', VAULT_TOKEN_PATH: tokenPath });
    const wrapped = await renewed.wrap(dataKey);
    tokens.clear();
    tokens.add('hvs.second');
    await assert.rejects(renewed.unwrap(wrapped), refusal(/permission denied/, false));
    writeFileSync(tokenPath, 'hvs.second\n');
    assert.deepEqual(await renewed.unwrap(wrapped), dataKey);
    rmSync(tokenPath);
    await assert.rejects(renewed.unwrap(wrapped), refusal(/VAULT_TOKEN_PATH names a file that cannot be read/, false));
    tokens.add('hvs.first');
  });

  test('a sealed one, a slow one and one that is down are given up with a sentence', async () => {
    vault.mode = { status: 503, body: { errors: ['Vault is sealed'] }, times: 2 };
    await assert.rejects(wrapper().wrap(dataKey), refusal(/does not answer \(it answered 503\)/, true));
    vault.mode = 'silent';
    await assert.rejects(wrapper({}, 50).wrap(dataKey), refusal(/does not answer \(timed out\)/, true));
    vault.mode = 'work';
    const nobody = wrapper({ VAULT_ADDR: 'http://127.0.0.1:1' });
    await assert.rejects(
      nobody.wrap(dataKey),
      refusal(/^HashiCorp Vault at http:\/\/127\.0\.0\.1:1 does not answer/, true),
    );
  });
});
