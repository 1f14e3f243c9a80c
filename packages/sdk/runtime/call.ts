/** One call to a service of the runtime: what every call takes, and how its answer is read. Knows no service. @module */
import type * as z from "zod";
import { type ObjectRef, SandboxError } from "../errors.ts";
import { errorOfConnect } from "./answers.ts";
import { JSON_BYTES, jsonUpTo } from "./bounded.ts";
import type { RuntimeClient } from "./runtimeclient.ts";

/** What every call takes. */
export interface CallOptions {
  /** Ends the call: it throws the signal's reason. */
  signal?: AbortSignal | undefined;
}

/**
 * Sends a call once, with the caller's signal, and words its failure: `Cannot <action>: …`.
 *
 * @param send is given the options of the call
 * @throws {@link SandboxError} if it fails; the signal's reason once that has fired
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

/** Waits no longer than the signal lets; what is waited for goes on. @throws the signal's reason once it has fired */
export async function orAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return await promise;
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const stop = () => reject(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  return await Promise.race([promise, aborted]).finally(() => signal.removeEventListener("abort", stop));
}

/** Reads the body of an answer as JSON of that shape. @throws {@link SandboxError} INTERNAL if it has another, or is too long */
export async function parsed<T>(
  schema: z.ZodType<T>,
  answer: Response,
  action: string,
  object: ObjectRef,
): Promise<T> {
  const { data } = schema.safeParse(await jsonUpTo(answer, JSON_BYTES, action, object));
  if (data !== undefined) return data;
  throw new SandboxError(`Cannot ${action}: the answer is not from hookbox's runtime`, { object });
}
