// Where each table is once `simbi distribute` has spread the store over several servers (Citus). Distributed: by holder_id, all
// with the same holders on the same server, so that a payment is written on one. Local: on the coordinator only, because the table
// belongs to no holder, is found by something that is unique over all holders, or is small and changed by people. A table that is
// missing here makes a test fail.

/** By why they are together with the holder. */
const DISTRIBUTED: Record<string, readonly string[]> = {
  'a payment and what is due for it': [
    'transactions',
    'payment_jobs',
    'evidence',
    'operator_hints',
    'prepared_calls',
    'payer_steps',
    'verification_tokens',
    'transaction_notes',
    'transaction_retries',
    'receipt_texts',
  ],
  'refunds, payouts and their sums': [
    'refund_orders',
    'refund_totals',
    'payout_batches',
    'payout_orders',
    'float_waits',
    'limit_uses',
    'limit_parts',
  ],
  'the money of the holder': [
    'wallets',
    'ledger_accounts',
    'ledger_transfers',
    'ledger_positions',
    'ledger_sealed',
    'held_parts',
  ],
  'what people decide about payments': ['cases', 'decisions', 'disputes', 'dispute_evidence'],
  'the rules that a posting reads with the payment': ['reserve_rules'],
  'events and callbacks': [
    'event_feeds',
    'events',
    'callback_deliveries',
    'callback_attempts',
    'callback_receivers',
    'callback_pauses',
  ],
  'requests of the holder': ['idempotency_keys', 'request_log', 'unverified_requests'],
};

/** By why they stay on the coordinator. */
const LOCAL: Record<string, readonly string[]> = {
  'who may do what: small, in the memory of every process, and their triggers count changes and write the audit log': [
    'holders',
    'members',
    'memberships',
    'sessions',
    'login_links',
    'invitations',
    'integrations',
    'integration_secrets',
    'tokens',
    'sign_ups',
    'role_changes',
    'approval_rule_changes',
    'passkeys',
    'passkey_challenges',
    'recovery_codes',
    'known_browsers',
    'security_notices',
    'guesses',
    'mails',
  ],
  'the catalogue of the gateway: small, and their triggers count changes': [
    'connections',
    'routes',
    'connection_tokens',
    'fee_overrides',
    'payment_limits',
    'blocked_numbers',
    'refund_limits',
    'settlement_rules',
    'receipt_text_settings',
    'bank_accounts',
  ],
  'chains over many holders': [
    'audit_log',
    'audit_streams',
    'audit_chain',
    'ledger_blocks',
    'ledger_partition_blocks',
    'ledger_heads',
    'ledger_shipped',
    'ledger_lost_heads',
    'ledger_identity',
  ],
  'an operator knows no holder': [
    'operator_inbox',
    'rejected_callbacks',
    'payment_instructions',
    'incoming_payments',
    'operator_receipts',
    'quarantined_reports',
    'unmatched_reports',
    'operator_calls',
    'open_breakers',
    'operator_balances',
    'balance_reads',
    'number_limits',
  ],
  'found by a code or a signature that is unique over all holders': [
    'spent_signatures',
    'payment_links',
    'link_visits',
    'logos',
    'checkout_attempts',
    'receipts',
  ],
  'books with operators and banks': [
    'archived_months',
    'break_proposal_items',
    'break_proposals',
    'breaks',
    'close_items',
    'close_rules',
    'closes',
    'fee_bookings',
    'float_hours',
    'float_settings',
    'float_states',
    'monthly_statement_parts',
    'monthly_statements',
    'operator_settlements',
    'settlements',
    'statement_effects',
    'statement_fetches',
    'statement_file_parts',
    'statement_files',
    'statement_lines',
    'statement_mappings',
    'statement_matches',
    'statement_problems',
    'statement_withdrawals',
    'withdrawn_matches',
  ],
  'what the console remembers': [
    'daily_figures',
    'notification_choices',
    'notifications_sent',
    'saved_filters',
    'used_forms',
  ],
  'the gateway itself': [
    'applied_privileges',
    'change_count',
    'gateway_mode',
    'limit_buckets',
    'limit_refusals',
    'limit_sharers',
    'partition_rules',
    'restores',
    'schema_migrations',
    'vault_keys',
    'verify_runs',
  ],
  'the simulated operator': [
    'sandbox_announcements',
    'sandbox_mails',
    'sandbox_messages',
    'sandbox_payments',
    'sandbox_phones',
    'sandbox_refunds',
    'sandbox_unmatched_money',
  ],
};

/** The first one: the others are put beside it. */
export const FIRST_TABLE = 'transactions';

export type TableKind = 'distributed' | 'local';

export function readKinds(): Map<string, { kind: TableKind; why: string }> {
  const kinds = new Map<string, { kind: TableKind; why: string }>();
  const add = (kind: TableKind, lists: Record<string, readonly string[]>) => {
    for (const [why, names] of Object.entries(lists)) for (const name of names) kinds.set(name, { kind, why });
  };
  add('distributed', DISTRIBUTED);
  add('local', LOCAL);
  return kinds;
}

/**
 * Foreign keys from a distributed table to one that stays on the coordinator: Citus has none, so they are dropped. What they say is
 * still true: holders are never deleted, and rows for one are written after it was read.
 */
export const DROPPED_KEYS: readonly string[] = ['wallets_holder_id_fkey', 'reserve_rules_holder_id_fkey'];

/** What post_transfers does, where it runs with the rights of the service. */
export const POSTING_RIGHTS: Record<string, string> = {
  ledger_transfers: 'insert',
  ledger_positions: 'insert, update (position)',
  ledger_accounts: 'update (balance, updated_at)',
};
