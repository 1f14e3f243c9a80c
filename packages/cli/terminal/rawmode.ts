/** Keys as they are pressed, for as long as somebody else's program has the terminal. @module */
import type { Input } from "../commandcontext.ts";

/** Does the work with the terminal in raw mode, and puts it back whatever happens. */
export async function withRawMode<T>(stdin: Input, work: () => Promise<T>): Promise<T> {
  stdin.setRawMode?.(true);
  try {
    return await work();
  } finally {
    stdin.setRawMode?.(false);
  }
}
