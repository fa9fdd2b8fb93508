// Portuguese: float with operators.

import type { ConsoleMessages } from '../en.ts';
import { paragraphs } from '../paragraphs.ts';
import { plural } from './plural.ts';

export const float: Pick<ConsoleMessages, 'float'> = {
  float: {
    title: 'Float',
    source: 'Conhecido por',
    sources: { operator: 'a operadora', ledger: 'o nosso livro-razão', unknown: 'desconhecido' },
    low: 'Baixo a partir de',
    lowHint: 'Abaixo disto os administradores recebem um e-mail. Vazio: ninguém vigia este float.',
    stop: 'Parar em',
    stopHint: 'Nenhum envio leva o float abaixo disto. Fica à espera.',
    account: 'Conta que paga',
    accountHint: 'Como a operadora lhe chama. Vazio: a habitual.',
    shared: 'Os recebimentos chegam à mesma conta',
    lastsUntil: 'Chega até cerca de',
    lastsLong: 'Chega para mais de duas semanas',
    waiting: 'Envios à espera',
    watch: 'Vigiar este float',
    watchText:
      'Os envios que o float não cobre ficam então à espera, o mais antigo primeiro, em vez de serem recusados.',
    noCurrency: 'Escolha uma moeda desta conexão.',
    isLow: (connection, currency) => `O float ${currency} de ${connection} está baixo`,
    waits: (connection, payouts) => `${plural(payouts, 'envio espera', 'envios esperam')} por float em ${connection}`,
    payoutWaits: 'À espera de float desde',
    payoutWaitsText: 'A conta na operadora não tem o suficiente agora. Nada foi enviado. Pode cancelar o envio.',
    mail: ({ connection, currency, level, end, waiting, url }) => ({
      subject: `O float está a baixar: ${connection}, ${currency}`.slice(0, 150),
      text: paragraphs(
        `O float ${currency} de ${connection} é ${level}.`,
        ...(end === null ? [] : [`Ao ritmo das últimas quatro semanas, chega até cerca de ${end} UTC.`]),
        ...(waiting === 0 ? [] : [`${plural(waiting, 'envio espera', 'envios esperam')} por ele.`]),
        `Carregue a conta na operadora: ${url}`,
      ),
    }),
  },
};
