/** Reads request bodies, and limits their size, their duration, and the memory that all of them together may use. @module */
import { HTTPException } from "hono/http-exception";
import { createDeadlines } from "../process/clock.ts";
import { createByteBuffer } from "../process/bytebuffer.ts";
import { countItems, type JSONItems } from "../api/objects/json.ts";

/** Limits of request bodies. */
export interface IntakeOptions {
  /** Largest size of one body, in bytes. */
  maxBodyBytes: number;
  /** Largest weight of one body, in bytes: see {@link weigh}. */
  maxBodyWeight: number;
  /** Largest weight of all bodies in memory at the same time. Up to 64 MiB of small bodies are not counted. */
  maxHeldWeight: number;
  /** Longest time until the last byte of a body, in milliseconds. */
  maxBodyMs: number;
}

/** The size of a body as JSON. */
export interface Weight extends JSONItems {
  bytes: number;
  /** Bytes of memory that it may use: as received, as text, and as a value. */
  total: number;
}

/**
 * Memory of an item, in bytes, in addition to its text: 64 for `{}`, which has two characters, and 92 if no two objects
 * have the same keys. Measured on V8, 64 bits; this value is higher to be safe.
 */
const ITEM_BYTES = 128;
/** How often the text of a body is in memory: as received, as text, and in the value. */
const TEXT_FACTOR = 3;
/** The same if the body is not all ASCII: with one character beyond Latin-1, each character of a text takes two bytes. */
const WIDE_FACTOR = 4;
/** A body that is still being received may use twice its length, because its buffer grows by doubling. */
const COMING_FACTOR = 2;

/** Computes the weight of a body before it is parsed. A body that is not JSON has a weight, too. */
export function weigh(body: Uint8Array): Weight {
  const bytes = body.length;
  const { items, isWide } = countItems(body);
  return { bytes, items, isWide, total: bytes * (isWide ? WIDE_FACTOR : TEXT_FACTOR) + items * ITEM_BYTES };
}

/**
 * Reads the body of a request and passes it to `use`. Until that has finished, the weight of the body counts as held.
 *
 * @throws {HTTPException} 413: too large, or too many items; 429: no room; 504: too slow
 */
export type Intake = <T>(request: Request, use: (body: Uint8Array) => Promise<T>) => Promise<T>;

/** Bodies up to this size are read in one call, which costs a quarter less than reading them in pieces. */
const SMALL_BYTES = 1024 * 1024;
/**
 * How many small bodies are read at the same time. A client that announces a body and does not send it must not block
 * others.
 */
const MOST_AT_ONCE = 64;

/** Creates the intake of one app. */
export function createIntake({ maxBodyBytes, maxBodyWeight, maxHeldWeight, maxBodyMs }: IntakeOptions): Intake {
  const deadlines = createDeadlines(maxBodyMs);
  let atOnce = 0;
  let held = 0;

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

  /** Creates an account of the memory of one body: `take` reserves, `leave` releases. */
  function room() {
    let own = 0;
    return {
      take(weight: number): void {
        own += weight;
        held += weight;
        if (held > maxHeldWeight) throw new HTTPException(429, { message: "too many bodies at once" });
      },
      leave: () => void (held -= own),
    };
  }

  /** @throws {HTTPException} 413: there are too many items in it */
  function weighed(body: Uint8Array): Weight {
    const weight = weigh(body);
    if (weight.total > maxBodyWeight) throw tooHeavy(weight);
    return weight;
  }

  async function small<T>(request: Request, use: (body: Uint8Array) => Promise<T>): Promise<T> {
    atOnce++;
    const { take, leave } = room();
    try {
      const body = new Uint8Array(await inTime(request.arrayBuffer()));
      const { total } = weighed(body);
      if (total > SMALL_BYTES) take(total);
      return await use(body);
    } finally {
      leave();
      atOnce--;
    }
  }

  async function large<T>(request: Request, use: (body: Uint8Array) => Promise<T>): Promise<T> {
    const { take, leave } = room();
    let bytes = 0;
    const reader = request.body?.getReader();
    try {
      const body = await inTime(readAll(reader, (more) => {
        bytes += more;
        if (bytes > maxBodyBytes) throw tooLarge();
        take(more * COMING_FACTOR);
      }));
      take(weighed(body).total - bytes * COMING_FACTOR);
      return await use(body);
    } catch (error) {
      void reader?.cancel().catch(() => {});
      throw error;
    } finally {
      leave();
    }
  }

  return async (request, use) => {
    const length = lengthOf(request);
    if (length !== undefined && length > maxBodyBytes) throw tooLarge();
    const isSmall = length !== undefined && length <= SMALL_BYTES && atOnce < MOST_AT_ONCE;
    return await (isSmall ? small(request, use) : large(request, use));
  };
}

/** Returns the announced length of a body; undefined: none is announced. */
function lengthOf({ headers }: Request): number | undefined {
  const length = headers.get("content-length");
  return length === null || headers.has("transfer-encoding") ? undefined : Number(length);
}

async function readAll(
  reader: ReadableStreamDefaultReader<Uint8Array> | undefined,
  take: (bytes: number) => void,
): Promise<Uint8Array> {
  const body = createByteBuffer();
  for (let read = await reader?.read(); read && !read.done; read = await reader?.read()) {
    take(read.value.byteLength);
    body.add(read.value);
  }
  return body.take();
}

function tooLarge(): HTTPException {
  return new HTTPException(413, { message: "body is too large" });
}

/** Creates the error for a body with too many items. A body that has too many bytes was refused before. */
function tooHeavy({ bytes, items, isWide }: Weight): HTTPException {
  const what = `${bytes} bytes${isWide ? " that are not all ASCII" : ""} with ${items} items of JSON`;
  return new HTTPException(413, { message: `body is too large: ${what}` });
}
