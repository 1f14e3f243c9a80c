/** Answers probes and Prometheus, as a Hono app. @module */
import { Hono } from "hono";

/** Metrics in a text format. */
export interface TextMetrics {
  text(): Promise<string>;
  contentType: string;
}

/**
 * Creates the app: `/healthz`, `/readyz`, and `/metrics` if there are metrics.
 *
 * @param notReady the body of `/readyz` with status 503
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
