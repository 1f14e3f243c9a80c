/** What one sandbox uses. Types only. @module */

export interface Usage {
  name: string;
  namespace: string;
  /** Name of the Sandbox; empty while there is none. */
  sandbox: string;
  /** Processors in use; undefined: nobody knows. */
  cores: number | undefined;
  memoryBytes: number | undefined;
  /** Undefined: none, or nobody knows. */
  memoryLimitBytes: number | undefined;
  /** Why nothing is known; undefined: it is. */
  problem?: string;
}
