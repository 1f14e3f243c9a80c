/**
 * Whether the watch of Sandboxes has shown all that was there when this process began to lead: what a binder before it has
 * given is known from then on. A watch that was cut off goes on where it was, seconds late. Sends nothing.
 * @module
 */
import { isNewer } from "./assumptions.ts";

export interface Freshness {
  /** This process leads from now on: what others have written until now may not have been shown. */
  begin(): void;
  /** Tells whether all of it has been shown. */
  isFresh(): boolean;
  /** The API server has said, since this process leads, that this is the version of the collection. */
  asked(version: string): void;
  /** The object is shown in this version: of a watch, so is all that came before; of a list, not yet. */
  shown(version: string): void;
  listing(): void;
  listed(): void;
}

/** Makes what is known of the watch: not fresh until it is seen to be. */
export function createFreshness(): Freshness {
  let isFresh = false;
  /** Undefined: nobody has asked since this process leads. */
  let wanted: string | undefined;
  /** Lists are complete for what was asked before they began. */
  let list: { wanted: string | undefined } | undefined;
  return {
    begin() {
      isFresh = false;
      wanted = undefined;
      if (list) list.wanted = undefined;
    },
    isFresh: () => isFresh,
    asked(version) {
      if (version !== "") wanted ??= version;
    },
    shown(version) {
      if (!list && wanted !== undefined && !isNewer(wanted, version)) isFresh = true;
    },
    listing: () => void (list = { wanted }),
    listed() {
      if (list?.wanted !== undefined) isFresh = true;
      list = undefined;
    },
  };
}
