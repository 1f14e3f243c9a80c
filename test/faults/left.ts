/** What is missing, and what nobody owns, once claims have come and gone. @module */
import { condition, type Loose } from "../integration/namespace.ts";
import { controllerOf } from "../integration/pools.ts";

/** All of a namespace. */
export interface Observed {
  claims: Loose[];
  pools: Loose[];
  sandboxes: Loose[];
  /** Objects of each kind that a Sandbox has one of. */
  children: Loose[][];
}

/** Names of objects, with their kinds. */
export interface Left {
  lost: string[];
  leaked: string[];
  /** What is still under way: it may yet be neither. */
  unready: string[];
}

/**
 * Compares what there is with what there should be: the claims that are kept, with a Sandbox each, the pool's members, and
 * one child of each kind for each of those.
 */
export function leftOf({ claims, pools, sandboxes, children }: Observed, kept: Set<string>, replicas: number): Left {
  const owners = new Set([...claims, ...pools, ...sandboxes].map(({ metadata }) => metadata.uid));
  const isOwned = (object: Loose) => owners.has(controllerOf(object)?.uid ?? "");
  const members = sandboxes.filter((sandbox) => controllerOf(sandbox)?.kind === "SandboxWarmPool");
  const served = new Set(sandboxes.map((sandbox) => controllerOf(sandbox)?.uid));
  const names = new Set(claims.map(({ metadata }) => metadata.name));
  return {
    lost: [
      ...[...kept].filter((name) => !names.has(name)).map((name) => `SandboxClaim ${name}`),
      ...claims.filter(({ metadata }) => !served.has(metadata.uid)).map((claim) => `the Sandbox of ${named(claim)}`),
      ...(members.length < replicas ? [`${replicas - members.length} of the pool`] : []),
    ],
    leaked: [
      ...claims.filter(({ metadata }) => !kept.has(metadata.name)).map(named),
      ...[...sandboxes, ...children.flat()].filter((object) => !isOwned(object)).map(named),
      ...members.slice(replicas).map(named),
      ...[sandboxes.filter((sandbox) => !members.includes(sandbox)), ...children].flatMap(doubles),
    ],
    unready: [
      ...[...claims, ...sandboxes].filter((object) => condition(object, "Ready")?.status !== "True").map(named),
      ...children.filter((objects) => objects.length < sandboxes.length).map((objects) =>
        `${sandboxes.length - objects.length} ${objects[0]?.kind ?? "children"}`
      ),
    ],
  };
}

/** Lists objects whose owner has another before them, by kind and name. */
export function doubles(objects: Loose[]): string[] {
  const seen = new Set<string>();
  return objects.filter((object) => {
    const owner = controllerOf(object)?.uid ?? "";
    const isDouble = seen.has(owner);
    seen.add(owner);
    return isDouble;
  }).map(named);
}

/** Names an object for people. */
export function named({ kind, metadata }: Loose): string {
  return `${kind} ${metadata.name}`;
}
