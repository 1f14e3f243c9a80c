/**
 * The Hono app of port 8888, which has the protocol of the published Python runtime. Source: Agent Sandbox runtime
 * reference, sections 8.1.4 and 9.1; for `timeout_seconds` and `timed_out`, 1.0 delta, section 1.5.
 *
 * | request | response |
 * |---|---|
 * | `GET /` | 200 `{status, message}` |
 * | `POST /execute {command, timeout_seconds?}` | 200 `{stdout, stderr, exit_code}`, see below; 422 for another body |
 * | `POST /upload`, form with `file` | 200, 403, 422, 500 |
 * | `GET /download/{path}`, `/list/{path}`, `/exists/{path}` | 200, 403 outside the root, 404 |
 *
 * `POST /execute` adds `timed_out: true` at the time limit, and `truncated: true` if output was cut off.
 *
 * Ranges and `HEAD` are also supported. Errors are `{message}`. The published client removes the leading slash of the
 * path for upload and download, but not for list and exists. {@link legacyPath} says what such a path means.
 *
 * @module
 */
import { type Context, Hono } from "hono";
import type { Stats } from "node:fs";
import type { Log } from "../../process/log.ts";
import { logFault, sendFile, statusOf } from "../http/answers.ts";
import { FormError, takeFile } from "../http/body.ts";
import { MissingError, OutsideError, type Root } from "../confine.ts";
import { execute, type ExecuteOptions, missingField, parseExecute } from "./execute.ts";
import { createCommandReader } from "./largecommands.ts";
import { listFolder } from "../files/list.ts";
import { openForRead } from "../files/read.ts";
import { Refused, refusedFor } from "../files/refused.ts";
import { writeWhole } from "../files/write.ts";
import { type AppOptions, createGuard } from "../http/guard.ts";
import { type HTTPEnv, legacyPath, pathAfter, rawPath } from "../http/httppath.ts";
import { createUserGate } from "../users/userruntime.ts";

/** Settings of the app. */
export interface LegacyOptions extends AppOptions, ExecuteOptions {
  /** Largest file of `POST /upload`, in bytes. */
  maxUpload: number;
}

/** Creates the app of port 8888. */
export function createLegacy(options: LegacyOptions): Hono<HTTPEnv> {
  const { root, stop, token } = options;
  const app = new Hono<HTTPEnv>({ getPath: rawPath });
  app.use(createGuard({
    open: (path) => path === "/",
    stopping: () => stop.aborted,
    token,
    allowedHosts: options.allowedHosts,
    touch: options.touch,
    refuse: (code, message, headers) => Response.json({ message }, { status: statusOf({ code }), headers }),
  }));
  app.use(createUserGate(options.users, (path) => path === "/", "legacy"));
  app.get("/", (c) => c.json({ status: "ok", message: "Sandbox Runtime is active." }));
  const readCommand = createCommandReader();
  app.post("/execute", (c) =>
    readCommand(c, (text, passed): Promise<Response> => {
      const request = parseExecute(text);
      if ("detail" in request) return Promise.resolve(c.json(request, 422));
      return execute(request, options, passed).then((answer) => c.json(answer));
    }));
  app.post("/upload", (c) => upload(c, options));
  app.get("/download/*", (c) => download(c, root));
  app.get("/list/*", (c) => list(c, root));
  app.get("/list", (c) => list(c, root));
  app.get("/exists/*", async (c) => c.json(await exists(root, pathAfter(c, "/exists/"))));
  app.on(["GET", "PUT", "DELETE", "PATCH"], ["/execute", "/upload"], (c) => wrongMethod(c, "POST"));
  app.on(
    ["POST", "PUT", "DELETE", "PATCH"],
    ["/", "/download/*", "/list/*", "/exists/*"],
    (c) => wrongMethod(c, "GET"),
  );
  app.notFound((c) => c.json({ detail: "Not Found" }, 404));
  app.onError((error, c) => errorResponse(error, c, options.log));
  return app;
}

async function upload(c: Context<HTTPEnv>, { root, maxUpload: maxBytes }: LegacyOptions): Promise<Response> {
  let stored: string | undefined;
  try {
    stored = await takeFile(c, async (filename, content) => {
      if (filename === "") throw new Refused("INVALID_ARGUMENT", "Cannot store the file: it has no name");
      // U+FFFD: the parser has replaced bytes that are not UTF-8, so the file would get another name than the client wants.
      if (filename.includes("\ufffd")) {
        throw new Refused(
          "INVALID_ARGUMENT",
          "Cannot store the file: its name is not UTF-8. Use PUT /v1/files instead",
        );
      }
      await writeWhole(root, await legacyPath(root, filename, "refuse"), content, { maxBytes });
      return filename;
    });
  } catch (error) {
    // The published runtime uses FastAPI, which reports a missing field if the body is not a form.
    if (!(error instanceof FormError)) throw error;
  }
  if (stored === undefined) return c.json(missingField("file"), 422);
  return c.json({ message: `File '${stored}' uploaded successfully.` });
}

async function download(c: Context<HTTPEnv>, root: Root): Promise<Response> {
  const path = await legacyPath(root, pathAfter(c, "/download/"), "known");
  const opened = await openForRead(root, path);
  if (opened.handle) return await sendFile(c, opened);
  return c.json({ message: "File not found" }, 404);
}

async function list(c: Context<HTTPEnv>, root: Root): Promise<Response> {
  const path = await legacyPath(root, pathAfter(c, "/list/"), "known");
  const { stats } = await openStats(root, path);
  if (!stats?.isDirectory()) return c.json({ message: "Path is not a directory" }, 404);
  const entries = await listFolder(root, path);
  return c.json(
    entries.filter(({ type }) => type !== "symlink").map(({ name, size, type, modified_at }) => ({
      name,
      size,
      type: type === "directory" ? "directory" : "file",
      mod_time: Date.parse(modified_at) / 1000,
    })),
  );
}

async function openStats(root: Root, path: string): Promise<{ stats?: Stats }> {
  try {
    const opened = await openForRead(root, path);
    await opened.handle?.close();
    return opened;
  } catch (error) {
    if (error instanceof MissingError) return {};
    throw error;
  }
}

async function exists(root: Root, path: string): Promise<{ path: string; exists: boolean }> {
  try {
    return { path, exists: (await root.locate(await legacyPath(root, path, "relative"), { missing: "allow" })).exists };
  } catch (error) {
    if (error instanceof MissingError) return { path, exists: false };
    throw error;
  }
}

function wrongMethod(c: Context, allowed: string): Response {
  return c.json({ detail: "Method Not Allowed" }, 405, { Allow: allowed });
}

function errorResponse(error: unknown, c: Context, log: Log): Response {
  if (error instanceof OutsideError) return c.json({ message: "Access denied" }, 403);
  const refused = refusedFor(error, decodeURIComponentOrAsIs(c.req.path));
  if (refused?.code === "NOT_FOUND") return c.json({ message: "File not found" }, 404);
  if (refused) return Response.json({ message: refused.message }, { status: statusOf(refused) });
  logFault(error, c, log);
  return c.json({ message: "Internal error, see the runtime's log" }, 500);
}

function decodeURIComponentOrAsIs(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
