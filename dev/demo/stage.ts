/**
 * Defines what the chapters of the demo share: the cluster, hookbox in it, wherever it runs, and what cannot be shown
 * there. @module
 */
import { execFile } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { shellWord } from "../../packages/api/shellwords.ts";
import { note, output, type Shell, typed } from "./terminal.ts";
import type { ProcessRecord } from "../cluster/processes.ts";

/** What a chapter may need that not every cluster has. */
export type Need = "containers" | "runtime" | "router" | "e2b";

/** The cluster and hookbox, and how to end them. */
export interface Stage {
  /** The cluster and the namespace of the chapters, in the words of the options of `hookbox` and of the SDK. */
  where: { kubeconfig?: string; context?: string; namespace: string };
  shell: Shell;
  parts: Parts;
  /** Why something that a chapter may need is missing here. */
  missing: Readonly<Partial<Record<Need, string>>>;
  /** Absent until a chapter has used it. */
  router?: RouterPlace;
  /** Ends or removes everything, or leaves it, and shows what happens. */
  leave(how: { keep: boolean; failed: boolean }): Promise<void>;
}

/** Paths of conditions, for `shell.until`. */
export const READY = '.status.conditions[?(@.type=="Ready")].status';

export const SUSPENDED = '.status.conditions[?(@.type=="Suspended")].status';

/** The data that chapters share. */
export interface Story {
  stage: Stage;
  shell: Shell;
}

/** One chapter: its title, and what it does. */
export interface Chapter {
  title: string;
  play(story: Story): Promise<void>;
}

/** Plays a chapter only if the cluster has what the chapter needs. If not, it prints why not. */
export function needing(needs: readonly Need[], play: Chapter["play"]): Chapter["play"] {
  return async (story) => {
    const why = needs.map((need) => story.stage.missing[need]).find((reason) => reason !== undefined);
    if (why === undefined) await play(story);
    else note(why);
  };
}

/** The root of the checkout. */
export const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/**
 * A copy of the hooks, and of what they import, which the demo edits. It is in the checkout, so that packages are
 * found, and git ignores it.
 */
export const COPY = join(ROOT, ".hookbox/demo");
/** The folder for the logs of all processes. */
export const LOGS = join(ROOT, ".hookbox/demo-logs");

/**
 * Shows a hookbox command, runs it, and shows its output.
 *
 * @param around returns what a person would type around the command; its output is then not shown
 * @throws {Error} if it fails
 */
export async function hookbox(
  { stage }: Pick<Story, "stage">,
  args: string[],
  around?: (command: string) => string,
): Promise<string> {
  const line = `hookbox ${args.map(shellWord).join(" ")}`;
  typed(around?.(line) ?? line);
  const where = Object.entries(stage.where).flatMap(([name, value]) => [`--${name}`, value]);
  const command = [join(ROOT, "packages/cli/main.ts"), ...where, ...args];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, command, { cwd: ROOT });
  const shown = around ? stderr : stdout;
  if (shown !== "") output(shown);
  return stdout;
}

/** The URL and the headers for requests to sandboxes. */
interface RouterPlace {
  url: string;
  headers: Record<string, string>;
  /** Options of curl with the same headers. */
  curl: string;
}

/** hookbox as it runs: in the cluster, or as local processes if nodes run no containers. */
export interface Parts {
  /** The folder with the sources that {@link Parts.redeploy} uses; undefined: it uses the installed image again. */
  copy: string | undefined;
  /** Why the functions cannot be replaced; undefined: they can. */
  whyFixed?: string;
  /** Installs hookbox and shows how. Resolves when all of it runs. */
  install(): Promise<void>;
  /** Replaces the Sandbox hook with that of the copy, if there is a copy, and shows how. */
  redeploy(): Promise<void>;
  /** Triggers a call of the replaced hook for the Sandbox `demo`, if nothing else does. */
  touch(): Promise<void>;
  /** Identifies the running instances by the name of the part: process IDs, or the UIDs of Pods. */
  running(): Promise<Map<string, string>>;
  /** Shows how to use the router. @throws {Error} if no router runs */
  router(): Promise<RouterPlace>;
  /** Serves E2B's SDKs, and shows how. Resolves with their URLs. @throws {Error} if this cluster cannot */
  e2b(): Promise<{ apiUrl: string; sandboxUrl: string }>;
  /** Makes the image of the runtime available to Pods, once. @returns its name */
  runtimeImage(): Promise<string>;
  /** Saves logs that would disappear with the cluster. */
  keepLogs(): Promise<void>;
  /** The parts of hookbox that run as processes on this machine. */
  localProcesses(): ProcessRecord[];
}
