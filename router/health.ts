/** What the router answers to probes, as a Hono app. Opens no port. @module */
import { Hono } from "hono";

/** Makes the app: `/healthz`, and `/readyz`, which is good once every Sandbox has been seen. */
export function createHealthApp(ready: () => boolean): Hono {
  const app = new Hono();
  app.get("/healthz", (c) => c.text("ok"));
  app.get("/readyz", (c) => ready() ? c.text("ok") : c.text("not ready", 503));
  return app;
}
