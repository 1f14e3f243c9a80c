/** Metrics of the server of E2B's API, in the Prometheus text format. No label has a value that a client chooses. @module */
import type { MiddlewareHandler } from "hono";
import { routePath } from "hono/route";
import { Counter, Histogram, type Registry } from "prom-client";

export interface E2BMetrics {
  /** Records each request of a client. */
  middleware: MiddlewareHandler;
  /** Records an answer of the API server. */
  requested(method: string, status: number): void;
  text(): Promise<string>;
  contentType: string;
}

export function createE2BMetrics(registry: Registry): E2BMetrics {
  const registers = [registry];
  const answered = new Counter({
    name: "hookbox_e2b_requests_total",
    help: "Requests of E2B's clients, by route and status code",
    labelNames: ["method", "route", "code"],
    registers,
  });
  const seconds = new Histogram({
    name: "hookbox_e2b_request_seconds",
    help: "How long requests of E2B's clients took, by route; a creation waits until the sandbox is Ready",
    labelNames: ["method", "route"],
    buckets: [.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 25, 50],
    registers,
  });
  const requests = new Counter({
    name: "hookbox_e2b_api_requests_total",
    help: "Requests to the API server, by HTTP method (WATCH for watches) and status code",
    labelNames: ["method", "code"],
    registers,
  });
  return {
    async middleware(c, next) {
      const startedAt = performance.now();
      await next();
      const route = routePath(c, -1);
      const method = METHODS.has(c.req.method) ? c.req.method : "other";
      answered.inc({ method, route, code: c.res.status });
      seconds.observe({ method, route }, (performance.now() - startedAt) / 1000);
    },
    requested: (method, status) => requests.inc({ method, code: status }),
    text: () => registry.metrics(),
    contentType: registry.contentType,
  };
}

const METHODS = new Set(["DELETE", "GET", "OPTIONS", "PATCH", "POST", "PUT"]);
