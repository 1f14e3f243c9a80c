/** Options that several commands share, and how their values are parsed: numbers, durations, pairs, files. @module */
import type { Command } from "commander";
import {
  DURATION,
  type FlagType,
  number,
  parseDuration,
  refusalOf,
  wholeNumber as wholeNumberFrom,
} from "../process/flags.ts";
import type { ConnectionOptions } from "./commandcontext.ts";
import { Failure, UsageError } from "./failure.ts";

/** Values of the shared options. */
export interface ClusterOptions extends ConnectionOptions {
  allNamespaces?: boolean;
}

const CLUSTER_HEADING = "Cluster:";

/**
 * Adds the options for cluster and namespace. Call it last, so that help shows them below the command's own options.
 */
export function withCluster(command: Command): Command {
  const option = (flags: string, description: string) =>
    command.addOption(command.createOption(flags, description).helpGroup(CLUSTER_HEADING));
  option("-n, --namespace <name>", "namespace (default: $HOOKBOX_NAMESPACE, or the context's)");
  return withKubeconfig(command);
}

/** Adds the options for the cluster, for commands without a namespace. Call it last, as {@link withCluster}. */
export function withKubeconfig(command: Command): Command {
  const option = (flags: string, description: string) =>
    command.addOption(command.createOption(flags, description).helpGroup(CLUSTER_HEADING));
  option("--context <name>", "context of the kubeconfig (default: its current one)");
  option(
    "--kubeconfig <file>",
    "kubeconfig (default: the first file of $KUBECONFIG that has the context, ~/.kube/config, or the Pod's account)",
  );
  return command;
}

/** Adds the options for the way into sandboxes. */
export function withRouter(command: Command): Command {
  const option = (flags: string, description: string) =>
    command.addOption(command.createOption(flags, description).helpGroup(CLUSTER_HEADING));
  option(
    "--router <url>",
    "URL of the router to use ($HOOKBOX_ROUTER_URL; default: a port-forward through the API server)",
  );
  option("--token <token>", "bearer token for the router ($HOOKBOX_TOKEN)");
  return withCluster(command);
}

/** Adds `-A`, for commands that list objects. */
export function withAllNamespaces(command: Command): Command {
  return command.option("-A, --all-namespaces", "all namespaces");
}

/** Reads all options of a command, including those before its name. */
export function optionsOf<T extends object = object>(command: Command): T & ClusterOptions {
  const before = command.parent ? optionsOf(command.parent) : {};
  return { ...before, ...command.opts() } as T & ClusterOptions;
}

/** Parses an integer of at least `least`. @throws {UsageError} */
export function wholeNumber(option: string, text: string, least?: number, most?: number): number {
  return readValue(option, wholeNumberFrom(least, most), text);
}

const ABOVE_ZERO: FlagType<number> = {
  ...number(),
  allowed: "a number above 0",
  read: (text, refuse) => number().read(text, refuse) || refuse(),
};

/** Parses a number above 0. @throws {UsageError} */
export function aboveZero(option: string, text: string): number {
  return readValue(option, ABOVE_ZERO, text);
}

/** A duration without the upper limit of timers, because not all durations are for timers. */
const ANY_DURATION: FlagType<number> = {
  ...DURATION,
  allowed: "a length of time such as 30s, 5m, 1h30m or 2d",
  read: (text, refuse) => {
    const hours = text.replace(/^(\d+)d/, (_, days) => `${Number(days) * 24}h`);
    return parseDuration(/^\d+(\.\d+)?$/.test(hours) ? `${hours}s` : hours) || refuse();
  },
};

/** Parses a duration above 0 into milliseconds: `30s`, `5m`, `1h30m`, `2d`, or seconds. @throws {UsageError} */
export function durationMs(option: string, text: string): number {
  return readValue(option, ANY_DURATION, text);
}

function readValue<T>(option: string, type: FlagType<T>, text: string): T {
  return type.read(text, () => {
    throw new UsageError(refusalOf(option, type, text));
  });
}

/** Parses `key=value` pairs. @throws {UsageError} if a pair has no key or no `=` */
export function pairs(option: string, texts: readonly string[]): Record<string, string> {
  return Object.fromEntries(texts.map((text) => {
    const at = text.indexOf("=");
    if (at > 0) return [text.slice(0, at), text.slice(at + 1)];
    throw new UsageError(`Cannot use ${option} "${text}": it is not KEY=VALUE`);
  }));
}

/** Parses an option that can be repeated: appends the value to those before. */
export function collect(value: string, before: string[] = []): string[] {
  return [...before, value];
}

/** Common reasons why a file cannot be read, by the codes of the system. */
const REASONS: Record<string, string> = {
  ENOENT: "there is no such file",
  ENOTDIR: "there is no such file",
  EISDIR: "it is a folder",
  EACCES: "you may not read it",
};

/** Reads a file as text. @throws {Failure} if it cannot be read */
export async function contentOf(file: string): Promise<string> {
  const { readFile } = await import("node:fs/promises");
  return await readingFile(file, () => readFile(file, "utf8"));
}

/**
 * Runs a function that reads a file, and explains its errors.
 *
 * @throws {Failure} instead of the system's errors
 */
export async function readingFile<T>(file: string, read: () => T | Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new Failure(`Cannot read ${file}: ${REASONS[code] ?? message}`);
  }
}
