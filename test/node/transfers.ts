/** Large bodies to and from a sandbox; only a hash of them is kept. @module */
import { Buffer } from "node:buffer";
import { createHash, randomBytes } from "node:crypto";
import { type IncomingMessage, request } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { Namespace } from "../integration/namespace.ts";
import type { Router } from "./router.ts";
import { naming } from "./runtimepods.ts";

/** One file of a sandbox, by way of a router. */
export interface File {
  router: Router;
  ns: Namespace;
  sandbox: string;
  port: number;
  path: string;
}

const BLOCK_BYTES = 1 << 20;

/** Uploads so many bytes. Returns their SHA-256, and what the sandbox answers. @throws {Error} unless the sandbox takes them */
export async function upload(file: File, bytes: number): Promise<{ hash: string; text: string }> {
  const hash = createHash("sha256");
  const headers = { ...headersOf(file), "Content-Length": String(bytes) };
  const outgoing = request({ ...placeOf(file), method: "PUT", headers });
  const answering = answerOf(outgoing);
  await pipeline(Readable.from(blocks(bytes), { objectMode: false }), tee(hash), outgoing);
  const answer = await answering;
  const text = Buffer.concat(await answer.toArray()).toString();
  if (answer.statusCode !== 200 && answer.statusCode !== 204) {
    throw new Error(`Cannot upload: ${answer.statusCode} ${text}`);
  }
  return { hash: hash.digest("hex"), text };
}

/**
 * Downloads it, slower than it comes: every process on the way has to hold the sandbox back. Returns SHA-256 and length.
 *
 * @throws {Error} unless the sandbox gives it
 */
export async function download(file: File): Promise<{ hash: string; bytes: number }> {
  const outgoing = request({ ...placeOf(file), headers: headersOf(file) });
  const answering = answerOf(outgoing);
  outgoing.end();
  const answer = await answering;
  if (answer.statusCode !== 200) throw new Error(`Cannot download: ${answer.statusCode}`);
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Uint8Array>) {
    hash.update(chunk);
    bytes += chunk.length;
    await sleep(1);
  }
  return { hash: hash.digest("hex"), bytes };
}

function placeOf({ router, path }: File) {
  return { host: "127.0.0.1", port: router.port, path, agent: false as const };
}

function headersOf({ ns, sandbox, port }: File): Record<string, string> {
  return naming(ns, sandbox, port);
}

function answerOf(outgoing: ReturnType<typeof request>): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => outgoing.once("response", resolve).once("error", reject));
}

/** No two blocks are the same. */
function* blocks(bytes: number): Generator<Buffer> {
  const pattern = randomBytes(BLOCK_BYTES);
  for (let at = 0; at < bytes; at += BLOCK_BYTES) {
    const block = Buffer.from(pattern.subarray(0, Math.min(BLOCK_BYTES, bytes - at)));
    block.writeUIntBE(at, 0, 6);
    yield block;
  }
}

function tee(hash: ReturnType<typeof createHash>) {
  return async function* (source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of source) {
      hash.update(chunk);
      yield chunk;
    }
  };
}
