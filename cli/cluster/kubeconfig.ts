/** Which kubeconfig a command line means, as kubectl finds it. Reads files, asks nobody. @module */
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { parse } from "yaml";
import { Failure } from "../failure.ts";
import type { Where } from "../world.ts";

/** A kubeconfig and the context in it; undefined is the file's current one. */
export interface Chosen {
  path: string;
  context: string | undefined;
}

/** What a kubeconfig names. */
export interface Contexts {
  current: string | undefined;
  names: string[];
  namespaces: Record<string, string | undefined>;
}

/**
 * Finds the kubeconfig: the one that is named, else of those in `KUBECONFIG`, else `~/.kube/config`.
 *
 * Of several files in `KUBECONFIG` the first that has the context counts, and alone: unlike kubectl, a context cannot
 * name a cluster or a user of another file. Which context is current says the first file that says so.
 *
 * @returns undefined if there is none, and this is a Pod: its ServiceAccount is meant
 * @throws {Failure} if there is none, and this is no Pod either
 */
export function findKubeconfig(
  { kubeconfig, context }: Where,
  env: Record<string, string | undefined>,
): Chosen | undefined {
  if (kubeconfig !== undefined) return { path: kubeconfig, context };
  const listed = env["KUBECONFIG"]?.split(delimiter).filter(Boolean) ?? [];
  const named = listed.length > 0 ? listed : [join(env["HOME"] ?? homedir(), ".kube", "config")];
  const files = named.filter((file) => existsSync(file));
  const [first] = files;
  if (first === undefined) {
    if (env["KUBERNETES_SERVICE_HOST"] && context === undefined) return undefined;
    throw new Failure(
      `Cannot find a cluster: there is no ${named.join(" nor ")}`,
      "Name a kubeconfig with --kubeconfig or KUBECONFIG.",
    );
  }
  if (files.length === 1) return { path: first, context };
  const read = files.map((path) => ({ path, ...readContexts(path) }));
  const wanted = context ?? read.find(({ current }) => current)?.current;
  const holder = read.find(({ names }) => wanted !== undefined && names.includes(wanted));
  return { path: holder?.path ?? first, context: wanted };
}

/** Reads the contexts of a kubeconfig. @throws {Failure} if it is none */
export function readContexts(path: string): Contexts {
  try {
    const config = parse(readFileSync(path, "utf8")) as {
      "current-context"?: string;
      contexts?: { name: string; context?: { namespace?: string } }[];
    } | null;
    const contexts = config?.contexts ?? [];
    return {
      current: config?.["current-context"] || undefined,
      names: contexts.map(({ name }) => name),
      namespaces: Object.fromEntries(contexts.map(({ name, context }) => [name, context?.namespace])),
    };
  } catch (error) {
    throw new Failure(`Cannot read kubeconfig ${path}: ${error instanceof Error ? error.message : String(error)}`);
  }
}
