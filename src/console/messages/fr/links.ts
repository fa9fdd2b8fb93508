// French: payment links.

import type { ConsoleMessages } from '../en.ts';

export const links: Pick<ConsoleMessages, 'links'> = {
  links: {
    lead: 'Une page de paiement pour vos clients. Partagez le lien, ou imprimez la carte avec son code QR pour votre comptoir.',
    create: 'Créer un lien de paiement',
    none: 'Aucun lien de paiement',
    noneText: 'Décrivez ce qui est payé, fixez le montant et partagez le lien.',
    item: 'Article ou service',
    itemHint: 'Affiché au payeur.',
    amountHint: 'Vide : le payeur saisit le montant.',
    openAmount: 'fixé par le payeur',
    business: 'Nom affiché sur la page',
    businessHint: 'Vide : le nom du compte.',
    redirect: 'Redirection après le paiement',
    redirectHint: 'Facultatif : une page de votre site.',
    more: 'Plus d’options',
    expires: 'Valable jusqu’au',
    payerEmail: 'E-mail du payeur (facultatif)',
    payerPhone: 'Numéro de téléphone du payeur (facultatif)',
    colour: 'Couleur',
    logo: 'Logo',
    logoHint: 'PNG, JPEG, WebP ou GIF. Les grandes images sont réduites.',
    reusable: 'Peut être payé plusieurs fois (comptoir, dons)',
    reusableShort: 'Réutilisable',
    preview: 'Aperçu',
    states: { active: 'actif', paid: 'payé', expired: 'expiré', disabled: 'désactivé' },
    payments: 'Paiements',
    noPayments: 'Aucun paiement',
    noPaymentsText: 'Les paiements faits avec ce lien apparaissent ici.',
    openPage: 'Ouvrir la page de paiement',
    card: 'Carte de comptoir',
    disable: 'Désactiver',
    disableMeaning: 'Aucun nouveau paiement n’est possible. Les paiements en cours peuvent encore réussir.',
    notFound: 'Ce lien de paiement n’existe pas dans ce compte.',
  },
};
