/** Which kubeconfig is meant, as kubectl finds it. Reads files, asks nobody. @module */
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { parse } from "yaml";

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

/** Returns where kubeconfigs are looked for that nobody names: the files that `KUBECONFIG` lists, else `~/.kube/config`. */
export function kubeconfigPlaces(env: Record<string, string | undefined>): string[] {
  const listed = env["KUBECONFIG"]?.split(delimiter).filter(Boolean) ?? [];
  return listed.length > 0 ? listed : [join(env["HOME"] ?? homedir(), ".kube", "config")];
}

/**
 * Chooses among files, of which some may not exist.
 *
 * The first that has the context counts, and alone: unlike kubectl, a context cannot name a cluster or a user of another
 * file. Which context is current says the first file that says so.
 *
 * @returns undefined if none exists
 * @throws if there are several, and one of them is no kubeconfig
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

/** Reads the contexts of a kubeconfig. @throws if it is none */
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
