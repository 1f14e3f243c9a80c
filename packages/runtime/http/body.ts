/** Reads request bodies as streams: raw, as JSON up to a limit, or the file of a form. @module */
import { Busboy, type BusboyFileStream, type BusboyInstance } from "@fastify/busboy";
import type { Context } from "hono";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Refused } from "../files/refused.ts";
import { createByteBuffer } from "../../process/bytebuffer.ts";
import type { HTTPEnv } from "./httppath.ts";

/** Returns the body, which is read only as fast as it is consumed. It fails if the client disconnects. */
export function bodyOf(c: Context<HTTPEnv>): AsyncIterable<Uint8Array> {
  // This comes first, because the server cannot read the rest of a body that was touched as a web stream.
  if (!c.env?.incoming) return c.req.raw.body ?? Readable.from([]);
  // The server reads the rest of a stream that is not destroyed. Otherwise, a client that sends all before it reads waits
  // forever, and the next request of the connection gets no answer.
  return c.env.incoming.iterator({ destroyOnReturn: false });
}

/** Reads the whole body as text. @throws {Refused} RESOURCE_EXHAUSTED if it is larger than `maxBytes` */
export async function readText(c: Context<HTTPEnv>, maxBytes: number): Promise<string> {
  return textOf(await readBytes(c, maxBytes));
}

/** Converts the bytes of a body to text. A byte order mark at the beginning is kept. */
export function textOf(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}

/**
 * Reads the whole body.
 *
 * @param admit called with the number of bytes so far before they are kept. The rest is read when it has resolved
 * @throws {Refused} RESOURCE_EXHAUSTED if it is larger than `maxBytes`
 */
export async function readBytes(
  c: Context<HTTPEnv>,
  maxBytes: number,
  admit: (bytes: number) => Promise<void> | void = () => {},
): Promise<Uint8Array> {
  const gathered = createByteBuffer();
  for await (const part of bodyOf(c)) {
    if (gathered.size() + part.length > maxBytes) {
      throw new Refused("RESOURCE_EXHAUSTED", `Cannot read the body: it has more than ${maxBytes} bytes`);
    }
    await admit(gathered.size() + part.length);
    gathered.add(part);
  }
  return gathered.take();
}

/** Reads the body as JSON. @throws {Refused} INVALID_ARGUMENT if it is not JSON; the message never quotes the body */
export async function readJSON(c: Context<HTTPEnv>, maxBytes: number): Promise<unknown> {
  const text = await readText(c, maxBytes);
  try {
    return JSON.parse(text);
  } catch {
    throw new Refused("INVALID_ARGUMENT", "Cannot read the body: it is not JSON");
  }
}

/** The body is not a form, or ends too early. */
export class FormError extends Refused {
  override name = "FormError";
}

/** Returns whether the body is a form with files. */
export function isForm(c: Context): boolean {
  return /^multipart\/form-data\b/i.test(c.req.header("Content-Type") ?? "");
}

/** Uses a part of a form while it arrives. `filename` is the name that the client sent, including folders. */
type UseFile<T> = (filename: string, content: Readable) => Promise<T>;

/**
 * Calls `use` with the first part named `file` while it arrives, and returns its result; undefined if there is no such
 * part. Other parts are dropped.
 *
 * @throws {FormError} if the body is not a form; errors of `use` are thrown immediately
 */
export async function takeFile<T>(c: Context<HTTPEnv>, use: UseFile<T>): Promise<T | undefined> {
  const [result] = await takeFiles(c, use, { most: 1 });
  return result;
}

/** How to take files from a form. */
interface FormOptions {
  /** Further files are dropped. @default {Infinity} */
  most?: number;
  /** @default the body of the request */
  body?: AsyncIterable<Uint8Array>;
}

/** As {@link takeFile}, for each part named `file`, in the order of the form. */
export async function takeFiles<T>(c: Context<HTTPEnv>, use: UseFile<T>, options: FormOptions = {}): Promise<T[]> {
  const { most = Infinity, body = bodyOf(c) } = options;
  const parser = openParser(c.req.header("Content-Type") ?? "");
  let content: BusboyFileStream | undefined;
  const used: Promise<T>[] = [];
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => {});
  parser.on("file", (field, stream, filename) => {
    // Without a listener, an error of a part that nobody reads would end the process.
    stream.on("error", () => {});
    if (field !== "file" || used.length >= most) return stream.resume();
    content = stream;
    const using = use(filename ?? "", stream);
    using.catch(failed.reject);
    used.push(using);
    return undefined;
  });
  const reading = pipeline(body, parser).catch((error) => {
    const refused = whyNoForm(error);
    content?.destroy(refused);
    throw refused;
  });
  reading.catch(() => {});
  await Promise.race([reading, failed.promise]);
  return await Promise.all(used);
}

function openParser(contentType: string): BusboyInstance {
  try {
    return Busboy({ headers: { "content-type": contentType }, preservePath: true });
  } catch {
    throw new FormError("INVALID_ARGUMENT", "Cannot read the form: its content type names no boundary");
  }
}

function whyNoForm(error: unknown): Error {
  if (error instanceof Error && "code" in error) return error;
  return new FormError("INVALID_ARGUMENT", "Cannot read the form: it ends early or is malformed");
}
