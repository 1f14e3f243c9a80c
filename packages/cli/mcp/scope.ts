/** What sessions of the server may do. No behaviour. @module */

/** Limits of every session; the operator sets them, an agent cannot change them. */
export interface Scope {
  /** Pools that sandboxes may come from; the first is the default. Empty: every pool and template. */
  pools: readonly string[];
  /** Asked where neither the agent nor `pools` names a pool. */
  findPools: (signal: AbortSignal) => Promise<string[]>;
  /** Sandboxes of any image may be made, too. */
  allowImages: boolean;
  /** Labels that all must match: sandboxes that every session may use, beside those it has made. Empty: none. */
  selector: Readonly<Record<string, string>>;
  /** How long a sandbox lives unless the agent says otherwise, and at most, in milliseconds. */
  lifetimeMs: number;
  maxLifetimeMs: number;
  /** Sandboxes that a session may have at a time. */
  maxSandboxes: number;
  /** Whether sandboxes of a session are deleted when it ends. */
  deleteOnExit: boolean;
  /** Folder of this machine that files may be copied from and to; undefined: none. */
  localRoot: string | undefined;
}
