// What `simbi rail test` finds out about a connection to Daraja. It also registers the addresses for payments to a till or pay
// bill: without that M-PESA takes such payments and tells nobody.

import { forbiddenWordIn } from './daraja-addresses.ts';
import { readDarajaError } from './daraja-codes.ts';
import { registerPull } from './daraja-pull.ts';
import type { DarajaSession } from './daraja-session.ts';
import type { Exchange } from './exchange.ts';
import type { ConnectionCheck } from './rail.ts';
import { field, readJson, textOf } from './reading.ts';

/** No prompt has this id. The operator checks short code and passkey before it looks for it. */
const NO_PROMPT = 'ws_CO_01012020000000000000000000';

/** `prompts`: the code of the method by prompt. `numbers`: the till and pay bill whose payments are confirmed to us. `pulled`: all. */
export type DarajaCheckOptions = { prompts: string; numbers: readonly string[]; pulled: readonly string[] };

export async function checkDaraja(
  session: DarajaSession,
  { prompts, numbers, pulled }: DarajaCheckOptions,
): Promise<ConnectionCheck[]> {
  const checks: ConnectionCheck[] = [{ name: 'Address of this gateway', problem: addressProblem(session) }];
  const tokenProblem = await session.tokenProblem();
  checks.push({ name: 'Access token', problem: tokenProblem });
  const { initiator, payoutShortcode, pullNumber } = session.account;
  const usesPrompts = session.connection.methods.includes(prompts);
  if (tokenProblem === null) {
    if (usesPrompts) checks.push({ name: 'Short code and passkey', problem: await passkeyProblem(session) });
    for (const number of numbers)
      checks.push({ name: `Confirmations for ${number}`, problem: await register(session, number) });
    if (pullNumber !== null)
      for (const number of pulled)
        checks.push({ name: `List of payments to ${number}`, problem: await registerPull(session, number) });
  }
  if (initiator !== null || payoutShortcode !== null)
    checks.push({ name: 'Initiator and certificate', problem: initiatorProblem(session) });
  checks.push({ name: 'Addresses of Safaricom', problem: rangesProblem(session) });
  return checks;
}

/** Nothing is signed: the secret in an address of ours is then all that protects it. */
function rangesProblem({ account }: DarajaSession): string | null {
  if (!account.allowsAll) return null;
  return "callback_ranges is empty, so messages from any address are believed. Enter Safaricom's addresses.";
}

function addressProblem({ connection }: DarajaSession): string | null {
  const { publicUrl, environment } = connection;
  const word = forbiddenWordIn(publicUrl);
  if (word !== null) return `PUBLIC_URL contains "${word}", and Safaricom refuses addresses with that word.`;
  const isHttps = publicUrl.startsWith('https://');
  return isHttps || environment === 'simulator' ? null : 'PUBLIC_URL is not https, and Safaricom calls only https.';
}

async function passkeyProblem(session: DarajaSession): Promise<string | null> {
  const { account } = session;
  if (account.passkey === null) return 'There is no passkey, so this connection sends no prompts.';
  if (account.promptsToTill && account.till === null) return 'Prompts collect to a till, but there is no till number.';
  const { answer } = await session.post('/mpesa/stkpushquery/v1/query', {
    BusinessShortCode: account.shortcode,
    ...session.password(),
    CheckoutRequestID: NO_PROMPT,
  });
  const error = readDarajaError(answer);
  const isRefused = error !== null && /merchant does not exist|wrong credentials|apiproduct/i.test(error.message);
  if (isRefused) return `Safaricom refuses the short code or the passkey: ${said(session, answer)}.`;
  return answer.answered ? null : `Safaricom did not answer: ${answer.reason}.`;
}

/** Registers once; what is registered already can only be removed on Safaricom's portal. */
async function register(session: DarajaSession, number: string): Promise<string | null> {
  const { answer } = await session.post('/mpesa/c2b/v2/registerurl', {
    ShortCode: number,
    ResponseType: session.account.unansweredValidation,
    ConfirmationURL: session.addresses.url('confirmation', null),
    ValidationURL: session.addresses.url('validation', null),
  });
  const isAccepted =
    answer.answered && answer.status === 200 && textOf(field(readJson(answer.body), 'ResponseCode')) === '0';
  if (isAccepted || /already registered/i.test(readDarajaError(answer)?.message ?? '')) return null;
  return `Safaricom did not register the addresses: ${said(session, answer)}.`;
}

function initiatorProblem(session: DarajaSession): string | null {
  if (session.account.initiator === null)
    return 'Payouts need initiator_name, initiator_password and certificate. So do refunds and balances.';
  return session.credential() === null
    ? 'The certificate is not a certificate of an RSA key, so the password cannot be encrypted.'
    : null;
}

/** The operator's own sentence, without secrets. */
function said({ scrub }: DarajaSession, answer: Exchange): string {
  if (!answer.answered) return answer.reason;
  const error = readDarajaError(answer);
  const sentence = error === null ? '' : `${error.code} ${error.message}`.trim();
  return sentence === '' ? `it answered ${answer.status}` : scrub(sentence).replace(/\.$/, '');
}
