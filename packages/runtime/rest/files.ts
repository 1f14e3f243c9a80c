/**
 * Endpoints for files and folders: `/v1/files` as published, and hookbox's own; `rest.ts` has a table of them.
 * @module
 */
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import type { Context, Hono } from "hono";
import * as z from "zod";
import { describePath, listFolder, modifiedOf, parseMode } from "../files/list.ts";
import { makeFolder, readDisk, removePath, renamePath } from "../files/manage.ts";
import { packPath } from "../files/pack.ts";
import { openForRead, streamOf } from "../files/read.ts";
import { Refused } from "../files/refused.ts";
import { unpackInto } from "../files/unpack.ts";
import { type WatchEvent, watchFolder } from "../files/watch.ts";
import { writeWhole } from "../files/write.ts";
import { modifiedAt, sendFile } from "../http/answers.ts";
import { bodyOf, isForm, readJSON, takeFile } from "../http/body.ts";
import { type HTTPEnv, pathAfter, wirePath } from "../http/httppath.ts";
import type { RestOptions } from "./rest.ts";

/** Adds the endpoints to the app. */
export function addFileEndpoints(app: Hono<HTTPEnv>, options: RestOptions): void {
  for (const pattern of ["/v1/files", "/v1/files/*"]) {
    app.get(pattern, (c) => getFile(c, options));
    app.put(pattern, (c) => putFile(c, options));
    app.delete(pattern, (c) => removeFile(c, options));
  }
}

/** Returns the path in a request to `/v1/<endpoint>/{path}`. */
async function pathOf(c: Context<HTTPEnv>, { root }: RestOptions, endpoint: string): Promise<string> {
  return await wirePath(root, pathAfter(c, `/v1/${endpoint}/`));
}

async function getFile(c: Context<HTTPEnv>, options: RestOptions): Promise<Response> {
  const path = await pathOf(c, options, "files");
  const opened = await openForRead(options.root, path);
  if (opened.handle) return await sendFile(c, opened);
  const headers = modifiedAt(modifiedOf(opened.stats));
  if (c.req.method === "HEAD") return c.json({}, 200, headers);
  const entries = await listFolder(options.root, path, flagOf(c, "links"), flagOf(c, "below"));
  return c.json({ path: path || ".", entries }, 200, headers);
}

async function putFile(c: Context<HTTPEnv>, options: RestOptions): Promise<Response> {
  const { root, maxUpload: maxBytes } = options;
  const path = await pathOf(c, options, "files");
  const write = { mode: modeOf(c), maxBytes };
  if (!isForm(c)) await writeWhole(root, path, bodyOf(c), write);
  else if (await takeFile(c, (_, content) => writeWhole(root, path, content, write)) === undefined) {
    throw new Refused("INVALID_ARGUMENT", 'Cannot write: the form has no file named "file"');
  }
  return c.body(null, 204);
}

async function removeFile(c: Context<HTTPEnv>, options: RestOptions): Promise<Response> {
  await removePath(options.root, await pathOf(c, options, "files"), flagOf(c, "recursive"));
  return c.body(null, 204);
}

/** Reads the parameter `mode`. @throws {Refused} if it is not four octal digits */
function modeOf(c: Context): number | undefined {
  const text = c.req.query("mode");
  if (text === undefined) return undefined;
  const mode = parseMode(text);
  if (mode === undefined) {
    throw new Refused("INVALID_ARGUMENT", `Cannot use mode "${text}": it is not four octal digits such as 0644`);
  }
  return mode;
}

/** Reads a boolean parameter. @throws {Refused} if it is neither true nor false */
function flagOf(c: Context, name: string): boolean {
  const text = c.req.query(name) ?? "false";
  if (text === "true" || text === "1") return true;
  if (text === "false" || text === "0") return false;
  throw new Refused("INVALID_ARGUMENT", `Cannot use ${name} "${text}": it is neither true nor false`);
}

/** Largest JSON body that names two paths, in bytes. */
const SMALL_BODY_BYTES = 64 * 1024;
const GZIP_TYPE = /^application\/(x-)?(gzip|tgz|gtar)/i;

/** Adds the endpoints to the app. */
export function addFolderEndpoints(app: Hono<HTTPEnv>, options: RestOptions): void {
  const { root } = options;
  app.get("/v1/stat/*", async (c) => c.json(await describePath(root, await pathOf(c, options, "stat"))));
  app.put("/v1/folders/*", async (c) => {
    const isNew = await makeFolder(root, await pathOf(c, options, "folders"), modeOf(c));
    return c.body(null, isNew ? 201 : 200);
  });
  app.post("/v1/rename", (c) => renameFile(c, options));
  app.get("/v1/disk", async (c) => c.json(await readDisk(root)));
  for (const slash of ["", "/*"]) {
    app.get(`/v1/archive${slash}`, (c) => packFolder(c, options));
    app.put(`/v1/archive${slash}`, (c) => unpackArchive(c, options));
    app.get(`/v1/watch${slash}`, (c) => watchEvents(c, options));
  }
}

const renameSchema = z.strictObject({ from: z.string(), to: z.string(), replace: z.boolean().default(false) });

async function renameFile(c: Context<HTTPEnv>, { root }: RestOptions): Promise<Response> {
  const { data } = renameSchema.safeParse(await readJSON(c, SMALL_BODY_BYTES));
  if (!data) throw new Refused("INVALID_ARGUMENT", "Cannot rename: the body must be {from, to, replace?}");
  const [from, to] = [await wirePath(root, data.from), await wirePath(root, data.to)];
  await renamePath(root, from, to, data.replace);
  return c.body(null, 204);
}

async function packFolder(c: Context<HTTPEnv>, options: RestOptions): Promise<Response> {
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

async function unpackArchive(c: Context<HTTPEnv>, options: RestOptions): Promise<Response> {
  const type = c.req.header("Content-Type") ?? "";
  const gzip = flagOf(c, "gzip") || GZIP_TYPE.test(type) || c.req.header("Content-Encoding") === "gzip";
  const path = await pathOf(c, options, "archive");
  return c.json(await unpackInto(options.root, path, bodyOf(c), { gzip, maxBytes: options.maxUpload }));
}

async function watchEvents(c: Context<HTTPEnv>, options: RestOptions): Promise<Response> {
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
