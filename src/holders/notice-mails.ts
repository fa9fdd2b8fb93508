// The e-mails of notices, in the languages of the console.

import { type Config, publicUrl, shownBrand } from '../platform/config.ts';
import { withFrenchSpaces } from '../platform/french-spaces.ts';
import { readUserAgent } from '../platform/user-agent.ts';
import type { RequestOrigin } from './sessions.ts';

/** What a notice can be about. */
export type NoticeKind =
  | 'new_browser'
  | 'password_changed'
  | 'factor_on'
  | 'factor_off'
  | 'passkey_added'
  | 'passkey_removed'
  | 'recovery_code_used'
  | 'recovery_codes_created';

type MailTexts = {
  subject(brand: string): string;
  events: Record<NoticeKind, (detail: string) => string>;
  from(device: string, address: string, when: string): string;
  unknownDevice: string;
  on: string;
  notYou(url: string): string;
};

const TEXTS: Record<RequestOrigin['language'], MailTexts> = {
  en: {
    subject: (brand) => `Security notice from ${brand}`,
    events: {
      new_browser: () => 'Your account was signed in to from a browser that was not used before.',
      password_changed: () => 'Your password was changed.',
      factor_on: () => 'Two-step authentication with an app was turned on.',
      factor_off: () => 'Two-step authentication with an app was turned off.',
      passkey_added: (name) => `A passkey was added: ${name}.`,
      passkey_removed: (name) => `A passkey was removed: ${name}.`,
      recovery_code_used: (left) => `A recovery code was used. Codes left: ${left}.`,
      recovery_codes_created: () => 'New recovery codes were created. The old ones no longer work.',
    },
    from: (device, address, when) => `Device: ${device}\nAddress: ${address}\nTime: ${when} UTC`,
    unknownDevice: 'unknown',
    on: 'on',
    notYou: (url) =>
      `If this was you, there is nothing to do. If it was not, open ${url} and choose "This was not me".`,
  },
  fr: withFrenchSpaces({
    subject: (brand) => `Avis de sécurité de ${brand}`,
    events: {
      new_browser: () => 'Une connexion à votre compte a eu lieu depuis un navigateur encore jamais utilisé.',
      password_changed: () => 'Votre mot de passe a été modifié.',
      factor_on: () => 'L’authentification à deux facteurs par application a été activée.',
      factor_off: () => 'L’authentification à deux facteurs par application a été désactivée.',
      passkey_added: (name) => `Une clé d’accès a été ajoutée : ${name}.`,
      passkey_removed: (name) => `Une clé d’accès a été supprimée : ${name}.`,
      recovery_code_used: (left) => `Un code de récupération a été utilisé. Codes restants : ${left}.`,
      recovery_codes_created: () =>
        'De nouveaux codes de récupération ont été créés. Les anciens ne fonctionnent plus.',
    },
    from: (device, address, when) => `Appareil : ${device}\nAdresse : ${address}\nHeure : ${when} UTC`,
    unknownDevice: 'inconnu',
    on: 'sur',
    notYou: (url) =>
      `Si c’était vous, il n’y a rien à faire. Sinon, ouvrez ${url} et choisissez « Ce n’était pas moi ».`,
  }),
  pt: {
    subject: (brand) => `Aviso de segurança de ${brand}`,
    events: {
      new_browser: () => 'Houve um acesso à sua conta a partir de um navegador nunca usado antes.',
      password_changed: () => 'A sua palavra-passe foi alterada.',
      factor_on: () => 'A verificação em dois passos com uma aplicação foi ativada.',
      factor_off: () => 'A verificação em dois passos com uma aplicação foi desativada.',
      passkey_added: (name) => `Foi adicionada uma chave de acesso: ${name}.`,
      passkey_removed: (name) => `Foi removida uma chave de acesso: ${name}.`,
      recovery_code_used: (left) => `Foi usado um código de recuperação. Códigos restantes: ${left}.`,
      recovery_codes_created: () => 'Foram criados novos códigos de recuperação. Os antigos já não funcionam.',
    },
    from: (device, address, when) => `Dispositivo: ${device}\nEndereço: ${address}\nHora: ${when} UTC`,
    unknownDevice: 'desconhecido',
    on: 'em',
    notYou: (url) => `Se foi você, não é preciso fazer nada. Se não foi, abra ${url} e escolha “Não fui eu”.`,
  },
  sw: {
    subject: (brand) => `Arifa ya usalama kutoka ${brand}`,
    events: {
      new_browser: () => 'Mtu ameingia kwenye akaunti yako kutoka kivinjari ambacho hakikutumika kabla.',
      password_changed: () => 'Nenosiri lako limebadilishwa.',
      factor_on: () => 'Uthibitishaji wa hatua mbili kwa programu umewashwa.',
      factor_off: () => 'Uthibitishaji wa hatua mbili kwa programu umezimwa.',
      passkey_added: (name) => `Passkey imeongezwa: ${name}.`,
      passkey_removed: (name) => `Passkey imeondolewa: ${name}.`,
      recovery_code_used: (left) => `Msimbo wa dharura umetumika. Iliyobaki: ${left}.`,
      recovery_codes_created: () => 'Misimbo mipya ya dharura imetengenezwa. Ya zamani haifanyi kazi tena.',
    },
    from: (device, address, when) => `Kifaa: ${device}\nAnwani: ${address}\nWakati: ${when} UTC`,
    unknownDevice: 'hakijulikani',
    on: 'kwenye',
    notYou: (url) => `Kama ni wewe, huna la kufanya. Kama si wewe, fungua ${url} na uchague "Haikuwa mimi".`,
  },
};

export function writeNoticeMail(
  config: Config,
  notice: { kind: NoticeKind; detail: string; at: Date },
  from: RequestOrigin,
): { subject: string; text: string } {
  const texts = TEXTS[from.language];
  const { browser, system } = readUserAgent(from.userAgent);
  const device = [browser, system].filter(Boolean).join(` ${texts.on} `) || texts.unknownDevice;
  const when = notice.at.toISOString().slice(0, 16).replace('T', ' ');
  return {
    subject: texts.subject(shownBrand(config)),
    text: [
      texts.events[notice.kind](notice.detail),
      texts.from(device, from.address, when),
      texts.notYou(`${publicUrl(config)}/console/account`),
    ].join('\n\n'),
  };
}
