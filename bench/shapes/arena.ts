/** What a run works with, and what it hands back. No behaviour. @module */
import type { Api } from "../../keeper/api.ts";
import type { Command } from "../load/command.ts";
import type { Result } from "../result.ts";

export interface Arena {
  api: Api;
  /** Ends every watch of the run. */
  signal: AbortSignal;
  /** Begins to count requests, CPU time and calls. */
  begin(): Promise<void>;
  /** Ends the counting; what comes after is not measured. */
  end(): Promise<void>;
  /** Runs a command in a Pod; undefined where nodes run no containers. */
  command?: Command;
  say(line: string): void;
}

export type Measured = Pick<Result, "seconds" | "asked" | "samples" | "figures" | "violations">;
