/** What a process answers to probes and to Prometheus, as a Hono app. Opens no port. @module */
import { Hono } from "hono";

/** Metrics as text. */
export interface TextMetrics {
  text(): Promise<string>;
  contentType: string;
}

/**
 * Makes the app: `/healthz`, `/readyz`, and `/metrics` where there are any.
 *
 * @param notReady what `/readyz` says with its 503
 */
export function createHealthApp(ready: () => boolean, metrics?: TextMetrics, notReady = "not ready"): Hono {
  const app = new Hono();
  app.get("/healthz", (c) => c.text("ok"));
  app.get("/readyz", (c) => ready() ? c.text("ok") : c.text(notReady, 503));
  if (metrics) {
    app.get("/metrics", async (c) => c.body(await metrics.text(), 200, { "Content-Type": metrics.contentType }));
  }
  return app;
}
