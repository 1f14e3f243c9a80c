/** Reads environment variables on every JavaScript runtime, also where there are none. @module */

/**
 * Returns an environment variable. Undefined if it is not set or empty, if Deno does not allow reading it, or in a
 * browser.
 */
export function variable(name: string): string | undefined {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  try {
    return process?.env?.[name] || undefined;
  } catch {
    // Deno throws if the program may not read the variable.
    return undefined;
  }
}

/**
 * Returns whether the program runs in an operating system process, with files and environment variables. False in a
 * browser.
 */
export function hasProcess(): boolean {
  return "process" in globalThis;
}
