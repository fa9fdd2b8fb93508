// A device in words: "Chrome on Windows".

import { readUserAgent } from '../platform/user-agent.ts';
import type { ConsoleRequest } from './console-request.ts';

export function describeDevice({ t }: ConsoleRequest, userAgent: string): string {
  const { browser, system } = readUserAgent(userAgent);
  if (browser && system) return t.device.on(browser, system);
  return browser ?? system ?? t.device.unknown;
}
