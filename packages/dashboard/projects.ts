/** The projects of E2B's clients: how they are read, and what their list shows. @module */
import { useRef } from "preact/hooks";
import { E2B_LABEL, KEYS_SECRET, PAUSED_AT_ANNOTATION, PROJECT_LABEL, type ShownKey } from "../api/e2b/objects.ts";
import type { KubeObject } from "../api/objects/objects.ts";
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import { type Answer, type Api, isOk, messageOf, pathOf } from "../kube/api.ts";
import { pagesOf } from "../kube/requests.ts";
import { infoOf } from "../sdk/control/readiness.ts";
import { ageOf } from "../summary/age.ts";
import { COUNTED_CLAIMS, type Quota, type QuotaUse, quotaUses } from "../summary/quotas.ts";
import { type Column, makeColumn } from "./rows.ts";
import { type Collection, POLL_MS, usePolled, type Watched } from "./state.ts";

/** The sandboxes of E2B's clients. */
export const E2B_CLAIMS: Watched = {
  kind: "SandboxClaim",
  resource: "sandboxclaims",
  query: { labelSelector: `${E2B_LABEL}=true` },
};

/** What was read, or a sentence that says why it is not shown. */
export type Read<T> = { found: T } | { reason: string };

/** What is read about one project. */
export interface ProjectFacts {
  quotas: Read<QuotaUse[]>;
  keys: Read<ShownKey[]>;
}

/** The listed projects, with what is known of them. */
export interface Projects extends Collection {
  /** By name; absent: not read yet. */
  facts: ReadonlyMap<string, ProjectFacts>;
}

/** How many projects are read at the same time. */
const AT_ONCE = 8;
/** A project is read again after this time, in milliseconds; with many projects later, see {@link useProjects}. */
const FACTS_MS = 10_000;
const EACH_MS = 200;
const NO_FACTS: ReadonlyMap<string, ProjectFacts> = new Map();

/**
 * Reads the projects again and again while their list is shown. Nothing is watched, and no quota or Secret of another
 * namespace is read.
 *
 * @param namespace the only project to show; empty: all
 */
export function useProjects(api: Api, isShown: boolean, namespace: string): Projects {
  const listed = usePolled(
    isShown ? async () => ({ namespace, ...await listProjects(api, namespace) }) : undefined,
    [api, isShown, namespace],
    () => POLL_MS,
  );
  const last = useRef(listed);
  // After an error, the projects of before are better than none.
  if (listed?.isListed !== false || last.current?.namespace !== namespace) last.current = listed;
  const isCurrent = isShown && listed?.namespace === namespace;
  const objects = isCurrent ? last.current?.objects ?? [] : [];
  const names = objects.map(({ metadata }) => metadata.name);
  const facts = usePolled(
    names.length === 0 ? undefined : () => readAll(api, names),
    [api, names.join()],
    () => Math.max(FACTS_MS, EACH_MS * names.length),
  );
  return {
    objects,
    isListed: isCurrent && last.current?.isListed === true,
    trouble: isCurrent ? listed.trouble : undefined,
    facts: facts ?? NO_FACTS,
  };
}

/** Lists the projects. In place of a namespace, which they do not have, each gets its own name. */
async function listProjects(api: Api, namespace: string): Promise<Collection> {
  try {
    const found: KubeObject[] = [];
    if (namespace === "") {
      const query = { labelSelector: `${PROJECT_LABEL}=true` };
      for await (const { items } of pagesOf<KubeObject>(api, pathOf({ resource: "namespaces" }), query)) {
        found.push(...items);
      }
    } else {
      // Users with rights in one namespace may get it, but not list it.
      const project = await readNamespace(api, namespace);
      if (project && isProject(project)) found.push(project);
    }
    const objects = found.map(({ metadata: { managedFields: _, ...metadata }, ...object }): KubeObject => ({
      ...object,
      kind: "Namespace",
      metadata: { ...metadata, namespace: metadata.name },
    }));
    return { objects, isListed: true, trouble: undefined };
  } catch (error) {
    return { objects: [], isListed: false, trouble: error instanceof Error ? error.message : String(error) };
  }
}

/** Tells whether a namespace is a project. */
export function isProject({ metadata: { labels } }: KubeObject): boolean {
  return labels?.[PROJECT_LABEL] === "true";
}

/** Reads a namespace; undefined: it does not exist. @throws {Error} with the API server's message if it cannot be read */
export async function readNamespace(api: Api, name: string): Promise<KubeObject | undefined> {
  const answer = await api.send({ method: "GET", path: pathOf({ resource: "namespaces", name }) });
  if (answer.status === 404) return undefined;
  if (!isOk(answer)) throw new Error(messageOf(answer));
  return answer.body as KubeObject;
}

async function readAll(api: Api, names: readonly string[]): Promise<ReadonlyMap<string, ProjectFacts>> {
  const facts = new Map<string, ProjectFacts>();
  for (let at = 0; at < names.length; at += AT_ONCE) {
    const some = names.slice(at, at + AT_ONCE);
    const read = await Promise.all(some.map((name) => readFactsOf(api, name)));
    some.forEach((name, index) => facts.set(name, read[index]!));
  }
  return facts;
}

/** Reads the quotas and the API keys of a project. @throws only if the router does not answer */
export async function readFactsOf(api: Api, name: string): Promise<ProjectFacts> {
  const [quotas, keys] = await Promise.all([
    api.send({ method: "GET", path: pathOf({ resource: "resourcequotas", namespace: name }) }),
    // The router answers names, rights and times, and keeps the Secret to itself.
    api.send({ method: "GET", path: pathOf({ resource: "secrets", namespace: name, name: KEYS_SECRET }) }),
  ]);
  return {
    quotas: isOk(quotas)
      ? { found: quotaUses((quotas.body as { items: Quota[] }).items) }
      : { reason: reasonOf(quotas, `list the quotas of namespace ${name}`) },
    keys: isOk(keys)
      ? { found: (keys.body as { keys: ShownKey[] }).keys }
      : keys.status === 404
      ? { found: [] }
      : { reason: reasonOf(keys, `read Secret ${KEYS_SECRET} of namespace ${name}`) },
  };
}

/** Returns a sentence. */
function reasonOf(answer: Answer, action: string): string {
  return answer.status === 403 ? `Your user may not ${action}.` : `Cannot ${action}: ${messageOf(answer)}`;
}

/** How many sandboxes a project has. */
export interface SandboxCounts {
  running: number;
  paused: number;
  /** They start, end, or have failed. */
  other: number;
}

/** Counts the sandboxes of E2B's clients by namespace. Pure. */
export function countsByProject(claims: readonly KubeObject[]): Map<string, SandboxCounts> {
  const counts = new Map<string, SandboxCounts>();
  for (const claim of claims) {
    const { namespace = "", annotations = {} } = claim.metadata;
    const before = counts.get(namespace) ?? { running: 0, paused: 0, other: 0 };
    // The cast is safe: the API server has validated what it stores.
    const { state } = infoOf(claim as SandboxClaim);
    const isPaused = state === "Suspended" ||
      (annotations[PAUSED_AT_ANNOTATION] !== undefined && state !== "Terminating");
    before[isPaused ? "paused" : state === "Ready" ? "running" : "other"]++;
    counts.set(namespace, before);
  }
  return counts;
}

/** Returns such as `3 running, 1 paused`. Pure. */
export function countsText({ running, paused, other }: SandboxCounts = { running: 0, paused: 0, other: 0 }): string {
  const parts = [[running, "running"], [paused, "paused"], [other, "not ready"]] as const;
  return parts.flatMap(([count, what]) => count === 0 ? [] : [`${count} ${what}`]).join(", ") || "0";
}

/** Resources that mean the same for a user, those that limit most first. */
const CPU = ["limits.cpu", "requests.cpu", "cpu"];
const MEMORY = ["limits.memory", "requests.memory", "memory"];

/** Returns the columns of the list. Cells are empty if nothing is known. Pure. */
export function projectColumns({ facts }: Pick<Projects, "facts">, claims: Collection): Column[] {
  const counts = countsByProject(claims.objects);
  const use = (resources: readonly string[]) => ({ metadata: { name } }: KubeObject) => {
    const quotas = facts.get(name)?.quotas;
    if (!quotas || "reason" in quotas) return "";
    const [found] = resources.flatMap((resource) => quotas.found.find((each) => each.resource === resource) ?? []);
    return found ? useText(found) : "";
  };
  return [
    makeColumn("NAME", ({ metadata }) => metadata.name),
    makeColumn(
      "SANDBOXES",
      ({ metadata }) => claims.isListed ? countsText(counts.get(metadata.name)) : "",
      "Sandboxes of E2B's clients",
    ),
    makeColumn("QUOTA", use([COUNTED_CLAIMS]), "Claims that count, and how many the quota allows"),
    makeColumn("CPU", use(CPU), "CPUs that count, and how many the quota allows"),
    makeColumn("MEMORY", use(MEMORY), "Memory that counts, and how much the quota allows"),
    makeColumn("KEYS", ({ metadata }) => {
      const keys = facts.get(metadata.name)?.keys;
      return keys && "found" in keys ? String(keys.found.filter(({ rights }) => rights).length) : "";
    }, "API keys that are valid"),
    makeColumn("AGE", ({ metadata }, now) => ageOf(metadata.creationTimestamp, now)),
  ];
}

/** Returns such as `4 of 20`. Pure. */
function useText({ used = "?", hard }: QuotaUse): string {
  return `${used} of ${hard}`;
}

/** Says which cells of the list are empty because something cannot be read; undefined: none. Pure. */
export function missingText({ facts }: Pick<Projects, "facts">): string | undefined {
  const some = [...facts.values()];
  const parts = [
    ...some.some(({ quotas }) => "reason" in quotas) ? ["quotas"] : [],
    ...some.some(({ keys }) => "reason" in keys) ? ["API keys"] : [],
  ];
  if (parts.length === 0) return undefined;
  return `Not all ${parts.join(" and ")} can be read, so some cells are empty. Open a project to see why.`;
}
