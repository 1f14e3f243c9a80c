/** What surrounds the program, on runtimes that tell. @module */

/** Returns a variable; undefined if it is not set, is empty, may not be read, or there are none here. */
export function variable(name: string): string | undefined {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  try {
    return process?.env?.[name] || undefined;
  } catch {
    // Deno without leave to read it.
    return undefined;
  }
}

/** Tells whether this is a process of an operating system, with files and variables; false: a browser. */
export function hasProcess(): boolean {
  return "process" in globalThis;
}
