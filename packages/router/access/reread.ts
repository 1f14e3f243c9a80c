/** A file that is replaced under our feet: read anew now and then. @module */
import { errorFields, type Log } from "../../process/log.ts";

const REREAD_MS = 30_000;

/** Returns what gives its content; what cannot be used leaves the last. @throws what `read` throws, the first time */
export function rereading<T>(read: () => T, what: string, log: Log): () => T {
  let content = read();
  let readAt = performance.now();
  return () => {
    if (performance.now() - readAt < REREAD_MS) return content;
    readAt = performance.now();
    try {
      content = read();
    } catch (error) {
      log("error", `Cannot read the ${what} again`, { ...errorFields(error), stack: undefined });
    }
    return content;
  };
}
