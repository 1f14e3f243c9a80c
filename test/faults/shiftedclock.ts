/** Loaded before a process's own modules: its wall clock runs as many milliseconds ahead as a file says. @module */
import { readFileSync } from "node:fs";
import process from "node:process";

const OwnDate = Date;
const LOOK_MS = 50;
let aheadMs = 0;

/** Reads how far the clock is ahead; a file that is absent or empty says nothing new. */
function look(file: string): void {
  try {
    aheadMs = Number(readFileSync(file, "utf8") || aheadMs);
  } catch {
    // Not written yet.
  }
}

const file = process.env["HOOKBOX_TEST_CLOCK"];
if (file !== undefined) {
  look(file);
  setInterval(look, LOOK_MS, file).unref();
  globalThis.Date = new Proxy(OwnDate, {
    construct: (target, given, self) => Reflect.construct(target, given.length ? given : [ahead()], self),
    apply: () => new OwnDate(ahead()).toString(),
    get: (target, key, self) => key === "now" ? ahead : Reflect.get(target, key, self),
  });
}

function ahead(): number {
  return OwnDate.now() + aheadMs;
}
