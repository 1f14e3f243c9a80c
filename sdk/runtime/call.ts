/** One call to a service of the runtime. Knows no service. @module */
import type { CallOptions } from "./calloptions.ts";
import { errorOfConnect } from "./connecterrors.ts";
import type { RuntimeClient } from "./runtimeclient.ts";

/**
 * Sends a call once, with the caller's signal, and words its failure: `Cannot <action>: …`.
 *
 * @param send is given the options of the call
 * @throws {SandboxError} if it fails; the signal's reason once that has fired
 */
export async function call<T>(
  { object }: RuntimeClient,
  action: string,
  { signal }: CallOptions,
  send: (options: { signal?: AbortSignal }) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  try {
    return await send(signal ? { signal } : {});
  } catch (error) {
    signal?.throwIfAborted();
    throw errorOfConnect(error, action, object);
  }
}
