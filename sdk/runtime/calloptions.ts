/** What every call of a handle takes. No behaviour. @module */

/** What every call takes. */
export interface CallOptions {
  /** Ends the call: it throws the signal's reason. */
  signal?: AbortSignal | undefined;
}
