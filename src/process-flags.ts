// Options of V8 for processes that run for long.

/**
 * V8 collects garbage when the heap has grown by so much since the last time. By itself it lets a heap of 50 MB grow to 150 MB
 * on a machine with much memory, although what a payment leaves is garbage at once.
 */
const HEAP_GROWTH_PERCENT = 60;

export const HEAP_FLAGS = `--heap-growing-percent=${HEAP_GROWTH_PERCENT}`;
