/** `/v1/files/{path}` as published: reads, writes, lists and deletes files. @module */
import type { Context, Hono } from "hono";
import { bodyOf, isForm, takeFile } from "../http/body.ts";
import { modifiedOf, parseMode } from "../files/entry.ts";
import { listFolder } from "../files/list.ts";
import { openForRead } from "../files/read.ts";
import { Refused } from "../files/refused.ts";
import { removePath } from "../files/remove.ts";
import { writeWhole } from "../files/write.ts";
import { type HTTPEnv, pathAfter, wirePath } from "../http/httppath.ts";
import type { RestOptions } from "./rest.ts";
import { modifiedAt, sendFile } from "../http/sendfile.ts";

/** Adds the endpoints to the app. */
export function addFiles(app: Hono<HTTPEnv>, options: RestOptions): void {
  for (const pattern of ["/v1/files", "/v1/files/*"]) {
    app.get(pattern, (c) => get(c, options));
    app.put(pattern, (c) => put(c, options));
    app.delete(pattern, (c) => remove(c, options));
  }
}

/** Returns the path in a request to `/v1/<endpoint>/{path}`. */
export async function pathOf(c: Context<HTTPEnv>, { root }: RestOptions, endpoint: string): Promise<string> {
  return await wirePath(root, pathAfter(c, `/v1/${endpoint}/`), "relative");
}

async function get(c: Context<HTTPEnv>, options: RestOptions): Promise<Response> {
  const path = await pathOf(c, options, "files");
  const opened = await openForRead(options.root, path);
  if (opened.handle) return await sendFile(c, opened);
  const headers = modifiedAt(modifiedOf(opened.stats));
  if (c.req.method === "HEAD") return c.json({}, 200, headers);
  const entries = await listFolder(options.root, path, flagOf(c, "links"));
  return c.json({ path: path || ".", entries }, 200, headers);
}

async function put(c: Context<HTTPEnv>, options: RestOptions): Promise<Response> {
  const { root, maxUpload: maxBytes } = options;
  const path = await pathOf(c, options, "files");
  const write = { mode: modeOf(c), maxBytes };
  if (!isForm(c)) await writeWhole(root, path, bodyOf(c), write);
  else if (await takeFile(c, (_, content) => writeWhole(root, path, content, write)) === undefined) {
    throw new Refused("INVALID_ARGUMENT", 'Cannot write: the form has no file named "file"');
  }
  return c.body(null, 204);
}

async function remove(c: Context<HTTPEnv>, options: RestOptions): Promise<Response> {
  await removePath(options.root, await pathOf(c, options, "files"), flagOf(c, "recursive"));
  return c.body(null, 204);
}

/** Reads the parameter `mode`. @throws {Refused} if it is not four octal digits */
export function modeOf(c: Context): number | undefined {
  const text = c.req.query("mode");
  if (text === undefined) return undefined;
  const mode = parseMode(text);
  if (mode === undefined) {
    throw new Refused("INVALID_ARGUMENT", `Cannot use mode "${text}": it is not four octal digits such as 0644`);
  }
  return mode;
}

/** Reads a boolean parameter. @throws {Refused} if it is neither true nor false */
export function flagOf(c: Context, name: string): boolean {
  const text = c.req.query(name) ?? "false";
  if (text === "true" || text === "1") return true;
  if (text === "false" || text === "0") return false;
  throw new Refused("INVALID_ARGUMENT", `Cannot use ${name} "${text}": it is neither true nor false`);
}
