// The hosts that a payment link may send the payer to. A link under the merchant's name that ends on somebody else's page is
// what a thief of a key would make.

import { Problem } from '../platform/errors.ts';

const MAX_HOSTS = 50;
const MAX_HOST_CHARACTERS = 253;
/** A host name, or `*.` and a host name: every host below it. */
const HOST = /^(\*\.)?[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;

export function requireRedirectHosts(hosts: readonly string[]): void {
  const wrong = hosts.find((host) => host.length > MAX_HOST_CHARACTERS || !HOST.test(host));
  if (wrong !== undefined)
    throw new Problem('invalid_params', {
      errors: { redirect_hosts: [`"${wrong}" is not a host name such as shop.example.org or *.example.org.`] },
    });
  if (hosts.length > MAX_HOSTS)
    throw new Problem('invalid_params', { errors: { redirect_hosts: [`At most ${MAX_HOSTS} entries.`] } });
}

/** Whether the list allows this URL. An empty list allows every URL. */
export function isRedirectAllowed(hosts: readonly string[], url: string): boolean {
  if (hosts.length === 0) return true;
  if (!URL.canParse(url)) return false;
  // The URL parser writes a host in one form: lower case, without the credentials and the port. A last dot is the same host.
  const host = new URL(url).hostname.replace(/\.$/, '');
  return hosts.some((entry) => (entry.startsWith('*.') ? host.endsWith(entry.slice(1)) : host === entry));
}
