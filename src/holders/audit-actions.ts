// The names of everything that the audit log records, in groups that people filter by. The console has a sentence for each: a
// name that is missing here, or a sentence that is missing there, does not compile.

export const AUDIT_ACTIONS = {
  money: [
    'payout.created',
    'payout.approved',
    'payout.cancelled',
    'payout_file.created',
    'payout_file.approved',
    'payout_file.cancelled',
    'refund.created',
    'refund.approved',
    'refund.cancelled',
    'transaction.retried',
    'transaction.note_added',
    'receipt.mailed',
    'wallet.topped_up',
    'payment_link.created',
    'payment_link.changed',
    'payment_link.disabled',
    'case.resolved',
    'dispute.opened',
    'dispute.evidence_added',
    'decision.proposed',
    'decision.approved',
    'decision.rejected',
    'decision.overtaken',
  ],
  developers: [
    'integration.created',
    'integration.changed',
    'integration.revoked',
    'integration.api_secret_rotated',
    'integration.callback_secret_rotated',
    'integration.key_added',
    'integration.key_revoked',
    'token.revoked',
    'callback.resent',
    'callback.replayed',
    'callback.resumed',
  ],
  people: [
    'member.added',
    'member.invited',
    'member.invitation_withdrawn',
    'member.role_changed',
    'member.removed',
    'role_change.requested',
    'role_change.withdrawn',
    'admin.invited',
    'admin.added',
    'admin.removed',
  ],
  security: [
    'member.signed_in',
    'member.sign_in_failed',
    'member.email_proven',
    'member.password_set',
    'member.second_factor_on',
    'member.second_factor_off',
    'member.passkey_added',
    'member.passkey_removed',
    'member.recovery_codes_created',
    'member.recovery_code_used',
    'member.sessions_ended',
    'member.credentials_reset',
    'member.disowned',
  ],
  settings: [
    'holder.created',
    'holder.renamed',
    'holder.time_zone',
    'holder.active',
    'holder.suspended',
    'holder.closed',
    'holder.viewed',
    'receipt.texts_on',
    'receipt.texts_off',
    'holder.payout_approval',
    'holder.refund_limit',
    'rule_change.requested',
    'rule_change.confirmed',
    'rule_change.withdrawn',
    'fee.changed',
    'reserve.changed',
    'limit.set',
    'limit.removed',
    'number.blocked',
    'number.unblocked',
  ],
  gateway: [
    'connection.created',
    'connection.changed',
    'connection.paused',
    'connection.resumed',
    'connection.removed',
    'route.set',
    'route.added',
    'limit.released',
    'keys.rotated',
    'keys.master_rotated',
    'keys.retired',
    'gateway.restored',
  ],
} as const;

export type AuditKind = keyof typeof AUDIT_ACTIONS;
export type AuditAction = (typeof AUDIT_ACTIONS)[AuditKind][number];

export const AUDIT_KINDS = Object.keys(AUDIT_ACTIONS) as AuditKind[];

const NAMES: ReadonlySet<string> = new Set(Object.values(AUDIT_ACTIONS).flat());

/** False for a name of a version that is newer or much older than this one. */
export function isAuditAction(name: string): name is AuditAction {
  return NAMES.has(name);
}
