// Requests in Prometheus' format, by route: how many with which status, and how long they took. Every request is noted, and read once
// in some seconds, so it is only counted here; prom-client looks up its labels again for each number, which took a thirtieth of the
// processor time of an accepted payment.

import type { Metric, Registry } from 'prom-client';

type Route = {
  readonly byStatus: Map<number, number>;
  /** How many took as long as the bound of the bucket at most, and longer than that of the one before. The last one has no bound. */
  readonly buckets: number[];
  seconds: number;
};

export type RequestMetrics = {
  note(route: string, status: number, seconds: number): void;
  /** How many requests were answered, by route and status. */
  counts(): { route: string; status: number; count: number }[];
};

/** `bounds`: of the buckets of the histogram, in seconds. */
export function createRequestMetrics(registry: Registry, bounds: readonly number[]): RequestMetrics {
  const routes = new Map<string, Route>();

  function counts() {
    return [...routes].flatMap(([route, { byStatus }]) =>
      [...byStatus].map(([status, count]) => ({ route, status, count })),
    );
  }

  register(registry, {
    name: 'simbi_http_requests_total',
    help: 'Requests answered, by route and status.',
    type: 'counter',
    read: () => counts().map(({ route, status, count }) => ({ labels: { route, status }, value: count })),
  });
  register(registry, {
    name: 'simbi_http_request_seconds',
    help: 'Time to answer a request, by route.',
    type: 'histogram',
    read: (name) => [...routes].flatMap(([route, times]) => histogramOf(name, route, times, bounds)),
  });

  return {
    note(name, status, seconds) {
      let route = routes.get(name);
      if (!route) {
        route = { byStatus: new Map(), buckets: [...bounds.map(() => 0), 0], seconds: 0 };
        routes.set(name, route);
      }
      route.byStatus.set(status, (route.byStatus.get(status) ?? 0) + 1);
      let bucket = 0;
      while (bucket < bounds.length && seconds > (bounds[bucket] as number)) bucket++;
      route.buckets[bucket] = (route.buckets[bucket] as number) + 1;
      route.seconds += seconds;
    },
    counts,
  };
}

type Value = { labels: Record<string, string | number>; value: number; metricName?: string };

/** As Prometheus wants it: each bucket counts those of the buckets before it as well. */
function histogramOf(name: string, route: string, { buckets, seconds }: Route, bounds: readonly number[]): Value[] {
  let count = 0;
  const upTo = buckets.map((own, index) => {
    count += own;
    return { labels: { le: bounds[index] ?? '+Inf', route }, value: count, metricName: `${name}_bucket` };
  });
  return [
    ...upTo,
    { labels: { route }, value: seconds, metricName: `${name}_sum` },
    { labels: { route }, value: count, metricName: `${name}_count` },
  ];
}

type Source = { name: string; help: string; type: 'counter' | 'histogram'; readonly read: (name: string) => Value[] };

/** The registry takes any object that has a name and says its values when it is read. */
function register(registry: Registry, { name, help, type, read }: Source): void {
  const get = () => Promise.resolve({ name, help, type, aggregator: 'sum', values: read(name) });
  registry.registerMetric({ name, get } as unknown as Metric);
}
