// What an answer to `sendPayerText` says.

import type { PayerTextReply } from './rail.ts';

/** Only a refusal (4xx) is sure to have sent nothing: an operator that breaks may have handed the text over before. */
export function textStateOf(status: number): PayerTextReply['state'] {
  if (status >= 200 && status < 300) return 'sent';
  return status >= 400 && status < 500 ? 'refused' : 'unknown';
}
