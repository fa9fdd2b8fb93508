// A fair queue in memory. A receiver is one holder at one origin (scheme, host and port), and has its own cap. Above it are
// caps of the holder, of the origin and of the process, and each gives the first place of one receiver before the second
// place of another. When all places of the process are used, holders take turns. So a receiver that works is served soon,
// even while many others hang, at the same host too.

const PER_RECEIVER = 16;
/** A receiver that keeps failing gets one place, until it answers again. */
const PER_FAILING_RECEIVER = 1;
/** Above half of these a receiver gets no second place and failing receivers get none: the rest is for first places. */
const PER_HOLDER = 512;
const PER_ORIGIN = 64;
const TOTAL = 1_024;
/** About a kilobyte each. What is refused here waits in the database until its lease ends. */
const MAX_WAITING_PER_HOLDER = 20_000;
const MAX_WAITING = 40_000;
/** Receivers that are kept although they have nothing left: most get something again soon. */
const KEPT_RECEIVERS = 2_000;

export type ReceiverName = { holderId: bigint; origin: string };

interface FairQueue<Item> {
  /** Adds an item. Returns false when the receiver, its holder, or the queue has too much waiting already. */
  add(item: Item): boolean;
  /** A failing receiver has one place at a time. */
  setFailing(receiver: ReceiverName, failing: boolean): void;
  /** Running plus waiting items of each receiver that has any. */
  loads(): (ReceiverName & { load: number })[];
  /** Resolves when nothing waits or runs. */
  idle(): Promise<void>;
}

/** The order in which places are given: a first place, the only place of a failing receiver, a further place. */
const RANKS = [0, 1, 2] as const;
type Rank = (typeof RANKS)[number];

/** What shares a number of places: all receivers of a holder, of an origin, or of the process. */
type Group<Item> = {
  key: string;
  max: number;
  active: number;
  failingActive: number;
  waiting: number;
  /** Receivers that wait for a place of this group, by rank, longest first. */
  held: Record<Rank, Set<Receiver<Item>>>;
};

type Receiver<Item> = ReceiverName & {
  key: string;
  waiting: Item[];
  head: number;
  active: number;
  holder: Group<Item>;
  groups: Group<Item>[];
  /** Where it waits for a place; for one of the process, in its holder. One at its own cap is served when it finishes. */
  heldIn: Set<Receiver<Item>> | null;
};

type QueueOptions<Item> = {
  work: (item: Item) => Promise<void>;
  /** Called when a receiver has nothing more waiting. */
  onEmpty?: (receiver: ReceiverName) => void;
};

type QueueState<Item> = QueueOptions<Item> & {
  receivers: Map<string, Receiver<Item>>;
  groups: Map<string, Group<Item>>;
  failing: Set<string>;
  total: Group<Item>;
  /** Holders with receivers that wait for a place of the process, in turn. */
  turns: Set<Group<Item>>;
  idleWaiters: (() => void)[];
};

/** The name of a receiver as one text, for maps. */
export function receiverKey({ holderId, origin }: ReceiverName): string {
  return `${holderId} ${origin}`;
}

export function createFairQueue<Item extends ReceiverName>(options: QueueOptions<Item>): FairQueue<Item> {
  const state: QueueState<Item> = {
    ...options,
    receivers: new Map(),
    groups: new Map(),
    failing: new Set(),
    total: createGroup('', TOTAL),
    turns: new Set(),
    idleWaiters: [],
  };
  return {
    add: (item) => addItem(state, item),
    setFailing(name, isFailing) {
      const key = receiverKey(name);
      if (isFailing) return void state.failing.add(key);
      const receiver = state.failing.delete(key) ? state.receivers.get(key) : undefined;
      if (receiver?.heldIn) serve(state, receiver);
    },
    loads: () =>
      Array.from(state.receivers.values())
        .map((receiver) => ({ holderId: receiver.holderId, origin: receiver.origin, load: loadOf(receiver) }))
        .filter(({ load }) => load > 0),
    idle: () => (isIdle(state) ? Promise.resolve() : new Promise((resolve) => state.idleWaiters.push(resolve))),
  };
}

function createGroup<Item>(key: string, max: number): Group<Item> {
  return { key, max, active: 0, failingActive: 0, waiting: 0, held: { 0: new Set(), 1: new Set(), 2: new Set() } };
}

function isIdle<Item>({ total }: QueueState<Item>): boolean {
  return total.active === 0 && total.waiting === 0;
}

function countWaiting<Item>(receiver: Receiver<Item>): number {
  return receiver.waiting.length - receiver.head;
}

function loadOf<Item>(receiver: Receiver<Item>): number {
  return receiver.active + countWaiting(receiver);
}

function addItem<Item extends ReceiverName>(state: QueueState<Item>, item: Item): boolean {
  const key = receiverKey(item);
  const receiver = state.receivers.get(key) ?? createReceiver(state, key, item);
  const full =
    state.total.waiting >= MAX_WAITING ||
    receiver.holder.waiting >= MAX_WAITING_PER_HOLDER ||
    (state.failing.has(key) && loadOf(receiver) >= PER_FAILING_RECEIVER);
  if (full) return false;
  if (!state.receivers.has(key)) register(state, receiver);
  receiver.waiting.push(item);
  for (const group of receiver.groups) group.waiting++;
  serve(state, receiver);
  return true;
}

function createReceiver<Item>(state: QueueState<Item>, key: string, name: ReceiverName): Receiver<Item> {
  const { holderId, origin } = name;
  const groupOf = (groupKey: string, max: number) => state.groups.get(groupKey) ?? createGroup<Item>(groupKey, max);
  const holder = groupOf(`holder ${holderId}`, PER_HOLDER);
  const groups = [holder, groupOf(`origin ${origin}`, PER_ORIGIN), state.total];
  return { key, holderId, origin, waiting: [], head: 0, active: 0, holder, groups, heldIn: null };
}

function register<Item>(state: QueueState<Item>, receiver: Receiver<Item>): void {
  state.receivers.set(receiver.key, receiver);
  for (const group of receiver.groups) if (group !== state.total) state.groups.set(group.key, group);
}

/** Starts as many items of the receiver as its cap and its groups allow. */
function serve<Item>(state: QueueState<Item>, receiver: Receiver<Item>): void {
  receiver.heldIn?.delete(receiver);
  receiver.heldIn = null;
  const isFailing = state.failing.has(receiver.key);
  const cap = isFailing ? PER_FAILING_RECEIVER : PER_RECEIVER;
  while (countWaiting(receiver) > 0 && receiver.active < cap) {
    const rank = isFailing ? 1 : receiver.active === 0 ? 0 : 2;
    const full = receiver.groups.find((group) => !hasPlace(group, rank));
    if (full) {
      if (full === state.total) state.turns.add(receiver.holder);
      receiver.heldIn = (full === state.total ? receiver.holder : full).held[rank].add(receiver);
      return;
    }
    start(state, receiver, isFailing);
  }
}

function hasPlace<Item>(group: Group<Item>, rank: Rank): boolean {
  if (group.active >= group.max) return false;
  return rank === 0 || (rank === 1 ? group.failingActive : group.active) < group.max / 2;
}

/** Gives the free places of a holder or an origin to the receivers that wait for one, in turn. */
function serveHeld<Item>(state: QueueState<Item>, group: Group<Item>): void {
  for (const rank of RANKS)
    for (const receiver of group.held[rank]) {
      if (!hasPlace(group, rank)) break;
      // It would only be put back: it waits for the turn of its holder.
      if (group === receiver.holder && !hasPlace(state.total, rank)) {
        state.turns.add(group);
        break;
      }
      serve(state, receiver);
    }
}

/** Gives the free places of the process to the holders that wait for one: one receiver of each, in turn. */
function serveTurns<Item>(state: QueueState<Item>): void {
  for (const rank of RANKS)
    for (const holder of Array.from(state.turns)) {
      if (!hasPlace(state.total, rank)) break;
      const [receiver] = holder.held[rank];
      if (!receiver || !hasPlace(holder, rank)) continue;
      serve(state, receiver);
      // To the end of the order.
      state.turns.delete(holder);
      state.turns.add(holder);
    }
  for (const holder of state.turns) if (RANKS.every((rank) => holder.held[rank].size === 0)) state.turns.delete(holder);
}

function start<Item>(state: QueueState<Item>, receiver: Receiver<Item>, countsAsFailing: boolean): void {
  const item = takeFirst(receiver);
  receiver.active++;
  for (const group of receiver.groups) {
    group.waiting--;
    group.active++;
    if (countsAsFailing) group.failingActive++;
  }
  void state.work(item).finally(() => {
    receiver.active--;
    for (const group of receiver.groups) {
      group.active--;
      if (countsAsFailing) group.failingActive--;
    }
    finish(state, receiver);
  });
}

function finish<Item>(state: QueueState<Item>, receiver: Receiver<Item>): void {
  if (countWaiting(receiver) === 0) {
    if (receiver.active === 0 && state.receivers.size > KEPT_RECEIVERS) forgetIdle(state);
    state.onEmpty?.({ holderId: receiver.holderId, origin: receiver.origin });
  }
  // Those that wait for the place come first, other holders before its own; the receiver that had it waits behind them.
  serveTurns(state);
  for (const group of receiver.groups) if (group !== state.total) serveHeld(state, group);
  serve(state, receiver);
  if (!isIdle(state)) return;
  for (const resolve of state.idleWaiters.splice(0)) resolve();
}

/** All that are idle at once: a group that is left out may not be used by a receiver that stays. */
function forgetIdle<Item>({ receivers, groups, failing }: QueueState<Item>): void {
  for (const [key, receiver] of receivers) if (loadOf(receiver) === 0) receivers.delete(key);
  // With each delivery that is added, the queue is told again whether its receiver fails.
  for (const key of failing) if (!receivers.has(key)) failing.delete(key);
  for (const [key, group] of groups) if (group.active + group.waiting === 0) groups.delete(key);
}

function takeFirst<Item>(receiver: Receiver<Item>): Item {
  const item = receiver.waiting[receiver.head] as Item;
  receiver.head++;
  if (receiver.head === receiver.waiting.length) {
    receiver.waiting = [];
    receiver.head = 0;
  }
  return item;
}
