// English: mails.

import { paragraphs } from '../paragraphs.ts';

type InvitationFacts = { by: string; holder: string; role: string; url: string };
type DestinationFacts = { by: string; holder: string; currency: string; destination: string; url: string };
type RoleFacts = { email: string; role: string; holder: string; url: string };

export const mails = {
  mails: {
    sentTitle: 'Check your e-mail',
    caught: 'Mails of this sandbox do not leave it.',
    box: 'Open the mail box',
    sent: (email: string) => `If ${email} can be used, a mail is on its way there. Its link works once.`,
    invitation: ({ by, holder, role, url }: InvitationFacts) => ({
      subject: 'You are invited',
      text: paragraphs(
        `${by} invites you to join "${holder}". Your role: ${role}.`,
        url,
        'The link works once, for seven days. If you do not expect it, ignore this mail.',
      ),
    }),
    signUp: (url: string) => ({
      subject: 'Confirm your e-mail address',
      text: paragraphs(
        'Somebody wants to create an account with your e-mail address. Confirm it and choose a password:',
        url,
        'The link works once, for a day. If it was not you, ignore this mail: no account is created.',
      ),
    }),
    signUpTaken: (url: string) => ({
      subject: 'You already have an account',
      text: paragraphs(
        'Somebody wanted to create an account with your e-mail address. You have one already:',
        url,
        'If it was not you, ignore this mail: nothing was changed.',
      ),
    }),
    loginLink: (url: string) => ({
      subject: 'Your login link',
      text: paragraphs(
        'Somebody asked for a link to sign in to your account:',
        url,
        'The link works once, for 30 minutes. If it was not you, ignore this mail.',
      ),
    }),
    roleWaits: ({ email, role, holder, url }: RoleFacts) => ({
      subject: 'A role waits for confirmation',
      text: paragraphs(
        `${email} is to get a role at "${holder}" that can approve money: ${role}.`,
        'It applies when a second owner confirms it, or after 24 hours. Until then every owner can cancel it:',
        url,
      ),
    }),
    destinationWaits: ({ by, holder, currency, destination, url }: DestinationFacts) => ({
      subject: 'The settlement destination was changed',
      text: paragraphs(
        `${by} changed where the ${currency} of "${holder}" is settled to: ${destination}.`,
        'It takes money in 24 hours. If you did not expect this, change it back and look who is in your team:',
        url,
      ),
    }),
  },
};
