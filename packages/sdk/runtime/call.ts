/** Sends one call to a service of the runtime, and reads JSON responses. @module */
import type * as z from "zod";
import { type ObjectRef, SandboxError } from "../errors.ts";
import { errorOfConnect } from "./answers.ts";
import { JSON_BYTES, jsonUpTo } from "./bounded.ts";
import type { RuntimeClient } from "./runtimeclient.ts";

/** Options of every call. */
export interface CallOptions {
  /** Cancels the call, which then throws the reason of the signal. */
  signal?: AbortSignal | undefined;
}

/** Options of every call that can run as another user of the sandbox. */
export interface UserOptions extends CallOptions {
  /**
   * User of the sandbox that the call runs as, such as `root`. The template must allow it; otherwise the call throws an
   * {@link AuthorizationError}.
   *
   * @default the user that the template chooses
   */
  user?: string | undefined;
}

/**
 * Sends a call once. If it fails, it throws an error with the message `Cannot <action>: …`.
 *
 * @param send sends the call with these options
 * @throws {@link SandboxError} if it fails; the reason of the signal if that was aborted
 * @internal
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

/**
 * Waits for a promise, or until the signal is aborted. The work behind the promise continues.
 *
 * @throws the reason of the signal
 * @internal
 */
export async function orAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return await promise;
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const stop = () => reject(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  return await Promise.race([promise, aborted]).finally(() => signal.removeEventListener("abort", stop));
}

/**
 * Reads a response as JSON of this shape.
 *
 * @throws {@link SandboxError} with code INTERNAL if it has another shape or is too long
 * @internal
 */
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
