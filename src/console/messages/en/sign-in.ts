// English: sign-in, sign-up, invitations and proofs of identity.

export const signIn = {
  signIn: {
    title: 'Sign in',
    button: 'Sign in',
    incorrect: 'Incorrect e-mail or password.',
    noPassword: 'No password yet? An administrator of the gateway can create a one-time link:',
    expired: 'This sign-in has expired. Please sign in again.',
    tooMany:
      'Too many wrong passwords for this address or from this network. Wait, or use a login link: it still works.',
    mailLink: 'Send me a login link by e-mail',
  },
  code: {
    title: 'Two-step authentication',
    label: 'Six-digit code',
    hint: 'From your authenticator app. Each code works once.',
    incorrect: 'This code is incorrect or was already used. Wait for the next code.',
  },
  loginLink: {
    title: 'Sign in with this link',
    text: 'This link works once. You are signing in as:',
    expiredTitle: 'This link no longer works',
    expired: 'It was already used or is older than 30 minutes.',
    fromHost: 'An administrator of the gateway can create a new link:',
  },
  signUp: {
    title: 'Create an account',
    lead: 'An account holds your money, your integrations and your team.',
    business: 'Business name',
    button: 'Create account',
    taken: 'This e-mail address is already in use.',
    expired: 'This link was already used, or it is older than a day. Please sign up again.',
  },
  invitation: {
    title: 'You are invited',
    text: (by: string, holder: string, role: string) => `${by} invited you to join ${holder}. Your role: ${role}.`,
    byHost: 'The host of this gateway',
    accept: 'Accept invitation',
    expired: 'This invitation was already used, was withdrawn, or has expired.',
    adminText: 'You are invited to administer this gateway: every merchant, all reviews and the ledger.',
    unproven: (email: string) =>
      `${email} has an account whose address nobody has confirmed, so this link cannot be used yet. ` +
      'Ask the host of the gateway for a login link, sign in with it, and open this invitation again:',
    takesOver:
      'There is an account with your address that nobody has confirmed. When you continue, its password, second factor ' +
      'and sessions end, and the account is yours. It can see these businesses:',
    signInFirst: (email: string) => `${email} already has an account. Sign in to accept the invitation.`,
  },
  confirm: {
    title: 'Confirm your identity',
    lead: 'This is required for secrets and payouts. You will not be asked again for ten minutes.',
    thenSent: 'After this, we carry out your last step.',
    incorrect: 'Incorrect password.',
    factorFirst: 'Live mode requires two-step authentication. Set it up to continue.',
    freshLink: 'You have no password. Sign in again with a new one-time link, and set a password if you like.',
  },
  proof: {
    lead: 'Two-step authentication is set up with your password, or within ten minutes of signing in with a login link.',
    freshLink: 'You have no password. Sign in again with a new login link.',
  },
};
