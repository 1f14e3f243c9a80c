/** Tells whether the runtime is Deno or Node. @module */
import process from "node:process";

/** True on Deno, false on Node. */
export const ON_DENO = process.versions["deno"] !== undefined;
