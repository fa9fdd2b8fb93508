// The zone of a person's browser, in a hidden field that a script fills. Without the script it is empty, and nothing is chosen.

import { type Html, html, scriptFile } from '../platform/html.ts';
import { isTimeZone } from '../platform/time-zones.ts';
import { type ConsoleRequest, fieldOf } from './console-request.ts';

export const BROWSER_ZONE_SCRIPT = scriptFile(new URL('./browser-zone.js', import.meta.url));

export function browserZoneField(): Html {
  return html`<input type="hidden" name="time_zone" value="" data-browser-zone="1">`;
}

export function browserZone(request: ConsoleRequest): string | undefined {
  const zone = fieldOf(request, 'time_zone', 64);
  return isTimeZone(zone) ? zone : undefined;
}
