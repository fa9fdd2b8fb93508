// Portuguese: the team.

import type { ConsoleMessages } from '../en.ts';

export const team: Pick<ConsoleMessages, 'team'> = {
  team: {
    lead: 'Os membros desta conta e as suas funções.',
    role: 'Função',
    remove: 'Remover da equipa',
    removeMeaning: (name) => `${name} perde de imediato o acesso a esta conta. Pode voltar a enviar um convite.`,
    joined: 'Na equipa desde',
    on: 'Dois passos',
    off: 'Um só passo',
    resend: 'Reenviar',
    invite: 'Convidar',
    invited: 'O convite está pronto',
    invitedText: (email) => `Envie esta ligação a ${email}. Funciona uma vez e só é mostrada aqui.`,
    open: 'Convites pendentes',
    until: 'Válido até',
    withdraw: 'Retirar',
    lastOwner: 'Uma conta precisa de pelo menos um proprietário.',
    unproven: 'endereço não confirmado',
    mailedText: (email) => `Enviámos a ligação para ${email}. Funciona uma vez.`,
    waiting: 'Funções em espera',
    waitingText:
      'Enquanto os envios precisarem de uma segunda pessoa, uma função que os pode aprovar aplica-se quando outro ' +
      'proprietário a confirmar, ou após 24 horas. Os proprietários e a própria pessoa podem cancelá-la.',
    permissions: {
      owner: 'acesso total, incluindo a equipa',
      developer: 'integrações, segredos, callbacks, verificação de assinaturas, ligações de pagamento',
      finance: 'envios, reembolsos, análises, ligações de pagamento',
      viewer: 'só leitura',
    },
  },
};
