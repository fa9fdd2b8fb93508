// Values that may be known already: a cache has them, or reads them first. Most requests find all of theirs, and go on at once. To
// wait for a value that is there takes longer than to compute most of what is made of it.

export type MaybeLater<Value> = Value | Promise<Value>;

/** What `next` makes of the value, at once if it is known. */
export function whenKnown<Value, Result>(
  value: MaybeLater<Value>,
  next: (value: Value) => Promise<Result>,
): Promise<Result>;
export function whenKnown<Value, Result>(
  value: MaybeLater<Value>,
  next: (value: Value) => MaybeLater<Result>,
): MaybeLater<Result>;
export function whenKnown<Value, Result>(
  value: MaybeLater<Value>,
  next: (value: Value) => MaybeLater<Result>,
): MaybeLater<Result> {
  return value instanceof Promise ? value.then(next) : next(value);
}
