/** Which runtime this is. @module */
import process from "node:process";

/** True on Deno, false on Node. */
export const ON_DENO = process.versions["deno"] !== undefined;
