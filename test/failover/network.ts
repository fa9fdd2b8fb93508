// The network between the nodes of a cluster: each node in a namespace of its own behind a bridge, so that its link can be cut as a
// cable is: packets get lost and nobody is informed. Where namespaces cannot be made, all nodes share this machine's loopback.

import { execFileSync } from 'node:child_process';
import { getuid } from 'node:process';

const BRIDGE = 'simbi-fo';
const SUBNET = '10.213.77';
const nameOf = (node: number) => `${BRIDGE}-${node}`;

/** `nodes`: the other nodes do not hear it any more, and the gateway does. `everybody`: nobody does. */
export type Cut = 'nodes' | 'everybody';

export interface Network {
  /** Whether links can be cut; if not, why. */
  readonly cuttable: true | string;
  addressOf(node: number): string;
  /** What stands before a command that runs on this node. */
  prefix(node: number): string[];
  cut(node: number, from: Cut): void;
  heal(node: number): void;
  close(): void;
}

const ip = (...args: string[]) =>
  execFileSync('ip', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();

export function openNetwork(nodes: readonly number[]): Network {
  if (getuid?.() !== 0) return loopback('only root can make network namespaces');
  try {
    removeLeftOver(nodes);
    ip('link', 'add', BRIDGE, 'type', 'bridge');
    ip('address', 'add', `${SUBNET}.1/24`, 'dev', BRIDGE);
    ip('link', 'set', BRIDGE, 'up');
    for (const node of nodes) addNode(node);
  } catch (error) {
    removeAll(nodes);
    return loopback(`network namespaces cannot be made here: ${String(error)}`);
  }
  const addressOf = (node: number) => `${SUBNET}.${10 + node}`;
  const others = (node: number) => nodes.filter((each) => each !== node).map(addressOf);
  const within = (node: number, ...args: string[]) => ip('netns', 'exec', nameOf(node), 'ip', ...args);
  const cuts = new Map<number, Cut>();
  return {
    cuttable: true,
    addressOf,
    prefix: (node) => ['ip', 'netns', 'exec', nameOf(node)],
    cut(node, from) {
      cuts.set(node, from);
      if (from === 'everybody') ip('link', 'set', nameOf(node), 'down');
      else for (const address of others(node)) within(node, 'route', 'add', 'blackhole', `${address}/32`);
    },
    heal(node) {
      const from = cuts.get(node);
      cuts.delete(node);
      if (from === 'everybody') ip('link', 'set', nameOf(node), 'up');
      if (from === 'nodes')
        for (const address of others(node)) within(node, 'route', 'del', 'blackhole', `${address}/32`);
    },
    close: () => removeAll(nodes),
  };
}

/** A pair of linked devices: one in the node's namespace, one at the bridge. */
function addNode(node: number): void {
  const name = nameOf(node);
  ip('netns', 'add', name);
  ip('link', 'add', name, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name);
  ip('link', 'set', name, 'master', BRIDGE, 'up');
  for (const args of [
    ['address', 'add', `${SUBNET}.${10 + node}/24`, 'dev', 'eth0'],
    ['link', 'set', 'eth0', 'up'],
    ['link', 'set', 'lo', 'up'],
  ])
    ip('netns', 'exec', name, 'ip', ...args);
}

function loopback(reason: string): Network {
  const refuse = () => {
    throw new Error(reason);
  };
  return {
    cuttable: reason,
    addressOf: () => '127.0.0.1',
    prefix: () => [],
    cut: refuse,
    heal: () => undefined,
    close: () => undefined,
  };
}

/** Of a run that was killed. Processes that still use them belong to a run that goes on. */
function removeLeftOver(nodes: readonly number[]): void {
  const existing = ip('netns', 'list');
  for (const node of nodes)
    if (existing.includes(nameOf(node)) && ip('netns', 'pids', nameOf(node)) !== '')
      throw new Error(`another run uses the namespace ${nameOf(node)}`);
  removeAll(nodes);
}

function removeAll(nodes: readonly number[]): void {
  const quietly = (...args: string[]) => {
    try {
      ip(...args);
    } catch {
      // It was never made.
    }
  };
  for (const node of nodes) {
    quietly('link', 'del', nameOf(node));
    quietly('netns', 'del', nameOf(node));
  }
  quietly('link', 'del', BRIDGE);
}
