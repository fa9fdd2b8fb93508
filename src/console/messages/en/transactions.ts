// English: transactions.

export const transactions = {
  transactions: {
    none: 'No transactions yet',
    noneText: 'They appear here when your application or a payer starts one. Try a test payment on the home page.',
    noMatch: 'No matching transactions',
    noMatchText: 'Remove a filter, or search further back.',
    filter: 'Filters',
    apply: 'Apply',
    clear: 'Clear',
    type: 'Type',
    minAmount: 'Minimum amount',
    maxAmount: 'Maximum amount',
    text: 'Receipt, payee, part of a number…',
    searchedBackTo: 'Searched back to',
    searchFurther: 'search further back',
    export: 'Export CSV',
    exporting: (rows: string) => `${rows} rows so far…`,
    exported: (rows: string) => `${rows} rows exported.`,
  },
};
