/** How a claim goes on after a delivery to its Sandbox or a resize of it. @module */
import type { Report } from "./report.ts";
import type { Binder, QueuedClaim } from "./state.ts";

/** What can happen to the claim then. */
export interface Next {
  reconcile(binder: Binder, entry: QueuedClaim): void;
  report(binder: Binder, entry: QueuedClaim, what: Report): Promise<void>;
}

/** Reconciles the claim now. */
export function goOn(binder: Binder, entry: QueuedClaim, next: Next): void {
  next.reconcile(binder, entry);
  binder.schedule();
}

/** Reconciles the claim after `ms` milliseconds. @param state remembers that this is planned */
export function goOnIn(
  binder: Binder,
  entry: QueuedClaim,
  state: { retry: (() => void) | undefined },
  ms: number,
  next: Next,
): void {
  state.retry = binder.clock.setTimeout(() => {
    state.retry = undefined;
    goOn(binder, entry, next);
  }, ms);
}
