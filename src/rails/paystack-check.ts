// `simbi rail test` for Paystack, and its balances.

import type { RailConnection } from './connection.ts';
import type { Exchange } from './exchange.ts';
import { readEnvelope } from './paystack-answers.ts';
import { type Amounts, METHODS } from './paystack-methods.ts';
import { bankCodeOf } from './paystack-transfers.ts';
import type { BalanceReply, ConnectionCheck } from './rail.ts';
import { currencyOf, objectsOf } from './reading.ts';

export function readPaystackBalances(amounts: Amounts, answer: Exchange): BalanceReply {
  const envelope = readEnvelope(answer);
  if (!answer.answered) return { error: answer.reason };
  if (!envelope?.isOk || !Array.isArray(envelope.data))
    return { error: envelope?.message || `the operator answered ${answer.status}` };
  const balances = objectsOf(envelope.data).flatMap((row) => {
    const currency = currencyOf(row.currency);
    const available = currency === null ? null : amounts.balanceFromWire(row.balance, currency);
    return currency === null || available === null ? [] : [{ account: 'balance', currency, available }];
  });
  return { balances };
}

export async function checkPaystack(
  connection: RailConnection,
  { get, mode, amounts }: { get: (path: string) => Promise<Exchange>; mode: 'live' | 'test'; amounts: Amounts },
): Promise<ConnectionCheck[]> {
  const answer = await get('/balance');
  return [
    { name: 'Secret key', problem: keyProblem(connection, mode, answer) },
    { name: 'Methods', problem: methodsProblem(connection, amounts) },
  ];
}

function keyProblem({ environment }: RailConnection, mode: 'live' | 'test', answer: Exchange): string | null {
  if ((environment === 'production') !== (mode === 'live'))
    return environment === 'production'
      ? 'A production connection needs a key that begins with sk_live_.'
      : 'Only a production connection may have a key that begins with sk_live_.';
  if (!answer.answered) return `Paystack cannot be reached: ${answer.reason}.`;
  const envelope = readEnvelope(answer);
  if (envelope?.isOk) return null;
  if (answer.status === 401) return 'Paystack refuses the secret key.';
  return `Paystack answered ${answer.status} ${envelope?.message ?? ''}`.trim();
}

/** What is not offered because a setting is missing. */
function methodsProblem({ methods, settings }: RailConnection, amounts: Amounts): string | null {
  const served = methods.filter((code) => METHODS[code]);
  const missing = [
    ...(served.includes('MPESA_TILL_KEN') && !settings.till_number ? ['MPESA_TILL_KEN needs till_number'] : []),
    ...(served.some((code) => code.endsWith('_CIV')) && !amounts.isKnown('XOF')
      ? ["Côte d'Ivoire needs xof_factor"]
      : []),
    ...served.flatMap((code) => {
      const recipient = METHODS[code]?.recipient;
      const isUnset = recipient && 'bankSetting' in recipient && bankCodeOf(code, settings) === null;
      return isUnset ? [`payouts of ${code} need ${recipient.bankSetting}`] : [];
    }),
  ];
  return missing.length === 0 ? null : `Not offered: ${missing.join('; ')}.`;
}
