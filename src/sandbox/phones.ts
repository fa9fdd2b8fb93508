// The state of the test phones apart from their payments: on or off, the SMS received, and a version that grows with
// every change so that a page can wait for the next one.

import type { Reader, Tx } from '../platform/db.ts';

const MAX_TEXT_LENGTH = 640;

export type SmsMessage = { msisdn: string; sender: string; text: string };
export type StoredSms = { id: string; sender: string; text: string; at: Date };

export async function writeMessages(tx: Tx, now: Date, messages: SmsMessage[]): Promise<void> {
  if (messages.length === 0) return;
  await tx.query(
    `insert into sandbox_messages (msisdn, sender, text, created_at)
     select msisdn, sender, text, $2 from json_to_recordset($1) as given (msisdn text, sender text, text text)`,
    [JSON.stringify(messages.map((message) => ({ ...message, text: message.text.slice(0, MAX_TEXT_LENGTH) }))), now],
  );
}

/** Marks phones as changed, in sorted order so that two processes cannot deadlock. */
export async function touchPhones(tx: Tx, msisdns: string[]): Promise<void> {
  if (msisdns.length === 0) return;
  await tx.query(
    `insert into sandbox_phones (msisdn, version) select msisdn, 1 from unnest($1::text[]) as msisdn
     on conflict (msisdn) do update set version = sandbox_phones.version + 1`,
    [[...new Set(msisdns)].sort()],
  );
}

export async function switchPhone(tx: Tx, msisdn: string, isOn: boolean): Promise<void> {
  await tx.query(
    `insert into sandbox_phones (msisdn, is_on, version) values ($1, $2, 1)
     on conflict (msisdn) do update set is_on = $2, version = sandbox_phones.version + 1`,
    [msisdn, isOn],
  );
  // Switching off removes the prompt from the screen; it is not shown again.
  if (!isOn)
    await tx.query(
      `update sandbox_payments set handset = 'undelivered' where msisdn = $1 and handset = 'prompt' and status = 'pending'`,
      [msisdn],
    );
}

export async function readPhone(reader: Reader, msisdn: string): Promise<{ isOn: boolean; version: number }> {
  const rows = await reader.query<{ is_on: boolean; version: bigint }>(
    { name: 'sandbox_phone', text: 'select is_on, version from sandbox_phones where msisdn = $1' },
    [msisdn],
  );
  return { isOn: rows[0]?.is_on ?? true, version: Number(rows[0]?.version ?? 0n) };
}

export async function listMessages(reader: Reader, msisdn: string, limit: number): Promise<StoredSms[]> {
  const rows = await reader.query<{ id: bigint; sender: string; text: string; created_at: Date }>(
    'select id, sender, text, created_at from sandbox_messages where msisdn = $1 order by id desc limit $2',
    [msisdn, limit],
  );
  return rows.map((row) => ({ id: row.id.toString(), sender: row.sender, text: row.text, at: row.created_at }));
}
