// Names of methods and countries in the language of the page.

import type { Method } from '../catalog/catalog.ts';
import { spokenCountry, spokenMethod } from '../catalog/spoken-names.ts';
import { perProcess } from '../platform/memory.ts';
import type { MemberRequest } from './console-request.ts';

/** There are few of them, and each is slow to find out. */
const countriesOf = perProcess(() => new Map<string, string>());

export function methodName({ ctx, language }: MemberRequest, code: string): string {
  const method = ctx.catalog.methods.get(code);
  return method ? spokenMethod(language, method) : code;
}

export function countryName({ ctx, language }: MemberRequest, iso: string): string {
  const countries = countriesOf(ctx);
  const key = `${language} ${iso}`;
  const name = countries.get(key) ?? spokenCountry(language, iso);
  countries.set(key, name);
  return name;
}

/** "M-PESA (Kenya)": operators of one name work in several countries. */
export function methodInCountry(request: MemberRequest, method: Pick<Method, 'code' | 'name' | 'country'>): string {
  return `${spokenMethod(request.language, method)} (${countryName(request, method.country.iso)})`;
}

/** The same by the code of the method. One that is no longer in the catalogue has no other name. */
export function methodTitle(request: MemberRequest, code: string): string {
  const method = request.ctx.catalog.methods.get(code);
  return method ? methodInCountry(request, method) : code;
}

/** The countries of methods, each once. */
export function countryNames(request: MemberRequest, methods: readonly string[]): string {
  const isos = new Set(methods.flatMap((code) => request.ctx.catalog.methods.get(code)?.country.iso ?? []));
  return [...isos].map((iso) => countryName(request, iso)).join(', ');
}
