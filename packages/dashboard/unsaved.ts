/** Asks the user before a part of the page with unsaved changes is left. @module */
/// <reference lib="dom" />
import type { RefObject } from "preact";
import { useLayoutEffect } from "preact/hooks";

/** The part of the page with unsaved changes, and what asks the user whether to discard them. */
interface Unsaved {
  part: HTMLElement;
  ask(onDiscard: () => void): void;
}

let unsaved: Unsaved | undefined;

/** Calls `leave` at once, or if there are unsaved changes, when the user has discarded them. @param from default: all */
export function beforeLeaving(leave: () => void, from?: HTMLElement): void {
  if (unsaved === undefined || from?.contains(unsaved.part) === false) return leave();
  unsaved.ask(() => {
    unsaved = undefined;
    leave();
  });
}

/** Makes {@link beforeLeaving} and the browser ask before a part of the page is left, as long as `hasChanges`. */
export function useUnsaved(part: RefObject<HTMLElement | null>, hasChanges: boolean, ask: Unsaved["ask"]): void {
  useLayoutEffect(() => {
    if (!hasChanges) return;
    const own = { part: part.current!, ask };
    const stop = (event: Event) => event.preventDefault();
    unsaved = own;
    addEventListener("beforeunload", stop);
    return () => {
      if (unsaved === own) unsaved = undefined;
      removeEventListener("beforeunload", stop);
    };
  }, [hasChanges]);
}
