/** What a run works with, and what it hands back. No behaviour. @module */
import type { Api } from "../../../packages/kube/api.ts";
import type { Command } from "../load/command.ts";
import type { SandboxClient } from "../../../packages/sdk/client.ts";
import type { Result } from "../result.ts";

export interface Arena {
  api: Api;
  /** Ends every watch of the run. */
  signal: AbortSignal;
  /** Runs the part that counts, once: time, requests, CPU time and calls. `begun` is when, by `performance.now()`. */
  measure<T>(run: (begun: number) => Promise<T>): Promise<T>;
  /** Runs a command in a Pod; undefined where nodes run no containers. */
  command?: Command;
  /** The SDK, on the same cluster; undefined where nodes run no runtime. */
  sdk?: SandboxClient;
  say(line: string): void;
}

/** What came of a shape, beside what it cost. */
export type Outcome = Pick<Result, "asked" | "samples" | "figures" | "violations">;
