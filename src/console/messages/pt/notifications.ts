// Portuguese: notifications by mail.

import type { ConsoleMessages } from '../en.ts';
import { paragraphs } from '../paragraphs.ts';
import { plural } from './plural.ts';

const SUBJECTS: Record<string, string> = {
  daily_summary: 'Ontem',
  payout_failed: 'Um envio falhou',
  receiver_down: 'Os callbacks estão a falhar',
  case_opened: 'Um pagamento precisa de análise',
  low_float: 'O saldo está a acabar',
  statement_ready: 'Um extrato está pronto',
};

const FACTS: Record<string, string> = {
  collected: 'Recebido',
  given_back: 'Reembolsado',
  paid_out: 'Enviado',
  returned: 'Envios devolvidos',
};

export const notifications: Pick<ConsoleMessages, 'notifications'> = {
  notifications: {
    title: 'Notificações',
    lead: (email, holder) => `O que enviamos para ${email} sobre ${holder}.`,
    noMail: 'Este gateway não tem servidor de e-mail, por isso nada é enviado. Um administrador define-o com SMTP_URL.',
    kinds: {
      daily_summary: 'Um resumo do dia anterior, todas as manhãs',
      payout_failed: 'Envios que falharam',
      receiver_down: 'URL de callback que não respondem há 15 minutos',
      case_opened: 'Pagamentos que precisam de análise',
      low_float: 'Um saldo que não cobre um dia médio de envios',
      statement_ready: 'O extrato de cada mês, quando estiver pronto',
    },
    mail: ({ kind, holder, lines, url }) => ({
      subject: `${SUBJECTS[kind] ?? kind}: ${holder}`.slice(0, 150),
      text: paragraphs(lines.join('\n'), url, `Escolha o que recebe: ${url}/notifications`),
    }),
    payoutFailed: (amount, payee, ref) =>
      `O envio de ${amount} para ${payee} falhou. O dinheiro voltou ao seu saldo. ${ref}`,
    receiverDown: (origin, waiting) =>
      `${origin} não responde. ${plural(waiting, 'callback está', 'callbacks estão')} em espera e será feita nova tentativa.`,
    caseOpened: (kind) => `Um pagamento precisa de análise: ${kind}.`,
    lowFloat: (available, average) => `${available} disponíveis. Os envios são em média ${average} por dia.`,
    statementReady: (month, currency, closing) =>
      `O extrato ${currency} de ${month} está disponível em Saldos. Saldo final: ${closing}.`,
    summary: ({ day, succeeded, failed, money }) =>
      [
        `${day}: ${plural(succeeded, 'pagamento concluído', 'pagamentos concluídos')}, ` +
          `${plural(failed, 'falhado ou expirado', 'falhados ou expirados')}.`,
        ...money,
      ].join('\n'),
    summaryMoney: (fact, amount, count) => `${FACTS[fact] ?? fact}: ${amount} (${count})`,
  },
};
