// What the documentation says about rails, written from their definitions: the settings of each, so that page, form and command
// agree, and which rail serves which method.

import type { Catalog } from '../catalog/catalog.ts';
import type { RailDefinition, RailSetting } from './connection.ts';
import { isSealed } from './connection-settings.ts';

const METHODS = /(?<=<!-- methods -->\n)[\s\S]*?(?=<!-- \/methods -->)/;
const BETWEEN = /(?<=<!-- settings -->\n)[\s\S]*?(?=<!-- \/settings -->)/;

/** The page with the table between its markers. Without markers it is left alone. */
export function withSettingsTable(page: string, definition: RailDefinition): string {
  return page.replace(BETWEEN, () => settingsTable(definition));
}

/** The overview with a row for each method of the catalogue, by country. */
export function withMethodsTable(page: string, catalog: Catalog, rails: readonly RailDefinition[]): string {
  const rows = [...catalog.methods.values()]
    .map(({ code, name, country }) => {
      const served = rails.filter(({ methods }) => methods.includes(code));
      const links = served.map(({ name: rail, title }) => `[${title}](${rail}.md)`).join(', ');
      return `| ${country.name} | ${name} | \`${code}\` | ${links || 'none yet'} |`;
    })
    .sort();
  const table = `| country | method | code | rails |\n|---|---|---|---|\n${rows.join('\n')}\n`;
  return page.replace(METHODS, () => table);
}

function settingsTable({ settings }: RailDefinition): string {
  const rows = settings.map(
    (setting) => `| \`${setting.name}\` | ${setting.label} | ${formOf(setting)} | ${aboutOf(setting)} |`,
  );
  return `| name | field | form | where you find it |\n|---|---|---|---|\n${rows.join('\n')}\n`;
}

function formOf(setting: RailSetting): string {
  const kinds: Record<RailSetting['kind'], string> = {
    text: 'text',
    secret: 'text',
    pem: 'PEM text',
    choice: (setting.choices ?? []).map((choice) => `\`${choice}\``).join(', '),
    yes_no: '`yes`, `no`',
    address_ranges: 'addresses and ranges',
    list: 'list',
  };
  return [kinds[setting.kind], isSealed(setting) && 'secret', setting.optional && 'optional']
    .filter(Boolean)
    .join('; ');
}

function aboutOf({ help, initial }: RailSetting): string {
  const isShort = initial !== undefined && initial.length <= 40;
  return escapeCell(isShort ? `${help} Default: \`${initial}\`.` : help);
}

const escapeCell = (text: string) => text.replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('\n', ' ');
