// Portuguese: balances and debts.

import type { ConsoleMessages } from '../en.ts';
import { plural } from './plural.ts';

export const balances: Pick<ConsoleMessages, 'balances' | 'debts'> = {
  balances: {
    lead:
      'Uma carteira por moeda. O dinheiro reservado pertence a envios e reembolsos em curso; ' +
      'o retido é a sua reserva e as disputas abertas.',
    none: 'Ainda sem carteiras',
    noneText: 'Uma carteira é criada com o primeiro pagamento concluído na sua moeda.',
    wallet: 'carteira',
    available: 'Disponível',
    reserved: 'Reservado',
    held: 'Retido',
    heldText: (amount: string, day: string) => `${amount} da sua reserva é libertado dia a dia até ${day}.`,
    pending: 'Pendente',
    payOut: 'Enviar dinheiro',
    statement: 'Extrato',
    title: (currency) => `Extrato ${currency}`,
    onDay: 'Saldo no fim de um dia (UTC)',
    change: 'Movimento',
    balance: 'Saldo',
    noEntries: 'Ainda sem movimentos',
    notFound: 'Esta carteira não existe nesta conta.',
    statements: {
      title: 'Transferir um extrato',
      text: (zone) =>
        `Saldo inicial, cada movimento com a sua comissão, totais e saldo final. Os dias são os de ${zone}.`,
      period: 'Período',
      periods: { month: 'Este mês', 'last-month': 'O mês passado', year: 'Este ano', 'last-year': 'O ano passado' },
      custom: 'Outras datas',
      from: 'Primeiro dia',
      to: 'Último dia',
      format: 'Ficheiro',
      download: 'Transferir',
      wrongDays: 'Escolha um primeiro dia e um último dia que não seja anterior, com dez anos de intervalo no máximo.',
      tooLong: (format, most, lines) =>
        `Um ficheiro ${format} tem no máximo ${most} linhas, e este período tem ${lines}. Escolha menos dias, ou CSV.`,
      monthly: 'Extratos mensais',
      monthlyText:
        'Feitos no fim do mês e nunca alterados. A impressão digital (SHA-256) mostra que um ficheiro CSV é o que nós fizemos.',
      month: 'Mês',
      lines: 'Linhas',
      net: 'Líquido',
      fingerprint: 'Impressão digital',
    },
    topUp: 'Adicionar dinheiro de teste',
    topUpInvalid: 'Escolha uma moeda e escreva um montante, por exemplo 1000.',
  },
  debts: {
    owed: (amount) => `Deve ${amount}`,
    owes: (amount) => `Deve ${amount}`,
    text: 'Foi retirado dinheiro que já tinha saído da sua carteira. A dívida é paga com o próximo dinheiro que entrar.',
    since: 'Desde',
    days: (count) => (count === 0 ? 'menos de um dia' : plural(count, 'dia', 'dias')),
    cases: 'Ver de que se compõe',
    adminLead:
      'Comerciantes que devem dinheiro ao gateway, a dívida mais antiga primeiro. É paga com o próximo dinheiro que entrar.',
    none: 'Sem dívidas',
    noneText: 'Uma dívida surge quando uma operadora retira dinheiro que já saiu da carteira.',
    age: 'Antiguidade',
    money: { amount: 'Dívida', settled: 'Já pago', open: 'Ainda em dívida' },
  },
};
