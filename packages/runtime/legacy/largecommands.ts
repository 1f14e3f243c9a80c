/** Reads commands of `POST /execute`, and limits the memory that their texts use together. @module */
import process from "node:process";
import { getHeapStatistics } from "node:v8";
import type { Context } from "hono";
import { countItems } from "../../api/objects/json.ts";
import { Refused } from "../files/refused.ts";
import { readBytes, textOf } from "../http/body.ts";
import type { HTTPEnv } from "../http/httppath.ts";

/** Bodies up to this size are read at the same time. A larger one is in memory alone. */
const SMALL_BYTES = 1 << 20;
/** The largest body is between these sizes, in bytes. A client sends a file of 24 MB as a command of 32 MiB. */
const LEAST_LIMIT = 4 << 20;
const MOST_LIMIT = 32 << 20;
/**
 * Share of V8's heap. Two texts of a body are in memory at the same time, each of up to two bytes for a byte of the body.
 * V8 takes 256 MiB or more for its heap, also in a smaller container.
 */
const SHARE_OF_HEAP = 1 / 8;
/** Share of the container's memory, without what the runtime always needs. The shell needs five times its script, too. */
const SHARE_OF_MEMORY = 1 / 16;
const ALWAYS_BYTES = 128 << 20;
/** Most values in a body as JSON. Each may need a hundred bytes, and two or three are known. */
const MOST_ITEMS = 10_000;
/** Longest time until the last byte of a large body, in milliseconds: other large ones wait. */
const BODY_MS = 120_000;
/** How long the next large body waits for a command that runs, in milliseconds. To write a file takes less. */
const RUN_MS = 5000;

/**
 * Returns the largest body in bytes: 8 MiB in a container of 256 MiB, 24 MiB in one of 512 MiB.
 *
 * @param heap largest size of V8's heap, in bytes
 * @param container limit of its memory, in bytes; 0: it has none
 */
export function largestBody(heap: number, container: number): number {
  const memory = (container || Infinity) - ALWAYS_BYTES;
  return Math.max(LEAST_LIMIT, Math.floor(Math.min(MOST_LIMIT, heap * SHARE_OF_HEAP, memory * SHARE_OF_MEMORY)));
}

/**
 * Calls `use` with the text of a body, and returns its response. Large bodies come one at a time, because a shell needs
 * several times the memory of its script: the next one is read after the response, or 5 s after `use` has called `passed`.
 */
export type CommandReader = (
  c: Context<HTTPEnv>,
  use: (text: string, passed: () => void) => Promise<Response>,
) => Promise<Response>;

/** Creates the reader of one app. @throws {Refused} RESOURCE_EXHAUSTED if a body is too large or has too many values */
export function createCommandReader(): CommandReader {
  const maxBytes = largestBody(getHeapStatistics().heap_size_limit, process.constrainedMemory());
  let last: Promise<void> = Promise.resolve();
  /** Waits for the turns before this one. Call the returned function at its end. */
  const takeTurn = (): Promise<() => void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const before = last;
    last = before.then(() => promise);
    return before.then(() => resolve);
  };
  return (c, use) => {
    let leave: (() => void) | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const setTimer = (act: () => void, ms: number) => {
      clearTimeout(timer);
      if (leave) timer = setTimeout(act, ms);
    };
    const admit = async (bytes: number) => {
      if (bytes <= SMALL_BYTES || leave) return;
      leave = await takeTurn();
      setTimer(() => c.env.incoming?.destroy(), BODY_MS);
    };
    // Not async: a function that waits keeps its variables in memory.
    return readBytes(c, maxBytes, admit).then((bytes) => {
      clearTimeout(timer);
      return use(textOf(checked(bytes)), () => setTimer(() => leave?.(), RUN_MS));
    }).finally(() => {
      clearTimeout(timer);
      leave?.();
    });
  };
}

function checked(bytes: Uint8Array): Uint8Array {
  const { items } = countItems(bytes);
  if (items > MOST_ITEMS) throw new Refused("RESOURCE_EXHAUSTED", `Cannot read the body: it has ${items} values`);
  return bytes;
}
