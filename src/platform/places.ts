// Places for requests in flight. There are MAX_IN_FLIGHT of them, and fewer while requests are delayed (delay-control.ts). A
// request takes one when its body is complete. Until its caller is known (a signature, a token, a session), it also counts
// against the share of its address, so that no stranger takes the places of others. A request over the share of its address
// waits for one of that address to end. When places are scarce, every integration has an equal share of them: one that holds
// less is served, and one that fills the rest is refused.

import { createDelayControl, type DelayControl } from './delay-control.ts';

/** One address may hold one place in this many with requests of unknown callers. */
const ADDRESS_SHARE = 10;
const LEAST_PER_ADDRESS = 10;
/** Requests that only wait for a change hold no place; at most one for this many places. */
const LONG_POLL_SHARE = 4;
/** Counts of zero that stay in memory. An entry that comes and goes with every request makes its Map a new table again and again. */
const MAX_IDLE = 10_000;
/** A request over the share of its address waits this long at most. */
const LONGEST_WAIT_MS = 1_000;

export interface Place {
  /**
   * The caller is known: the place no longer counts against its address, but against the share of the caller, where it is an
   * integration. False when places are scarce and the caller has its share already.
   */
  callerKnown(caller?: string): boolean;
  /** The request waits for a change: it gives its place back. False when too many wait already. */
  startLongPoll(): boolean;
  leave(): void;
}

export interface Places {
  /** Whether a request would be refused now. `caller`: the integration that sends it, as far as is known. */
  isFull(caller?: string): boolean;
  /** Takes a place, at once or after a wait. `entered` gets null when there is none. Without an address no share applies. */
  enter(address: string | null, entered: (place: Place | null) => void): void;
  /** Takes a place even when there is none left: health checks and operators. */
  enterAlways(): Place;
}

export function createPlaces(total: number, control: DelayControl = createDelayControl(total, 0)): Places {
  const room = createRoom(total, control);
  return {
    isFull: (caller) => refuses(room, room.taken, caller),
    enter(address, entered) {
      if (refuses(room, room.taken)) return entered(null);
      if (address === null) return entered(takePlace(room, null));
      room.shares.take(address, (granted) => {
        if (granted && !refuses(room, room.taken)) return entered(takePlace(room, address));
        if (granted) room.shares.giveBack(address);
        entered(null);
      });
    },
    enterAlways: () => takePlace(room, null),
  };
}

type Room = {
  readonly total: number;
  readonly control: DelayControl;
  readonly callers: Callers;
  readonly shares: Shares;
  /** Requests of callers that are not known yet, beyond the limit: somebody with a free share may be among them. */
  readonly reserve: number;
  readonly maxLongPolls: number;
  taken: number;
  longPolls: number;
};

function createRoom(total: number, control: DelayControl): Room {
  const perAddress = Math.max(LEAST_PER_ADDRESS, Math.floor(total / ADDRESS_SHARE));
  return {
    total,
    control,
    callers: createCallers(),
    shares: createShares(perAddress),
    reserve: perAddress,
    maxLongPolls: Math.max(1, Math.floor(total / LONG_POLL_SHARE)),
    taken: 0,
    longPolls: 0,
  };
}

/** `taken` of the places, or one less where the caller has one already. */
function isScarce({ total, control, callers, reserve }: Room, taken: number, caller?: string): boolean {
  // The last tenth is for callers that hold less than their share.
  const limit = Math.min(control.limit(), total - Math.floor(total / ADDRESS_SHARE));
  if (taken < limit) return false;
  if (taken >= total) return true;
  if (caller === undefined) return taken >= limit + reserve;
  return callers.placesOf(caller) >= Math.max(1, Math.floor(limit / callers.countWith(caller)));
}

function refuses(room: Room, taken: number, caller?: string): boolean {
  const isRefused = isScarce(room, taken, caller);
  if (isRefused) room.control.refused();
  return isRefused;
}

/** A place that counts against the share of `address`, which was taken before. */
function takePlace(room: Room, address: string | null): Place {
  room.taken++;
  return new TakenPlace(room, address);
}

/** A class: every request has one, and closures of its own would be five more objects each. */
class TakenPlace implements Place {
  readonly #room: Room;
  readonly #since = performance.now();
  #address: string | null;
  #caller: string | null = null;
  #state: 'working' | 'long_poll' | 'left' = 'working';

  constructor(room: Room, address: string | null) {
    this.#room = room;
    this.#address = address;
  }

  callerKnown(caller?: string): boolean {
    const room = this.#room;
    this.#giveBackShare();
    if (caller === undefined || this.#caller !== null || this.#state !== 'working') return true;
    if (refuses(room, room.taken - 1, caller)) return false;
    this.#caller = caller;
    room.callers.add(caller);
    return true;
  }

  startLongPoll(): boolean {
    const room = this.#room;
    if (this.#state !== 'working' || room.longPolls >= room.maxLongPolls) return false;
    this.#state = 'long_poll';
    room.taken--;
    room.longPolls++;
    this.#giveBackShare();
    this.#forgetCaller();
    return true;
  }

  leave(): void {
    const room = this.#room;
    if (this.#state === 'working') {
      // Only what integrations ask for: a page or an export may take long without any queue.
      if (this.#caller !== null) room.control.ended(performance.now() - this.#since, room.taken);
      room.taken--;
    }
    if (this.#state === 'long_poll') room.longPolls--;
    this.#state = 'left';
    this.#giveBackShare();
    this.#forgetCaller();
  }

  #giveBackShare(): void {
    const address = this.#address;
    this.#address = null;
    if (address !== null) this.#room.shares.giveBack(address);
  }

  #forgetCaller(): void {
    if (this.#caller !== null) this.#room.callers.remove(this.#caller);
    this.#caller = null;
  }
}

interface Callers {
  placesOf(caller: string): number;
  /** How many callers hold places, together with this one. */
  countWith(caller: string): number;
  add(caller: string): void;
  remove(caller: string): void;
}

function createCallers(): Callers {
  const held = new Map<string, number>();
  const placesOf = (caller: string) => held.get(caller) ?? 0;
  let holding = 0;
  return {
    placesOf,
    countWith: (caller) => holding + (placesOf(caller) > 0 ? 0 : 1),
    add(caller) {
      const places = placesOf(caller);
      if (places === 0) holding++;
      held.set(caller, places + 1);
    },
    remove(caller) {
      const left = placesOf(caller) - 1;
      if (left === 0) holding--;
      if (left > 0 || held.size <= MAX_IDLE) held.set(caller, left);
      else held.delete(caller);
    },
  };
}

interface Shares {
  /** Takes one of the share of an address, at once or when another is given back. */
  take(address: string, answer: (granted: boolean) => void): void;
  giveBack(address: string): void;
}

type AddressQueue = { taken: number; waiting: ((granted: boolean) => void)[] };

function createShares(perAddress: number): Shares {
  const addresses = new Map<string, AddressQueue>();

  function queueOf(address: string): AddressQueue {
    const known = addresses.get(address);
    if (known) return known;
    const queue = { taken: 0, waiting: [] };
    addresses.set(address, queue);
    return queue;
  }

  function waitForTurn(queue: AddressQueue, answer: (granted: boolean) => void): void {
    const timer = setTimeout(() => {
      queue.waiting.splice(queue.waiting.indexOf(goOn), 1);
      answer(false);
    }, LONGEST_WAIT_MS);
    function goOn(granted: boolean) {
      clearTimeout(timer);
      answer(granted);
    }
    queue.waiting.push(goOn);
  }

  return {
    take(address, answer) {
      const queue = queueOf(address);
      if (queue.taken < perAddress) {
        queue.taken++;
        return answer(true);
      }
      // As many wait as are served: more would not be served in time.
      if (queue.waiting.length >= perAddress) return answer(false);
      waitForTurn(queue, answer);
    },
    giveBack(address) {
      const queue = addresses.get(address);
      if (!queue) return;
      const next = queue.waiting.shift();
      // The next one of this address takes over what was given back.
      if (next) return next(true);
      queue.taken--;
      if (queue.taken === 0 && addresses.size > MAX_IDLE) addresses.delete(address);
    },
  };
}
