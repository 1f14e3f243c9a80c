/**
 * Times that one side keeps and the other counts on, in milliseconds: the router, the runtime, and their clients. Where one
 * of them changes, so does what is derived from it. Pure. @module
 */

/** How long a router holds a request for a Sandbox that wakes up or starts, unless it is told otherwise. */
export const WAKE_TIMEOUT_MS = 120_000;
/** How long it then waits for the head of the answer, unless it is told otherwise. */
export const RESPONSE_HEADER_TIMEOUT_MS = 180_000;

/** How often a runtime says on a watched folder's stream that it is there. */
export const ALIVE_MS = 15_000;
