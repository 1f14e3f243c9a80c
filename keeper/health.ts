/** What the keeper answers to probes and to Prometheus, as a Hono app. Opens no port. @module */
import { Hono } from "hono";
import type { KeeperMetrics } from "./metrics.ts";

/**
 * Makes the app: `/healthz`, `/readyz`, `/metrics`.
 *
 * @param ready a standby is ready; a leader is once it has seen every object
 */
export function createHealthApp(metrics: KeeperMetrics, ready: () => boolean): Hono {
  const app = new Hono();
  app.get("/healthz", (c) => c.text("ok"));
  app.get("/readyz", (c) => ready() ? c.text("ok") : c.text("not ready", 503));
  app.get("/metrics", async (c) => c.body(await metrics.text(), 200, { "Content-Type": metrics.contentType }));
  return app;
}
