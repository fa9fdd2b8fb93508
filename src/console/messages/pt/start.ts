// Portuguese: the first sign-in, the first minute and the sample shop.

import type { ConsoleMessages } from '../en.ts';

type Start = Pick<
  ConsoleMessages,
  'welcome' | 'forgot' | 'signInAgain' | 'signInIntro' | 'sandboxSignIn' | 'docsLink' | 'sampleShop' | 'firstMinute'
>;

export const start: Start = {
  welcome: {
    title: 'Escolha como entrar da próxima vez',
    lead: 'A sua ligação de uso único já foi usada. Defina uma palavra-passe ou adicione uma chave de acesso agora.',
    password: 'Definir uma palavra-passe',
    or: 'Ou adicionar uma chave de acesso',
    skip: 'Mais tarde',
    skipText: 'No ambiente de teste pode fazê-lo mais tarde, no seu perfil.',
  },
  forgot: 'Esqueceu-se da palavra-passe?',
  signInAgain: 'Sair e entrar de novo',
  signInIntro: 'Veja pagamentos, faça envios e crie ligações de pagamento.',
  sandboxSignIn: 'O terminal onde o gateway foi iniciado mostra uma ligação de acesso. Para obter outra, execute lá:',
  docsLink: 'Documentação',
  sampleShop: {
    title: 'Loja de exemplo',
    lead: 'Uma loja em Nairobi com sessenta dias de pagamentos, reembolsos, envios e uma análise em aberto. São dados de teste.',
    open: 'Abrir a loja de exemplo',
    making: 'A preparar sessenta dias de pagamentos…',
    makingText: 'Demora alguns segundos, uma só vez. A página atualiza-se automaticamente.',
    back: 'Para voltar, mude de conta no menu com o seu nome.',
  },
  firstMinute: {
    title: 'O seu primeiro minuto',
    done: (count, of) => `${count} de ${of} feitos`,
    payment: 'Crie um pagamento de teste',
    paymentText: 'Use o formulário desta página. Pede dinheiro a um telemóvel de teste.',
    phone: 'Aprove-o no telemóvel de teste',
    phoneText: 'Escreva quaisquer quatro algarismos como PIN.',
    phoneButton: 'Abrir o telemóvel',
    callback: 'Veja chegar o callback',
    callbackText: 'O seu servidor receberia esta mensagem. O recetor incluído mostra-a.',
    callbackButton: 'Abrir o recetor',
    request: 'Envie o seu próprio pedido',
    requestText: 'Com a sua chave da API, a partir do seu programa.',
    requestButton: 'Guia rápido',
    stepDone: 'Feito',
  },
};
