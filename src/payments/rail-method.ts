// A method of the catalogue as rails see it.

import type { Catalog } from '../catalog/catalog.ts';
import type { RailMethod } from '../rails/rail.ts';

export function railMethod(catalog: Catalog, code: string): RailMethod | null {
  const method = catalog.methods.get(code);
  return method
    ? {
        code: method.code,
        name: method.name,
        verification: method.verification,
        dial: method.dial,
        type: method.type,
      }
    : null;
}
