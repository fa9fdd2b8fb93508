// The chart: every account of the ledger, and the key it is stored under. balance = credits - debits.
//
//   wallet_available   per holder and currency   what the holder may pay out            never below zero
//   wallet_reserved    per holder and currency   held for payouts under way             never below zero
//   operator_clearing  per rail and currency     negative: the operator holds our money (collected, not settled)
//   fee_income         per currency              fees earned                            never below zero
//   suspense           per currency              money whose owner is not known; negative: money we are owed
//   sandbox_funding    per currency              where test money comes from

type WalletAccount = {
  readonly kind: 'wallet_available' | 'wallet_reserved';
  readonly holderId: bigint;
  readonly currency: string;
};
type ClearingAccount = { readonly kind: 'operator_clearing'; readonly rail: string; readonly currency: string };
type CommonAccount = {
  readonly kind: 'fee_income' | 'suspense' | 'sandbox_funding';
  readonly currency: string;
};

/** Names one account of the ledger. */
export type AccountRef = WalletAccount | ClearingAccount | CommonAccount;
export type AccountKind = AccountRef['kind'];

const MAY_GO_NEGATIVE: Record<AccountKind, boolean> = {
  wallet_available: false,
  wallet_reserved: false,
  operator_clearing: true,
  fee_income: false,
  suspense: true,
  sandbox_funding: true,
};

export function walletAvailable(holderId: bigint, currency: string): WalletAccount {
  return { kind: 'wallet_available', holderId, currency };
}

export function walletReserved(holderId: bigint, currency: string): WalletAccount {
  return { kind: 'wallet_reserved', holderId, currency };
}

export function operatorClearing(rail: string, currency: string): ClearingAccount {
  return { kind: 'operator_clearing', rail, currency };
}

export function feeIncome(currency: string): CommonAccount {
  return { kind: 'fee_income', currency };
}

export function suspense(currency: string): CommonAccount {
  return { kind: 'suspense', currency };
}

export function sandboxFunding(currency: string): CommonAccount {
  return { kind: 'sandbox_funding', currency };
}

/** The text an account is found by: `wallet:7:XOF:available`, `clearing:sandbox:XOF`, `fees:XOF`. */
export function accountKey(account: AccountRef): string {
  switch (account.kind) {
    case 'wallet_available':
      return `wallet:${account.holderId}:${account.currency}:available`;
    case 'wallet_reserved':
      return `wallet:${account.holderId}:${account.currency}:reserved`;
    case 'operator_clearing':
      if (account.rail === '' || account.rail.includes(':')) throw new Error(`not a rail's name: "${account.rail}"`);
      return `clearing:${account.rail}:${account.currency}`;
    case 'fee_income':
      return `fees:${account.currency}`;
    case 'suspense':
      return `suspense:${account.currency}`;
    case 'sandbox_funding':
      return `sandbox:${account.currency}`;
  }
}

export function mayGoNegative(account: AccountRef): boolean {
  return MAY_GO_NEGATIVE[account.kind];
}

/** The account's wallet, when it is one of a wallet's two sides. */
export function walletOf(account: AccountRef): { holderId: bigint; currency: string } | null {
  return 'holderId' in account ? { holderId: account.holderId, currency: account.currency } : null;
}
