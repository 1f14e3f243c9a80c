/** What the router answers to probes and to Prometheus, as a Hono app. Opens no port. @module */
import { Hono } from "hono";
import type { RouterMetrics } from "./metrics.ts";

/** Makes the app: `/healthz`, and `/readyz`, which is good once every Sandbox has been seen; `/metrics` where there are any. */
export function createHealthApp(ready: () => boolean, metrics?: RouterMetrics): Hono {
  const app = new Hono();
  app.get("/healthz", (c) => c.text("ok"));
  app.get("/readyz", (c) => ready() ? c.text("ok") : c.text("not ready", 503));
  if (!metrics) return app;
  app.get("/metrics", async (c) => c.body(await metrics.text(), 200, { "Content-Type": metrics.contentType }));
  return app;
}
