/** How bodies of requests come in: whole, none too large or too slow, and together no more than there is room for. @module */
import { HTTPException } from "hono/http-exception";
import { createDeadlines } from "../process/deadlines.ts";
import { createGathered } from "../process/gathered.ts";

/** Limits of bodies. */
export interface IntakeOptions {
  /** Of one body, in bytes. */
  maxBodyBytes: number;
  /** Of all that are held at a time, in bytes; 64 MiB of small ones are not counted. */
  maxHeldBytes: number;
  /** Until the last byte of a body, in milliseconds. */
  maxBodyMs: number;
}

/**
 * Reads the body of a request and has it used; until that is done it counts as held.
 *
 * @throws {HTTPException} 413: too large; 429: no room; 504: too slow
 */
export type Intake = <T>(request: Request, use: (body: Uint8Array) => Promise<T>) => Promise<T>;

/** Bodies of this size are read at once, which costs a quarter less than to read them piece by piece. */
const SMALL_BYTES = 1024 * 1024;
/** How many of those: who sends none of what it has announced shall not keep others out. */
const MOST_AT_ONCE = 64;

/** Makes the intake of one app. */
export function createIntake({ maxBodyBytes, maxHeldBytes, maxBodyMs }: IntakeOptions): Intake {
  const deadlines = createDeadlines(maxBodyMs);
  let atOnce = 0;
  let heldBytes = 0;

  /** Waits for the end of a body. @throws {HTTPException} 504: too slow */
  async function inTime<T>(reading: Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const end = deadlines.begin(() => reject(new HTTPException(504, { message: "Request is too slow" })));
    reading.then(resolve, reject);
    try {
      return await promise;
    } finally {
      end();
    }
  }

  async function small<T>(request: Request, use: (body: Uint8Array) => Promise<T>): Promise<T> {
    atOnce++;
    try {
      return await use(new Uint8Array(await inTime(request.arrayBuffer())));
    } finally {
      atOnce--;
    }
  }

  async function large<T>(request: Request, use: (body: Uint8Array) => Promise<T>): Promise<T> {
    let own = 0;
    const take = (bytes: number) => {
      own += bytes;
      heldBytes += bytes;
      if (own > maxBodyBytes) throw tooLarge();
      if (heldBytes > maxHeldBytes) throw new HTTPException(429, { message: "too many bodies at once" });
    };
    const reader = request.body?.getReader();
    const leave = () => void reader?.cancel().catch(() => {});
    try {
      return await use(await inTime(readAll(reader, take)));
    } catch (error) {
      leave();
      throw error;
    } finally {
      heldBytes -= own;
    }
  }

  return async (request, use) => {
    const length = lengthOf(request);
    if (length !== undefined && length > maxBodyBytes) throw tooLarge();
    const isSmall = length !== undefined && length <= SMALL_BYTES && atOnce < MOST_AT_ONCE;
    return await (isSmall ? small(request, use) : large(request, use));
  };
}

/** Returns how long a body says that it is; undefined: it does not. */
function lengthOf({ headers }: Request): number | undefined {
  const length = headers.get("content-length");
  return length === null || headers.has("transfer-encoding") ? undefined : Number(length);
}

async function readAll(
  reader: ReadableStreamDefaultReader<Uint8Array> | undefined,
  take: (bytes: number) => void,
): Promise<Uint8Array> {
  const body = createGathered();
  for (let read = await reader?.read(); read && !read.done; read = await reader?.read()) {
    take(read.value.byteLength);
    body.add(read.value);
  }
  return body.take();
}

function tooLarge(): HTTPException {
  return new HTTPException(413, { message: "body is too large" });
}
