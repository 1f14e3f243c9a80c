/** How long tests wait for what happens elsewhere. @module */

/** Longest wait in milliseconds: it only ends what hangs, as a busy machine may take ten times as long. */
export const PATIENCE_MS = 600_000;
