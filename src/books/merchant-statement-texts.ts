// What a statement says, in the languages of the console.

import type { WalletLineKind } from './merchant-statements.ts';

export const STATEMENT_LANGUAGES = ['en', 'fr', 'pt', 'sw'] as const;
export type StatementLanguage = (typeof STATEMENT_LANGUAGES)[number];

type StatementTexts = {
  /** Between whole amounts and decimals, as the pages of this language print it. */
  decimalMark: '.' | ',';
  statement: string;
  totals: string;
  wallet: string;
  period: string;
  days: string;
  made: string;
  opening: string;
  closing: string;
  reserved: string;
  date: string;
  reference: string;
  ownReference: string;
  details: string;
  what: string;
  count: string;
  gross: string;
  fee: string;
  net: string;
  balance: string;
  total: string;
  page: (page: number, pages: number) => string;
  kinds: Record<WalletLineKind, string>;
};

const en: StatementTexts = {
  decimalMark: '.',
  statement: 'Statement',
  totals: 'Totals',
  wallet: 'Wallet',
  period: 'Period',
  days: 'Days in the time zone',
  made: 'Made',
  opening: 'Opening balance',
  closing: 'Closing balance',
  reserved: 'of which reserved for payouts and refunds',
  date: 'Date',
  reference: 'Reference',
  ownReference: 'Your reference',
  details: 'Details',
  what: 'What',
  count: 'Count',
  gross: 'Gross',
  fee: 'Fee',
  net: 'Net',
  balance: 'Balance',
  total: 'Total',
  page: (page, pages) => `Page ${page} of ${pages}`,
  kinds: {
    collection: 'Collection',
    collection_reversal: 'Collection reversed',
    refund: 'Refund',
    payout: 'Payout',
    payout_reversal: 'Payout reversed',
    settlement: 'Settlement',
    settlement_return: 'Settlement returned',
    credit: 'Credited after review',
    credit_reversal: 'Taken back by the operator',
    debt: 'Debt',
    debt_recovery: 'Debt recovered',
    reserve_hold: 'Held back',
    reserve_release: 'Held money released',
    reserve_use: 'Held money used',
    dispute_hold: 'Held for a dispute',
    dispute_won: 'Dispute won',
    dispute_lost: 'Dispute lost',
    top_up: 'Test money',
    other: 'Other',
  },
};

const fr: StatementTexts = {
  decimalMark: ',',
  statement: 'Relevé',
  totals: 'Totaux',
  wallet: 'Portefeuille',
  period: 'Période',
  days: 'Jours dans le fuseau horaire',
  made: 'Établi le',
  opening: 'Solde initial',
  closing: 'Solde final',
  reserved: 'dont réservé aux virements et remboursements',
  date: 'Date',
  reference: 'Référence',
  ownReference: 'Votre référence',
  details: 'Détails',
  what: 'Opération',
  count: 'Nombre',
  gross: 'Brut',
  fee: 'Frais',
  net: 'Net',
  balance: 'Solde',
  total: 'Total',
  page: (page, pages) => `Page ${page} sur ${pages}`,
  kinds: {
    collection: 'Encaissement',
    collection_reversal: 'Encaissement annulé',
    refund: 'Remboursement',
    payout: 'Virement',
    payout_reversal: 'Virement annulé',
    settlement: 'Versement',
    settlement_return: 'Versement rendu',
    credit: 'Crédité après vérification',
    credit_reversal: 'Repris par l’opérateur',
    debt: 'Dette',
    debt_recovery: 'Dette remboursée',
    reserve_hold: 'Retenu',
    reserve_release: 'Argent retenu libéré',
    reserve_use: 'Argent retenu utilisé',
    dispute_hold: 'Retenu pour un litige',
    dispute_won: 'Litige gagné',
    dispute_lost: 'Litige perdu',
    top_up: 'Argent de test',
    other: 'Autre',
  },
};

const pt: StatementTexts = {
  decimalMark: ',',
  statement: 'Extrato',
  totals: 'Totais',
  wallet: 'Carteira',
  period: 'Período',
  days: 'Dias no fuso horário',
  made: 'Emitido em',
  opening: 'Saldo inicial',
  closing: 'Saldo final',
  reserved: 'dos quais reservado para envios e reembolsos',
  date: 'Data',
  reference: 'Referência',
  ownReference: 'A sua referência',
  details: 'Detalhes',
  what: 'Movimento',
  count: 'Quantidade',
  gross: 'Bruto',
  fee: 'Comissão',
  net: 'Líquido',
  balance: 'Saldo',
  total: 'Total',
  page: (page, pages) => `Página ${page} de ${pages}`,
  kinds: {
    collection: 'Recebimento',
    collection_reversal: 'Recebimento estornado',
    refund: 'Reembolso',
    payout: 'Envio',
    payout_reversal: 'Envio estornado',
    settlement: 'Liquidação',
    settlement_return: 'Liquidação devolvida',
    credit: 'Creditado após análise',
    credit_reversal: 'Retirado pela operadora',
    debt: 'Dívida',
    debt_recovery: 'Dívida recuperada',
    reserve_hold: 'Retido',
    reserve_release: 'Dinheiro retido libertado',
    reserve_use: 'Dinheiro retido usado',
    dispute_hold: 'Retido por uma disputa',
    dispute_won: 'Disputa ganha',
    dispute_lost: 'Disputa perdida',
    top_up: 'Dinheiro de teste',
    other: 'Outro',
  },
};

const sw: StatementTexts = {
  decimalMark: '.',
  statement: 'Taarifa ya akaunti',
  totals: 'Jumla kwa aina',
  wallet: 'Pochi',
  period: 'Kipindi',
  days: 'Siku kwa saa za eneo',
  made: 'Imetolewa',
  opening: 'Salio la mwanzo',
  closing: 'Salio la mwisho',
  reserved: 'kati yake zilizotengwa kutumwa au kurudishwa',
  date: 'Tarehe',
  reference: 'Kumbukumbu',
  ownReference: 'Kumbukumbu yako',
  details: 'Maelezo',
  what: 'Aina',
  count: 'Idadi',
  gross: 'Kabla ya ada',
  fee: 'Ada',
  net: 'Baada ya ada',
  balance: 'Salio',
  total: 'Jumla',
  page: (page, pages) => `Ukurasa ${page} kati ya ${pages}`,
  kinds: {
    collection: 'Malipo yaliyopokelewa',
    collection_reversal: 'Malipo yaliyobatilishwa',
    refund: 'Pesa zilizorudishwa',
    payout: 'Pesa zilizotumwa',
    payout_reversal: 'Zilizotumwa zikarudi',
    settlement: 'Malipo ya akaunti',
    settlement_return: 'Malipo ya akaunti yamerudi',
    credit: 'Zilizoingizwa baada ya ukaguzi',
    credit_reversal: 'Zilizochukuliwa na mtandao',
    debt: 'Deni',
    debt_recovery: 'Deni lililolipwa',
    reserve_hold: 'Zilizozuiliwa',
    reserve_release: 'Zilizozuiliwa zikaachiliwa',
    reserve_use: 'Zilizozuiliwa zikatumika',
    dispute_hold: 'Zilizozuiliwa kwa mzozo',
    dispute_won: 'Umeshinda mzozo',
    dispute_lost: 'Umeshindwa katika mzozo',
    top_up: 'Pesa za majaribio',
    other: 'Nyingine',
  },
};

export const STATEMENT_TEXTS: Readonly<Record<StatementLanguage, StatementTexts>> = { en, fr, pt, sw };
