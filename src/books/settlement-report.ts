// What a settlement is made of: the wallet when the one before it was taken, everything that moved it since then, and what is left. It
// comes from the transfers of the ledger and is compared with its balances, like every statement. And the file of transfers that a
// bank's portal takes.

import { openWalletHistory } from '../ledger/wallet-history.ts';
import type { Context } from '../platform/context.ts';
import { type CsvRow, writeCsv } from '../platform/csv.ts';
import { Problem } from '../platform/errors.ts';
import { formatAmount } from '../platform/money.ts';
import { STATEMENT_TEXTS, type StatementLanguage } from './merchant-statement-texts.ts';
import { checkLines, type WalletTotal } from './merchant-statements.ts';
import { type Settlement, settlementRef } from './settlement-rows.ts';
import { describeDestination } from './settlement-rules.ts';

type ReportTexts = { settlement: string; to: string; taken: string; amount: string; owed: string };

const TEXTS: Readonly<Record<StatementLanguage, ReportTexts>> = {
  en: { settlement: 'Settlement', to: 'To', taken: 'Taken at', amount: 'Amount', owed: 'Kept for what you owe' },
  fr: {
    settlement: 'Versement',
    to: 'Vers',
    taken: 'Pris le',
    amount: 'Montant',
    owed: 'Gardé pour ce que vous devez',
  },
  pt: { settlement: 'Liquidação', to: 'Para', taken: 'Retirada em', amount: 'Montante', owed: 'Retido pelo que deve' },
  sw: {
    settlement: 'Malipo',
    to: 'Kwenda',
    taken: 'Yalichukuliwa',
    amount: 'Kiasi',
    owed: 'Kilichobaki kwa deni lako',
  },
};

export type SettlementReport = {
  settlement: Settlement;
  opening: bigint;
  /** By kind; the settlement itself is among them. Opening and the sum of their net is closing. */
  totals: readonly WalletTotal[];
  closing: bigint;
  /** How much of the closing balance is reserved for payouts and refunds. */
  reserved: bigint;
};

/** Transfers of one millisecond with the one before belong to that one, so that each is in one report. */
const after = (moment: Date) => new Date(moment.getTime() + 1);

export async function reportSettlement(ctx: Context, settlement: Settlement): Promise<SettlementReport> {
  const { holder_id: holderId, currency, since, taken_at: takenAt } = settlement;
  const span = { from: after(since), to: after(takenAt) };
  const history = await openWalletHistory(ctx.db, holderId, currency, span);
  if (!history) throw new Problem('not_found', { message: 'There is no such wallet.' });
  const { totals } = await checkLines(ctx, history, { holder: holderId, settlement: settlementRef(settlement) });
  const { opening, closing, reserved } = history;
  return { settlement, opening, totals, closing, reserved: reserved.closing };
}

/** The report as a file. */
export function writeReport({ settlement, ...report }: SettlementReport, language: StatementLanguage): string {
  const [texts, common] = [TEXTS[language], STATEMENT_TEXTS[language]];
  const { currency, amount, owed, destination, taken_at: takenAt } = settlement;
  const row = (label: string, net: bigint): CsvRow => [label, '', '', '', formatAmount(net)];
  return writeCsv([
    [texts.settlement, settlementRef(settlement), '', '', ''],
    [texts.to, describeDestination(destination), '', '', ''],
    [texts.taken, takenAt.toISOString(), '', '', ''],
    [texts.amount, currency, '', '', formatAmount(amount)],
    [common.what, common.count, common.gross, common.fee, common.net],
    row(common.opening, report.opening),
    ...report.totals.map(
      ({ kind, count, gross, fee, net }): CsvRow => [
        common.kinds[kind],
        count,
        formatAmount(gross),
        formatAmount(fee),
        formatAmount(net),
      ],
    ),
    row(common.closing, report.closing),
    row(common.reserved, report.reserved),
    row(texts.owed, owed),
  ]);
}

/** One line for each transfer that a person enters at the bank, with our reference: the bank's statement brings it back. */
export function writeBatch(settlements: readonly Settlement[]): string {
  const rows = settlements.flatMap((each): CsvRow[] => {
    const { destination, amount, currency } = each;
    if (destination.kind !== 'bank') return [];
    const { name, bank, branch, account } = destination;
    return [[name, bank, branch, account, formatAmount(amount), currency, settlementRef(each)]];
  });
  return writeCsv([['beneficiary', 'bank', 'branch', 'account', 'amount', 'currency', 'reference'], ...rows]);
}
