// Countries by their two-letter codes: the gateway knows them by numbers, which nobody remembers.

/** The ids of the gateway's own catalogue; `test/sdk.test.ts` compares them. */
export const COUNTRY_IDS = {
  KE: 1,
  BJ: 2,
  CI: 3,
  CM: 4,
  SN: 9,
  TZ: 10,
  UG: 11,
  ZM: 12,
  SL: 13,
  GH: 16,
  NG: 17,
} as const;

export type CountryCode = keyof typeof COUNTRY_IDS;

/** The same params with `country: 'UG'` in place of `country_id: 11`. Either will do. */
export type ByCountry<P extends { country_id?: number }> =
  | (P & { country?: never })
  | (Omit<P, 'country_id'> & { country: CountryCode; country_id?: never });

/** What goes over the wire: always the number. */
export function withCountryId(params: object & { country?: string | undefined }): object {
  const { country, ...rest } = params;
  if (country === undefined) return params;
  if (!Object.hasOwn(COUNTRY_IDS, country))
    throw new TypeError(`country must be one of ${Object.keys(COUNTRY_IDS).join(', ')}; or give country_id.`);
  return { ...rest, country_id: COUNTRY_IDS[country as CountryCode] };
}
