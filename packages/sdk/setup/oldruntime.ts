/**
 * Refuses to load the SDK on a runtime that is too old, before a call can create anything. It is a file of its own, because
 * it must run before the other files of the SDK are loaded.
 * @module
 */

if (!("withResolvers" in Promise)) {
  const { process } = globalThis as { process?: { version: string } };
  const runtime = process === undefined ? "this browser" : `Node ${process.version}`;
  throw new Error(
    `Cannot load hookbox: ${runtime} is too old. ` +
      "Use Node 22.19 or later, Deno 2, Bun, or a browser that has Promise.withResolvers.",
  );
}
