// Countries of the two tables, and the country of a link's payer. Ids are looked up in one table at a time:
// a country that has payment links need not have collections.

import type { Catalog, CollectionCountry, LinkCountry } from './catalog.ts';

export function listLinkCountries(catalog: Catalog): LinkCountry[] {
  return [...catalog.linkCountries.values()];
}

export function listCollectionCountries(catalog: Catalog): CollectionCountry[] {
  return [...catalog.collectionCountries.values()];
}

export function findLinkCountry(catalog: Catalog, countryId: number): LinkCountry | null {
  return catalog.linkCountries.get(countryId) ?? null;
}

export function findCollectionCountry(catalog: Catalog, countryId: number): CollectionCountry | null {
  return catalog.collectionCountries.get(countryId) ?? null;
}

/** The payment-link countries that use a currency; empty when none does. */
export function listLinkCountriesByCurrency(catalog: Catalog, currency: string): LinkCountry[] {
  return listLinkCountries(catalog).filter((row) => row.currency === currency);
}

export type PayerCountry =
  | { kind: 'known'; country: LinkCountry }
  /** Several countries use the currency: the payer chooses one of them on the page. */
  | { kind: 'payer_chooses'; countries: LinkCountry[] }
  | { kind: 'error'; field: 'country_id' | 'currency' | 'currency_country_id'; sentence: string };

/**
 * Where the payer of a link is: `currency_country_id` when given; else the merchant's country if it uses the
 * currency; else the only country that does; else the payer chooses on the page.
 */
export function findPayerCountry(
  catalog: Catalog,
  link: { currency: string; countryId: number; currencyCountryId?: number | null },
): PayerCountry {
  const merchant = findLinkCountry(catalog, link.countryId);
  if (!merchant) return errorOf('country_id', 'This is not the id of a country for payment links.');
  const users = listLinkCountriesByCurrency(catalog, link.currency);
  const only = users[0];
  if (!only) {
    const currencies = [...new Set(listLinkCountries(catalog).map((row) => row.currency))].join(', ');
    return errorOf('currency', `This is not the currency of a payment-link country; use one of ${currencies}.`);
  }
  if (link.currencyCountryId !== undefined && link.currencyCountryId !== null) {
    const payer = findLinkCountry(catalog, link.currencyCountryId);
    if (!payer) return errorOf('currency_country_id', 'This is not the id of a country for payment links.');
    if (payer.currency !== link.currency)
      return errorOf('currency_country_id', `${payer.name} uses ${payer.currency}, not ${link.currency}.`);
    return { kind: 'known', country: payer };
  }
  if (merchant.currency === link.currency) return { kind: 'known', country: merchant };
  return users.length === 1 ? { kind: 'known', country: only } : { kind: 'payer_chooses', countries: users };
}

function errorOf(field: 'country_id' | 'currency' | 'currency_country_id', sentence: string): PayerCountry {
  return { kind: 'error', field, sentence };
}
