// English: the team.

export const team = {
  team: {
    lead: 'The members of this account and their roles.',
    role: 'Role',
    remove: 'Remove from the team',
    removeMeaning: (name: string) => `${name} loses access to this account at once. You can invite them again.`,
    joined: 'In the team since',
    on: 'Two-step on',
    off: 'Two-step off',
    resend: 'Resend',
    invite: 'Invite',
    invited: 'The invitation is ready',
    invitedText: (email: string) => `Send this link to ${email}. It works once and is shown only here.`,
    open: 'Pending invitations',
    until: 'Valid until',
    withdraw: 'Withdraw',
    lastOwner: 'An account needs at least one owner.',
    unproven: 'address not confirmed',
    mailedText: (email: string) => `We sent the link to ${email}. It works once.`,
    waiting: 'Roles that wait',
    waitingText:
      'While payouts need a second person, a role that can approve them applies when another owner confirms it, or after ' +
      '24 hours. Owners and the person concerned can cancel it.',
    permissions: {
      owner: 'full access, including the team',
      developer: 'integrations, secrets, callbacks, Sign-check, payment links',
      finance: 'payouts, refunds, reviews, payment links',
      viewer: 'read-only access',
    },
  },
};
