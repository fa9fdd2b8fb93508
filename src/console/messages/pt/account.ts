// Portuguese: a person’s own account.

import type { ConsoleMessages } from '../en.ts';
import { plural } from './plural.ts';

export const account: Pick<ConsoleMessages, 'profile' | 'passkeys' | 'recovery' | 'device' | 'securityNotices'> = {
  profile: {
    title: 'O seu perfil',
    password: 'Palavra-passe',
    passwordChange: 'Mudar a palavra-passe termina todas as suas outras sessões.',
    passwordNone: 'Ainda não tem palavra-passe. Entrou com uma ligação de uso único.',
    factor: 'Verificação em dois passos',
    factorOn: 'Ativada',
    factorWhy: 'Confirma o acesso, os segredos e os envios com um código de uma aplicação no seu telemóvel.',
    factorStart: 'Ativar a verificação em dois passos',
    factorRemove: 'Desativar',
    factorRemoveMeaning: 'Depois disto, basta a palavra-passe para entrar.',
    factorScan: 'Leia este código QR com uma aplicação de autenticação, ou escreva a chave abaixo.',
    factorType: 'Escreva o código da aplicação.',
    sessions: 'Sessões ativas',
    thisOne: 'esta sessão',
    endSession: 'Terminar a sessão',
    device: 'Navegador',
    lastSeen: 'Última atividade',
    started: 'Início',
    endOthers: 'Terminar todas as outras sessões',
    appStart: 'Configurar uma aplicação',
    app: 'Aplicação de autenticação',
    factorRemoveOthers: 'Depois disto, o acesso pede uma chave de acesso. As suas outras sessões terminam.',
  },
  passkeys: {
    title: 'Chaves de acesso',
    why: 'Entre com a impressão digital, o rosto ou o bloqueio do ecrã. Uma chave de acesso só funciona no site verdadeiro.',
    add: 'Adicionar uma chave de acesso',
    name: 'Nome da chave de acesso',
    nameHint: 'Para a reconhecer mais tarde.',
    unnamed: 'Chave de acesso',
    added: 'Adicionada',
    lastUsed: 'última utilização',
    remove: 'Remover',
    removeMeaning: 'Deixa de poder entrar com esta chave de acesso. As suas outras sessões terminam.',
    signIn: 'Entrar com uma chave de acesso',
    confirm: 'Continuar com uma chave de acesso',
    failed: 'A chave de acesso não foi usada. Tente de novo.',
    refused: 'Esta chave de acesso não foi aceite. Tente de novo.',
    notAdded: 'Não foi possível adicionar a chave de acesso. Tente de novo.',
    unavailable: 'Este navegador não pode usar aqui a sua chave de acesso. Use um código de recuperação.',
  },
  recovery: {
    title: 'Códigos de recuperação',
    why: 'Se perder o telemóvel ou a chave de acesso, cada código substitui o segundo passo uma vez.',
    shownOnce: 'Imprima ou guarde estes códigos agora. Não voltam a ser mostrados.',
    print: 'Imprimir',
    saved: 'Guardei os códigos',
    left: (count) =>
      count === 1
        ? 'Resta 1 código de recuperação.'
        : `Restam ${plural(count, 'código de recuperação', 'códigos de recuperação')}.`,
    renew: 'Criar novos códigos de recuperação',
    renewMeaning: 'Dez códigos novos são mostrados uma só vez. Os antigos deixam de funcionar.',
    factorFirst: 'Os códigos de recuperação substituem um segundo passo. Ative primeiro a verificação em dois passos.',
    use: 'Usar um código de recuperação',
    label: 'Código de recuperação',
    hint: 'Um dos códigos que guardou. Cada um funciona uma vez.',
    incorrect: 'Este código de recuperação está incorreto ou já foi usado.',
  },
  device: {
    on: (browser, system) => `${browser} em ${system}`,
    unknown: 'Navegador desconhecido',
  },
  securityNotices: {
    title: 'Avisos de segurança',
    kinds: {
      new_browser: () => 'Novo acesso a partir de um navegador nunca usado antes',
      password_changed: () => 'A sua palavra-passe foi alterada',
      factor_on: () => 'A aplicação de autenticação foi ativada',
      factor_off: () => 'A aplicação de autenticação foi desativada',
      passkey_added: (name) => `Chave de acesso adicionada: ${name}`,
      passkey_removed: (name) => `Chave de acesso removida: ${name}`,
      recovery_code_used: (left) => `Foi usado um código de recuperação. Códigos restantes: ${left}`,
      recovery_codes_created: () => 'Foram criados novos códigos de recuperação',
    },
    more: (count) => `Mais ${count}.`,
    mine: 'Fui eu',
    notMine: 'Não fui eu',
    notMineMeaning:
      'Todas as suas sessões terminam, esta também, e a sua palavra-passe deixa de funcionar. Os segundos passos adicionados ' +
      'desde então são removidos, se restar um mais antigo. Entra com uma nova ligação de acesso e escolhe outra palavra-passe.',
    endAll: 'Terminar todas as sessões',
    endedTitle: 'Todas as sessões terminaram',
    ended: 'A sua palavra-passe já não funciona. Entre com uma nova ligação de acesso e escolha outra palavra-passe.',
  },
};
