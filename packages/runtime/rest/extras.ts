/** Endpoints of port 8080 beyond the published protocol; `rest.ts` has a table of them. @module */
import type { Context, Hono } from "hono";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import * as z from "zod";
import { bodyOf, readJSON } from "../http/body.ts";
import { readDisk } from "../files/disk.ts";
import { describePath } from "../files/list.ts";
import { makeFolder } from "../files/makefolder.ts";
import { packPath } from "../files/pack.ts";
import { streamOf } from "../files/read.ts";
import { Refused } from "../files/refused.ts";
import { renamePath } from "../files/rename.ts";
import { unpackInto } from "../files/unpack.ts";
import { type WatchEvent, watchFolder } from "../files/watch.ts";
import { type HTTPEnv, wirePath } from "../http/httppath.ts";
import type { RestOptions } from "./rest.ts";
import { flagOf, modeOf, pathOf } from "./files.ts";

/** Largest JSON body that names two paths, in bytes. */
const SMALL_BODY_BYTES = 64 * 1024;
const GZIP_TYPE = /^application\/(x-)?(gzip|tgz|gtar)/i;

/** Adds the endpoints to the app. */
export function addMore(app: Hono<HTTPEnv>, options: RestOptions): void {
  const { root } = options;
  app.get("/v1/stat/*", async (c) => c.json(await describePath(root, await pathOf(c, options, "stat"))));
  app.put("/v1/folders/*", async (c) => {
    const isNew = await makeFolder(root, await pathOf(c, options, "folders"), modeOf(c));
    return c.body(null, isNew ? 201 : 200);
  });
  app.post("/v1/rename", (c) => rename(c, options));
  app.get("/v1/disk", async (c) => c.json(await readDisk(root)));
  for (const slash of ["", "/*"]) {
    app.get(`/v1/archive${slash}`, (c) => pack(c, options));
    app.put(`/v1/archive${slash}`, (c) => unpack(c, options));
    app.get(`/v1/watch${slash}`, (c) => watch(c, options));
  }
}

const renameSchema = z.strictObject({ from: z.string(), to: z.string(), replace: z.boolean().default(false) });

async function rename(c: Context<HTTPEnv>, { root }: RestOptions): Promise<Response> {
  const { data } = renameSchema.safeParse(await readJSON(c, SMALL_BODY_BYTES));
  if (!data) throw new Refused("INVALID_ARGUMENT", "Cannot rename: the body must be {from, to, replace?}");
  const [from, to] = [await wirePath(root, data.from, "relative"), await wirePath(root, data.to, "relative")];
  await renamePath(root, from, to, data.replace);
  return c.body(null, 204);
}

async function pack(c: Context<HTTPEnv>, options: RestOptions): Promise<Response> {
  const gzip = flagOf(c, "gzip");
  const path = await pathOf(c, options, "archive");
  const headers = { "Content-Type": gzip ? "application/gzip" : "application/x-tar" };
  if (c.req.method === "HEAD") {
    await options.root.locate(path);
    return c.body(null, 200, headers);
  }
  const chunks = await packPath(options.root, path);
  return new Response(streamOf(gzip ? compressed(chunks) : chunks), { headers });
}

async function* compressed(chunks: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  const gzip = createGzip({ level: 1 });
  // An error of the source also destroys gzip, and is thrown by the next line.
  pipeline(chunks, gzip).catch(() => {});
  yield* gzip as AsyncIterable<Uint8Array>;
}

async function unpack(c: Context<HTTPEnv>, options: RestOptions): Promise<Response> {
  const type = c.req.header("Content-Type") ?? "";
  const gzip = flagOf(c, "gzip") || GZIP_TYPE.test(type) || c.req.header("Content-Encoding") === "gzip";
  const path = await pathOf(c, options, "archive");
  return c.json(await unpackInto(options.root, path, bodyOf(c), { gzip, maxBytes: options.maxUpload }));
}

async function watch(c: Context<HTTPEnv>, options: RestOptions): Promise<Response> {
  const recursive = flagOf(c, "recursive");
  const asEvents = (c.req.header("Accept") ?? "").includes("text/event-stream");
  const headers = {
    "Content-Type": asEvents ? "text/event-stream" : "application/x-ndjson",
    // A proxy must not buffer events, or they arrive too late.
    "Cache-Control": "no-cache, no-transform",
    "X-Accel-Buffering": "no",
  };
  const path = await pathOf(c, options, "watch");
  if (c.req.method === "HEAD") {
    await options.root.locate(path);
    return c.body(null, 200, headers);
  }
  const events = await watchFolder(options.root, path, { recursive, signal: options.stop });
  return new Response(streamOf(encoded(events, asEvents ? eventText : lineText)), { headers });
}

async function* encoded(
  events: AsyncGenerator<WatchEvent>,
  textOf: (event: WatchEvent) => string,
): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  for await (const event of events) yield encoder.encode(textOf(event));
}

function lineText(event: WatchEvent): string {
  return `${JSON.stringify(event)}\n`;
}

function eventText(event: WatchEvent): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}
