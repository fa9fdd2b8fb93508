// The chart: every account of the ledger, and the key it is stored under. balance = credits - debits.
//
//   wallet_available   what the holder may pay out            never below zero
//   wallet_reserved    for payouts and refunds in progress    never below zero
//   wallet_held        the rolling reserve                    never below zero
//   wallet_disputed    held for open disputes                 never below zero
//   settlement_payable on its way to the holder's own bank     never below zero
//   operator_clearing  per rail; negative: the operator holds our money (collected, not settled)
//   bank               per account of ours at a bank; negative: the bank holds our money
//   fee_income         fees earned from the holder            never below zero
//   suspense           money whose owner is not known         never below zero
//   holder_receivable  what the holder owes us, as a negative balance; never above zero
//   dispute_shortfall  what the wallet lacked for an open dispute, as a negative balance; never above zero
//   write_offs         debts of the holder that were given up; negative: our loss
//   operator_fees      what operators charged us, as a negative balance; of the gateway itself
//   sandbox_funding    where test money comes from
//
// Each exists per holder and currency, so that a posting locks accounts of its own holder only; reports add up what
// belongs together. Money of no known holder is posted to the accounts of holder 0, the gateway itself.

type WalletAccount = {
  readonly kind: 'wallet_available' | 'wallet_reserved' | 'wallet_held' | 'wallet_disputed';
  readonly holderId: bigint;
  readonly currency: string;
};
type ClearingAccount = {
  readonly kind: 'operator_clearing';
  readonly holderId: bigint;
  readonly rail: string;
  readonly currency: string;
};
type BankAccountRef = {
  readonly kind: 'bank';
  readonly holderId: bigint;
  /** As its statements name it: `bank.equity`. */
  readonly rail: string;
  readonly currency: string;
};
type InternalAccountRef = {
  readonly kind:
    | 'settlement_payable'
    | 'fee_income'
    | 'suspense'
    | 'holder_receivable'
    | 'dispute_shortfall'
    | 'write_offs'
    | 'operator_fees'
    | 'sandbox_funding';
  readonly holderId: bigint;
  readonly currency: string;
};

/** Names one account of the ledger. */
export type AccountRef = WalletAccount | ClearingAccount | BankAccountRef | InternalAccountRef;
export type AccountKind = AccountRef['kind'];

const MAY_GO_NEGATIVE: Record<AccountKind, boolean> = {
  wallet_available: false,
  wallet_reserved: false,
  wallet_held: false,
  wallet_disputed: false,
  settlement_payable: false,
  operator_clearing: true,
  bank: true,
  fee_income: false,
  suspense: false,
  holder_receivable: true,
  dispute_shortfall: true,
  write_offs: true,
  operator_fees: true,
  sandbox_funding: true,
};

export function walletAvailable(holderId: bigint, currency: string): WalletAccount {
  return { kind: 'wallet_available', holderId, currency };
}

export function walletReserved(holderId: bigint, currency: string): WalletAccount {
  return { kind: 'wallet_reserved', holderId, currency };
}

export function walletHeld(holderId: bigint, currency: string): WalletAccount {
  return { kind: 'wallet_held', holderId, currency };
}

export function walletDisputed(holderId: bigint, currency: string): WalletAccount {
  return { kind: 'wallet_disputed', holderId, currency };
}

export function operatorClearing(holderId: bigint, rail: string, currency: string): ClearingAccount {
  if (rail === '' || rail.includes(':')) throw new Error(`not the name of a rail: "${rail}"`);
  return { kind: 'operator_clearing', holderId, rail, currency };
}

const BANK_PREFIX = 'bank.';

/** The name that statements, days and the ledger have for an account of ours at a bank. No connection has a dot in its name. */
export function bankPlace(name: string): string {
  return `${BANK_PREFIX}${name}`;
}

export function isBankPlace(place: string): boolean {
  return place.startsWith(BANK_PREFIX);
}

export function bank(holderId: bigint, rail: string, currency: string): BankAccountRef {
  if (!isBankPlace(rail) || rail.includes(':')) throw new Error(`not the name of a bank account: "${rail}"`);
  return { kind: 'bank', holderId, rail, currency };
}

/** Where money of ours is that others hold: at an operator, or at a bank. */
export function heldAt(holderId: bigint, place: string, currency: string): ClearingAccount | BankAccountRef {
  return isBankPlace(place) ? bank(holderId, place, currency) : operatorClearing(holderId, place, currency);
}

export function settlementPayable(holderId: bigint, currency: string): InternalAccountRef {
  return { kind: 'settlement_payable', holderId, currency };
}

export function feeIncome(holderId: bigint, currency: string): InternalAccountRef {
  return { kind: 'fee_income', holderId, currency };
}

export function suspense(holderId: bigint, currency: string): InternalAccountRef {
  return { kind: 'suspense', holderId, currency };
}

export function holderReceivable(holderId: bigint, currency: string): InternalAccountRef {
  return { kind: 'holder_receivable', holderId, currency };
}

export function disputeShortfall(holderId: bigint, currency: string): InternalAccountRef {
  return { kind: 'dispute_shortfall', holderId, currency };
}

export function writeOffs(holderId: bigint, currency: string): InternalAccountRef {
  return { kind: 'write_offs', holderId, currency };
}

export function operatorFees(holderId: bigint, currency: string): InternalAccountRef {
  return { kind: 'operator_fees', holderId, currency };
}

export function sandboxFunding(holderId: bigint, currency: string): InternalAccountRef {
  return { kind: 'sandbox_funding', holderId, currency };
}

/** The text an account is found by: `wallet:7:XOF:available`, `clearing:7:sandbox:XOF`, `fees:7:XOF`. */
export function accountKey(account: AccountRef): string {
  const { holderId, currency } = account;
  switch (account.kind) {
    case 'wallet_available':
      return `wallet:${holderId}:${currency}:available`;
    case 'wallet_reserved':
      return `wallet:${holderId}:${currency}:reserved`;
    case 'wallet_held':
      return `wallet:${holderId}:${currency}:held`;
    case 'wallet_disputed':
      return `wallet:${holderId}:${currency}:disputed`;
    case 'settlement_payable':
      return `settlement:${holderId}:${currency}`;
    case 'bank':
      return `bank:${holderId}:${account.rail}:${currency}`;
    case 'operator_clearing':
      return `clearing:${holderId}:${account.rail}:${currency}`;
    case 'fee_income':
      return `fees:${holderId}:${currency}`;
    case 'suspense':
      return `suspense:${holderId}:${currency}`;
    case 'holder_receivable':
      return `receivable:${holderId}:${currency}`;
    case 'dispute_shortfall':
      return `dispute-shortfall:${holderId}:${currency}`;
    case 'write_offs':
      return `write-offs:${holderId}:${currency}`;
    case 'operator_fees':
      return `operator-fees:${holderId}:${currency}`;
    case 'sandbox_funding':
      return `sandbox:${holderId}:${currency}`;
  }
}

/** The account that a stored row is, so that its key can be compared with what it should be. */
export function storedAccount(row: {
  kind: AccountKind;
  holder_id: bigint;
  currency: string;
  rail: string | null;
}): AccountRef {
  const { kind, holder_id: holderId, currency, rail } = row;
  return { kind, holderId, currency, ...(rail === null ? {} : { rail }) } as AccountRef;
}

export function mayGoNegative(account: AccountRef): boolean {
  return MAY_GO_NEGATIVE[account.kind];
}

/** True for the sides of a wallet. */
export function isWallet(account: AccountRef): boolean {
  return account.kind.startsWith('wallet_');
}

/**
 * What depends on a wallet: debts, the rolling reserve and what disputes lack. Few holders have them; they are locked after their
 * wallet, so that any posting to a wallet may take from them or pay into them.
 */
export function isBesideWallet({ kind }: AccountRef): boolean {
  return kind === 'holder_receivable' || kind === 'wallet_held' || kind === 'dispute_shortfall';
}

/** All of them, of the holder's wallet in this currency. */
export function besideWallet({ holderId, currency }: AccountRef): AccountRef[] {
  return [holderReceivable(holderId, currency), walletHeld(holderId, currency), disputeShortfall(holderId, currency)];
}
