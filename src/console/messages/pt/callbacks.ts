// Portuguese: callbacks and the request log.

import type { ConsoleMessages } from '../en.ts';
import { plural } from './plural.ts';

export const callbacks: Pick<ConsoleMessages, 'callbacks' | 'requests'> = {
  callbacks: {
    lead: 'Os eventos enviados ao seu servidor e as suas respostas. As entregas falhadas são repetidas durante 30 dias.',
    none: 'Ainda sem callbacks',
    noneText:
      'Quando um pagamento termina, é enviada uma mensagem assinada para o seu URL de callback. Indique-o numa integração.',
    noneYet: 'Ainda sem callbacks.',
    deletedByAge: 'Os callbacks são guardados durante 90 dias. Os deste pagamento foram apagados.',
    event: 'Evento',
    url: 'URL',
    attemptCount: 'Tentativas',
    attempts: (count) => plural(count, 'tentativa', 'tentativas'),
    response: 'Resposta',
    body: 'Corpo do pedido',
    feedOnly: 'sem URL; na lista de eventos',
    next: 'Próxima tentativa',
    resend: 'Reenviar',
    replay: 'Reenviar callbacks falhados',
    replayText: 'Todos os callbacks não entregues desde este dia são enviados de novo.',
    replaySince: 'Desde',
    replayDayMissing: 'Escolha o primeiro dia.',
    resume: 'Retomar os callbacks',
    endpoints: 'Destinos',
    newest: (count) => `Dos últimos ${count} callbacks`,
    deliveredOf: (delivered, all) => `${delivered} de ${all} entregues`,
    givenUpCount: (count) => plural(count, 'abandonado', 'abandonados'),
    working: 'Funciona',
    failing: 'A falhar',
    failingSince: 'A falhar desde',
    pausedSince: 'Respondeu 410 Gone. Os callbacks para este URL estão em pausa desde',
    receiver: 'Recetor de teste',
    viewTransaction: 'Ver a transação',
    states: {
      waiting: 'Em espera',
      retrying: 'A tentar de novo',
      paused: 'Em pausa',
      delivered: 'Entregue',
      given_up: 'Abandonado',
      feed_only: 'Só na lista de eventos',
    },
  },
  requests: {
    unverified: 'Não verificados',
    unverifiedText:
      'Recusados antes de a assinatura ser verificada: qualquer pessoa que conheça o client_id pode tê-los enviado. ' +
      'Alguns são guardados durante uma semana.',
    lead: 'Os pedidos das suas integrações à API nos últimos 30 dias. O corpo dos pedidos não é guardado.',
    off: 'O registo de pedidos está desligado (REQUEST_LOG=off).',
    none: 'Ainda sem pedidos',
    noneText: 'Os pedidos das suas integrações aparecem aqui cerca de um segundo depois da resposta.',
    request: 'Pedido',
    result: 'Resultado',
    accepted: 'Aceite',
    rejected: 'Rejeitado',
    serverError: 'Erro do servidor',
    code: 'Código de erro',
    duration: 'Duração',
  },
};
