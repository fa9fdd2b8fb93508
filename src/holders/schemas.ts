// The schemas of the signed envelope and of the two operations about credentials. The examples are signed with the secret
// of an integration that exists nowhere, so a reader can check a signature by hand.

import Type, { type TSchema } from 'typebox';
import { answerOf, moment, nullable, type ProblemMessages } from '../platform/api-schemas.ts';
import type { JsonObject } from '../platform/strict-json.ts';
import { ENVELOPE_MEMBERS, type OperationMessages, signatureOf } from './envelope.ts';

const MAX_CREDENTIAL_CHARACTERS = 256;

/** The integration of the examples. */
export const EXAMPLE_INTEGRATION = {
  clientId: 'client_0123456789abcdefghjkmnpq',
  sender: 'Demo shop',
  secretKey: 'sk_example_of_a_secret_that_opens_nothing',
} as const;

const EXAMPLE_UNSIGNED = {
  client_id: EXAMPLE_INTEGRATION.clientId,
  sender: EXAMPLE_INTEGRATION.sender,
  timestamp: 1_772_442_000,
  salt: '5f0c2a9be1d84c37',
};

/** A complete body with these params, signed by the integration of the examples. */
export function exampleEnvelope(params: JsonObject): JsonObject {
  const body: JsonObject = { ...EXAMPLE_UNSIGNED, params };
  return { ...body, signature: signatureOf(EXAMPLE_INTEGRATION.secretKey, body) };
}

/** The wrapper of every signed operation. Members we do not know are signed too. */
export function envelopeSchema<T extends TSchema>(params: T, example: JsonObject) {
  return Type.Object({ ...ENVELOPE_MEMBERS, params }, { examples: [exampleEnvelope(example)] });
}

/** Of the two operations that create something. */
export const IdempotencyHeaders = Type.Object({
  'Idempotency-Key': Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 128,
      pattern: '^[!-~](?:[ -~]*[!-~])?$',
      description:
        '1 to 128 ASCII characters. The same key with the same params answers as the first request did, for 24 hours, ' +
        'with Idempotent-Replayed: true.',
    }),
  ),
});

/** The messages of a signed operation for the refusals that come before its own, in the order of the checks. */
export function envelopeErrors(messages: OperationMessages): ProblemMessages {
  return {
    invalid_envelope: { message: messages.badParams },
    integration_not_found: { message: messages.integrationNotFound },
    client_mismatch: { message: messages.clientMismatch },
    address_not_allowed: { message: messages.notVerified },
    timestamp_out_of_range: { message: messages.notVerified },
    signature_mismatch: { message: messages.notVerified },
    signature_reused: { message: messages.notVerified },
    account_not_found: { message: messages.accountClosed },
    account_suspended: { message: messages.accountSuspended },
  };
}

export const TokenRequest = Type.Object(
  {
    client_id: Type.String({
      minLength: 1,
      maxLength: MAX_CREDENTIAL_CHARACTERS,
      description: 'Public identifier of the API integration.',
    }),
    secret_key: Type.String({
      minLength: 1,
      maxLength: MAX_CREDENTIAL_CHARACTERS,
      description: 'Secret of the API integration.',
    }),
  },
  { examples: [{ client_id: EXAMPLE_INTEGRATION.clientId, secret_key: EXAMPLE_INTEGRATION.secretKey }] },
);

export const TokenAnswer = answerOf(
  Type.Object({
    token: Type.String({
      pattern: '^\\d+\\|[A-Za-z0-9_-]{40,128}$',
      description: 'Numeric id, a bar and a secret. Send it as `Authorization: Bearer <token>`.',
    }),
    token_type: Type.Literal('Bearer'),
    expires_at: moment('When the token stops working.'),
  }),
  'Credentials verified.',
  {
    token: '17|hV3mXq0Zc8nRk2tLw5yBd9fGj4sPa7uEo1iT6xCvMbNz',
    token_type: 'Bearer',
    expires_at: '2026-03-03T09:00:00.000000Z',
  },
);

const EXAMPLE_PARAMS: JsonObject = { id: 'TX_01JNAFQ7M0E9SRC45Y6Z8XKBDT', type: 'payin' };
const { signature: EXAMPLE_SIGNATURE, ...EXAMPLE_TO_SIGN } = exampleEnvelope(EXAMPLE_PARAMS);

export const SignatureRequest = Type.Object(
  {
    client_id: Type.String({ description: 'Must be the client_id of the token.' }),
    sender: Type.String({ description: 'Must be the title of the integration.' }),
    timestamp: Type.Optional(nullable(ENVELOPE_MEMBERS.timestamp, 'Unix seconds; filled in when left out.')),
    salt: Type.Optional(nullable(ENVELOPE_MEMBERS.salt, 'Filled in when left out.')),
    params: Type.Object({}, { additionalProperties: true, description: 'What the operation takes.' }),
  },
  { examples: [EXAMPLE_TO_SIGN] },
);

export const SignatureAnswer = answerOf(
  Type.Object({
    signature: Type.String({ pattern: '^[0-9a-f]{64}$' }),
    timestamp: Type.Integer(),
    salt: Type.String(),
    envelope: Type.Object({}, { additionalProperties: true, description: 'The complete body to send.' }),
  }),
  'Signature generated.',
  {
    signature: EXAMPLE_SIGNATURE,
    timestamp: EXAMPLE_UNSIGNED.timestamp,
    salt: EXAMPLE_UNSIGNED.salt,
    envelope: exampleEnvelope(EXAMPLE_PARAMS),
  },
);
