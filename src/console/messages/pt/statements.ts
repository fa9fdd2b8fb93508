// Portuguese: statements of operators.

import type { ConsoleMessages } from '../en.ts';

export const statements: Pick<ConsoleMessages, 'statements'> = {
  statements: {
    title: 'Extratos',
    lead: 'O que a operadora diz desta conta. Cada linha conta uma vez, seja qual for o ficheiro.',
    file: 'Ficheiro da operadora',
    fileHint: 'CSV, XLSX ou JSON, no máximo 200 MB. Pode largar o ficheiro sobre o campo.',
    format: 'Forma do ficheiro',
    found: 'encontrada pelo ficheiro',
    mapping: 'Mapeamento',
    noMapping: 'nenhum',
    currency: 'Moeda, se o ficheiro não indicar',
    zone: 'Fuso horário, se não for o da operadora',
    account: 'O nosso número, se o ficheiro não mostrar qual das partes somos',
    dateOrder: 'Datas como 05/06/2026',
    orders: { any: 'segundo o ficheiro', dmy: 'dia primeiro', mdy: 'mês primeiro' },
    more: 'Mais sobre o ficheiro',
    submit: 'Importar',
    none: 'Nenhum extrato importado',
    noneText: 'Importe o ficheiro que o portal da operadora lhe dá.',
    noFile: 'Escolha um ficheiro.',
    known: 'Este ficheiro já foi importado. Nada foi acrescentado.',
    name: 'Ficheiro',
    lines: 'Linhas',
    isNew: 'Novas',
    isKnown: 'Conhecidas',
    bad: 'Ilegíveis',
    status: 'Estado',
    imported: 'Importado',
    statuses: { reading: 'em leitura', read: 'lido', broken_off: 'interrompido', withdrawn: 'retirado' },
    brokenOff: 'A leitura foi interrompida. Importe de novo o mesmo ficheiro para a terminar.',
    reload: 'Ver até onde chegou',
    opening: 'Saldo inicial',
    closing: 'Saldo final',
    original: 'Descarregar o original',
    sha: 'SHA-256',
    withdraw: 'Retirar este extrato',
    withdrawText:
      'Para um ficheiro de outra ligação, moeda ou fuso horário. As suas linhas e as diferenças sobre elas ' +
      'desaparecem, como se nunca tivesse sido importado; o original e este registo ficam. Pode ser importado de' +
      ' novo.',
    withdrawReason: 'Porque é retirado',
    withdrawReasonMissing: 'Diga em poucas palavras porque o extrato é retirado.',
    cannotWithdraw: 'Este extrato não pode ser retirado',
    obstacles: {
      signed_day: (day, currency) =>
        `As suas linhas contam em ${day}, que está assinado em ${currency}. Reabra primeiro esse dia.`,
      applied: (lines) =>
        `Linhas já aplicadas: ${lines}. Liquidaram pagamentos, foram para a conta transitória ou lançaram taxas. O` +
        ' dinheiro que se moveu mantém a sua linha.',
      proposed: (breaks) =>
        `Diferenças das suas linhas que esperam numa proposta: ${breaks}. Aprove-a ou rejeite-a primeiro.`,
      being_read: (name) =>
        `«${name}» da mesma ligação está em leitura. Espere até terminar; se foi interrompida, importe-o de novo.`,
    },
    withdrawn: 'Retirado',
    withdrawnLines: (lines) => `Linhas que saíram com ele: ${lines}.`,
    noLinesWithdrawn: 'O extrato foi retirado',
    problems: 'Linhas que não puderam ser lidas',
    problemsText:
      'Estão no original e não param nada. Uma versão mais recente talvez as leia: importe o ficheiro de novo.',
    line: 'Linha',
    reason: 'Razão',
    raw: 'Texto',
    linesTitle: 'Linhas trazidas por este ficheiro',
    noLines: 'Todas as linhas já eram conhecidas',
    noLinesText: 'Outro ficheiro já as tinha trazido.',
    kinds: { payment: 'pagamento', fee: 'taxa', reversal: 'estorno', settlement: 'liquidação', other: 'outro' },
    kind: 'Tipo',
    into: 'entrada',
    out: 'saída',
    amount: 'Valor',
    fee: 'Taxa',
    feeUnknown: 'não indicada',
    receipt: 'Recibo',
    reference: 'Referência',
    number: 'Número',
    states: { succeeded: 'concluído', failed: 'falhou', pending: 'pendente' },
  },
};
