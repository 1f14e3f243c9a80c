/**
 * Finds the kubeconfig to use, as kubectl does, and reads its lists. Every command waits for this, so js-yaml is loaded
 * only for YAML that kubectl does not write.
 * @module
 */
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { isObject, type Json } from "../api/objects/json.ts";
import { readPlainYAML } from "./plainyaml.ts";

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
export async function chooseKubeconfig(
  paths: readonly string[],
  context: string | undefined,
): Promise<Chosen | undefined> {
  const files = paths.filter((file) => existsSync(file));
  const [first] = files;
  if (first === undefined) return undefined;
  if (files.length === 1) return { path: first, context };
  const read = await Promise.all(files.map(async (path) => ({ path, ...await readContexts(path) })));
  const wanted = context ?? read.find(({ current }) => current)?.current;
  const holder = read.find(({ names }) => wanted !== undefined && names.includes(wanted));
  return { path: holder?.path ?? first, context: wanted };
}

/** Reads the contexts of a kubeconfig. @throws if the file is not one */
export async function readContexts(path: string): Promise<Contexts> {
  const { contexts, current } = await readKubeconfig(path);
  const all = contexts();
  return {
    current,
    names: all.map(({ name }) => name),
    namespaces: Object.fromEntries(all.map(({ name, namespace }) => [name, namespace])),
  };
}

/** An entry of one of the lists: its name, and what it contains. */
interface Entry {
  name: string;
  content: Json;
}

/** A context: a cluster, and the user and the namespace for it, if there are any. */
interface Context {
  name: string;
  /** Empty: kubectl can write a context that has only a namespace. */
  cluster: string;
  user: string | undefined;
  namespace: string | undefined;
}

/** The content of a kubeconfig. Each list is checked when it is read, so that only what is used has to be valid. */
export interface Kubeconfig {
  /** The current context; undefined: there is none. */
  current: string | undefined;
  clusters(): Entry[];
  users(): Entry[];
  contexts(): Context[];
}

/** Reads a kubeconfig, in YAML or JSON. @throws if the file cannot be read; its functions throw if a list is not valid */
export async function readKubeconfig(path: string): Promise<Kubeconfig> {
  const refuse = (why: string, cause?: unknown): never => {
    throw new Error(`Cannot read kubeconfig ${path}: ${why}`, { cause });
  };
  const text = (value: unknown, where: string): string =>
    typeof value === "string" ? value : refuse(`${where} is not a text`);
  const textIfAny = (value: unknown, where: string) =>
    value === null || value === undefined ? undefined : text(value, where);
  const config = await contentOf(path).catch((error) => refuse(error instanceof Error ? error.message : "", error));
  if (!isObject(config)) return refuse("it is not a map");
  const entries = (key: string, of: string): Entry[] => {
    // kubectl writes null when it removes the last entry.
    const list = config[key] ?? [];
    if (!Array.isArray(list)) return refuse(`${key} is not a list`);
    return list.map((entry: unknown, index) => {
      const where = `${key}[${index}]`;
      if (!isObject(entry)) return refuse(`${where} is not a map`);
      const name = text(entry["name"], `${where}.name`);
      const content = entry[of] ?? {};
      return isObject(content) ? { name, content } : refuse(`${where}.${of} is not a map`);
    });
  };
  return {
    current: textIfAny(config["current-context"], "current-context") || undefined,
    clusters: () => entries("clusters", "cluster"),
    users: () => entries("users", "user"),
    contexts: () =>
      entries("contexts", "context").map(({ name, content: { cluster, user, namespace } }) => ({
        name,
        cluster: textIfAny(cluster, `the cluster of context "${name}"`) ?? "",
        user: textIfAny(user, `the user of context "${name}"`),
        namespace: textIfAny(namespace, `the namespace of context "${name}"`),
      })),
  };
}

/** Returns what a file contains. Like kubectl, this reads only the first document. An empty file has none. */
async function contentOf(path: string): Promise<unknown> {
  const text = readFileSync(path, "utf8");
  const plain = readPlainYAML(text);
  if (plain !== undefined) return plain;
  const { loadAll, YAMLException } = await import("js-yaml");
  try {
    return loadAll(text)[0] ?? {};
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    // Its message has an excerpt of the file, which can contain a token.
    throw new Error(`${error.reason}${error.mark ? ` (line ${error.mark.line + 1})` : ""}`);
  }
}
