/** How bodies of requests come in: whole, none too large or too slow, and together no more than there is room for. @module */
import { HTTPException } from "hono/http-exception";
import { createDeadlines } from "../process/deadlines.ts";
import { createGathered } from "../process/gathered.ts";
import { countItems, type JSONItems } from "../process/jsonitems.ts";

/** Limits of bodies. */
export interface IntakeOptions {
  /** Of one body, in bytes. */
  maxBodyBytes: number;
  /** Of one body, in bytes that it may take as a value: see {@link weigh}. */
  maxBodyWeight: number;
  /** Of all that are held at a time, the same; 64 MiB of small ones are not counted. */
  maxHeldWeight: number;
  /** Until the last byte of a body, in milliseconds. */
  maxBodyMs: number;
}

/** What a body is as JSON. */
export interface Weight extends JSONItems {
  bytes: number;
  /** Bytes that it may take while it is used: as it came, as text, and as a value. */
  total: number;
}

/**
 * What is kept of an item, in bytes, beside what stands in the body: 64 of `{}`, which is two characters long, 92 where no
 * two objects have the same keys. Measured on V8, 64 bits.
 */
const ITEM_BYTES = 128;
/** How often what stands in a body is there: as it came, as text, and in the value. */
const TEXT_FACTOR = 3;
/** The same where it is not all ASCII: one character beyond Latin-1, and each of a text takes two bytes. */
const WIDE_FACTOR = 4;
/** What has come of a body may take twice its length, in case there is more. */
const COMING_FACTOR = 2;

/** Weighs a body before it is parsed. What is not JSON has some weight, too. */
export function weigh(body: Uint8Array): Weight {
  const bytes = body.length;
  const { items, isWide } = countItems(body);
  return { bytes, items, isWide, total: bytes * (isWide ? WIDE_FACTOR : TEXT_FACTOR) + items * ITEM_BYTES };
}

/**
 * Reads the body of a request and has it used; until that is done it counts as held, with what it weighs.
 *
 * @throws {HTTPException} 413: too large, or too much in it; 429: no room; 504: too slow
 */
export type Intake = <T>(request: Request, use: (body: Uint8Array) => Promise<T>) => Promise<T>;

/** Bodies of this size are read at once, which costs a quarter less than to read them piece by piece. */
const SMALL_BYTES = 1024 * 1024;
/** How many of those: who sends none of what it has announced shall not keep others out. */
const MOST_AT_ONCE = 64;

/** Makes the intake of one app. */
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

  /** Makes what takes the room of one body, and gives it back. */
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

/** Says what is too much: what is a matter of bytes alone is refused by them. */
function tooHeavy({ bytes, items, isWide }: Weight): HTTPException {
  const what = `${bytes} bytes${isWide ? " that are not all ASCII" : ""} with ${items} items of JSON`;
  return new HTTPException(413, { message: `body is too large: ${what}` });
}
