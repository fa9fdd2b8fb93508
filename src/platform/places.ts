// Places for requests in flight. There are MAX_IN_FLIGHT of them. A request takes one when its body is complete. Until its
// caller is known (a signature, a token, a session), it also counts against the share of its address, so that no stranger
// takes the places of others. A request over the share of its address waits for one of that address to end.

/** One address may hold one place in this many with requests of unknown callers. */
const ADDRESS_SHARE = 10;
const LEAST_PER_ADDRESS = 10;
/** Requests that only wait for a change hold no place; at most one for this many places. */
const LONG_POLL_SHARE = 4;
/** A request over the share of its address waits this long at most. */
const LONGEST_WAIT_MS = 1_000;

export interface Place {
  /** The caller is known: the place no longer counts against its address. */
  callerKnown(): void;
  /** The request waits for a change: it gives its place back. False when too many wait already. */
  startLongPoll(): boolean;
  leave(): void;
}

export interface Places {
  isFull(): boolean;
  /** Takes a place, at once or after a wait. `entered` gets null when there is none. Without an address no share applies. */
  enter(address: string | null, entered: (place: Place | null) => void): void;
  /** Takes a place even when there is none left: health checks and operators. */
  enterAlways(): Place;
}

export function createPlaces(total: number): Places {
  const shares = createShares(Math.max(LEAST_PER_ADDRESS, Math.floor(total / ADDRESS_SHARE)));
  const maxLongPolls = Math.max(1, Math.floor(total / LONG_POLL_SHARE));
  let taken = 0;
  let longPolls = 0;

  /** A place that counts against the share of `address`, which was taken before. */
  function takePlace(address: string | null): Place {
    taken++;
    let countedFor = address;
    let state: 'working' | 'long_poll' | 'left' = 'working';
    const callerKnown = () => {
      const counted = countedFor;
      countedFor = null;
      if (counted !== null) shares.giveBack(counted);
    };
    return {
      callerKnown,
      startLongPoll() {
        if (state !== 'working' || longPolls >= maxLongPolls) return false;
        state = 'long_poll';
        taken--;
        longPolls++;
        callerKnown();
        return true;
      },
      leave() {
        if (state === 'working') taken--;
        if (state === 'long_poll') longPolls--;
        state = 'left';
        callerKnown();
      },
    };
  }

  return {
    isFull: () => taken >= total,
    enter(address, entered) {
      if (taken >= total) return entered(null);
      if (address === null) return entered(takePlace(null));
      shares.take(address, (granted) => {
        if (granted && taken < total) return entered(takePlace(address));
        if (granted) shares.giveBack(address);
        entered(null);
      });
    },
    enterAlways: () => takePlace(null),
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
      const queue = addresses.get(address) ?? { taken: 0, waiting: [] };
      addresses.set(address, queue);
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
      if (queue.taken === 0) addresses.delete(address);
    },
  };
}
