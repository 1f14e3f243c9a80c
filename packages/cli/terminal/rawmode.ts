/** Switches the terminal to raw mode, in which each key is passed on when it is pressed. @module */
import type { Input } from "../commandcontext.ts";

/** Runs `work` with the terminal in raw mode, and restores the terminal afterwards, also after an error. */
export async function withRawMode<T>(stdin: Input, work: () => Promise<T>): Promise<T> {
  stdin.setRawMode?.(true);
  try {
    return await work();
  } finally {
    stdin.setRawMode?.(false);
  }
}
