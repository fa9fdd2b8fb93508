// Portuguese: sign-in, sign-up, invitations and proofs of identity.

import type { ConsoleMessages } from '../en.ts';

export const signIn: Pick<
  ConsoleMessages,
  'signIn' | 'code' | 'loginLink' | 'signUp' | 'invitation' | 'confirm' | 'proof'
> = {
  signIn: {
    title: 'Entrar',
    button: 'Entrar',
    incorrect: 'E-mail ou palavra-passe incorretos.',
    noPassword: 'Ainda sem palavra-passe? Um administrador do gateway pode criar uma ligação de uso único:',
    expired: 'Este acesso expirou. Entre de novo.',
    tooMany:
      'Demasiadas palavras-passe erradas para este endereço ou a partir desta rede. Espere, ou use uma ligação de acesso: ' +
      'continua a funcionar.',
    mailLink: 'Enviar-me uma ligação de acesso por e-mail',
  },
  code: {
    title: 'Verificação em dois passos',
    label: 'Código de seis algarismos',
    hint: 'Da sua aplicação de autenticação. Cada código funciona uma vez.',
    incorrect: 'Este código está incorreto ou já foi usado. Espere pelo código seguinte.',
  },
  loginLink: {
    title: 'Entrar com esta ligação',
    text: 'Esta ligação funciona uma vez. Vai entrar como:',
    expiredTitle: 'Esta ligação já não funciona',
    expired: 'Já foi usada ou tem mais de 30 minutos.',
    fromHost: 'Um administrador do gateway pode criar uma nova ligação:',
  },
  signUp: {
    title: 'Criar uma conta',
    lead: 'Uma conta reúne o seu dinheiro, as suas integrações e a sua equipa.',
    business: 'Nome da empresa',
    button: 'Criar conta',
    taken: 'Este endereço de e-mail já está a ser usado.',
    expired: 'Esta ligação já foi usada, ou tem mais de um dia. Registe-se de novo.',
  },
  invitation: {
    title: 'Tem um convite',
    text: (by, holder, role) => `Recebeu de ${by} um convite para ${holder}. A sua função: ${role}.`,
    byHost: 'quem gere este gateway',
    accept: 'Aceitar o convite',
    expired: 'Este convite já foi usado, foi retirado ou expirou.',
    adminText:
      'Recebeu um convite para administrar este gateway: todos os comerciantes, todas as análises e o livro-razão.',
    unproven: (email) =>
      `${email} tem uma conta cujo endereço ninguém confirmou, por isso esta ligação ainda não pode ser usada. ` +
      'Peça uma ligação de acesso a quem gere o gateway, entre com ela e abra este convite de novo:',
    takesOver:
      'Há uma conta com o seu endereço que ninguém confirmou. Se continuar, a palavra-passe, o segundo passo e as sessões ' +
      'dela terminam, e a conta passa a ser sua. Ela pode ver estas empresas:',
    signInFirst: (email) => `${email} já tem uma conta. Entre para aceitar o convite.`,
  },
  confirm: {
    title: 'Confirme a sua identidade',
    lead: 'É preciso para segredos e envios. Não voltamos a perguntar durante dez minutos.',
    thenSent: 'Depois disto, a sua última ação será feita.',
    incorrect: 'Palavra-passe incorreta.',
    factorFirst: 'O modo real exige a verificação em dois passos. Ative-a para continuar.',
    freshLink: 'Não tem palavra-passe. Entre de novo com uma nova ligação de uso único e, se quiser, defina uma.',
  },
  proof: {
    lead: 'Para ativar a verificação em dois passos, use a sua palavra-passe, ou entre com uma ligação de acesso há menos de dez minutos.',
    freshLink: 'Não tem palavra-passe. Entre de novo com uma nova ligação de acesso.',
  },
};
