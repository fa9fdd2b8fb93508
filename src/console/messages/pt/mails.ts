// Portuguese: mails.

import type { ConsoleMessages } from '../en.ts';
import { paragraphs } from '../paragraphs.ts';

export const mails: Pick<ConsoleMessages, 'mails'> = {
  mails: {
    sentTitle: 'Consulte o seu e-mail',
    caught: 'Os e-mails deste ambiente de teste não saem dele.',
    box: 'Abrir a caixa de correio',
    sent: (email) => `Se ${email} puder ser usado, uma mensagem vai a caminho. A ligação funciona uma vez.`,
    invitation: ({ by, holder, role, url }) => ({
      subject: 'Tem um convite',
      text: paragraphs(
        `${by} convida-o para “${holder}”. A sua função: ${role}.`,
        url,
        'A ligação funciona uma vez, durante sete dias. Se não a esperava, ignore esta mensagem.',
      ),
    }),
    signUp: (url) => ({
      subject: 'Confirme o seu endereço de e-mail',
      text: paragraphs(
        'Alguém quer criar uma conta com o seu endereço de e-mail. Confirme-o e escolha uma palavra-passe:',
        url,
        'A ligação funciona uma vez, durante um dia. Se não foi você, ignore esta mensagem: nenhuma conta é criada.',
      ),
    }),
    signUpTaken: (url) => ({
      subject: 'Já tem uma conta',
      text: paragraphs(
        'Alguém quis criar uma conta com o seu endereço de e-mail. Já tem uma:',
        url,
        'Se não foi você, ignore esta mensagem: nada foi alterado.',
      ),
    }),
    loginLink: (url) => ({
      subject: 'A sua ligação de acesso',
      text: paragraphs(
        'Alguém pediu uma ligação para entrar na sua conta:',
        url,
        'A ligação funciona uma vez, durante 30 minutos. Se não foi você, ignore esta mensagem.',
      ),
    }),
    roleWaits: ({ email, role, holder, url }) => ({
      subject: 'Uma função espera confirmação',
      text: paragraphs(
        `${email} vai receber em “${holder}” uma função que pode aprovar dinheiro: ${role}.`,
        'Aplica-se quando um segundo proprietário a confirmar, ou após 24 horas. Até lá, qualquer proprietário a pode cancelar:',
        url,
      ),
    }),
    destinationWaits: ({ by, holder, currency, destination, url }) => ({
      subject: 'O destino das liquidações foi alterado',
      text: paragraphs(
        `${by} alterou o destino das liquidações em ${currency} de “${holder}”: ${destination}.`,
        'Recebe dinheiro daqui a 24 horas. Se não esperava isto, reponha o destino anterior e verifique a sua equipa:',
        url,
      ),
    }),
  },
};
