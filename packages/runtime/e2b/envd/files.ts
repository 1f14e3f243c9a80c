/** `GET` and `POST /files`, as E2B's clients call them. @module */
import type { Context, Hono } from "hono";
import { getMimeType } from "hono/utils/mime";
import { Buffer } from "node:buffer";
import { basename } from "node:path";
import { pipeline } from "node:stream/promises";
import { constants, createGunzip, createGzip, gzipSync } from "node:zlib";
import { codeOf, type Root } from "../../confine.ts";
import { type OpenFile, openForRead, partOf, sizeOf, streamOf } from "../../files/read.ts";
import { Refused } from "../../files/refused.ts";
import { writeWhole } from "../../files/write.ts";
import { sendFile } from "../../http/answers.ts";
import { bodyOf, isForm, takeFiles } from "../../http/body.ts";
import type { HTTPEnv } from "../../http/httppath.ts";
import { type Metadata, metadataIn, metadataOf, noteMetadata } from "./metadata.ts";
import { absolutePath, shownPath } from "./paths.ts";

/** What the endpoints need. */
export interface FilesOptions {
  root: Root;
  /** Largest file, in bytes. */
  maxUpload: number;
}

/** A file that was written, for clients. */
interface Written {
  name: string;
  path: string;
  type: "file";
  /** Absent: nothing is noted about it. */
  metadata?: Metadata;
}

/** Adds the endpoints to the app. */
export function addFiles(app: Hono<HTTPEnv>, options: FilesOptions): void {
  app.get("/files", (c) => download(c, options));
  app.post("/files", async (c) => c.json(await upload(c, options)));
}

async function download(c: Context<HTTPEnv>, { root }: FilesOptions): Promise<Response> {
  const wanted = c.req.query("path") ?? "";
  const opened = await openForRead(root, await absolutePath(root, wanted));
  if (!opened.handle) throw new Refused("INVALID_ARGUMENT", `path '${wanted}' is a directory`);
  const headers = {
    "Content-Type": getMimeType(wanted) ?? "application/octet-stream",
    "Content-Disposition": "inline",
    "Vary": "Accept-Encoding",
  };
  const isPart = ["Range", "If-None-Match", "If-Modified-Since", "If-Range"].some((name) => c.req.header(name));
  const encoding = encodingFor(c.req.header("Accept-Encoding"));
  if (encoding === undefined) {
    await opened.handle.close();
    return c.json({ code: 406, message: "no acceptable encoding: gzip and identity are served" }, 406);
  }
  if (encoding === "identity" || isPart || c.req.method === "HEAD" || !await isCompressible(opened)) {
    const response = await sendFile(c, opened);
    for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
    return response;
  }
  const chunks = partOf(opened, 0, sizeOf(opened));
  return new Response(streamOf(compressed(chunks)), { headers: { ...headers, "Content-Encoding": "gzip" } });
}

/** The beginning of a file, in bytes, that shows whether the rest can be compressed. */
const SAMPLE_BYTES = 32 * 1024;

/** Returns whether compression is worth its time, which for random bytes is three times that of the transfer. */
async function isCompressible({ handle, content }: OpenFile): Promise<boolean> {
  const buffer = Buffer.alloc(SAMPLE_BYTES);
  const sample = content?.subarray(0, SAMPLE_BYTES) ??
    buffer.subarray(0, (await handle.read(buffer, 0, SAMPLE_BYTES, 0)).bytesRead);
  return gzipSync(sample, { level: constants.Z_BEST_SPEED }).length < 0.9 * sample.length;
}

async function* compressed(chunks: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  const gzip = createGzip({ level: constants.Z_BEST_SPEED });
  // An error of the source also destroys gzip, and is thrown by the next line.
  pipeline(chunks, gzip).catch(() => {});
  yield* gzip as AsyncIterable<Uint8Array>;
}

/** Chooses the encoding of a download. Undefined: the client accepts neither. */
function encodingFor(accepted: string | undefined): "gzip" | "identity" | undefined {
  if (accepted === undefined) return "identity";
  const weights = new Map(
    accepted.split(",").map((part) => {
      const [name = "", ...parameters] = part.trim().toLowerCase().split(/\s*;\s*/);
      const weight = parameters.find((parameter) => parameter.startsWith("q="))?.slice("q=".length);
      return [name, weight === undefined ? 1 : Number(weight) || 0] as const;
    }),
  );
  const gzip = weights.get("gzip") ?? weights.get("*") ?? 0;
  const identity = weights.get("identity") ?? (weights.get("*") === 0 ? 0 : undefined);
  if (gzip > 0 && gzip >= (identity ?? 0)) return "gzip";
  return identity === 0 ? undefined : "identity";
}

async function upload(c: Context<HTTPEnv>, options: FilesOptions): Promise<Written[]> {
  const wanted = c.req.query("path") ?? "";
  const isRaw = /^application\/octet-stream\b/i.test(c.req.header("Content-Type") ?? "");
  if (!isRaw && !isForm(c)) {
    throw new Refused("INVALID_ARGUMENT", "the content type must be multipart/form-data or application/octet-stream");
  }
  const body = decoded(c);
  const metadata = metadataIn(c.env.incoming?.headers ?? {});
  if (isRaw) {
    if (wanted === "") throw new Refused("INVALID_ARGUMENT", "the path of the file is missing");
    return [await write(options, wanted, body, metadata)];
  }
  const paths = new Set<string>();
  const written = await takeFiles(c, async (filename, content) => {
    const path = wanted || filename;
    if (path === "") throw new Refused("INVALID_ARGUMENT", "the name of the file is missing");
    const shown = shownPath(await absolutePath(options.root, path));
    if (paths.has(shown)) {
      throw new Refused("INVALID_ARGUMENT", `you cannot upload two files to the same path: ${shown}`);
    }
    paths.add(shown);
    return await write(options, path, content, metadata);
  }, { body });
  if (written.length === 0) throw new Refused("INVALID_ARGUMENT", 'the form has no part named "file"');
  return written;
}

/** Returns the body without its `Content-Encoding`. */
function decoded(c: Context<HTTPEnv>): AsyncIterable<Uint8Array> {
  const encoding = (c.req.header("Content-Encoding") ?? "identity").trim().toLowerCase();
  if (encoding === "identity" || encoding === "") return bodyOf(c);
  if (encoding !== "gzip") {
    throw new Refused("INVALID_ARGUMENT", `content encoding "${encoding}" is not supported: gzip and identity are`);
  }
  const gunzip = createGunzip();
  pipeline(bodyOf(c), gunzip).catch(() => {});
  return gunzip;
}

async function write(
  { root, maxUpload }: FilesOptions,
  path: string,
  content: AsyncIterable<Uint8Array>,
  metadata: Metadata,
): Promise<Written> {
  const absolute = await absolutePath(root, path);
  const onComplete = (descriptor: number) => noteMetadata(descriptor, metadata);
  await writeWhole(root, absolute, content, { maxBytes: maxUpload, onComplete }).catch((error) => {
    throw /^Z_/.test(codeOf(error) ?? "") ? new Refused("INVALID_ARGUMENT", "the body is not gzip") : error;
  });
  const shown = shownPath(absolute);
  const noted = Object.keys(metadata).length > 0 ? { metadata: metadataOf(absolute) } : {};
  return { name: basename(shown), path: shown, type: "file", ...noted };
}
