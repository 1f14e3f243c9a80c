/** Finds the kubeconfig to use, as kubectl does. @module */
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { parse } from "yaml";

/** A kubeconfig and a context in it; undefined: the file's current context. */
export interface Chosen {
  path: string;
  context: string | undefined;
}

/** The contexts of a kubeconfig. */
export interface Contexts {
  current: string | undefined;
  names: string[];
  namespaces: Record<string, string | undefined>;
}

/** Returns where to look for a kubeconfig if none is named: the files that `KUBECONFIG` lists, or else `~/.kube/config`. */
export function kubeconfigPlaces(env: Record<string, string | undefined>): string[] {
  const listed = env["KUBECONFIG"]?.split(delimiter).filter(Boolean) ?? [];
  return listed.length > 0 ? listed : [join(env["HOME"] ?? homedir(), ".kube", "config")];
}

/**
 * Chooses among files, some of which may not exist.
 *
 * Only the first file that has the context is used: unlike in kubectl, a context cannot name a cluster or a user in
 * another file. The current context is that of the first file that has one.
 *
 * @returns undefined if no file exists
 * @throws if there are several files, and one of them is not a kubeconfig
 */
export function chooseKubeconfig(paths: readonly string[], context: string | undefined): Chosen | undefined {
  const files = paths.filter((file) => existsSync(file));
  const [first] = files;
  if (first === undefined) return undefined;
  if (files.length === 1) return { path: first, context };
  const read = files.map((path) => ({ path, ...readContexts(path) }));
  const wanted = context ?? read.find(({ current }) => current)?.current;
  const holder = read.find(({ names }) => wanted !== undefined && names.includes(wanted));
  return { path: holder?.path ?? first, context: wanted };
}

/** Reads the contexts of a kubeconfig. @throws if the file is not one */
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
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`Cannot read kubeconfig ${path}: ${why}`, { cause: error });
  }
}
