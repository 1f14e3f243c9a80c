/** Types of the input and the result of a shape's run. @module */
import type { Api } from "../../../packages/kube/api.ts";
import type { Command } from "../load/command.ts";
import type { SandboxClient } from "../../../packages/sdk/client.ts";
import type { Result } from "../result.ts";

export interface Arena {
  api: Api;
  /** Ends every watch of the run. */
  signal: AbortSignal;
  /**
   * Runs the measured part, once: time, requests, CPU time and calls. `begun` is its start in `performance.now()`
   * milliseconds.
   */
  measure<T>(run: (begun: number) => Promise<T>): Promise<T>;
  /** Runs a command in a Pod; undefined: the nodes run no containers. */
  command?: Command;
  /** The SDK on the same cluster; undefined: the nodes do not run the runtime. */
  sdk?: SandboxClient;
  say(line: string): void;
}

/** The result of a shape, without its cost. */
export type Outcome = Pick<Result, "asked" | "samples" | "figures" | "violations">;
