/** Leaves a wait that others share. @module */

/** Waits no longer than the signal lets; what is waited for goes on. @throws the signal's reason once it has fired */
export async function orAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return await promise;
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const stop = () => reject(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  return await Promise.race([promise, aborted]).finally(() => signal.removeEventListener("abort", stop));
}
