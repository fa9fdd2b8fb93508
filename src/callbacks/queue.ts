// A fair queue in memory: deliveries wait by receiver, each receiver has its own cap, and the first place of one receiver
// comes before the second place of another. So a healthy receiver is served at once, even while many others hang.

const PER_RECEIVER = 16;
/** A receiver that keeps failing gets one place, until it answers again. */
const PER_FAILING_RECEIVER = 1;
const TOTAL = 1_024;
/** Above this a receiver gets no second place and failing receivers get none: the rest is reserved for first places. */
const SHARED = 512;
/** About a kilobyte each. What is refused here waits in the database until its lease ends. */
const MAX_WAITING_PER_RECEIVER = 20_000;
const MAX_WAITING = 40_000;

interface FairQueue<Item> {
  /** Adds an item. Returns false when the receiver, or the queue, has too much waiting already. */
  add(receiver: string, item: Item): boolean;
  /** A failing receiver has one place at a time. */
  setFailing(receiver: string, failing: boolean): void;
  /** Running plus waiting items of each receiver that has any. */
  loads(): { receiver: string; load: number }[];
  /** Resolves when nothing waits or runs. */
  idle(): Promise<void>;
}

type Receiver<Item> = { name: string; waiting: Item[]; head: number; active: number };

type QueueOptions<Item> = {
  work: (item: Item) => Promise<void>;
  /** Called when a receiver has nothing more waiting. */
  onEmpty?: (receiver: string) => void;
};

type QueueState<Item> = QueueOptions<Item> & {
  receivers: Map<string, Receiver<Item>>;
  failing: Set<string>;
  /** Receivers held back by the total alone, longest first. A receiver at its own cap is served again when it finishes. */
  held: Set<Receiver<Item>>;
  active: number;
  failingActive: number;
  waiting: number;
  idleWaiters: (() => void)[];
};

export function createFairQueue<Item>(options: QueueOptions<Item>): FairQueue<Item> {
  const state: QueueState<Item> = {
    ...options,
    receivers: new Map(),
    failing: new Set(),
    held: new Set(),
    active: 0,
    failingActive: 0,
    waiting: 0,
    idleWaiters: [],
  };
  return {
    add: (name, item) => addItem(state, name, item),
    setFailing(name, isFailing) {
      if (isFailing) state.failing.add(name);
      else state.failing.delete(name);
    },
    loads: () =>
      Array.from(state.receivers.values(), (receiver) => ({
        receiver: receiver.name,
        load: receiver.active + countWaiting(receiver),
      })),
    idle: () => (isIdle(state) ? Promise.resolve() : new Promise((resolve) => state.idleWaiters.push(resolve))),
  };
}

function isIdle<Item>(state: QueueState<Item>): boolean {
  return state.active === 0 && state.waiting === 0;
}

function countWaiting<Item>(receiver: Receiver<Item>): number {
  return receiver.waiting.length - receiver.head;
}

function addItem<Item>(state: QueueState<Item>, name: string, item: Item): boolean {
  const known = state.receivers.get(name);
  const receiver = known ?? { name, waiting: [], head: 0, active: 0 };
  const max = state.failing.has(name) ? PER_FAILING_RECEIVER - receiver.active : MAX_WAITING_PER_RECEIVER;
  if (state.waiting >= MAX_WAITING || countWaiting(receiver) >= max) return false;
  if (!known) state.receivers.set(name, receiver);
  receiver.waiting.push(item);
  state.waiting++;
  serve(state, receiver);
  return true;
}

/** Starts as many items of the receiver as its cap and the total allow. */
function serve<Item>(state: QueueState<Item>, receiver: Receiver<Item>): void {
  state.held.delete(receiver);
  const isFailing = state.failing.has(receiver.name);
  const cap = isFailing ? PER_FAILING_RECEIVER : PER_RECEIVER;
  while (countWaiting(receiver) > 0 && receiver.active < cap) {
    const full =
      state.active >= TOTAL ||
      (receiver.active > 0 && state.active >= SHARED) ||
      (isFailing && state.failingActive >= SHARED);
    if (full) return void state.held.add(receiver);
    start(state, receiver);
  }
}

function serveHeld<Item>(state: QueueState<Item>): void {
  for (const receiver of state.held) {
    if (state.active >= TOTAL) return;
    const before = state.active;
    serve(state, receiver);
    // Nothing started although there is room: the other receivers are held for the same reason.
    if (state.active === before && state.active >= SHARED) return;
  }
}

function start<Item>(state: QueueState<Item>, receiver: Receiver<Item>): void {
  const item = takeFirst(receiver);
  const countsAsFailing = state.failing.has(receiver.name);
  state.waiting--;
  state.active++;
  receiver.active++;
  if (countsAsFailing) state.failingActive++;
  void state.work(item).finally(() => {
    state.active--;
    receiver.active--;
    if (countsAsFailing) state.failingActive--;
    if (countWaiting(receiver) === 0) {
      if (receiver.active === 0) state.receivers.delete(receiver.name);
      state.onEmpty?.(receiver.name);
    }
    serve(state, receiver);
    serveHeld(state);
    if (!isIdle(state)) return;
    for (const resolve of state.idleWaiters.splice(0)) resolve();
  });
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
