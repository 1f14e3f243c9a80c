/** How much memory is in use by what is still needed, and what becomes of the rest. @module */
import process from "node:process";
import { setImmediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** Returns the bytes that are in use once all else has been collected, those of buffers among them. */
export function liveBytes(): number {
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Collects all that is not needed, and what is not needed without that. */
export async function collectGarbage(): Promise<void> {
  for (let rounds = 0; rounds < 5; rounds++) {
    collect();
    await setImmediate();
  }
}
