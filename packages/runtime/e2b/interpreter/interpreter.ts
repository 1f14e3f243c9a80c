/**
 * The Hono app of port 49999: E2B's code interpreter protocol, on the contexts of the runtime.
 *
 * | request | response |
 * |---|---|
 * | `POST /execute {code, context_id?, language?, env_vars?}` | 200, one JSON object per line, see `messages.ts` |
 * | `POST /contexts {language?, cwd?}` | 200 `{id, language, cwd}` |
 * | `GET /contexts` | 200, a list of the same |
 * | `DELETE /contexts/{id}`, `POST /contexts/{id}/restart` | 200 |
 * | `GET /health` | 200 `OK`; requires no token, and does not count as activity |
 *
 * Errors are plain text: 404 for an unknown context, 400 for a context together with a language, 500 for a language that
 * the sandbox does not have.
 *
 * @module
 */
import { type Context, Hono } from "hono";
import * as z from "zod";
import type { Log } from "../../../process/log.ts";
import type { Root } from "../../confine.ts";
import type { CodeContext, Contexts } from "../../contexts/contexts.ts";
import { type Language, LANGUAGES } from "../../contexts/kernel.ts";
import { streamOf } from "../../files/read.ts";
import { Refused, refusedFor } from "../../files/refused.ts";
import { logFault, statusOf } from "../../http/answers.ts";
import { readText } from "../../http/body.ts";
import { type AppOptions, createGuard } from "../../http/guard.ts";
import { type HTTPEnv, rawPath } from "../../http/httppath.ts";
import { SpawnError } from "../../processes/command.ts";
import { createUserGate } from "../../users/userruntime.ts";
import { absolutePath, homeOf } from "../envd/paths.ts";
import { messagesOf } from "./messages.ts";

/** What the app serves and uses. */
export interface InterpreterOptions extends AppOptions {
  contexts: Contexts;
}

/** Creates the app of port 49999. */
export function createInterpreter(options: InterpreterOptions): Hono<HTTPEnv> {
  const { contexts, root, stop, log } = options;
  // A base URL with a slash at its end gives `//execute`.
  const app = new Hono<HTTPEnv>({ getPath: (...call) => rawPath(...call).replace(/\/{2,}/g, "/") });
  app.use(createGuard({
    open: (path) => path === "/health",
    stopping: () => stop.aborted,
    token: options.token,
    allowedHosts: options.allowedHosts,
    touch: options.touch,
    refuse: (code, message, headers) => answerText(message, statusOf({ code }), headers),
  }));
  app.use(createUserGate(options.users, (path) => path === "/health", "interpreter"));
  app.get("/health", (c) => c.text("OK"));
  app.post("/execute", (c) => execute(c, options));
  app.post("/contexts", async (c) => {
    const { language, cwd } = await readBody(c, contextSchema);
    return c.json(infoOf(await contexts.create(languageOf(language), await folderOf(root, cwd), {})));
  });
  app.get("/contexts", async (c) => {
    // E2B starts these two languages with the sandbox, so clients expect them in the list.
    const home = await homeOf(root);
    await Promise.allSettled([contexts.default("python", home), contexts.default("javascript", home)]);
    return c.json(contexts.list().map(infoOf));
  });
  app.delete("/contexts/:id", (c) => {
    contexts.remove(find(contexts, c.req.param("id")));
    return c.json(null);
  });
  app.post("/contexts/:id/restart", async (c) => {
    await contexts.restart(find(contexts, c.req.param("id")));
    return c.json(null);
  });
  app.notFound((c) => answerText(`Cannot find ${c.req.method} ${c.req.path}: no such endpoint`, 404));
  app.onError((error, c) => errorResponse(error, c, log));
  return app;
}

/** Largest body, in bytes. */
const BODY_BYTES = 16 << 20;
/** Names of variables that a program can have. */
const NAME = /^[^=\0]+$/;

const text = z.string().nullish();
const contextSchema = z.object({ language: text, cwd: text });
const executeSchema = z.object({
  code: z.string(),
  context_id: text,
  language: text,
  env_vars: z.record(
    z.string().regex(NAME),
    z.string().refine((value) => !value.includes("\0"), "must not contain a NUL byte"),
  ).nullish(),
});

/** An error with an HTTP status. Its message is the body of the response. */
class HTTPError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

async function execute(c: Context<HTTPEnv>, { contexts, root, log }: InterpreterOptions): Promise<Response> {
  const { code, context_id, language, env_vars } = await readBody(c, executeSchema);
  if (context_id && language) throw new HTTPError(400, "Only one of context_id or language can be provided");
  const context = context_id
    ? find(contexts, context_id)
    : await contexts.default(languageOf(language), await homeOf(root));
  let count: number | undefined;
  const events = contexts.run(context, code, {
    signal: c.req.raw.signal,
    env: { ...sandboxEnvironment(c), ...env_vars },
    revives: true,
    onBegin: (number) => count = number,
  });
  const messages = messagesOf({
    events,
    count: () => count,
    byLine: context.language === "bash",
    isKept: () => contexts.get(context.id) === context,
  });
  const headers = {
    "Content-Type": "application/json",
    // A proxy must not buffer the lines, or they arrive too late.
    "Cache-Control": "no-cache, no-transform",
    "X-Accel-Buffering": "no",
  };
  log("debug", "Running code", { context: context.id, language: context.language });
  return new Response(streamOf(linesOf(messages)), { headers });
}

/** The variables that programs use to find out that they run in a sandbox. */
function sandboxEnvironment(c: Context): Record<string, string> {
  const id = c.req.header("E2b-Sandbox-Id");
  return { E2B_SANDBOX: "true", ...id === undefined ? {} : { E2B_SANDBOX_ID: id } };
}

async function* linesOf(messages: ReturnType<typeof messagesOf>): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  for await (const message of messages) yield encoder.encode(`${asciiOf(message)}\n`);
}

/** The JavaScript SDK decodes each chunk by itself. So no character may have several bytes: a chunk can end between them. */
function asciiOf(message: object): string {
  return JSON.stringify(message).replace(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

const ALIASES: Record<string, Language> = { js: "javascript", ts: "typescript" };

function languageOf(name: string | null | undefined): Language {
  const word = (name || "python").trim().toLowerCase();
  const language = ALIASES[word] ?? LANGUAGES.find((one) => one === word);
  if (language) return language;
  throw new HTTPError(500, `Cannot run ${JSON.stringify(name)}: the languages are ${LANGUAGES.join(", ")}`);
}

function find(contexts: Contexts, id: string): CodeContext {
  const found = contexts.get(id);
  if (!found) throw new HTTPError(404, `Context ${id} not found`);
  return found;
}

function infoOf({ id, language, cwd }: CodeContext) {
  return { id, language, cwd };
}

/** Returns the folder of a new context. @throws {HTTPError} 400 if there is no such folder */
async function folderOf(root: Root, cwd: string | null | undefined): Promise<string> {
  if (!cwd) return await homeOf(root);
  try {
    return await root.resolve(await absolutePath(root, cwd));
  } catch (error) {
    throw new HTTPError(400, refusedFor(error, cwd)?.message ?? `Cannot use the folder ${JSON.stringify(cwd)}`);
  }
}

async function readBody<S extends z.ZodType>(c: Context<HTTPEnv>, schema: S): Promise<z.infer<S>> {
  let body: unknown;
  try {
    body = JSON.parse(await readText(c, BODY_BYTES) || "{}");
  } catch (error) {
    if (error instanceof Refused) throw error;
    throw new HTTPError(422, "Cannot read the body: it is not JSON");
  }
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map(({ path, message }) => `${path.join(".") || "body"}: ${message}`);
  throw new HTTPError(422, `Cannot read the body: ${issues.join("; ")}`);
}

function answerText(message: string, status: number, headers: Record<string, string> = {}): Response {
  return new Response(message, { status, headers: { "Content-Type": "text/plain; charset=utf-8", ...headers } });
}

function errorResponse(error: unknown, c: Context, log: Log): Response {
  if (error instanceof HTTPError) return answerText(error.message, error.status);
  if (error instanceof SpawnError) return answerText(error.message, error.code === "bad-cwd" ? 400 : 500);
  const refused = refusedFor(error, c.req.path);
  if (refused) return answerText(refused.message, statusOf(refused));
  logFault(error, c, log);
  return answerText("Internal error, see the runtime's log", 500);
}
