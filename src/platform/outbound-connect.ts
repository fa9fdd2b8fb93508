// Opens one connection to a receiver: TCP to an address that the policy has approved, the connected peer checked once more,
// then TLS with a certificate that is checked before the first byte of the request.

import { isIP, connect as openTcp, type Socket, type TcpNetConnectOpts } from 'node:net';
import { type SecureContext, connect as startTls, type TLSSocket } from 'node:tls';
import { certificateReason, forbiddenAddress, LOST, OutboundError, timeoutReason } from './outbound-errors.ts';
import type { OutboundPolicy, OutboundTarget } from './outbound-policy.ts';

const CONNECT_TIMEOUT_MS = 10_000;

export type ConnectOptions = {
  policy: OutboundPolicy;
  secureContext: SecureContext;
  /** Opens the TCP connection. Replaced in tests, to show that the connected peer is checked. */
  openSocket?: ((options: TcpNetConnectOpts) => Socket) | undefined;
};

/** Calls `done` once, with an error or with a socket ready for the request. */
export function connectReceiver(
  target: OutboundTarget,
  addresses: readonly string[],
  options: ConnectOptions,
  done: (...result: [error: null, socket: Socket | TLSSocket] | [error: Error, socket: null]) => void,
): void {
  const { hostname } = target;
  const port = options.policy.portFor(target);
  const socket = openApproved({ ...target, port }, addresses, options.openSocket ?? openTcp);
  const deadline = setTimeout(
    () => socket.destroy(new OutboundError('timeout', timeoutReason(CONNECT_TIMEOUT_MS))),
    CONNECT_TIMEOUT_MS,
  );
  let isSettled = false;
  const settle = (error: Error | null, ready: Socket | null) => {
    if (isSettled) return;
    isSettled = true;
    clearTimeout(deadline);
    if (error || !ready) {
      socket.destroy();
      done(error ?? new Error('no socket'), null);
    } else done(null, ready);
  };
  socket.on('error', (error) => settle(error, null));
  socket.once('close', () => settle(new OutboundError('connection_lost', LOST), null));
  socket.once('connect', () => {
    // The last check: whatever the URL and the DNS said, this is where the bytes would go.
    const peer = socket.remoteAddress ?? '';
    if (!options.policy.mayReach(peer, target))
      return settle(new OutboundError('refused_address', forbiddenAddress(peer, hostname)), null);
    if (target.url.protocol === 'http:') return settle(null, socket);
    startEncryption(socket, hostname, options.secureContext, settle);
  });
}

function openApproved(
  { hostname, port }: OutboundTarget,
  addresses: readonly string[],
  openSocket: (options: TcpNetConnectOpts) => Socket,
): Socket {
  const choices = addresses.map((address) => ({ address, family: isIP(address) }));
  return openSocket({
    host: hostname,
    port,
    noDelay: true,
    keepAlive: true,
    autoSelectFamily: choices.length > 1,
    // The name is not resolved a second time: a second answer could differ from the approved one.
    lookup: (_, { all }, answer) => {
      const first = choices[0] ?? { address: '', family: 4 };
      if (all) answer(null, choices);
      else answer(null, first.address, first.family);
    },
  });
}

function startEncryption(
  socket: Socket,
  hostname: string,
  secureContext: SecureContext,
  settle: (error: Error | null, ready: TLSSocket | null) => void,
): void {
  const encrypted = startTls({
    socket,
    host: hostname,
    servername: isIP(hostname) === 0 ? hostname : '',
    secureContext,
    ALPNProtocols: ['http/1.1'],
    // `authorized` is checked below instead, before anything is sent: only then can the message name the date.
    rejectUnauthorized: false,
  });
  encrypted.on('error', (error) => settle(error, null));
  encrypted.once('secureConnect', () => {
    if (encrypted.authorized) return settle(null, encrypted);
    const reason = certificateReason(encrypted, hostname);
    encrypted.destroy();
    settle(new OutboundError('certificate', reason), null);
  });
}
