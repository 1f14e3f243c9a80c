/** `/v1/bind`: late binding over HTTP, for callers with the mounted token. @module */
import type { Context, Hono, MiddlewareHandler } from "hono";
import { refuse } from "../http/answers.ts";
import { readJSON } from "../http/body.ts";
import { CHALLENGE, notLetIn } from "../http/guard.ts";
import type { HTTPEnv } from "../http/httppath.ts";
import type { RestOptions } from "./rest.ts";

/** Largest delivery, in bytes; it is held in memory. */
const DELIVERY_BYTES = 16 * 1024 * 1024;

/** Adds the endpoints to the app. */
export function addBinding(app: Hono<HTTPEnv>, { binding, token, log }: RestOptions): void {
  app.use("/v1/bind", onlyWithToken(token));
  app.post("/v1/bind", async (c) => {
    const bound = await binding.bind(await readJSON(c, DELIVERY_BYTES));
    log("info", "Bound", { digest: bound.digest, env: bound.env, files: bound.files });
    return c.json(bound);
  });
  app.get("/v1/bind", (c) => {
    const bound = binding.bound();
    return bound ? c.json(bound) : refuse("NOT_FOUND", "Cannot show the binding: nothing is bound");
  });
  app.delete("/v1/bind", async (c) => {
    await binding.revoke();
    log("info", "Binding revoked");
    return c.body(null, 204);
  });
}

/**
 * Refuses binding if no token is mounted, unlike other endpoints: otherwise anybody who reaches the port could bind.
 */
function onlyWithToken(token: RestOptions["token"]): MiddlewareHandler {
  return async (c: Context, next) => {
    const verdict = await token(c.req.header("Authorization"));
    if (verdict === "none") {
      return refuse("PERMISSION_DENIED", "Cannot bind: no token is mounted in this sandbox, see --token-file");
    }
    if (verdict !== "right") return refuse("UNAUTHENTICATED", notLetIn(verdict), CHALLENGE);
    return await next();
  };
}
