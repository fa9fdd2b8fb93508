// A result of verification: one row that contradicts the rest of the ledger.

export type LedgerDifference = {
  readonly what: 'transfer' | 'balance' | 'block' | 'currency' | 'wallet' | 'account';
  /** The row: "transfer 12", "account wallet:7:XOF:available", "block 3", "XOF", "wallet 1001". */
  readonly where: string;
  readonly expected: string;
  readonly found: string;
  readonly sentence: string;
};

export type ReportDifference = (difference: LedgerDifference) => void;
