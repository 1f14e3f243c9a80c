/** Limits of the sessions of an MCP server. @module */

/** Limits of every session. The operator sets them; an agent cannot change them. */
export interface Scope {
  /** Pools for sandboxes; the first one is the default. Empty: every pool and template is allowed. */
  pools: readonly string[];
  /** Finds pools if neither the agent nor `pools` names one. */
  findPools: (signal: AbortSignal) => Promise<string[]>;
  /** Whether sandboxes may be created from any image. */
  allowImages: boolean;
  /**
   * Labels of sandboxes that every session may use, in addition to its own. A sandbox must have all of them. Empty: no
   * such sandboxes.
   */
  selector: Readonly<Record<string, string>>;
  /** Default and longest lifetime of a sandbox, in milliseconds. */
  lifetimeMs: number;
  maxLifetimeMs: number;
  /** Largest number of sandboxes that a session has at a time. */
  maxSandboxes: number;
  /** Whether sandboxes of a session are deleted when it ends. */
  deleteOnExit: boolean;
  /** Folder on this machine from and to which files may be copied; undefined: none. */
  localRoot: string | undefined;
}
