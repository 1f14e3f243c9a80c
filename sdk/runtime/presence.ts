/** Whether hookbox's runtime is inside of a sandbox. @module */
import { ConnectionError, UnsupportedError } from "../errors.ts";
import { type RuntimeClient, RUNTIME_PORT } from "./runtimeclient.ts";

/** How long the runtime may take to say that it is there, in milliseconds. */
const PROBE_MS = 5000;

/**
 * Tells whether a call failed because hookbox's runtime is not inside: something else answers there, or nothing ever has,
 * which is asked once more.
 */
export async function lacksRuntime({ transport, known }: RuntimeClient, error: unknown): Promise<boolean> {
  // Runtimes of others may have files and health on the same port.
  if (error instanceof UnsupportedError) known.runtime = false;
  if (known.runtime !== undefined || !(error instanceof ConnectionError)) return known.runtime === false;
  const answers = await transport.fetch(RUNTIME_PORT, "/v1/health", { signal: AbortSignal.timeout(PROBE_MS) })
    .then(async (answer) => (await answer.text(), answer.status !== 404), () => false);
  known.runtime = answers;
  return !answers;
}
