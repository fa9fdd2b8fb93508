// Options of V8 for processes that run for long. Node does not accept most of them in NODE_OPTIONS, so a process sets them itself
// as it starts.

/**
 * V8 collects garbage when the heap has grown by so much since the last time. By itself it lets a heap of 50 MB grow to 150 MB
 * on a machine with much memory, although what a payment leaves is garbage at once.
 */
const HEAP_GROWTH_PERCENT = 50;

/**
 * V8 notes which objects of the first busy seconds live long, and from then on makes their like as old objects, which are freed only when
 * the whole heap is marked. A request under load seems to live long, but is garbage a moment later (decision 61).
 */
const ALL_BEGIN_YOUNG = '--no-allocation-site-pretenuring';

/**
 * How many bytes of other functions V8 compiles into one that is called often; by itself 460 of one function and 920 of all. A request goes
 * through many small functions, none of which takes much time (decision 64).
 */
const INLINE_MORE = '--max-inlined-bytecode-size=1000 --max-inlined-bytecode-size-cumulative=3000';

export const V8_FLAGS = `--heap-growing-percent=${HEAP_GROWTH_PERCENT} ${ALL_BEGIN_YOUNG} ${INLINE_MORE}`;
