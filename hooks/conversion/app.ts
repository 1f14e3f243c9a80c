/** The HTTP app of the conversion hook, made with Hono: `POST /convert`, health probes and metrics. @module */
import { parseExactly, parseJson } from "../../packages/api/objects/json.ts";
import type { Hono } from "hono";
import { HTTPException } from "hono/http-exception";
import { ZodError } from "zod";
import { createHealthApp } from "../../packages/process/observability.ts";
import { errorFields, type Log } from "../../packages/process/log.ts";
import { createHookMetrics } from "../../packages/webhook/telemetry.ts";
import { STOPPING } from "../../packages/webhook/app.ts";
import { issuePaths } from "../../packages/webhook/hook.ts";
import { createIntake } from "../../packages/webhook/intake.ts";
import { answerReview, reviewSchema } from "./review.ts";

const LABELS = { hook: "conversion", endpoint: "convert" };
/**
 * The API server gives up after 30 seconds. An answer is about as large as its review, and stays in memory until the
 * API server has read it.
 */
const LIMITS = {
  maxBodyBytes: 27 * 1024 * 1024,
  maxBodyWeight: 80 * 1024 * 1024,
  maxHeldWeight: 96 * 1024 * 1024,
  maxBodyMs: 20_000,
};

/**
 * Creates the app.
 *
 * | status of `/convert` | when |
 * |---|---|
 * | 200 | the body is a ConversionReview; the answer contains the objects, or why they cannot be converted |
 * | 400 | the body is not a ConversionReview: `{error, issues}` contains paths, never values |
 * | 413, 429, 504 | the body is too large, too many bodies are in memory, the body arrives too slowly |
 */
export function createConversionApp({ log, ready }: { log: Log; ready: () => boolean }): Hono {
  const metrics = createHookMetrics();
  const app = createHealthApp(ready, metrics, STOPPING);
  const intake = createIntake(LIMITS);
  app.use("/convert", async (c, next) => {
    const stop = metrics.duration.startTimer(LABELS);
    await next();
    metrics.requests.inc({ ...LABELS, code: String(c.res.status) });
    stop();
  });
  app.post("/convert", (c) =>
    intake(c.req.raw, (bytes) => {
      const answer = answerReview(parseExactly(reviewSchema, parseJson(new TextDecoder().decode(bytes))));
      const { result } = answer.response;
      if (result.status === "Failure") log("warn", "Objects not converted", { reason: result.message });
      return Promise.resolve(Response.json(answer));
    }));
  app.all("/convert", () => Response.json({ error: "use POST" }, { status: 405 }));
  app.onError((error) => {
    if (error instanceof HTTPException) {
      return Response.json({ error: error.message }, { status: error.status, headers: { Connection: "close" } });
    }
    if (error instanceof ZodError) {
      return Response.json({ error: "Cannot read the review", issues: issuePaths(error) }, { status: 400 });
    }
    if (error instanceof SyntaxError) {
      return Response.json({ error: "Cannot read the review: it is not JSON" }, { status: 400 });
    }
    log("error", "Request failed", { ...LABELS, ...errorFields(error) });
    return Response.json({ error: "Cannot convert" }, { status: 500 });
  });
  return app;
}
