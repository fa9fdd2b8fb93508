// A fair queue in memory: items wait by receiver, each receiver has its own cap, and a receiver's first place comes
// before another's second. So however many receivers hang, a healthy one is served at once.

const PER_RECEIVER = 16;
/** A receiver that keeps failing gets one place, until it answers again. */
const PER_FAILING_RECEIVER = 1;
const TOTAL = 1_024;
/** From here on a receiver gets no second place, and failing receivers none at all: the rest is kept for first places. */
const SHARED = 512;
/** About a kilobyte each. What finds no place here waits in the database for the end of its lease. */
const MAX_WAITING_PER_RECEIVER = 20_000;
const MAX_WAITING = 40_000;

export interface FairQueue<Item> {
  /** Takes an item, unless the receiver (or the queue) has too much waiting already. */
  add(receiver: string, item: Item): boolean;
  /** A failing receiver is held to one place at a time. */
  setFailing(receiver: string, failing: boolean): void;
  /** Places taken and items waiting, of the receivers that have any. */
  loads(): { receiver: string; load: number }[];
  readonly waiting: () => number;
  /** Resolves when nothing waits and nothing is under way. */
  idle(): Promise<void>;
}

type Receiver<Item> = { name: string; waiting: Item[]; head: number; active: number };

export function createFairQueue<Item>(options: {
  work: (item: Item) => Promise<void>;
  /** Called when a receiver has nothing more waiting. */
  onEmpty?: (receiver: string) => void;
}): FairQueue<Item> {
  const receivers = new Map<string, Receiver<Item>>();
  const failing = new Set<string>();
  /** Receivers held back by the total alone, longest first. One that is at its own cap comes back when it finishes. */
  const held = new Set<Receiver<Item>>();
  let active = 0;
  let failingActive = 0;
  let waiting = 0;
  let idleWaiters: (() => void)[] = [];

  const count = (receiver: Receiver<Item>) => receiver.waiting.length - receiver.head;

  function start(receiver: Receiver<Item>): void {
    const item = receiver.waiting[receiver.head] as Item;
    receiver.head++;
    if (receiver.head === receiver.waiting.length) {
      receiver.waiting = [];
      receiver.head = 0;
    }
    const counted = failing.has(receiver.name);
    waiting--;
    active++;
    receiver.active++;
    if (counted) failingActive++;
    void options.work(item).finally(() => {
      active--;
      receiver.active--;
      if (counted) failingActive--;
      if (count(receiver) === 0) {
        if (receiver.active === 0) receivers.delete(receiver.name);
        options.onEmpty?.(receiver.name);
      }
      serve(receiver);
      serveHeld();
      if (active === 0 && waiting === 0) {
        for (const wake of idleWaiters) wake();
        idleWaiters = [];
      }
    });
  }

  function serve(receiver: Receiver<Item>): void {
    held.delete(receiver);
    const isFailing = failing.has(receiver.name);
    const cap = isFailing ? PER_FAILING_RECEIVER : PER_RECEIVER;
    while (count(receiver) > 0 && receiver.active < cap) {
      const full =
        active >= TOTAL || (receiver.active > 0 && active >= SHARED) || (isFailing && failingActive >= SHARED);
      if (full) return void held.add(receiver);
      start(receiver);
    }
  }

  function serveHeld(): void {
    for (const receiver of held) {
      if (active >= TOTAL) return;
      const before = active;
      serve(receiver);
      // Nobody moved although there is room: the others are held for the same reason.
      if (active === before && active >= SHARED) return;
    }
  }

  return {
    add(name, item) {
      const known = receivers.get(name);
      const receiver = known ?? { name, waiting: [], head: 0, active: 0 };
      const most = failing.has(name) ? PER_FAILING_RECEIVER - receiver.active : MAX_WAITING_PER_RECEIVER;
      if (waiting >= MAX_WAITING || count(receiver) >= most) return false;
      if (!known) receivers.set(name, receiver);
      receiver.waiting.push(item);
      waiting++;
      serve(receiver);
      return true;
    },
    setFailing(name, isFailing) {
      if (isFailing) failing.add(name);
      else failing.delete(name);
    },
    loads: () =>
      Array.from(receivers.values(), (receiver) => ({
        receiver: receiver.name,
        load: receiver.active + count(receiver),
      })),
    waiting: () => waiting,
    idle: () =>
      active === 0 && waiting === 0 ? Promise.resolve() : new Promise((resolve) => idleWaiters.push(resolve)),
  };
}
